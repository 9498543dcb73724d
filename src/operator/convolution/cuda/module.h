/* convop's CUDA kernels on a GPU: the image, loaded once for each context, and its functions. */
#ifndef CVP_CONV_CUDA_MODULE_H
#define CVP_CONV_CUDA_MODULE_H

#include "src/cuda/context.h"
#include "src/operator/convolution/cuda/launch.h"

/* 1 if the library has the image; else *why says why not. */
int cvp_cuda_has_kernels(const char **why);

/* For `convop info`: the architectures, or "none" and why. */
void cvp_cuda_describe_kernels(struct cvp_text *value, struct cvp_text *why);

/* Enqueues a launch on the scope's stream. The first one in a context loads the image, also while
 * the stream is captured. Thread-safe. */
convop_status cvp_cuda_launch(const struct cvp_gpu_scope *scope, const struct cvp_cuda_step *step);

#endif

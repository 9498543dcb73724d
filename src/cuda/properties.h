/* The properties of a GPU that cuDNN makes plans from, as a descriptor and as its JSON text. Those
 * of a GPU that is not here come from a file, and plans for it can be made all the same. */
#ifndef CVP_CUDA_PROPERTIES_H
#define CVP_CUDA_PROPERTIES_H

#include "src/cuda/cudnn.h"
#include "src/cuda/device.h"

/* cuDNN's descriptor of a GPU, which stays as long as that is known. */
convop_status cvp_gpu_properties(const struct cvp_cudnn *cudnn, const struct cvp_gpu *gpu,
                                 void **properties);

/* The JSON text, by cvp_malloc, of a GPU that is here. */
convop_status cvp_gpu_json(const struct cvp_cudnn *cudnn, const struct cvp_gpu *gpu, char **json);

/* A GPU that is not here, from its JSON; ended by cvp_gpu_absent_end. INVALID: it is no JSON, or
 * lacks a property, which the sentence names; or cuDNN refuses it. */
convop_status cvp_gpu_absent(const struct cvp_cudnn *cudnn, const char *json, struct cvp_gpu *gpu);
void cvp_gpu_absent_end(const struct cvp_cudnn *cudnn, struct cvp_gpu *gpu);

/* Reads the JSON into *gpu, all but its descriptor. INVALID as above. */
convop_status cvp_gpu_parse(const char *json, struct cvp_gpu *gpu);

#endif

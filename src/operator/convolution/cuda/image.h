/* The CUDA kernels of all architectures, as the driver loads them; part of the library where nvcc
 * was there when it was built (CVP_BUILD_CUDA). */
#ifndef CVP_CONV_CUDA_IMAGE_H
#define CVP_CONV_CUDA_IMAGE_H

#include <stddef.h>

extern const char cvp_cuda_image[];
extern const size_t cvp_cuda_image_size;
extern const char cvp_cuda_architectures[]; /* "75, 80": those whose machine code it has */

#endif

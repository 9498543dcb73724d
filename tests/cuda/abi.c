/* convop's own declarations of the CUDA driver and cuDNN against NVIDIA's headers: each function's
 * type and each number. Compiling is the test. A symbol that cuda.h hides behind a macro for its
 * newest version is compared where the macro leaves its name alone. */
#include <cuda.h>
#include <cudnn.h>
#include <stdint.h>
#include <stdio.h>

#include "src/cuda/cudnn.h"
#include "src/cuda/driver.h"

/* NVIDIA's events of version 2 keep the type. */
#undef cuEventElapsedTime
#define cuEventElapsedTime cuEventElapsedTime_v2

#define SAME_TYPE(ours, theirs, what)                                                              \
    _Static_assert(__builtin_types_compatible_p(__typeof__(ours), __typeof__(&(theirs))), what)

#define CVP_DRIVER(member, symbol, parameters)                                                     \
    SAME_TYPE(((struct cvp_driver *)0)->member, symbol, #symbol);
#include "src/cuda/driver_list.h"
#undef CVP_DRIVER
#define CVP_CUDNN(member, symbol, result, parameters)                                              \
    SAME_TYPE(((struct cvp_cudnn *)0)->member, symbol, #symbol);
#include "src/cuda/cudnn_list.h"
#undef CVP_CUDNN

#define CVP_CONSTANT(name, value) _Static_assert((name) == (value), #name);
#include "src/cuda/cudnn_constants.h"
#include "src/cuda/driver_constants.h"
#undef CVP_CONSTANT

int main(void)
{
    printf("as in the headers of CUDA %d.%d and cuDNN %d.%d.%d\n", CUDA_VERSION / 1000,
           CUDA_VERSION % 1000 / 10, CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL);
    return 0;
}

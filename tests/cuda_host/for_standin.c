/* The kernels on the host as a library that the stand-in of the driver opens (STANDIN_KERNELS). */
#include "tests/cuda_host/cuda_host.h"
#include "tests/standin/standin.h"

extern const struct standin_kernels standin_kernels;
__attribute__((visibility("default"))) const struct standin_kernels standin_kernels = {
    cuda_host_args_size, cuda_host_launch, &cuda_host_translate};

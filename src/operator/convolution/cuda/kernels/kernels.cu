// All kernels of the list, for nvcc; and, through tests/cuda_host, for a C++ compiler.
#include "src/operator/convolution/cuda/kernels/depthwise_direct.cuh"
#include "src/operator/convolution/cuda/kernels/depthwise_first.cuh"
#include "src/operator/convolution/cuda/kernels/depthwise_first_filter.cuh"
#include "src/operator/convolution/cuda/kernels/depthwise_last.cuh"
#include "src/operator/convolution/cuda/kernels/gemm.cuh"

// One block is enough for a multiprocessor: else the compiler spills registers to fit more.
#define CUDA_KERNEL(name, args, threads, body)                                                     \
    extern "C" __global__ void __launch_bounds__(threads, 1)                                       \
        cvp_##name(const __grid_constant__ args a)                                                 \
    {                                                                                              \
        body;                                                                                      \
    }
#include "src/operator/convolution/cuda/kernel_list.h"

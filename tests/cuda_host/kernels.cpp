// The kernels, compiled for the host, by name.
#include "tests/cuda_host/language.hpp"
#include "tests/cuda_host/scheduler.hpp"

#include "src/operator/convolution/cuda/kernels/kernels.cu"

#undef CUDA_KERNEL
#define CUDA_KERNEL(name, args, threads, body)                                                     \
    {"cvp_" #name, threads, sizeof(args), [](const void *a) { cvp_##name(*(const args *)a); }},

static const cuda_host::kernel kernels[] = {
#include "src/operator/convolution/cuda/kernel_list.h"
};

const cuda_host::kernel *cuda_host::find_kernel(const char *name)
{
    for (const kernel &k : kernels)
        if (strcmp(k.name, name) == 0) return &k;
    return nullptr;
}

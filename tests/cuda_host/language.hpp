// The part of the CUDA language that convop's kernels use, for a C++ compiler. Included before their
// source.
#ifndef CUDA_HOST_LANGUAGE_HPP
#define CUDA_HOST_LANGUAGE_HPP

#include <cstdint>
#include <cstring>

#include "src/common/half.h"

#define __global__
#define __device__
#define __shared__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(threads, blocks)
#define __grid_constant__

struct uint2 {
    unsigned x, y;
};
struct uint3 {
    unsigned x, y, z;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

namespace cuda_host {

// The place of the thread that runs, and what it asks of the scheduler.
extern uint3 thread, block, block_size, grid_size;
void barrier();
// The value that lane `lane ^ mask` of the warp brings; all lanes of the warp come.
uint64_t exchange(uint64_t value, int mask);
// Checks an access, counts it, and gives the address to use.
const void *loading(const void *from, size_t bytes);
void *storing(void *to, size_t bytes);

} // namespace cuda_host

#define threadIdx cuda_host::thread
#define blockIdx  cuda_host::block
#define blockDim  cuda_host::block_size
#define gridDim   cuda_host::grid_size

static inline void __syncthreads()
{
    cuda_host::barrier();
}

template <class A> static inline A __shfl_xor_sync(unsigned, A value, int mask)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = cuda_host::exchange(bits, mask);
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <class W> static inline W __ldg(const W *from)
{
    W w;
    memcpy(&w, cuda_host::loading(from, sizeof w), sizeof w);
    return w;
}

template <class W> static inline W __ldcg(const W *from)
{
    return __ldg(from);
}

template <class W> static inline void __stwb(W *to, W w)
{
    memcpy(cuda_host::storing(to, sizeof w), &w, sizeof w);
}

static inline float float_of_half(unsigned short bits)
{
    return cvp_float_of_f16(bits);
}
static inline unsigned short half_of_float(float f)
{
    return cvp_f16_of_float(f);
}
static inline unsigned __float_as_uint(float f)
{
    return cvp_bits_of_float(f);
}
static inline float __uint_as_float(unsigned u)
{
    return cvp_float_of_bits(u);
}
static inline uint64_t __umul64hi(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)a * b >> 64);
}

#endif

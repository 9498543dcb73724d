// Sums over the threads of a block, in an order that is always the same.
#ifndef CVP_CONV_CUDA_SUMS_CUH
#define CVP_CONV_CUDA_SUMS_CUH

#include "src/operator/convolution/cuda/kernels/march.cuh"

namespace {

// The sum of a warp's lanes, in each of them.
template <class A> DEVICE A sum_warp(A x)
{
#pragma unroll
    for (int m = 16; m > 0; m /= 2) x += __shfl_xor_sync(0xffffffffu, x, m);
    return x;
}

// For each of `owners` and of V values: the sum of `mine` over the `terms` threads that the owner
// has, thread owner * owner_step + term * term_step, goes to take(owner, value, sum), called by one
// thread. All threads of the block come here; shared memory holds V values of each.
template <class A, int V, class Take>
DEVICE void sum_block(const A *mine, int owners, int owner_step, int terms, int term_step, Take take)
{
    A *const all = (A *)cvp_shared;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < V; i++) all[i * blockDim.x + threadIdx.x] = mine[i];
    __syncthreads();
    for (int q = threadIdx.x / 32; q < owners * V; q += blockDim.x / 32) {
        const A *const of = all + q % V * blockDim.x + q / V * owner_step;
        A sum = 0;
        for (int t = threadIdx.x % 32; t < terms; t += 32) sum += of[t * term_step];
        sum = sum_warp(sum);
        if (threadIdx.x % 32 == 0) take(q / V, q % V, sum);
    }
}

// The same for all taps of a window: to[(owner * V + value) * K * K + tap].
template <class A, int K, int V>
DEVICE void sum_taps(const taps<A, K, V> &mine, int owners, int owner_step, int terms, int term_step,
                     A *to)
{
#pragma unroll
    for (int k = 0; k < K * K; k++)
        sum_block<A, V>(mine.at[k / K][k % K], owners, owner_step, terms, term_step,
                        [&](int owner, int value, A sum) {
                            store<A, 1>(to + (owner * V + value) * (K * K) + k, pack<A, 1>{{sum}});
                        });
}

} // namespace

#endif

// What all kernels build on: element types and their conversions, loads and stores of one to four
// elements at once. Tensors are read with __ldg and written with __stwb alone, so that the header that
// runs kernels on a host (tests/cuda_host) sees every access.
#ifndef CVP_CONV_CUDA_DEVICE_CUH
#define CVP_CONV_CUDA_DEVICE_CUH

#include "src/operator/convolution/cuda/args.h"

#define DEVICE        static __device__ __forceinline__
#define DEVICE_MEMBER __device__ __forceinline__

#ifdef __CUDACC__
// The GPU's own conversions of float16, without CUDA's header for the type.
DEVICE float float_of_half(unsigned short bits)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(bits));
    return f;
}

DEVICE unsigned short half_of_float(float f)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(f));
    return bits;
}
#endif

// All shared memory is of the launch's size.
extern __shared__ uint4 cvp_shared[];

namespace {

struct f16 {
    unsigned short bits;
};
struct bf16 {
    unsigned short bits;
};

// The type of sums.
template <class T> struct sum_of {
    typedef float type;
};
template <> struct sum_of<double> {
    typedef double type;
};

DEVICE float widen(float x) { return x; }
DEVICE double widen(double x) { return x; }
DEVICE float widen(f16 x) { return float_of_half(x.bits); }
DEVICE float widen(bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }

// Round to nearest even; NaN stays NaN.
DEVICE void narrow(float x, float *to) { *to = x; }
DEVICE void narrow(double x, double *to) { *to = x; }
DEVICE void narrow(float x, f16 *to) { to->bits = half_of_float(x); }
DEVICE void narrow(float x, bf16 *to)
{
    const unsigned u = __float_as_uint(x);
    const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
    to->bits = (unsigned short)(nan ? (u >> 16 | 0x40u) : (u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

// A word of the machine that has so many bytes.
template <int BYTES> struct word;
template <> struct word<2> {
    typedef unsigned short type;
};
template <> struct word<4> {
    typedef unsigned type;
};
template <> struct word<8> {
    typedef uint2 type;
};
template <> struct word<16> {
    typedef uint4 type;
};

// N elements that are loaded and stored at once; their address is a multiple of their size.
template <class T, int N> struct alignas(N * sizeof(T) > 16 ? 16 : N * sizeof(T)) pack {
    T at[N];
};

// More than 16 bytes are loaded and stored in halves.
template <class T, int N> DEVICE pack<T, N> load(const T *from)
{
    pack<T, N> r;
    if constexpr (N * sizeof(T) > 16) {
        const pack<T, N / 2> low = load<T, N / 2>(from), high = load<T, N / 2>(from + N / 2);
        memcpy(&r, &low, sizeof low);
        memcpy(&r.at[N / 2], &high, sizeof high);
    } else {
        typedef typename word<N * sizeof(T)>::type W;
        const W w = __ldg((const W *)from);
        memcpy(&r, &w, sizeof w);
    }
    return r;
}

template <class T, int N> DEVICE void store(T *to, const pack<T, N> &v)
{
    if constexpr (N * sizeof(T) > 16) {
        pack<T, N / 2> half;
        memcpy(&half, &v, sizeof half);
        store<T, N / 2>(to, half);
        memcpy(&half, &v.at[N / 2], sizeof half);
        store<T, N / 2>(to + N / 2, half);
    } else {
        typedef typename word<N * sizeof(T)>::type W;
        W w;
        memcpy(&w, &v, sizeof w);
        __stwb((W *)to, w);
    }
}

template <class T> DEVICE typename sum_of<T>::type load_one(const T *from)
{
    return widen(load<T, 1>(from).at[0]);
}

template <class T> DEVICE typename sum_of<T>::type load_bias(const cvp_cuda_finish &f, int64_t c)
{
    return f.bias ? load_one((const T *)f.bias + c * f.bias_stride) : 0;
}

template <class T> DEVICE typename sum_of<T>::type load_old(const T *from)
{
    typedef typename word<sizeof(T)>::type W;
    const W w = __ldcg((const W *)from);
    T old;
    memcpy(&old, &w, sizeof w);
    return widen(old);
}

// What is written to an element of `out` for a sum; the element is read only where it is added to.
template <class T, class A>
DEVICE T finish(const cvp_cuda_finish &f, A sum, A bias, const T *to, const void *out)
{
    sum += bias;
    if (f.add) sum += load_old(to);
    if (f.residual) sum += load_one((const T *)f.residual + (to - (const T *)out));
    if (f.clamps) sum = sum < 0 ? (A)0 : sum > (A)f.high ? (A)f.high : sum;
    T r;
    narrow(sum, &r);
    return r;
}

DEVICE int at_least(int a, int b) { return a > b ? a : b; }
DEVICE int at_most(int a, int b) { return a < b ? a : b; }
DEVICE bool inside(int at, int size) { return (unsigned)at < (unsigned)size; }

// a / b, and the rest, for 0 <= a < 2^63. The product falls short by one at most.
DEVICE int64_t divide(int64_t a, const cvp_cuda_divisor &b, int *rest)
{
    int64_t q = (int64_t)__umul64hi((uint64_t)a, b.magic), r = a - q * b.by;
    if (r >= b.by) q++, r -= b.by;
    *rest = (int)r;
    return q;
}

} // namespace

#endif

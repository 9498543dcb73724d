// Depthwise with any window, stride, dilation, channel multiplier, strides of tensors, 1-D to 3-D: a
// thread an output, forward and backward by data; and the filter and bias gradients.
#ifndef CVP_CONV_CUDA_DEPTHWISE_DIRECT_CUH
#define CVP_CONV_CUDA_DEPTHWISE_DIRECT_CUH

#include "src/operator/convolution/cuda/kernels/sums.cuh"

namespace {

// The input that output o reads with tap k; false: none.
DEVICE bool find_input(const cvp_cuda_axis &x, bool backward, int o, int k, int *in)
{
    if (!backward) {
        const int64_t i = (int64_t)o * x.stride.by + (int64_t)k * x.d - x.p;
        *in = (int)i;
        return i >= 0 && i < x.in;
    }
    const int64_t t = (int64_t)o + x.p - (int64_t)k * x.d;
    if (t < 0) return false;
    int rest;
    const int64_t i = divide(t, x.stride, &rest);
    *in = (int)i;
    return rest == 0 && i < x.in;
}

template <class T> DEVICE void dw_direct(const cvp_dw_direct_args &a)
{
    typedef typename sum_of<T>::type A;
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.count) return;
    const cvp_cuda_axis &d = a.axis[0], &h = a.axis[1], &w = a.axis[2];
    int c, z, y, x;
    if (a.channels_last) i = divide(i, a.channels, &c);
    i = divide(i, w.out, &x);
    i = divide(i, h.out, &y);
    i = divide(i, d.out, &z);
    if (!a.channels_last) i = divide(i, a.channels, &c);
    const int64_t n = i;

    // Forward, output channel c reads one of src; backward, one of src has `multiplier` of dst.
    const int m = a.backward ? a.multiplier : 1, in_c = a.backward ? c * m : c / a.multiplier;
    const int w_c = a.backward ? c * m : c;
    const T *const in = (const T *)a.in + n * a.in_stride.n + in_c * a.in_stride.c;
    const T *const weights = (const T *)a.weights + w_c * a.weights_stride.n;
    A sum = 0;
    for (int kd = 0; kd < d.k; kd++) {
        int id, ih, iw;
        if (!find_input(d, a.backward, z, kd, &id)) continue;
        for (int kh = 0; kh < h.k; kh++) {
            if (!find_input(h, a.backward, y, kh, &ih)) continue;
            for (int kw = 0; kw < w.k; kw++) {
                if (!find_input(w, a.backward, x, kw, &iw)) continue;
                const T *from = in + id * a.in_stride.d + ih * a.in_stride.h + iw * a.in_stride.w;
                const T *by = weights + kd * a.weights_stride.d + kh * a.weights_stride.h +
                              kw * a.weights_stride.w;
                for (int j = 0; j < m; j++)
                    sum += load_one(by + j * a.weights_stride.n) *
                           load_one(from + j * a.in_stride.c);
            }
        }
    }
    T *const to = (T *)a.out + n * a.out_stride.n + c * a.out_stride.c + z * a.out_stride.d +
                  y * a.out_stride.h + x * a.out_stride.w;
    const T v = finish(a.finish, sum, load_bias<T>(a.finish, c), to, a.out);
    store<T, 1>(to, pack<T, 1>{{v}});
}

// Blocks: x the channel block, y the tap, z the part. Threads: `lanes` channels, the others pixels.
template <class T> DEVICE void dw_direct_filter(const cvp_dw_direct_filter_args &a)
{
    typedef typename sum_of<T>::type A;
    const cvp_cuda_axis &d = a.axis[0], &h = a.axis[1], &w = a.axis[2];
    const int c0 = blockIdx.x * a.lanes, c = c0 + threadIdx.x % a.lanes;
    const int lanes = blockDim.x / a.lanes, tap = blockIdx.y, taps_w = w.k, taps_h = h.k;
    const int kw = tap % taps_w, kh = tap / taps_w % taps_h, kd = tap / taps_w / taps_h;
    const int64_t part = blockIdx.z, end = (part + 1) * a.part_pixels;
    const int64_t last = end < a.pixels ? end : a.pixels;
    const T *const src = (const T *)a.src + c / a.multiplier * a.src_stride.c;
    const T *const dst = (const T *)a.dst + c * a.dst_stride.c;
    A sum = 0;
    for (int64_t i = part * a.part_pixels + threadIdx.x / a.lanes; i < last && c < a.channels;
         i += lanes) {
        int x, y, z, id, ih, iw;
        int64_t n = divide(i, w.out, &x);
        n = divide(n, h.out, &y);
        n = divide(n, d.out, &z);
        const T *const at = dst + n * a.dst_stride.n + z * a.dst_stride.d + y * a.dst_stride.h +
                            x * a.dst_stride.w;
        if (!a.src) {
            sum += load_one(at);
        } else if (find_input(d, false, z, kd, &id) && find_input(h, false, y, kh, &ih) &&
                   find_input(w, false, x, kw, &iw)) {
            sum += load_one(at) * load_one(src + n * a.src_stride.n + id * a.src_stride.d +
                                           ih * a.src_stride.h + iw * a.src_stride.w);
        }
    }
    A *const to = (A *)a.sums + (part * a.channels + c0) * (int64_t)gridDim.y + tap;
    const int owners = at_most(a.lanes, a.channels - c0);
    sum_block<A, 1>(&sum, owners, 1, lanes, a.lanes, [&](int owner, int, A total) {
        store<A, 1>(to + (int64_t)owner * gridDim.y, pack<A, 1>{{total}});
    });
}

// The second stage of all gradients of weights and bias: a thread an element, the parts in order.
template <class T> DEVICE void add_parts(const cvp_cuda_reduce_args &a)
{
    typedef typename sum_of<T>::type A;
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.count) return;
    A sum = 0;
    for (int64_t p = 0; p < a.parts; p++)
        sum += load<A, 1>((const A *)a.sums + p * a.count + i).at[0];
    int c, d, h, w;
    int64_t n = divide(i, a.w, &w);
    n = divide(n, a.h, &h);
    n = divide(n, a.d, &d);
    n = divide(n, a.c, &c);
    const cvp_cuda_strides &s = a.out_stride;
    T *const to = (T *)a.out + n * s.n + c * s.c + d * s.d + h * s.h + w * s.w;
    const cvp_cuda_finish f = {nullptr, nullptr, 0, a.add, 0, 0};
    store<T, 1>(to, pack<T, 1>{{finish(f, sum, (A)0, to, a.out)}});
}

} // namespace

#endif

// Depthwise, NC*, windows of fixed size: forward, and backward by data. A block copies its part of the
// input into shared memory, each element once and 16 bytes at a time, and marches down it. Of small
// images it takes several planes, of large ones a tile.
#ifndef CVP_CONV_CUDA_DEPTHWISE_FIRST_CUH
#define CVP_CONV_CUDA_DEPTHWISE_FIRST_CUH

#include "src/operator/convolution/cuda/kernels/march.cuh"
#include "src/operator/convolution/cuda/kernels/tile.cuh"

namespace {

// Weights of channel c; reversed if `flip`.
template <class T, int K>
DEVICE void load_taps(taps<typename sum_of<T>::type, K, 1> &w, const T *weights, int c, int flip)
{
    const T *of = weights + (int64_t)c * (K * K);
#pragma unroll
    for (int k = 0; k < K * K; k++) w.at[k / K][k % K][0] = load_one(of + (flip ? K * K - 1 - k : k));
}

template <class T, int K, int S, bool BACK> DEVICE void dw_first(const cvp_dw_args &a)
{
    typedef typename sum_of<T>::type A;
    typedef window<K, S, BACK> W;
    // Two elements of 16 bits are a word of shared memory, and of a store.
    constexpr int UNITS = sizeof(T) == 2 && !BACK ? 2 : 1, I = W::OUTPUTS, OUT = UNITS * I;
    T *const tile = (T *)cvp_shared;

    const int tiles = a.row_tiles * a.column_tiles, at = blockIdx.x % tiles;
    const int plane0 = (int)(blockIdx.x / tiles) * a.block_planes;
    const int planes = at_most(a.block_planes, a.planes - plane0);
    const int row0 = at / a.column_tiles * a.block_rows, column0 = at % a.column_tiles * a.block_columns;
    const int units_h = (a.out_h + I - 1) / I, units_w = (a.out_w + OUT - 1) / OUT;
    const int rows = at_most(a.block_rows, units_h - row0);
    const int columns = at_most(a.block_columns, units_w - column0);

    // What of the image the block reads: rows [y0, y1), columns [x0, x1). Several planes are copied
    // as a whole, in one run.
    const bool whole_planes = a.block_planes > 1;
    const int y0 = whole_planes ? 0 : at_least(row0 * W::STEP + a.first_h, 0);
    const int y1 = whole_planes
                       ? a.in_h
                       : at_most((row0 + rows - 1) * W::STEP + W::REACH + a.first_h, a.in_h);
    const int xs = W::STEP * UNITS, reach = (UNITS - 1) * W::STEP + W::REACH;
    const int x0 = a.column_tiles == 1 ? 0 : at_least(column0 * xs + a.first_w, 0);
    const int x1 = a.column_tiles == 1
                       ? a.in_w
                       : at_most((column0 + columns - 1) * xs + reach + a.first_w, a.in_w);
    const int plane_rows = at_least(y1 - y0, 0);
    const T *from = (const T *)a.in + ((int64_t)plane0 * a.in_h + y0) * a.in_w + x0;
    tile_rows in = {0, 0, 0, 0};
    if (x1 > x0) in = copy_rows(tile, from, x1 - x0, a.in_w, planes * plane_rows);
    __syncthreads();

    const int groups = (rows + a.thread_rows - 1) / a.thread_rows, items = planes * groups * columns;
    for (int item = threadIdx.x; item < items; item += blockDim.x) {
        const int column = column0 + item % columns, group = item / columns % groups;
        const int p = item / columns / groups, c = (plane0 + p) % a.channels;
        const int row = row0 + group * a.thread_rows;
        taps<A, K, 1> w;
        load_taps<T, K>(w, (const T *)a.weights, c, a.flip);
        const A bias = load_bias<T>(a.finish, c);
        const int x = column * xs + a.first_w;
        T *const out = (T *)a.out + (int64_t)(plane0 + p) * a.out_h * a.out_w;
        march<A, K, S, BACK, UNITS, 1>(
            w, row, at_most(a.thread_rows, row0 + rows - row), a.first_h,
            [&](int y, A(*v)[1]) {
                if (y < y0 || y >= y1) return false;
                const T *const line = tile + in.at(p * plane_rows + y - y0) - x0;
#pragma unroll
                for (int i = 0; i < reach; i++)
                    v[i][0] = inside(x + i, a.in_w) ? widen(line[x + i]) : (A)0;
                return true;
            },
            [&](int unit, A(*sum)[OUT][1]) {
                const int ox = column * OUT;
#pragma unroll
                for (int i = 0; i < I; i++) {
                    const int y = unit * I + i;
                    if (y >= a.out_h) return;
                    T *const to = out + (int64_t)y * a.out_w + ox;
                    pack<T, OUT> v;
#pragma unroll
                    for (int o = 0; o < OUT; o++)
                        if (ox + o < a.out_w) v.at[o] = finish(a.finish, sum[i][o][0], bias, to + o, a.out);
                    if (OUT == 2 && a.out_w % 2 == 0) {
                        store<T, OUT>(to, v);
                        continue;
                    }
#pragma unroll
                    for (int o = 0; o < OUT; o++)
                        if (ox + o < a.out_w) store<T, 1>(to + o, pack<T, 1>{{v.at[o]}});
                }
            });
    }
}

} // namespace

#endif

// Depthwise, NC*, windows of fixed size: the filter gradient. A block has some channels and walks over
// the tiles of its part, images and rows; of each it copies src and the gradient of dst into shared
// memory. A thread stays with one channel and one column of the tile.
#ifndef CVP_CONV_CUDA_DEPTHWISE_FIRST_FILTER_CUH
#define CVP_CONV_CUDA_DEPTHWISE_FIRST_FILTER_CUH

#include "src/operator/convolution/cuda/kernels/sums.cuh"
#include "src/operator/convolution/cuda/kernels/tile.cuh"

namespace {

template <class T, int K, int S> DEVICE void dw_first_filter(const cvp_dw_filter_args &a)
{
    typedef typename sum_of<T>::type A;
    constexpr int V = whole<T>();

    const int blocks = (a.channels + a.block_planes - 1) / a.block_planes;
    const int c0 = (int)(blockIdx.x % blocks) * a.block_planes;
    const int planes = at_most(a.block_planes, a.channels - c0);
    const int part = blockIdx.x / blocks, first = part * a.part_tiles;
    const int tiles = a.row_tiles * a.column_tiles, all = a.mb * tiles;
    const int groups = (a.block_rows + a.thread_rows - 1) / a.thread_rows;
    const int lane = threadIdx.x % a.block_columns, group = threadIdx.x / a.block_columns % groups;
    const int p = threadIdx.x / a.block_columns / groups;

    taps<A, K, 1> sum;
#pragma unroll
    for (int k = 0; k < K * K; k++) sum.at[k / K][k % K][0] = 0;
    for (int t = first; t < at_most(first + a.part_tiles, all); t++) {
        const int n = t / tiles, at = t % tiles;
        const int row0 = at / a.column_tiles * a.block_rows;
        const int column0 = at % a.column_tiles * a.block_columns;
        const int rows = at_most(a.block_rows, a.out_h - row0);
        const int columns = at_most(a.block_columns, a.out_w - column0);
        const bool whole_planes = a.block_planes > 1;
        const int y0 = whole_planes ? 0 : at_least(row0 * S - a.pad_h, 0);
        const int y1 = whole_planes ? a.in_h
                                    : at_most((row0 + rows - 1) * S + K - a.pad_h, a.in_h);
        const bool whole_rows = a.column_tiles == 1;
        const int x0 = whole_rows ? 0 : at_least(column0 * S - a.pad_w, 0);
        const int x1 = whole_rows ? a.in_w
                                  : at_most((column0 + columns - 1) * S + K - a.pad_w, a.in_w);
        const int plane_rows = at_least(y1 - y0, 0);
        const int64_t plane = (int64_t)n * a.channels + c0;
        __syncthreads(); // all have read the tiles before
        tile_rows in = {0, 0, 0, 0};
        T *const src = (T *)cvp_shared;
        if (x1 > x0)
            in = copy_rows(src, (const T *)a.src + (plane * a.in_h + y0) * a.in_w + x0, x1 - x0,
                           a.in_w, planes * plane_rows);
        T *const dst = src + ((planes * plane_rows * in.pitch + 2 * V - 1) / V) * V;
        const tile_rows g = copy_rows(
            dst, (const T *)a.dst + (plane * a.out_h + row0) * a.out_w + column0, columns, a.out_w,
            planes * rows);
        __syncthreads();
        const int row = group * a.thread_rows;
        if (p >= planes || lane >= columns || row >= rows) continue;
        const int x = (column0 + lane) * S - a.pad_w;
        march_filter<A, K, S, 1>(
            sum, row0 + row, at_most(a.thread_rows, rows - row), -a.pad_h,
            [&](int y, A(*v)[1]) {
                if (y < y0 || y >= y1) return false;
                const T *const line = src + in.at(p * plane_rows + y - y0) - x0;
#pragma unroll
                for (int i = 0; i < K; i++)
                    v[i][0] = inside(x + i, a.in_w) ? widen(line[x + i]) : (A)0;
                return true;
            },
            [&](int y, A *to) { to[0] = widen(dst[g.at(p * rows + y - row0) + lane]); });
    }
    A *const to = (A *)a.sums + ((int64_t)part * a.channels + c0) * (K * K);
    const int terms = a.block_columns * groups;
    sum_taps<A, K, 1>(sum, planes, terms, terms, 1, to);
}

} // namespace

#endif

// Depthwise, N*C, windows of fixed size: forward, backward by data, and the filter gradient. A thread
// has a few channels side by side, which are one load, and marches down the image; what its
// neighbours in the block read too comes from the first cache.
#ifndef CVP_CONV_CUDA_DEPTHWISE_LAST_CUH
#define CVP_CONV_CUDA_DEPTHWISE_LAST_CUH

#include "src/operator/convolution/cuda/kernels/march.cuh"
#include "src/operator/convolution/cuda/kernels/sums.cuh"

namespace {

// Channels of a thread: as many as registers hold the weights of.
template <int K> __device__ constexpr int last_channels()
{
    return K == 3 ? 4 : 2;
}

// The place of a thread in its block: lanes lie along channel vectors, then along columns.
struct last_lane {
    int vector, column, group;
};

DEVICE last_lane find_lane(int vectors, int columns)
{
    const int t = threadIdx.x;
    return {t % vectors, t / vectors % columns, t / vectors / columns};
}

// Inputs of row y from column x on, zero outside of the image.
template <class T, int N, int V>
DEVICE void read_row(const T *image, int y, int x, int in_w, int channels,
                     typename sum_of<T>::type (*v)[V])
{
    const T *const line = image + (int64_t)y * in_w * channels;
#pragma unroll
    for (int i = 0; i < N; i++) {
        pack<T, V> p;
        const bool in = inside(x + i, in_w);
        if (in) p = load<T, V>(line + (int64_t)(x + i) * channels);
#pragma unroll
        for (int j = 0; j < V; j++) v[i][j] = in ? widen(p.at[j]) : 0;
    }
}

template <class T, int K, int S, bool BACK> DEVICE void dw_last(const cvp_dw_args &a)
{
    typedef typename sum_of<T>::type A;
    typedef window<K, S, BACK> W;
    constexpr int V = last_channels<K>(), I = W::OUTPUTS, UNITS = K == 3 && S == 1 && !BACK ? 2 : 1;
    constexpr int OUT = UNITS * I, INPUTS = (UNITS - 1) * W::STEP + W::REACH;

    const int vectors = a.channels / V, blocks = (vectors + a.block_planes - 1) / a.block_planes;
    const int units_h = (a.out_h + I - 1) / I, units_w = (a.out_w + OUT - 1) / OUT;
    unsigned b = blockIdx.x;
    const int column0 = (int)(b % a.column_tiles) * a.block_columns;
    b /= a.column_tiles;
    const int vector0 = (int)(b % blocks) * a.block_planes;
    b /= blocks;
    const int row0 = (int)(b % a.row_tiles) * a.block_rows;
    const int64_t n = b / a.row_tiles;
    const last_lane lane = find_lane(a.block_planes, a.block_columns);
    const int column = column0 + lane.column, row = row0 + lane.group * a.thread_rows;
    const int c = (vector0 + lane.vector) * V;
    const int rows = at_most(a.thread_rows, at_most(row0 + a.block_rows, units_h) - row);
    if (c >= a.channels || column >= units_w || rows <= 0) return;

    taps<A, K, V> w;
    A bias[V];
#pragma unroll
    for (int i = 0; i < V; i++) {
        const T *const of = (const T *)a.weights + (int64_t)(c + i) * (K * K);
        bias[i] = load_bias<T>(a.finish, c + i);
#pragma unroll
        for (int k = 0; k < K * K; k++)
            w.at[k / K][k % K][i] = load_one(of + (a.flip ? K * K - 1 - k : k));
    }
    const T *const in = (const T *)a.in + n * a.in_h * a.in_w * a.channels + c;
    T *const out = (T *)a.out + n * a.out_h * a.out_w * a.channels + c;
    march<A, K, S, BACK, UNITS, V>(
        w, row, rows, a.first_h,
        [&](int y, A(*v)[V]) {
            if (!inside(y, a.in_h)) return false;
            read_row<T, INPUTS, V>(in, y, column * (W::STEP * UNITS) + a.first_w, a.in_w, a.channels,
                                   v);
            return true;
        },
        [&](int unit, A(*sum)[OUT][V]) {
#pragma unroll
            for (int i = 0; i < I; i++)
#pragma unroll
                for (int o = 0; o < OUT; o++) {
                    const int y = unit * I + i, x = column * OUT + o;
                    if (y >= a.out_h || x >= a.out_w) continue;
                    T *const to = out + ((int64_t)y * a.out_w + x) * a.channels;
                    pack<T, V> v;
#pragma unroll
                    for (int j = 0; j < V; j++)
                        v.at[j] = finish(a.finish, sum[i][o][j], bias[j], to + j, a.out);
                    store<T, V>(to, v);
                }
        });
}

// Blocks: part, then channel block the fastest.
template <class T, int K, int S> DEVICE void dw_last_filter(const cvp_dw_filter_args &a)
{
    typedef typename sum_of<T>::type A;
    constexpr int V = last_channels<K>();

    const int vectors = a.channels / V, blocks = (vectors + a.block_planes - 1) / a.block_planes;
    const int vector0 = (int)(blockIdx.x % blocks) * a.block_planes;
    const int part = blockIdx.x / blocks, first = part * a.part_tiles;
    const int tiles = a.row_tiles * a.column_tiles, all = a.mb * tiles;
    const last_lane lane = find_lane(a.block_planes, a.block_columns);
    const int c = (vector0 + lane.vector) * V;

    taps<A, K, V> sum;
#pragma unroll
    for (int k = 0; k < K * K; k++)
#pragma unroll
        for (int i = 0; i < V; i++) sum.at[k / K][k % K][i] = 0;
    for (int t = first; t < at_most(first + a.part_tiles, all); t++) {
        const int64_t n = t / tiles;
        const int at = t % tiles;
        const int row0 = at / a.column_tiles * a.block_rows;
        const int column = at % a.column_tiles * a.block_columns + lane.column;
        const int row = row0 + lane.group * a.thread_rows;
        const int rows = at_most(a.thread_rows, at_most(row0 + a.block_rows, a.out_h) - row);
        if (c >= a.channels || column >= a.out_w || rows <= 0) continue;
        const T *const src = (const T *)a.src + n * a.in_h * a.in_w * a.channels + c;
        const T *const dst =
            (const T *)a.dst + (n * a.out_h * a.out_w + column) * a.channels + c;
        march_filter<A, K, S, V>(
            sum, row, rows, -a.pad_h,
            [&](int y, A(*v)[V]) {
                if (!inside(y, a.in_h)) return false;
                read_row<T, K, V>(src, y, column * S - a.pad_w, a.in_w, a.channels, v);
                return true;
            },
            [&](int y, A *g) {
                const pack<T, V> p = load<T, V>(dst + (int64_t)y * a.out_w * a.channels);
#pragma unroll
                for (int i = 0; i < V; i++) g[i] = widen(p.at[i]);
            });
    }
    A *const to = (A *)a.sums + ((int64_t)part * a.channels + vector0 * V) * (K * K);
    const int lanes = at_most(a.block_planes, vectors - vector0);
    sum_taps<A, K, V>(sum, lanes, 1, blockDim.x / a.block_planes, a.block_planes, to);
}

} // namespace

#endif

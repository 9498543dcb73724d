// Implicit GEMM: a convolution, its backward by data (one phase a launch) and its filter gradient as a
// product whose image operand is read where it lies. A block computes a tile of rows by columns, a
// thread TM by TN of it in registers; the next slice of the depth is on its way while one is computed.
#ifndef CVP_CONV_CUDA_GEMM_CUH
#define CVP_CONV_CUDA_GEMM_CUH

#include "src/operator/convolution/cuda/kernels/device.cuh"

namespace {

constexpr int GEMM_DEPTH = 8;  // of a slice
constexpr int GEMM_AHEAD = 32; // places of the depth that are found at once, by a warp

// Where a row or a depth lies: offsets into the image and the other tensor (of a row of data: into
// out), and the image's coordinates, of which the row's and the depth's sum must be inside.
struct gemm_place {
    int64_t image, other;
    int d, h, w, none;
};

// Far outside of every image, so that the sum of both is too.
DEVICE gemm_place nowhere()
{
    return {0, 0, -(1 << 30), 0, 0, 1};
}

DEVICE gemm_place find_pixel(const cvp_gemm_args &a, int64_t i)
{
    if (i >= a.pixels) return nowhere();
    int t[3];
    for (int x = 2; x >= 0; x--) i = divide(i, a.walk[x].count, &t[x]);
    int at[3], out[3];
    for (int x = 0; x < 3; x++) {
        at[x] = t[x] * a.walk[x].in_step + a.walk[x].at_first;
        out[x] = a.walk[x].out_first + t[x] * a.walk[x].out_step;
    }
    const cvp_cuda_strides &in = a.image_stride, &to = a.filter ? a.other_stride : a.out_stride;
    return {i * in.n + at[0] * in.d + at[1] * in.h + at[2] * in.w,
            i * to.n + out[0] * to.d + out[1] * to.h + out[2] * to.w,
            at[0],
            at[1],
            at[2],
            0};
}

DEVICE int64_t gemm_taps(const cvp_gemm_args &a)
{
    return a.walk[0].taps.by * a.walk[1].taps.by * a.walk[2].taps.by;
}

// Places of taps lie channel by channel.
DEVICE gemm_place find_tap(const cvp_gemm_args &a, int64_t i)
{
    if (i >= gemm_taps(a) * a.image_channels.by) return nowhere();
    int j[3], c;
    i = divide(i, a.image_channels, &c);
    for (int x = 2; x >= 0; x--) i = divide(i, a.walk[x].taps, &j[x]);
    int at[3], k[3];
    for (int x = 0; x < 3; x++) {
        at[x] = j[x] * a.walk[x].at_step;
        k[x] = a.walk[x].k_first + j[x] * a.walk[x].k_step;
    }
    const cvp_cuda_strides &in = a.image_stride, &w = a.other_stride;
    const int64_t weights = c * w.c + k[0] * w.d + k[1] * w.h + k[2] * w.w;
    return {c * in.c + at[0] * in.d + at[1] * in.h + at[2] * in.w,
            a.filter ? 0 : weights,
            at[0],
            at[1],
            at[2],
            0};
}

DEVICE bool in_image(const cvp_gemm_args &a, const gemm_place &x, const gemm_place &y)
{
    return inside(x.d + y.d, a.walk[0].in_size) && inside(x.h + y.h, a.walk[1].in_size) &&
           inside(x.w + y.w, a.walk[2].in_size);
}

// Element i, 0..3, that this thread loads of a slice that is ACROSS wide.
template <int ACROSS, int THREADS> DEVICE void find_element(int load, int i, int *across, int *deep)
{
    const int t = threadIdx.x, e = t + i * THREADS;
    switch (load) {
    case CVP_GEMM_DEEP: *across = e / GEMM_DEPTH, *deep = e % GEMM_DEPTH; break;
    case CVP_GEMM_ACROSS: *across = e % ACROSS, *deep = e / ACROSS; break;
    case CVP_GEMM_DEEP_4:
        *across = t / (GEMM_DEPTH / 4), *deep = t % (GEMM_DEPTH / 4) * 4 + i;
        break;
    default: *across = t % (ACROSS / 4) * 4 + i, *deep = t / (ACROSS / 4); break;
    }
}

// The elements of a slice that this thread loads; address(across, deep) is null for a zero.
template <class T, class A, int ACROSS, int THREADS, class Address>
DEVICE void load_slice(int load, A *v, Address address)
{
    static_assert(ACROSS * GEMM_DEPTH == 4 * THREADS, "four elements a thread");
    int across, deep;
    if (load >= CVP_GEMM_DEEP_4) {
        find_element<ACROSS, THREADS>(load, 0, &across, &deep);
        const T *const from = address(across, deep);
        if (from) {
            const pack<T, 4> p = ::load<T, 4>(from);
#pragma unroll
            for (int i = 0; i < 4; i++) v[i] = widen(p.at[i]);
        } else {
#pragma unroll
            for (int i = 0; i < 4; i++) v[i] = 0;
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        find_element<ACROSS, THREADS>(load, i, &across, &deep);
        const T *const from = address(across, deep);
        v[i] = from ? load_one(from) : (A)0;
    }
}

template <class A, int ACROSS, int THREADS> DEVICE void put_slice(int load, A (*slice)[ACROSS + 4], const A *v)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int across, deep;
        find_element<ACROSS, THREADS>(load, i, &across, &deep);
        slice[deep][across] = v[i];
    }
}

template <class A, int ROWS, int COLUMNS> struct gemm_shared {
    A image[2][GEMM_DEPTH][ROWS + 4], other[2][GEMM_DEPTH][COLUMNS + 4];
    gemm_place row[ROWS], depth[2][GEMM_AHEAD];
};

// Rows or columns of a thread: fours that lie apart, so that neighbours read neighbouring words.
template <int TILE, int OF> DEVICE int element_of(int thread, int i)
{
    return i / 4 * (TILE / (OF / 4)) + thread * 4 + i % 4;
}

template <class A, int TILE, int OF> DEVICE void read_slice(const A *line, int thread, A *v)
{
#pragma unroll
    for (int i = 0; i < OF; i += 4) {
        const pack<A, 4> p = *(const pack<A, 4> *)(line + element_of<TILE, OF>(thread, i));
#pragma unroll
        for (int j = 0; j < 4; j++) v[i + j] = p.at[j];
    }
}

template <class T, class A, int ROWS, int COLUMNS, int TM, int TN>
DEVICE void put_data(const cvp_gemm_args &a, const gemm_place *row, A (*sum)[TN], int tx, int ty, int column0)
{
    const int64_t channel0 = (int64_t)(blockIdx.z % a.groups) * a.columns;
    T *const out = (T *)a.out;
#pragma unroll
    for (int j = 0; j < TN; j++) {
        const int column = column0 + element_of<COLUMNS, TN>(ty, j);
        if (column >= a.columns) continue;
        const A bias = load_bias<T>(a.finish, channel0 + column);
#pragma unroll
        for (int i = 0; i < TM; i++) sum[i][j] += bias;
    }
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) {
            const bool by_rows = a.store == CVP_GEMM_ROWS_4, by_columns = a.store == CVP_GEMM_COLUMNS_4;
            if ((by_rows && i % 4) || (by_columns && j % 4)) continue;
            const int column = column0 + element_of<COLUMNS, TN>(ty, j);
            const gemm_place &at = row[element_of<ROWS, TM>(tx, i)];
            if (at.none || column >= a.columns) continue;
            T *const to = out + at.other + (channel0 + column) * a.out_stride.c;
            if (!by_rows && !by_columns) {
                store<T, 1>(to, pack<T, 1>{{finish(a.finish, sum[i][j], (A)0, to, a.out)}});
                continue;
            }
            pack<T, 4> v;
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const A s = by_rows ? sum[(i + e) % TM][j] : sum[i][(j + e) % TN];
                v.at[e] = finish(a.finish, s, (A)0, to + e, a.out);
            }
            store<T, 4>(to, v);
        }
}

template <class A, int ROWS, int COLUMNS, int TM, int TN>
DEVICE void put_sums(const cvp_gemm_args &a, A (*sum)[TN], int tx, int ty, int64_t row0, int column0)
{
    const int64_t taps = gemm_taps(a), channels = a.image_channels.by;
    A *const out = (A *)a.out + (int64_t)blockIdx.z * a.columns * channels * taps;
#pragma unroll
    for (int i = 0; i < TM; i++) {
        int c;
        const int64_t tap = divide(row0 + element_of<ROWS, TM>(tx, i), a.image_channels, &c);
        if (tap >= taps) continue;
#pragma unroll
        for (int j = 0; j < TN; j++) {
            const int column = column0 + element_of<COLUMNS, TN>(ty, j);
            if (column >= a.columns) continue;
            store<A, 1>(out + (column * channels + c) * taps + tap,
                        pack<A, 1>{{sum[i][j]}});
        }
    }
}

template <class T, int ROWS, int COLUMNS, int TM, int TN> DEVICE void gemm(const cvp_gemm_args &a)
{
    typedef typename sum_of<T>::type A;
    constexpr int THREADS = ROWS * COLUMNS / (TM * TN), SLICES = GEMM_AHEAD / GEMM_DEPTH;
    gemm_shared<A, ROWS, COLUMNS> &s = *(gemm_shared<A, ROWS, COLUMNS> *)cvp_shared;
    const int group = blockIdx.z % a.groups, t = threadIdx.x;
    const int tx = t % (ROWS / TM), ty = t / (ROWS / TM);
    const int64_t row0 = (int64_t)blockIdx.x * ROWS;
    const int column0 = blockIdx.y * COLUMNS;
    const T *const image = (const T *)a.image + group * a.image_channels.by * a.image_stride.c;
    const T *const other = (const T *)a.other + group * a.other_group;
    const int64_t column_stride = a.filter ? a.other_stride.c : a.other_stride.n;

    const int64_t all = a.filter ? a.pixels : gemm_taps(a) * a.image_channels.by;
    const int64_t depth0 = (int64_t)(blockIdx.z / a.groups) * a.part_depth;
    const int64_t depth = all - depth0 < a.part_depth ? all - depth0 : a.part_depth;
    const int64_t slices = depth > 0 ? (depth + GEMM_DEPTH - 1) / GEMM_DEPTH : 0;

    // The places of GEMM_AHEAD of the depth, found by a warp's lanes.
    auto look_ahead = [&](int64_t chunk, int lane) {
        const int64_t i = depth0 + chunk * GEMM_AHEAD + lane;
        s.depth[chunk % 2][lane] = a.filter ? find_pixel(a, i) : find_tap(a, i);
    };
    A image_part[4], other_part[4];
    auto load_both = [&](int64_t slice) {
        const gemm_place *const deep = s.depth[slice / SLICES % 2] + slice % SLICES * GEMM_DEPTH;
        load_slice<T, A, ROWS, THREADS>(a.image_load, image_part, [&](int m, int k) {
            const bool in = in_image(a, s.row[m], deep[k]);
            return in ? image + s.row[m].image + deep[k].image : (const T *)nullptr;
        });
        load_slice<T, A, COLUMNS, COLUMNS * GEMM_DEPTH / 4>(a.other_load, other_part, [&](int n, int k) {
            const bool in = column0 + n < a.columns && !deep[k].none;
            return in ? other + deep[k].other + (column0 + n) * column_stride : (const T *)nullptr;
        });
    };
    auto put_both = [&](int64_t slice) {
        put_slice<A, ROWS, THREADS>(a.image_load, s.image[slice % 2], image_part);
        put_slice<A, COLUMNS, COLUMNS * GEMM_DEPTH / 4>(a.other_load, s.other[slice % 2], other_part);
    };

    for (int i = t; i < ROWS; i += THREADS)
        s.row[i] = a.filter ? find_tap(a, row0 + i) : find_pixel(a, row0 + i);
    if (t < 2 * GEMM_AHEAD) look_ahead(t / GEMM_AHEAD, t % GEMM_AHEAD);
    A sum[TM][TN];
#pragma unroll
    for (int i = 0; i < TM * TN; i++) sum[i / TN][i % TN] = 0;
    __syncthreads();
    if (slices > 0) {
        load_both(0);
        put_both(0);
    }
    __syncthreads();
    for (int64_t slice = 0; slice < slices; slice++) {
        if (slice > 0 && slice % SLICES == 0 && t < GEMM_AHEAD) look_ahead(slice / SLICES + 1, t);
        if (slice + 1 < slices) load_both(slice + 1);
#pragma unroll
        for (int k = 0; k < GEMM_DEPTH; k++) {
            A x[TM], y[TN];
            read_slice<A, ROWS, TM>(s.image[slice % 2][k], tx, x);
            read_slice<A, COLUMNS, TN>(s.other[slice % 2][k], ty, y);
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++) sum[i][j] += x[i] * y[j];
        }
        if (slice + 1 < slices) put_both(slice + 1);
        __syncthreads();
    }
    if (a.filter)
        put_sums<A, ROWS, COLUMNS, TM, TN>(a, sum, tx, ty, row0, column0);
    else
        put_data<T, A, ROWS, COLUMNS, TM, TN>(a, s.row, sum, tx, ty, column0);
}

} // namespace

#endif

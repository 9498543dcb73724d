// The march of a thread down an image: it takes the input row by row, each element once, and keeps a
// partial sum for every output row that the input row is part of. When the last of its rows has come,
// an output row leaves and the others move up.
//
// A unit is one output, or for BACK (backward by data at stride 2, padding K / 2) the pair of outputs
// that one input step brings. Output i of unit u reads, with its tap k,
//     forward       in[u * S + k + first]
//     BACK          in[u + e + FIRST], k = i + K / 2 - 2 * (e + FIRST), for the e that give 0 <= k < K
// In stride 1 backward by data is forward with the taps reversed.
#ifndef CVP_CONV_CUDA_MARCH_CUH
#define CVP_CONV_CUDA_MARCH_CUH

#include "src/operator/convolution/cuda/kernels/device.cuh"

namespace {

template <int K, int S, bool BACK> struct window {
    static constexpr int OUTPUTS = BACK ? 2 : 1;              // of a unit, along an axis
    static constexpr int STEP = BACK ? 1 : S;                 // inputs from unit to unit
    static constexpr int FIRST = -((K - 1 - K / 2) / 2);      // BACK: the first e
    static constexpr int REACH = BACK ? (1 + K / 2) / 2 - FIRST + 1 : K; // inputs of a unit
    static constexpr int SLOTS = (REACH - 1) / STEP + 1;      // units that share an input row

    // The tap of output i that reads the unit's input number e; below 0 or K and above: none.
    static __device__ constexpr int tap(int i, int e) { return BACK ? i + K / 2 - 2 * (e + FIRST) : e; }
    static __device__ constexpr bool has(int i, int e) { return tap(i, e) >= 0 && tap(i, e) < K; }
};

// The weights of a channel vector, V channels a tap.
template <class A, int K, int V> struct taps {
    A at[K][K][V];
};

// Marches over `rows` units from unit row `row`, at a column of UNITS units. `read(y, v)` gives the
// inputs of row y, v[INPUTS][V], or returns false where it is outside; `write(row, sums)` takes
// sums[OUTPUTS][UNITS * OUTPUTS][V] of a unit row.
template <class A, int K, int S, bool BACK, int UNITS, int V, class Read, class Write>
DEVICE void march(const taps<A, K, V> &w, int row, int rows, int first, Read read, Write write)
{
    typedef window<K, S, BACK> W;
    constexpr int I = W::OUTPUTS, INPUTS = (UNITS - 1) * W::STEP + W::REACH, SLOTS = W::SLOTS;
    A sum[SLOTS][I][UNITS * I][V];
#pragma unroll
    for (int t = 0; t < SLOTS; t++)
#pragma unroll
        for (int i = 0; i < I * UNITS * I * V; i++) (&sum[t][0][0][0])[i] = 0;
    for (int m = 0; m < rows + SLOTS - 1; m++) {
#pragma unroll
        for (int q = 0; q < W::STEP; q++) {
            A v[INPUTS][V];
            // Below the last row that is computed nothing is read.
            if (m >= rows && q + W::STEP * (m - rows + 1) >= W::REACH) continue;
            if (!read((row + m) * W::STEP + q + first, v)) continue;
#pragma unroll
            for (int t = 0; t < SLOTS; t++)
#pragma unroll
                for (int i = 0; i < I; i++) {
                    if (q + W::STEP * t >= W::REACH || !W::has(i, q + W::STEP * t)) continue;
#pragma unroll
                    for (int x = 0; x < INPUTS; x++)
#pragma unroll
                        for (int o = 0; o < UNITS * I; o++) {
                            const int e = x - o / I * W::STEP;
                            if (e < 0 || e >= W::REACH || !W::has(o % I, e)) continue;
#pragma unroll
                            for (int c = 0; c < V; c++)
                                sum[t][i][o][c] +=
                                    w.at[W::tap(i, q + W::STEP * t)][W::tap(o % I, e)][c] * v[x][c];
                        }
                }
        }
        if (m >= SLOTS - 1) write(row + m - (SLOTS - 1), sum[SLOTS - 1]);
#pragma unroll
        for (int t = SLOTS - 1; t > 0; t--)
#pragma unroll
            for (int i = 0; i < I * UNITS * I * V; i++)
                (&sum[t][0][0][0])[i] = (&sum[t - 1][0][0][0])[i];
#pragma unroll
        for (int i = 0; i < I * UNITS * I * V; i++) (&sum[0][0][0][0])[i] = 0;
    }
}

// The march of the filter gradient: `read` as above; `gradient(row, g)` gives g[V] of dst, asked for
// each row of [row, row + rows) once. Adds to `sum`.
template <class A, int K, int S, int V, class Read, class Gradient>
DEVICE void march_filter(taps<A, K, V> &sum, int row, int rows, int first, Read read,
                         Gradient gradient)
{
    constexpr int SLOTS = (K - 1) / S + 1;
    A g[SLOTS][V];
#pragma unroll
    for (int t = 0; t < SLOTS; t++)
#pragma unroll
        for (int c = 0; c < V; c++) g[t][c] = 0;
    for (int m = 0; m < rows + SLOTS - 1; m++) {
        if (m < rows) gradient(row + m, g[0]);
#pragma unroll
        for (int q = 0; q < S; q++) {
            A v[K][V];
            if (m >= rows && q + S * (m - rows + 1) >= K) continue;
            if (!read((row + m) * S + q + first, v)) continue;
#pragma unroll
            for (int t = 0; t < SLOTS; t++) {
                // Without the test an infinite input next to these rows would give NaN.
                if (q + S * t >= K || m < t || m - t >= rows) continue;
#pragma unroll
                for (int x = 0; x < K; x++)
#pragma unroll
                    for (int c = 0; c < V; c++) sum.at[q + S * t][x][c] += g[t][c] * v[x][c];
            }
        }
#pragma unroll
        for (int t = SLOTS - 1; t > 0; t--)
#pragma unroll
            for (int c = 0; c < V; c++) g[t][c] = g[t - 1][c];
    }
}

} // namespace

#endif

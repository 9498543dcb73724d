// Copies from a tensor into shared memory, as the elements lie, for blocks that take whole rows or
// planes: one run of memory, whatever the image's width. Where runs are rows of a column tile, warps
// take one each.
#ifndef CVP_CONV_CUDA_TILE_CUH
#define CVP_CONV_CUDA_TILE_CUH

#include "src/operator/convolution/cuda/kernels/device.cuh"

namespace {

// Elements of 16 bytes.
template <class T> __device__ constexpr int whole()
{
    return (int)(16 / sizeof(T));
}

// How far an address lies past a multiple of 16 bytes, in elements. A tile begins as far past one, so
// that 16 bytes of the tensor are 16 bytes of the tile.
template <class T> DEVICE int misfit(const T *from)
{
    return (int)((uintptr_t)from / sizeof(T) % (unsigned)whole<T>());
}

// `n` elements to tile[misfit...], by `lanes` threads of which this one is number `lane`. Tiles begin
// at a multiple of 16 bytes.
template <class T> DEVICE void copy_run(T *tile, const T *from, int n, int lane, int lanes)
{
    constexpr int V = whole<T>();
    const int skip = misfit(from), head = at_most((V - skip) % V, n), vectors = (n - head) / V;
    T *to = tile + skip;
    const T *body = from + head;
#pragma unroll 4
    for (int i = lane; i < vectors; i += lanes)
        *(pack<T, V> *)(to + head + i * V) = load<T, V>(body + i * V);
    const int tail = n - head - vectors * V;
    for (int i = lane; i < head + tail; i += lanes) {
        const int at = i < head ? i : i + vectors * V;
        to[at] = load<T, 1>(from + at).at[0];
    }
}

// Where the rows of a tile lie in shared memory.
struct tile_rows {
    int pitch, misfit, step, mask;

    DEVICE_MEMBER int at(int r) const { return r * pitch + ((misfit + r * step) & mask); }
};

// Elements from row to row of a tile; as many as in the tensor where rows are whole, and are then
// copied as one run.
template <class T> DEVICE int tile_pitch(int n, int pitch)
{
    constexpr int V = whole<T>();
    return n == pitch ? n : (n + 2 * V - 2) / V * V;
}

// Copies `rows` runs of n elements that lie `pitch` apart.
template <class T> DEVICE tile_rows copy_rows(T *tile, const T *from, int n, int pitch, int rows)
{
    constexpr int V = whole<T>();
    tile_rows t = {tile_pitch<T>(n, pitch), misfit(from), n == pitch ? 0 : pitch % V, V - 1};
    if (n == pitch) {
        copy_run(tile, from, n * rows, threadIdx.x, blockDim.x);
        return t;
    }
    const int warps = blockDim.x / 32;
    for (int r = threadIdx.x / 32; r < rows; r += warps)
        copy_run(tile + r * t.pitch, from + (int64_t)r * pitch, n, threadIdx.x % 32, 32);
    return t;
}

} // namespace

#endif

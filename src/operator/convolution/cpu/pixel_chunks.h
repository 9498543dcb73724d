/* How rows that have pixels as the depth of a product, backward by weights, cut them: into chunks
 * with sums of their own, which are added at last, and these into parts, whose sums are added as
 * they come. By the problem alone: both decide the order of sums. */
#ifndef CVP_CONV_PIXEL_CHUNKS_H
#define CVP_CONV_PIXEL_CHUNKS_H

#include "src/common/size.h"
#include "src/operator/convolution/impl.h"

/* Pixels of a part, at most, which are summed in registers: so deep a packed panel stays in the
 * first-level cache. */
#define CVP_PART_PIXELS 320

/* Pixels of a chunk, at least; chunks, at most. */
#define CVP_CHUNK_PIXELS ((int64_t)4 * CVP_PART_PIXELS)
#define CVP_MOST_CHUNKS  16

/* Bytes of all chunks' sums, at most: they stay in a cache. */
#define CVP_CHUNK_SUM_BYTES ((int64_t)2 << 20)

struct pixel_chunks {
    int64_t chunk, chunks; /* pixels of a chunk; chunks */
    int64_t part;          /* pixels of a part */
};

/* `pixels` of which each chunk's sums take `sum_bytes`; INT64_MAX: they are too large for two. */
static inline struct pixel_chunks cvp_conv_pixel_chunks(const convop_conv_problem *p,
                                                        int64_t pixels, int64_t sum_bytes)
{
    const int64_t room = cvp_min_i64(CVP_CHUNK_SUM_BYTES, (int64_t)(p->workspace_limit / 4));
    const int64_t most = cvp_min_i64(CVP_MOST_CHUNKS, room / sum_bytes);
    const int64_t wanted = cvp_max_i64(1, cvp_min_i64(pixels / CVP_CHUNK_PIXELS, most));
    const int64_t even = cvp_ceil_div(pixels, wanted);
    const int64_t part = cvp_ceil_div(even, cvp_ceil_div(even, CVP_PART_PIXELS));
    const int64_t chunk = cvp_min_i64(cvp_ceil_div(even, part) * part, pixels);
    return (struct pixel_chunks){chunk, cvp_ceil_div(pixels, chunk), part};
}

/* to[i] += element at + i of the sums of each of `count` chunks, in their order. Sums follow each
 * other, so many bytes apart. */
static inline void cvp_conv_add_chunks(const convop_conv_problem *p, void *to, const char *sums,
                                       size_t sum_bytes, int64_t count, int64_t at, int64_t n)
{
    const struct cvp_stored *numbers = cvp_conv_numbers(p);
    const size_t skipped = (size_t)at * cvp_conv_float_size(p);
    for (int64_t k = 0; k < count; k++)
        numbers->store(to, 0, 1, sums + (size_t)k * sum_bytes + skipped, 0, 1, n, 1);
}

/* Pixels that are packed at a time for one tile after the other, in N*C, where a pixel has so many
 * bytes: few enough that the first-level cache has them until the last tile. */
static inline int64_t cvp_conv_pixel_block(int64_t bytes)
{
    return cvp_max_i64(16, ((int64_t)16 << 10) / bytes);
}

#endif

/* How the row `pointwise`, backward by weights, cuts a problem; see pointwise_filter.c. */
#ifndef CVP_CONV_POINTWISE_FILTER_H
#define CVP_CONV_POINTWISE_FILTER_H

#include "src/operator/convolution/cpu/pixel_chunks.h"
#include "src/operator/convolution/impl.h"
#include "src/operator/tile/tile.h"

struct pointwise_filter {
    const convop_conv_problem *p;
    const struct cvp_tile_kernels *kernels;
    int64_t size; /* bytes of an element */
    /* Channels of the operand that is packed into tiles, and of the wider one, which is read where
     * it lies: rows and columns of the sums. */
    int64_t high, wide;
    int is_turned;           /* src is packed: sums are turned on their way to diff_weights */
    int64_t pixels;          /* of all images */
    int64_t chunk, chunks;   /* pixels that are summed apart; how often */
    int64_t part;            /* pixels that are packed at a time */
    int64_t height, tiles;   /* channels of a tile; tiles */
    int64_t pitch, tile;     /* elements from one pixel of a tile, and from one tile, to the next */
    int64_t columns, panels; /* channels of the wider operand at a time; how often */
    int64_t splits;          /* a chunk's panels are cut into for lanes */
    int64_t tail;            /* last pixels, behind which whole vectors would pass the end */
    size_t sum_bytes;        /* of a chunk's sums */
    size_t tile_bytes, tail_bytes, lane_bytes;
    int lanes;
};

/* A pure function of the problem. No lanes: it does not take it. */
struct pointwise_filter cvp_conv_pointwise_filter_plan(const convop_conv_problem *p);

/* Of so many chunks, those whose sums do not go to diff_weights at once. */
static inline int64_t pointwise_filter_apart(const struct pointwise_filter *f)
{
    return f->is_turned ? f->chunks : f->chunks - 1;
}

/* Expected milliseconds. */
double cvp_conv_pointwise_filter_estimate(const convop_conv_problem *p);

#endif

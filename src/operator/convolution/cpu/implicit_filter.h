/* How the row `implicit`, backward by weights, cuts a problem; see implicit_filter.c. */
#ifndef CVP_CONV_IMPLICIT_FILTER_H
#define CVP_CONV_IMPLICIT_FILTER_H

#include "src/operator/convolution/impl.h"
#include "src/operator/tile/tile.h"

struct implicit_filter {
    const convop_conv_problem *p;
    const struct cvp_tile_kernels *kernels;
    int64_t size, icg, ocg, taps, columns;
    int64_t out_block, in_block, tap_block; /* of a task */
    int64_t out_blocks, in_blocks, tap_blocks, tasks;
    int64_t chunk; /* rows of dst at a time */
    size_t panel_bytes, sum_bytes, lane_bytes;
    int lanes;
};

/* A pure function of the problem. No lanes: it does not take it. */
struct implicit_filter cvp_conv_implicit_filter_plan(const convop_conv_problem *p);

#endif

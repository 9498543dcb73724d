/* How the row `implicit` cuts a problem of N*C, and its packed weights; see implicit_last.c. */
#ifndef CVP_CONV_IMPLICIT_LAST_H
#define CVP_CONV_IMPLICIT_LAST_H

#include "src/operator/convolution/cpu/ends.h"
#include "src/operator/convolution/cpu/stencil.h"
#include "src/operator/tile/tile.h"

struct implicit_last {
    const convop_conv_problem *p;
    const struct cvp_tile_kernels *kernels;
    const struct cvp_stored *stored; /* the tensors' elements */
    int converts;                    /* they are not numbers as kernels compute with */
    int64_t size;                    /* bytes of such a number */
    int64_t mb;                      /* images */
    struct conv_ends ends;
    int64_t taps, columns, panels;
    int64_t phases, rows, width;     /* of a task: rows of pixels, and pixels of a row */
    int64_t strip_rows, strip_width; /* of a task, at a time for all output channels */
    int64_t d_count, h_blocks, w_blocks, tasks;
    int streams;   /* out is written past the caches */
    int is_merged; /* all pixels are one row */
    size_t weight_bytes, bias_bytes, staged_bytes, lane_bytes;
    int lanes;
};

/* A pure function of the problem. No lanes: it does not take it. */
struct implicit_last cvp_conv_implicit_last_plan(const convop_conv_problem *p);

/* A panel for each group and `columns` output channels: for each tap and input channel, these side
 * by side. Backward, the taps of a row of the window stand in reverse, so that they ascend as what
 * they read does. */
void cvp_conv_implicit_last_pack_weights(const struct implicit_last *l, const void *weights,
                                         void *panels, const convop_context *context);

#endif

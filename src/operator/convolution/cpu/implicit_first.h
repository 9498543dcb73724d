/* How the row `implicit` cuts a problem of NC*, and its packed weights; see implicit_first.c. */
#ifndef CVP_CONV_IMPLICIT_FIRST_H
#define CVP_CONV_IMPLICIT_FIRST_H

#include "src/operator/convolution/cpu/stencil.h"
#include "src/operator/tile/tile.h"

#define CVP_IMPLICIT_MAX_PHASES 64

struct implicit_first {
    const convop_conv_problem *p;
    const struct cvp_tile_kernels *kernels;
    int64_t size; /* bytes of an element */
    int64_t in_c, out_c, in_all, out_all, in_h, in_w, out_h, out_w, in_plane, out_plane;
    int64_t columns, height, tiles;  /* of a tile; tiles of output channels */
    int64_t chunk, rows;             /* input channels at a time; rows of a task */
    int64_t tile_block, tile_blocks; /* tiles of a task */
    int64_t d_count, h_blocks, tasks;
    /* Staged: steps of the stride, depth taps, rows and pixels of a row. */
    int64_t step_h, step_w, depths, staged_rows, pitch;
    int64_t width; /* pixels of a row, in the first phase */
    int is_flat;   /* the rows of a task are one long row */
    int64_t phases, phase_taps[CVP_IMPLICIT_MAX_PHASES + 1]; /* taps of the phases before each */
    size_t panel_bytes, weight_bytes, table_bytes, lane_bytes;
    int lanes;
};

/* A pure function of the problem. No lanes: it does not take it. */
struct implicit_first cvp_conv_implicit_first_plan(const convop_conv_problem *p);

/* A panel for each group and tile of output channels, which stand side by side in it, of the taps
 * of one phase after the other; in each, an input channel's taps follow each other. */
void cvp_conv_implicit_first_pack_weights(const struct implicit_first *f, const void *weights,
                                          void *panels, const convop_context *context);

#endif

/* How the row `implicit` cuts a problem of NC*, its packed weights and what it stages; see
 * implicit_first.c. */
#ifndef CVP_CONV_IMPLICIT_FIRST_H
#define CVP_CONV_IMPLICIT_FIRST_H

#include "src/operator/convolution/cpu/ends.h"
#include "src/operator/convolution/cpu/stencil.h"
#include "src/operator/tile/tile.h"

#define CVP_IMPLICIT_MAX_PHASES 64
/* That a task gathers. */
#define CVP_IMPLICIT_MAX_PIXELS 256

struct implicit_first {
    const convop_conv_problem *p;
    const struct cvp_tile_kernels *kernels;
    const struct cvp_stored *stored, *numbers; /* elements of the tensors, and as computed with */
    int converts;                              /* these are not the same */
    int64_t size;                              /* bytes of a number */
    struct conv_ends ends;
    int64_t columns, height, tiles;  /* of a tile; tiles of output channels */
    int64_t chunk;                   /* input channels at a time */
    int64_t rows, width;             /* of a task: rows, and pixels of a row; parts of one row */
    int64_t tile_block, tile_blocks; /* tiles of a task */
    int64_t d_count, h_blocks, w_blocks, tasks;
    /* Staged: steps of the stride, depth taps, rows and pixels of a row. */
    int64_t step_h, step_w, depths, staged_rows, pitch;
    int is_plane;    /* pointwise: pixels are read where they lie, as one row */
    int is_gathered; /* pixels are gathered into panels; of planes, if `is_direct`, only those that
                      * fill no vector */
    int is_direct;
    int is_flat; /* they are not, and the rows of a task are one long row */
    int is_raw;  /* weights need not be packed */
    int streams; /* out is written past the caches, by the last chunk */
    int64_t phases, phase_taps[CVP_IMPLICIT_MAX_PHASES + 1]; /* taps of the phases before each */
    size_t weight_panel_bytes, weight_bytes, bias_bytes;     /* packed; as numbers, side by side */
    size_t sum_bytes; /* of a lane: the sums of a task, where chunks of channels add to them */
    int64_t strips;   /* of a task */
    size_t table_bytes, run_bytes, panel_bytes, lane_bytes; /* of a lane; panels of pixels */
    int lanes;
};

/* A pure function of the problem. No lanes: it does not take it. The chunks, and with them the
 * order of sums, depend on no number of threads. */
struct implicit_first cvp_conv_implicit_first_plan(const convop_conv_problem *p);

/* A panel for each group and tile of output channels, which stand side by side in it, of the taps
 * of one phase after the other; in each, an input channel's taps follow each other. */
void cvp_conv_implicit_first_pack_weights(const struct implicit_first *f, const void *weights,
                                          void *panels, const convop_context *context);

/* Pixels [w0, w1) of rows [h0, h1) of depth td of a group of an image, in one phase, for some
 * tiles of output channels; and where a lane works on them. */
struct implicit_first_block {
    struct stencil s;
    int64_t phase, n, g, td, h0, h1, w0, w1, tile0, tile1;
    int64_t *table; /* where each tap of each channel of a chunk reads */
    struct cvp_tile_run *runs;
    int64_t panel; /* elements from one panel to the next */
    char *panels, *staged, *sums;
};

static inline int64_t implicit_first_taps(const struct implicit_first_block *b)
{
    return b->s.d.taps * b->s.h.taps * b->s.w.taps;
}

/* `columns` pixels of a block, from pixel `at` on of row th. */
struct implicit_first_strip {
    int64_t th, at;
    int columns;
    int64_t number; /* in the block */
};

void cvp_conv_implicit_first_fill_table(const struct implicit_first *f,
                                        const struct implicit_first_block *b);

/* Copies what the block reads of input channels [c0, c1). */
void cvp_conv_implicit_first_stage(const struct implicit_first *f,
                                   const struct implicit_first_block *b, const char *in, int64_t c0,
                                   int64_t c1);

/* Copies what each strip reads of them into its panel, from what was staged or, of planes, from
 * `in`. */
void cvp_conv_implicit_first_gather(const struct implicit_first *f,
                                    const struct implicit_first_block *b, const char *in,
                                    int64_t c0, int64_t c1);

/* A call. */
struct implicit_first_job {
    const struct implicit_first *f;
    const convop_conv_operands *t;
    const char *in, *packed; /* packed weights, or NULL */
    const char *bias;        /* numbers, or NULL */
    int64_t bias_step;
    char *out, *lanes;
    const char *residual;
};

/* Writes or adds a tile that was computed elsewhere, `rows` output channels from `channel` on, each
 * of which has `tile_row` numbers in it; if it is the last part of its sum, with what follows that.
 */
void cvp_conv_implicit_first_put(const struct implicit_first_job *job,
                                 const struct implicit_first_block *b,
                                 const struct implicit_first_strip *strip, int64_t channel,
                                 int rows, const void *tile, int64_t tile_row, int add,
                                 int is_last);

/* Computes a block's outputs, or adds to them, for input channels [c0, c1), which were staged. */
void cvp_conv_implicit_first_multiply(const struct implicit_first_job *job,
                                      const struct implicit_first_block *b, int64_t c0, int64_t c1);

#endif

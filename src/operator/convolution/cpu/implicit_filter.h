/* How the row `implicit`, backward by weights, cuts a problem, and its tasks; see
 * implicit_filter.c. */
#ifndef CVP_CONV_IMPLICIT_FILTER_H
#define CVP_CONV_IMPLICIT_FILTER_H

#include "src/operator/convolution/impl.h"
#include "src/operator/tile/tile.h"

/* Runs of a tap in a chunk, at most; N*C may cut one more off the last. */
#define CVP_IMPLICIT_MAX_RUNS 512

struct implicit_filter {
    const convop_conv_problem *p;
    const struct cvp_tile_kernels *kernels;
    const struct cvp_stored *stored; /* the tensors' elements */
    int converts;                    /* they are not numbers as kernels compute with */
    int64_t size;                    /* bytes of such a number */
    int64_t icg, ocg, taps, columns;
    int64_t out_block, in_block, tap_block; /* of a task */
    int64_t out_blocks, in_blocks, tap_blocks, tasks;
    int64_t chunk; /* rows of dst at a time */
    int64_t step;  /* pixels of src from one of dst to the next; 1 where there is no next */
    int64_t pitch; /* NC*: output channels of a task, in whole panels */
    /* Of staged operands: rows of src that a chunk reads at most; N*C: input channels of a task, in
     * whole vectors. */
    int64_t span, in_pitch;
    size_t panel_bytes, staged_bytes, sum_bytes, lane_bytes;
    int lanes;
};

/* A pure function of the problem. No lanes: it does not take it. */
struct implicit_filter cvp_conv_implicit_filter_plan(const convop_conv_problem *p);

struct implicit_filter_job {
    const struct implicit_filter *f;
    const char *src, *diff_dst;
    char *out, *lanes;
};

/* Output channels [o0, o1), input channels [c0, c1) and taps [t0, t1) of a group; rows [r0, r1) of
 * image n at a time. */
struct implicit_filter_part {
    int64_t g, o0, o1, c0, c1, t0, t1, n, r0, r1;
    struct cvp_tile_run *runs;
    char *panel, *staged, *sums;
};

/* An operand where a part begins: pixel 0 of row r0 of dst, or of the image. */
struct implicit_filter_operand {
    const char *at;
    int64_t pixel; /* elements from one pixel to the next */
};

/* Lists the runs of a tap, the pixels of each row that read an element of the image; their number.
 * Rows that follow each other in both operands are one. The tile's a is dst, or src. */
int64_t cvp_conv_implicit_filter_runs(const struct implicit_filter *f,
                                      const struct implicit_filter_part *k, int64_t tap,
                                      struct implicit_filter_operand dst,
                                      struct implicit_filter_operand src, int src_is_a);

/* What a chunk of rows is computed from; if its elements are converted, they are copied. In NC* dst
 * is made panels of elsewhere, and `plane` is from one channel of src to the next. */
struct implicit_filter_operands {
    struct implicit_filter_operand dst, src;
    int64_t plane;
};
struct implicit_filter_operands
cvp_conv_implicit_filter_operands(const struct implicit_filter_job *job,
                                  const struct implicit_filter_part *k);

/* Adds a chunk of rows: N*C to the output, unless that is of converted elements, else to the part's
 * sums. */
void cvp_conv_implicit_filter_add_last(const struct implicit_filter_job *job,
                                       const struct implicit_filter_part *k);
void cvp_conv_implicit_filter_add_first(const struct implicit_filter_job *job,
                                        const struct implicit_filter_part *k);

/* Writes or adds the sums of all chunks. */
void cvp_conv_implicit_filter_put_last(const struct implicit_filter_job *job,
                                       const struct implicit_filter_part *k);
void cvp_conv_implicit_filter_put_first(const struct implicit_filter_job *job,
                                        const struct implicit_filter_part *k);

#endif

/* Cutting a problem for the row `implicit`, backward by weights. */
#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/implicit.h"
#include "src/operator/convolution/cpu/implicit_filter.h"

/* Bytes of both operands that a chunk of rows has in a task: a share of the second-level cache. */
#define CHUNK_BYTES ((int64_t)256 << 10)
/* Of a task, at most. */
#define MAX_OUT 128
#define MAX_IN  256
#define MIN_IN  32

static int64_t cut_evenly(int64_t size, int64_t most, int64_t unit)
{
    const int64_t blocks = cvp_ceil_div(size, most);
    return cvp_min_i64(size, cvp_ceil_div(cvp_ceil_div(size, blocks), unit) * unit);
}

static int64_t count_tasks(struct implicit_filter *f)
{
    f->out_blocks = cvp_ceil_div(f->ocg, f->out_block);
    f->in_blocks = cvp_ceil_div(f->icg, f->in_block);
    f->tap_blocks = cvp_ceil_div(f->taps, f->tap_block);
    return f->tasks = f->p->g * f->out_blocks * f->in_blocks * f->tap_blocks;
}

/* The rows of src that a chunk reads, as many as there are at most. */
static int rows_of(struct implicit_filter *f)
{
    const convop_conv_problem *p = f->p;
    int64_t window, steps;
    if (!cvp_mul_i64(p->kh - 1, p->dh, &window) || !cvp_mul_i64(f->chunk - 1, p->sh, &steps) ||
        !cvp_add_i64(window, steps, &f->span))
        return 0;
    f->span = cvp_min_i64(p->ih, f->span + 1);
    return 1;
}

struct implicit_filter cvp_conv_implicit_filter_plan(const convop_conv_problem *p)
{
    struct implicit_filter f = {.p = p,
                                .kernels =
                                    cvp_tile_kernels(cvp_conv_float(p), (enum cvp_isa)p->isa),
                                .stored = cvp_conv_stored(p),
                                .converts = !cvp_conv_is_wide(p),
                                .size = (int64_t)cvp_conv_float_size(p),
                                .icg = p->ic / p->g,
                                .ocg = p->oc / p->g,
                                .taps = cvp_conv_taps(p),
                                .step = p->ow > 1 ? p->sw : 1,
                                .lane_bytes = SIZE_MAX};
    f.columns = cvp_tile_columns(f.kernels);
    f.out_block = cut_evenly(f.ocg, MAX_OUT, f.columns);
    f.in_block = cut_evenly(f.icg, MAX_IN, f.columns);
    f.tap_block = f.taps;
    while (count_tasks(&f) < CVP_GEMM_MIN_TASKS) {
        /* NC* keeps the taps of a channel together, which lie side by side in the result. */
        if (f.tap_block > 1 && (p->channels_last || f.out_block + f.in_block <= 2 * MIN_IN))
            f.tap_block = cvp_ceil_div(f.tap_block, 2);
        else if (f.out_block > f.columns)
            f.out_block = cut_evenly(f.ocg, f.out_block / 2, f.columns);
        else if (f.in_block > MIN_IN)
            f.in_block = cut_evenly(f.icg, f.in_block / 2, f.columns);
        else
            break;
    }
    int64_t row, tail;
    if (!cvp_mul_i64(f.in_block, p->sw, &row) || !cvp_add_i64(row, f.out_block, &row) ||
        !cvp_mul_i64(row, p->ow * f.size, &row))
        row = INT64_MAX;
    /* N*C: the last pixels of src, with room behind them for whole vectors. Padding lets a stride
     * be of any size; steps beyond what can be addressed are not taken, in either layout. */
    if (!cvp_mul_i64(f.columns + p->ic, 2 * f.size, &tail) || !cvp_mul_i64(tail, f.step + 1, &tail))
        return f;
    f.chunk = cvp_max_i64(
        1, cvp_min_i64(CHUNK_BYTES / row, cvp_min_i64(p->od * p->oh, CVP_IMPLICIT_MAX_RUNS)));
    f.pitch = cvp_ceil_div(f.out_block, f.columns) * f.columns;
    f.in_pitch = cvp_ceil_div(f.in_block, f.kernels->lanes) * f.kernels->lanes;
    /* NC*: a chunk of diff_dst as a panel, and the sums of all panels, transposed. */
    int64_t panel = 0, sums = 0, staged = 0;
    if (!p->channels_last) {
        if (!cvp_mul_i64(f.chunk * p->ow, f.pitch * f.size, &panel) ||
            !cvp_mul_i64(f.in_block * f.tap_block, f.pitch * f.size, &sums))
            return f;
    } else if (f.converts) {
        if (!cvp_mul_i64(f.chunk * p->ow, f.out_block * f.size, &panel) ||
            !cvp_mul_i64(f.out_block * f.tap_block, f.in_pitch * f.size, &sums))
            return f;
    } else if (f.icg % f.kernels->lanes) {
        panel = tail;
    }
    if (f.converts && (!rows_of(&f) || !cvp_mul_i64(f.span * p->iw, f.in_pitch * f.size, &staged)))
        return f;
    f.panel_bytes =
        cvp_round_up((size_t)panel + (f.converts ? CVP_GEMM_PACK_SLACK : 0), CVP_BUFFER_ALIGN);
    f.staged_bytes = cvp_round_up((size_t)staged, CVP_BUFFER_ALIGN);
    f.sum_bytes = cvp_round_up((size_t)sums, CVP_BUFFER_ALIGN);
    f.lane_bytes =
        f.panel_bytes + f.staged_bytes + f.sum_bytes +
        cvp_round_up((CVP_IMPLICIT_MAX_RUNS + 1) * sizeof(struct cvp_tile_run), CVP_BUFFER_ALIGN);
    f.lanes = (int)cvp_min_i64(cvp_min_i64(p->threads, f.tasks),
                               (int64_t)(p->workspace_limit / f.lane_bytes));
    return f;
}

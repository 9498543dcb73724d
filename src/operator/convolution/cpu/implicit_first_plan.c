/* Cutting a problem of NC* for the row `implicit`. */
#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/operator/convolution/cpu/implicit.h"
#include "src/operator/convolution/cpu/implicit_first.h"
#include "src/operator/convolution/cpu/stream.h"

/* Bytes of staged rows: a share of the second-level cache. */
#define BLOCK_BYTES ((int64_t)256 << 10)
/* Elements of a panel's column at most: so it stays in the first-level cache, beside a panel of
 * weights. */
#define PANEL_ROWS 192
/* Output channels from which on gathering costs less than what it saves. */
#define GATHERED_CHANNELS 48
/* Pixels of a row that are staged at a time, at most. */
#define ROW_PIXELS 4096
/* Pixels that a task should have at least, to be worth its weights' way. */
#define LEAST_PIXELS 128
/* Tiles of output channels that are worth the pixels' copies once more for. */
#define LEAST_TILES 4
/* For each thread, where there are several. */
#define LEAST_TASKS 4
/* Rows of weights that are this apart meet in one set of the first-level cache, which has 8 ways
 * at least. */
#define CONFLICT_BYTES 4096
#define CONFLICT_ROWS  8

static int64_t most_taps(int64_t k, const struct stencil_axis *a)
{
    return cvp_ceil_div(k, a->k_step);
}

/* The most places between a window's first and last tap, in steps of the stride. */
static int64_t spread(int64_t k, const struct stencil_axis *a)
{
    const int64_t step = a->at_step < 0 ? -a->at_step : a->at_step;
    return (most_taps(k, a) - 1) * step / a->in_step;
}

static int64_t vectors_of(const struct implicit_first *f, int64_t pixels)
{
    return cvp_ceil_div(pixels, f->kernels->lanes);
}

/* Rows of a task, `most` at most, that leave the fewest lanes unused; the more the better. */
static int64_t best_rows(const struct implicit_first *f, int64_t count, int64_t most)
{
    int64_t best = 1, least = INT64_MAX;
    most = cvp_max_i64(1, cvp_min_i64(most, count));
    for (int64_t rows = most; rows > most / 2; rows--) {
        const int64_t vectors =
            count / rows * vectors_of(f, rows * f->width) + vectors_of(f, count % rows * f->width);
        if (vectors >= least) continue;
        least = vectors;
        best = rows;
    }
    return best;
}

static int64_t count_tasks(struct implicit_first *f, const struct stencil *s)
{
    f->h_blocks = cvp_ceil_div(s->h.count, f->rows);
    f->w_blocks = cvp_ceil_div(s->w.count, f->width);
    f->tile_blocks = cvp_ceil_div(f->tiles, f->tile_block);
    return f->tasks = f->phases * f->p->mb * f->p->g * f->d_count * f->h_blocks * f->w_blocks *
                      f->tile_blocks;
}

/* Smaller tasks, so that threads share them. */
static void share(struct implicit_first *f, const struct stencil *s)
{
    const int64_t least = f->p->threads > 1 ? LEAST_TASKS * f->p->threads : 1;
    f->tile_block = f->tiles;
    while (count_tasks(f, s) < least) {
        if (f->tile_block >= 2 * LEAST_TILES)
            f->tile_block = cvp_ceil_div(f->tile_block, 2);
        else if (f->rows * f->width >= 2 * LEAST_PIXELS && f->rows > 1)
            f->rows = cvp_ceil_div(f->rows, 2);
        else if (f->width >= 4 * f->columns && f->rows == 1)
            f->width = cvp_ceil_div(cvp_ceil_div(f->width, 2), f->columns) * f->columns;
        else
            break;
    }
}

/* Sizes of a task. */
static int cut(struct implicit_first *f, const struct stencil *s)
{
    const convop_conv_problem *p = f->p;
    const int64_t spread_h = spread(p->kh, &s->h), spread_w = spread(p->kw, &s->w);
    const int64_t most = f->is_gathered ? CVP_IMPLICIT_MAX_PIXELS : ROW_PIXELS;
    int64_t planes, rows, row; /* the last: bytes of a channel's staged row */
    f->d_count = s->d.count;
    f->step_h = s->h.in_step;
    f->step_w = s->w.in_step;
    f->depths = most_taps(p->kd, &s->d);
    f->width = s->w.count;
    if (f->width > most)
        f->width = cvp_ceil_div(cvp_ceil_div(f->width, cvp_ceil_div(f->width, most)), f->columns) *
                   f->columns;
    if (!cvp_add_i64(f->width, spread_w, &f->pitch) || !cvp_add_i64(s->h.count, spread_h, &rows) ||
        !cvp_mul_i64(f->step_h, f->depths, &planes) || !cvp_mul_i64(f->step_w, f->pitch, &row) ||
        !cvp_mul_i64(row, planes, &row) || !cvp_mul_i64(row, f->size, &row) ||
        row > INT64_MAX / 2 / rows)
        return 0;
    const int64_t least = cvp_min_i64(s->h.count, cvp_ceil_div(LEAST_PIXELS, f->width));
    if (f->is_gathered) {
        f->rows = best_rows(f, s->h.count, most / f->width);
        f->chunk = PANEL_ROWS / (f->depths * most_taps(p->kh, &s->h) * most_taps(p->kw, &s->w));
        if (!f->is_plane)
            f->chunk = cvp_min_i64(f->chunk, BLOCK_BYTES / (row * (f->rows + spread_h)));
    } else {
        f->chunk = BLOCK_BYTES / (row * (least + spread_h));
    }
    f->chunk = cvp_max_i64(1, cvp_min_i64(f->ends.in.c, f->chunk));
    f->chunk = cvp_ceil_div(f->ends.in.c, cvp_ceil_div(f->ends.in.c, f->chunk));
    if (!f->is_gathered)
        f->rows = f->width < s->w.count
                      ? 1
                      : cvp_min_i64(s->h.count,
                                    cvp_max_i64(least, BLOCK_BYTES / f->chunk / row - spread_h));
    share(f, s);
    if (!f->is_gathered) f->rows = cvp_ceil_div(s->h.count, f->h_blocks);
    f->staged_rows = f->rows + spread_h;
    f->is_flat = !f->is_gathered && vectors_of(f, (f->rows - 1) * f->pitch + f->width) * 21 <
                                        vectors_of(f, f->width) * f->rows * 20;
    return 1;
}

/* How many output channels a tile has, and whether weights are read where they lie. */
static void plan_weights(struct implicit_first *f)
{
    const convop_conv_problem *p = f->p;
    const int64_t taps = cvp_conv_taps(p);
    const int forward = p->direction == CONVOP_FWD;
    /* Of an image smaller than the stride, its only phase may have some of the taps. */
    f->is_raw =
        !f->converts && (forward || taps == 1 || (f->is_gathered && f->phase_taps[1] == taps));
    int64_t most = f->kernels->rows;
    if (f->is_raw && forward && f->ends.in.c * taps * f->size % CONFLICT_BYTES == 0)
        most = cvp_min_i64(most, CONFLICT_ROWS);
    f->tiles = cvp_ceil_div(f->ends.out.c, most);
    f->height = cvp_ceil_div(f->ends.out.c, f->tiles);
}

/* Bytes of what a task works with; 0: too large to be counted. */
static int measure(struct implicit_first *f)
{
    const convop_conv_problem *p = f->p;
    const int64_t taps = cvp_conv_taps(p);
    int64_t weights, all, staged = 0, table, panel = 0, sums = 0;
    f->strips = f->is_gathered ? cvp_ceil_div(f->rows * f->width, f->columns)
                : f->is_flat   ? cvp_ceil_div((f->rows - 1) * f->pitch + f->width, f->columns)
                               : f->rows * cvp_ceil_div(f->width, f->columns);
    if (!cvp_mul_i64(f->ends.in.c * taps, f->height * f->size, &weights) ||
        !cvp_mul_i64(weights + 2 * CVP_BUFFER_ALIGN, p->g * f->tiles, &all) ||
        (!f->is_plane && !cvp_mul_i64(f->chunk * f->depths * f->step_h * f->step_w,
                                      f->staged_rows * f->pitch * f->size, &staged)) ||
        !cvp_mul_i64(f->chunk * taps, (int64_t)sizeof(int64_t), &table) ||
        (f->is_gathered &&
         !cvp_mul_i64(f->chunk * taps + 1, f->strips * f->columns * f->size, &panel)) ||
        (f->converts && f->chunk < f->ends.in.c &&
         !cvp_mul_i64(f->tile_block * f->height, f->strips * f->columns * f->size, &sums)))
        return 0;
    /* Whole vectors are read past the last row, and written past the last panel. */
    const int64_t slack = 2 * f->columns * f->size;
    f->weight_panel_bytes = cvp_round_up((size_t)weights + CVP_GEMM_PACK_SLACK, CVP_BUFFER_ALIGN);
    f->weight_bytes = f->weight_panel_bytes * (size_t)(p->g * f->tiles);
    f->table_bytes = cvp_round_up((size_t)table, CVP_BUFFER_ALIGN);
    f->run_bytes = cvp_round_up((size_t)f->chunk * sizeof(struct cvp_tile_run), CVP_BUFFER_ALIGN);
    f->panel_bytes = cvp_round_up((size_t)(panel + slack), CVP_BUFFER_ALIGN);
    f->sum_bytes = cvp_round_up((size_t)sums, CVP_BUFFER_ALIGN);
    if (f->converts && p->bias)
        f->bias_bytes = cvp_round_up((size_t)(p->oc * f->size), CVP_BUFFER_ALIGN);
    f->lane_bytes = f->table_bytes + f->run_bytes + f->panel_bytes + f->sum_bytes +
                    cvp_round_up((size_t)(staged + slack), CVP_BUFFER_ALIGN);
    return 1;
}

struct implicit_first cvp_conv_implicit_first_plan(const convop_conv_problem *p)
{
    struct implicit_first f = {.p = p,
                               .kernels = cvp_tile_kernels(cvp_conv_float(p), (enum cvp_isa)p->isa),
                               .stored = cvp_conv_stored(p),
                               .numbers = cvp_conv_numbers(p),
                               .converts = !cvp_conv_is_wide(p),
                               .size = (int64_t)cvp_conv_float_size(p),
                               .ends = cvp_conv_ends(p),
                               .is_plane = cvp_conv_is_pointwise(p),
                               .streams = cvp_conv_streams(p),
                               .phases = cvp_conv_phases(p)};
    if (f.phases > CVP_IMPLICIT_MAX_PHASES) return f;
    for (int64_t i = 0; i < f.phases; i++) {
        const struct stencil s = cvp_conv_stencil(p, i, 0);
        f.phase_taps[i + 1] = f.phase_taps[i] + s.d.taps * s.h.taps * s.w.taps;
    }
    f.columns = cvp_tile_columns(f.kernels);
    f.is_gathered = f.is_plane || f.ends.out.c >= GATHERED_CHANNELS;
    f.is_direct = f.is_plane && f.ends.out.c < GATHERED_CHANNELS && !f.converts;
    plan_weights(&f);
    /* The first phase has the most outputs. */
    const struct stencil s = cvp_conv_stencil(p, 0, f.is_plane);
    if (!cut(&f, &s) || !measure(&f)) return f;
    const size_t own = f.bias_bytes + (f.is_raw ? 0 : f.weight_bytes);
    if (own <= p->workspace_limit)
        f.lanes = (int)cvp_min_i64(cvp_min_i64(p->threads, f.tasks),
                                   (int64_t)((p->workspace_limit - own) / f.lane_bytes));
    return f;
}

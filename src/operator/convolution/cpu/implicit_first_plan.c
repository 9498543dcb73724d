/* Cutting a problem of NC* for the row `implicit`, and packing its weights. */
#include "src/operator/convolution/cpu/implicit_first.h"

#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/implicit.h"

/* Bytes of staged rows: a share of the second-level cache. */
#define BLOCK_BYTES ((int64_t)256 << 10)
/* Pixels that a task should have at least, to be worth its weights' way. */
#define LEAST_PIXELS 128
/* Tiles of output channels that are worth staging the rows once more for. */
#define LEAST_TILES 4
#define LEAST_TASKS 8

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

/* Sizes of a task. They follow from the problem alone, so that results depend on no thread. */
static int cut(struct implicit_first *f, const struct stencil *s)
{
    const int64_t spread_h = spread(f->p->kh, &s->h), spread_w = spread(f->p->kw, &s->w);
    int64_t row; /* bytes of a channel's staged row */
    f->d_count = s->d.count;
    f->step_h = s->h.in_step;
    f->step_w = s->w.in_step;
    f->depths = most_taps(f->p->kd, &s->d);
    f->width = s->w.count;
    f->pitch = f->width + spread_w;
    if (!cvp_mul_i64(f->step_h * f->depths, f->step_w * f->pitch, &row) ||
        !cvp_mul_i64(row, f->size, &row) || row > INT64_MAX / 2 / (s->h.count + spread_h))
        return 0;
    const int64_t least = cvp_min_i64(s->h.count, cvp_ceil_div(LEAST_PIXELS, s->w.count));
    f->chunk = cvp_max_i64(1, cvp_min_i64(f->in_c, BLOCK_BYTES / (row * (least + spread_h))));
    f->chunk = cvp_ceil_div(f->in_c, cvp_ceil_div(f->in_c, f->chunk));
    f->rows = cvp_min_i64(s->h.count, cvp_max_i64(least, BLOCK_BYTES / f->chunk / row - spread_h));
    f->tile_block = f->tiles;
    for (;;) {
        f->h_blocks = cvp_ceil_div(s->h.count, f->rows);
        f->rows = cvp_ceil_div(s->h.count, f->h_blocks);
        f->tile_blocks = cvp_ceil_div(f->tiles, f->tile_block);
        f->tasks = f->phases * f->p->mb * f->p->g * f->d_count * f->h_blocks * f->tile_blocks;
        if (f->tasks >= LEAST_TASKS) break;
        if (f->tile_block >= 2 * LEAST_TILES)
            f->tile_block = cvp_ceil_div(f->tile_block, 2);
        else if (f->rows > least)
            f->rows = cvp_ceil_div(f->rows, 2);
        else
            break;
    }
    f->staged_rows = f->rows + spread_h;
    f->is_flat = vectors_of(f, (f->rows - 1) * f->pitch + s->w.count) * 21 <
                 vectors_of(f, s->w.count) * f->rows * 20;
    return 1;
}

struct implicit_first cvp_conv_implicit_first_plan(const convop_conv_problem *p)
{
    const int forward = p->direction == CONVOP_FWD;
    const int64_t icg = p->ic / p->g, ocg = p->oc / p->g;
    struct implicit_first f = {
        .p = p,
        .kernels = cvp_tile_kernels(cvp_conv_float(p), (enum cvp_isa)p->isa),
        .size = (int64_t)cvp_conv_element_size(p),
        .in_c = forward ? icg : ocg,
        .out_c = forward ? ocg : icg,
        .in_all = forward ? p->ic : p->oc,
        .out_all = forward ? p->oc : p->ic,
        .in_h = forward ? p->ih : p->oh,
        .in_w = forward ? p->iw : p->ow,
        .out_h = forward ? p->oh : p->ih,
        .out_w = forward ? p->ow : p->iw,
        .in_plane = forward ? cvp_conv_src_pixels(p) : cvp_conv_dst_pixels(p),
        .out_plane = forward ? cvp_conv_dst_pixels(p) : cvp_conv_src_pixels(p),
        .phases = cvp_conv_phases(p),
        .lane_bytes = SIZE_MAX};
    if (f.phases > CVP_IMPLICIT_MAX_PHASES) return f;
    for (int64_t i = 0; i < f.phases; i++) {
        const struct stencil s = cvp_conv_stencil(p, i, 0);
        f.phase_taps[i + 1] = f.phase_taps[i] + s.d.taps * s.h.taps * s.w.taps;
    }
    f.columns = cvp_tile_columns(f.kernels);
    f.tiles = cvp_ceil_div(f.out_c, f.kernels->rows);
    f.height = cvp_ceil_div(f.out_c, f.tiles);

    /* The first phase has the most outputs. */
    const struct stencil s = cvp_conv_stencil(p, 0, 0);
    const int64_t taps = cvp_conv_taps(p);
    int64_t panel, weights, staged, table;
    if (!cut(&f, &s) || !cvp_mul_i64(f.in_c * taps, f.height * f.size, &panel) ||
        !cvp_mul_i64(panel + 2 * CVP_BUFFER_ALIGN, p->g * f.tiles, &weights) ||
        !cvp_mul_i64(f.chunk * f.depths * f.step_h * f.step_w, f.staged_rows * f.pitch * f.size,
                     &staged) ||
        !cvp_mul_i64(f.chunk * taps, (int64_t)sizeof(int64_t), &table))
        return f;
    f.panel_bytes = cvp_round_up((size_t)panel + CVP_GEMM_PACK_SLACK, CVP_BUFFER_ALIGN);
    f.weight_bytes = f.panel_bytes * (size_t)(p->g * f.tiles);
    f.table_bytes = cvp_round_up((size_t)table, CVP_BUFFER_ALIGN);
    /* The last vectors reach past the last row. */
    f.lane_bytes =
        f.table_bytes + cvp_round_up((size_t)(staged + f.columns * f.size), CVP_BUFFER_ALIGN);
    if (f.weight_bytes <= p->workspace_limit)
        f.lanes = (int)cvp_min_i64(cvp_min_i64(p->threads, f.tasks),
                                   (int64_t)((p->workspace_limit - f.weight_bytes) / f.lane_bytes));
    return f;
}

/* ---- weights ------------------------------------------------------------------------------- */

struct packing {
    const struct implicit_first *f;
    const char *weights;
    char *panels;
};

/* A panel of output channels side by side, of the taps of one phase after the other; in each, as in
 * the table, an input channel's taps follow each other. */
static void pack_panels(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct packing *k = arg;
    const struct implicit_first *f = k->f;
    const convop_conv_problem *p = f->p;
    const int64_t taps = cvp_conv_taps(p), icg = p->ic / p->g, ocg = p->oc / p->g;
    cvp_gemm_pack *pack = cvp_gemm_kernels(cvp_conv_float(p), (enum cvp_isa)p->isa)->pack_a;
    for (int64_t i = begin; i < end; i++) {
        const int64_t g = i / f->tiles, c = i % f->tiles * f->height;
        const int height = (int)f->height, valid = (int)cvp_min_i64(height, f->out_c - c);
        const char *from = k->weights + g * ocg * icg * taps * f->size;
        char *to = k->panels + (size_t)i * f->panel_bytes;
        if (p->direction == CONVOP_FWD) {
            cvp_conv_implicit_pack_rows(p, pack, to, height, valid, icg * taps,
                                        from + c * icg * taps * f->size, icg * taps);
            continue;
        }
        for (int64_t phase = 0; phase < f->phases; phase++) {
            const struct stencil s = cvp_conv_stencil(p, phase, 0);
            const int all = s.d.taps * s.h.taps * s.w.taps == taps;
            for (int64_t o = 0; o < ocg; o++) {
                const char *filters = from + (o * icg + c) * taps * f->size;
                if (all) {
                    pack(to, height, valid, taps, filters, taps, 1);
                    to += taps * height * f->size;
                    continue;
                }
                for (int64_t jd = 0; jd < s.d.taps; jd++)
                    for (int64_t jh = 0; jh < s.h.taps; jh++) {
                        const int64_t tap = ((s.d.k_first + jd * s.d.k_step) * p->kh + s.h.k_first +
                                             jh * s.h.k_step) *
                                                p->kw +
                                            s.w.k_first;
                        if (s.w.taps == 0) continue;
                        pack(to, height, valid, s.w.taps, filters + tap * f->size, taps,
                             s.w.k_step);
                        to += s.w.taps * height * f->size;
                    }
            }
        }
    }
}

void cvp_conv_implicit_first_pack_weights(const struct implicit_first *f, const void *weights,
                                          void *panels, const convop_context *context)
{
    struct packing k = {f, weights, panels};
    int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
    cvp_parallel(context, f->p->g * f->tiles, pack_panels, &k);
    cvp_stage_leave(outer);
}

/* Cutting a problem of N*C for the row `implicit`, and packing its weights. */
#include "src/operator/convolution/cpu/implicit_last.h"

#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/implicit.h"
#include "src/operator/convolution/cpu/stream.h"

/* Bytes of an image that a task reads: a share of the second-level cache, beside a panel. */
#define BLOCK_BYTES ((int64_t)192 << 10)

/* Bytes of a group's weights that the first-level cache keeps beside a tile; a tile of so many rows
 * or more takes weights no faster than the second level gives them. */
#define NEAR_BYTES ((int64_t)24 << 10)
#define TALL_ROWS  12

static int64_t tasks_of(struct implicit_last *l, const struct stencil *s)
{
    l->h_blocks = cvp_ceil_div(s->h.count, l->rows);
    l->w_blocks = cvp_ceil_div(s->w.count, l->width);
    return l->tasks = l->phases * l->mb * l->p->g * l->d_count * l->h_blocks * l->w_blocks;
}

/* Sizes of a task. They follow from the problem alone, so that results depend on no thread. 0: a
 * stride, which padding lets be of any size, steps over more than can be addressed. */
static int cut(struct implicit_last *l, const struct stencil *s)
{
    const int64_t tile = l->kernels->rows;
    int64_t pixel, row;
    if (!cvp_mul_i64(s->w.in_step, l->ends.in.c * l->size, &pixel) ||
        !cvp_mul_i64(pixel, s->w.count, &row) || !cvp_mul_i64(row, s->h.in_step, &row))
        return 0;
    l->d_count = s->d.count;
    l->width = s->w.count;
    if (l->width * pixel > BLOCK_BYTES)
        l->width = cvp_max_i64(4 * tile, BLOCK_BYTES / pixel / tile * tile);
    l->width = cvp_min_i64(l->width, s->w.count);
    l->rows = BLOCK_BYTES / (l->width * pixel * s->h.in_step);
    l->rows = cvp_max_i64(1, cvp_min_i64(l->rows, s->h.count));
    while (tasks_of(l, s) < CVP_GEMM_MIN_TASKS) {
        if (l->rows > 1)
            l->rows = cvp_ceil_div(l->rows, 2);
        else if (l->width > 2 * tile)
            l->width = cvp_ceil_div(cvp_ceil_div(l->width, 2), tile) * tile;
        else
            break;
    }
    return 1;
}

/* What takes all panels of weights before the next pixels do: a tile, where there are several and
 * all stay near. The output is then written in its order, as caches like it, and pixels are read
 * once. */
static void cut_strips(struct implicit_last *l)
{
    const int64_t weights = l->panels * l->columns * l->taps * l->ends.in.c * l->size;
    const int64_t near = l->kernels->rows < TALL_ROWS ? NEAR_BYTES : cvp_cpu_l2() / 2;
    const int is_near = l->panels > 1 && weights <= near;
    l->strip_rows = is_near ? 1 : l->rows;
    l->strip_width = is_near ? l->kernels->rows : l->width;
}

struct implicit_last cvp_conv_implicit_last_plan(const convop_conv_problem *p)
{
    struct implicit_last l = {.p = p,
                              .kernels = cvp_tile_kernels(cvp_conv_float(p), (enum cvp_isa)p->isa),
                              .stored = cvp_conv_stored(p),
                              .converts = !cvp_conv_is_wide(p),
                              .size = (int64_t)cvp_conv_float_size(p),
                              .mb = p->mb,
                              .ends = cvp_conv_ends(p),
                              .taps = cvp_conv_taps(p),
                              .streams = cvp_conv_streams(p),
                              .phases = cvp_conv_phases(p)};
    l.columns = cvp_tile_columns(l.kernels);
    l.panels = cvp_ceil_div(l.ends.out.c, l.columns);

    /* The first phase has the most outputs, and no phase has more taps than fit the window. */
    struct stencil s = cvp_conv_stencil(p, 0, 1);
    if (cvp_conv_is_pointwise(p) && s.d.count * s.h.count == 1) {
        s.w.count *= l.mb;
        l.mb = 1;
        l.is_merged = 1;
    }
    l.lane_bytes = SIZE_MAX;
    if (!cut(&l, &s)) return l;
    s.w.taps = cvp_ceil_div(p->kw, s.w.k_step);
    s.h.taps = cvp_ceil_div(p->kh, s.h.k_step);
    s.d.taps = cvp_ceil_div(p->kd, s.d.k_step);
    /* Inference has bounded the products of sizes; those with a kernel's reach are checked here. */
    int64_t n, weights;
    if (!cvp_mul_i64(stencil_reach(&s.h, l.rows), stencil_reach(&s.w, l.width), &n) ||
        !cvp_mul_i64(n, s.d.taps, &n) || !cvp_mul_i64(n, l.ends.in.c * l.size, &n) ||
        !cvp_mul_i64(p->g * l.panels, l.columns, &weights) ||
        !cvp_mul_i64(weights, l.taps * l.ends.in.c * l.size, &weights))
        return l;
    if (l.converts || (!l.is_merged && (p->direction != CONVOP_FWD || stencil_leaves_image(&s.w))))
        l.staged_bytes = cvp_round_up((size_t)n, CVP_BUFFER_ALIGN);
    l.weight_bytes = cvp_round_up((size_t)weights, CVP_BUFFER_ALIGN);
    cut_strips(&l);
    l.lane_bytes = l.staged_bytes +
                   cvp_round_up((size_t)l.taps * sizeof(struct cvp_tile_run), CVP_BUFFER_ALIGN);
    l.bias_bytes = p->bias ? cvp_round_up((size_t)(p->oc * l.size), CVP_BUFFER_ALIGN) : 0;
    const size_t shared = l.weight_bytes + l.bias_bytes;
    if (shared <= p->workspace_limit)
        l.lanes = (int)cvp_min_i64(cvp_min_i64(p->threads, l.tasks),
                                   (int64_t)((p->workspace_limit - shared) / l.lane_bytes));
    return l;
}

/* ---- weights ------------------------------------------------------------------------------- */

struct packing {
    const struct implicit_last *l;
    const char *weights;
    char *panels;
};

/* A panel holds, for each tap and input channel, `columns` output channels side by side. Backward,
 * the taps of a row of the window stand in reverse, so that they ascend as what they read does. */
static void pack_panels(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct packing *k = arg;
    const struct implicit_last *l = k->l;
    const convop_conv_problem *p = l->p;
    const int64_t icg = p->ic / p->g, ocg = p->oc / p->g, filter = l->taps * icg;
    const int64_t stored = l->stored->size;
    cvp_gemm_pack *pack = cvp_stored_pack_b(cvp_conv_stored_type(p), (enum cvp_isa)p->isa);
    for (int64_t i = begin; i < end; i++) {
        const int64_t g = i / l->panels, c = i % l->panels * l->columns;
        const int valid = (int)cvp_min_i64(l->columns, l->ends.out.c - c);
        const char *from = k->weights + g * ocg * filter * stored;
        char *to = k->panels + i * l->columns * l->taps * l->ends.in.c * l->size;
        if (p->direction == CONVOP_FWD) {
            pack(to, (int)l->columns, valid, filter, from + c * filter * stored, filter, 1);
            continue;
        }
        for (int64_t tap = 0; tap < l->taps; tap++) {
            const int64_t kw = tap % p->kw, place = tap - kw + (p->kw - 1 - kw);
            pack(to + place * l->ends.in.c * l->columns * l->size, (int)l->columns, valid, ocg,
                 from + (tap * icg + c) * stored, 1, filter);
        }
    }
}

void cvp_conv_implicit_last_pack_weights(const struct implicit_last *l, const void *weights,
                                         void *panels, const convop_context *context)
{
    struct packing k = {l, weights, panels};
    int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
    cvp_parallel(context, l->p->g * l->panels, pack_panels, &k);
    cvp_stage_leave(outer);
}

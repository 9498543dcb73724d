/* The row `implicit` for NC*, forward and backward by data: output channels times vectors of
 * pixels.
 *
 * The rows of the image that a task reads are staged: with zeros around, and the places that a
 * stride steps over apart, so that each tap of each channel is a plane of which vectors are read at
 * a fixed offset. Then the rows of the image, with what is between them, are one long row where
 * that wastes fewer lanes than the ends of short rows do.
 *
 * One task is a block of rows of one group of one image (in one phase of the stride, see
 * stencil.h), for all output channels. Channels are taken in chunks, whose sums are added in order.
 */
#include "src/operator/convolution/cpu/implicit_first.h"

#include <string.h>

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/implicit.h"
#include "src/operator/convolution/cpu/window.h"

/* ---- staging ------------------------------------------------------------------------------- */

struct job {
    const struct implicit_first *f;
    const convop_conv_operands *t;
    const char *in, *panels;
    char *out, *lanes;
};

/* A block of rows of one group of one image. */
struct block {
    struct stencil s;
    int64_t phase, n, g, td, h0, h1;
    int64_t tile0, tile1;
    int64_t *table;
    char *staged;
};

static int inside(int64_t at, int64_t size)
{
    return at >= 0 && at < size;
}

/* Where a tap reads, from where the first one does: the phase of the stride, and steps of it. */
static int64_t place_of(const struct stencil_axis *a, int64_t j)
{
    return a->at_first + j * a->at_step - stencil_low(a);
}

static void fill_table(const struct implicit_first *f, const struct block *b)
{
    const struct stencil *s = &b->s;
    int64_t *to = b->table;
    for (int64_t c = 0; c < f->chunk; c++)
        for (int64_t jd = 0; jd < s->d.taps; jd++)
            for (int64_t jh = 0; jh < s->h.taps; jh++)
                for (int64_t jw = 0; jw < s->w.taps; jw++) {
                    const int64_t h = place_of(&s->h, jh), w = place_of(&s->w, jw);
                    const int64_t plane =
                        ((jd * f->chunk + c) * f->step_h + h % f->step_h) * f->step_w +
                        w % f->step_w;
                    *to++ = (plane * f->staged_rows + h / f->step_h) * f->pitch + w / f->step_w;
                }
}

#define T          float
#define NAME(name) name##_f32
#include "src/operator/convolution/cpu/implicit_first_loops.h"
#undef T
#undef NAME
#define T          double
#define NAME(name) name##_f64
#include "src/operator/convolution/cpu/implicit_first_loops.h"
#undef T
#undef NAME

static void stage(const struct job *job, const struct block *b, int64_t c0, int64_t c1)
{
    const struct implicit_first *f = job->f;
    const struct stencil *s = &b->s;
    const int64_t low_h = b->h0 * f->step_h + stencil_low(&s->h), low_w = stencil_low(&s->w);
    for (int64_t jd = 0; jd < s->d.taps; jd++) {
        const int64_t d = b->td * s->d.in_step + s->d.at_first + jd * s->d.at_step;
        for (int64_t c = c0; c < c1; c++) {
            const char *plane = job->in + ((b->n * f->in_all + b->g * f->in_c + c) * f->in_plane +
                                           d * f->in_h * f->in_w) *
                                              f->size;
            const int64_t first =
                (jd * f->chunk + c - c0) * f->step_h * f->step_w * f->staged_rows * f->pitch;
            for (int64_t i = 0; i < f->step_h * f->staged_rows; i++) {
                const int64_t h = low_h + i;
                const char *row = inside(d, s->d.in_size) && inside(h, f->in_h)
                                      ? plane + h * f->in_w * f->size
                                      : NULL;
                const int64_t at =
                    first + (i % f->step_h * f->step_w * f->staged_rows + i / f->step_h) * f->pitch;
                (f->size == 8 ? stage_row_f64 : stage_row_f32)(f, row, low_w,
                                                               b->staged + at * f->size);
            }
        }
    }
}

/* ---- a task --------------------------------------------------------------------------------- */

/* The pixels that a strip of columns is, from column `at` on of row th. */
struct strip {
    int64_t th, at;
    int columns;
};

static void put(const struct job *job, const struct block *b, const struct strip *strip,
                int64_t channel, int rows, const void *side, int add)
{
    const struct implicit_first *f = job->f;
    const struct stencil *s = &b->s;
    const int64_t od = s->d.out_first + b->td * s->d.out_step;
    int64_t done = 0, th = strip->th, w = strip->at;
    while (done < strip->columns) {
        /* What lies between two rows is passed over. */
        const int64_t left = strip->columns - done;
        const int64_t n = cvp_min_i64(left, s->w.count - w);
        if (n > 0 && th < b->h1) {
            const int64_t oh = s->h.out_first + th * s->h.out_step;
            const int64_t ow = s->w.out_first + w * s->w.out_step;
            char *to = job->out + ((b->n * f->out_all + b->g * f->out_c + channel) * f->out_plane +
                                   (od * f->out_h + oh) * f->out_w + ow) *
                                      f->size;
            (f->size == 8 ? put_rows_f64 : put_rows_f32)(to, f->out_plane, s->w.out_step,
                                                         (const char *)side + done * f->size,
                                                         f->columns, rows, n, add);
        }
        const int64_t step = cvp_min_i64(left, f->pitch - w);
        done += step;
        w += step;
        if (w == f->pitch) {
            w = 0;
            th++;
        }
    }
}

static void compute_strip(const struct job *job, const struct block *b, const struct strip *strip,
                          int64_t c0, int64_t c1)
{
    const struct implicit_first *f = job->f;
    const struct stencil *s = &b->s;
    const int64_t taps = s->d.taps * s->h.taps * s->w.taps;
    const int add = f->p->add || c0 > 0;
    const int direct = !f->is_flat && s->w.out_step == 1;
    _Alignas(64) char side[14 * 2 * 64];
    for (int64_t i = b->tile0; i < b->tile1; i++) {
        const int64_t channel = i * f->height;
        const int rows = (int)cvp_min_i64(f->height, f->out_c - channel);
        const char *panel = job->panels + (size_t)(b->g * f->tiles + i) * f->panel_bytes +
                            (f->in_c * f->phase_taps[b->phase] + c0 * taps) * f->height * f->size;
        const struct cvp_tile_run run = {.a = panel, .b = b->staged, .n = (c1 - c0) * taps};
        struct cvp_tile_args t = {.runs = &run,
                                  .num_runs = 1,
                                  .b_at = (strip->th - b->h0) * f->pitch + strip->at,
                                  .a_row = 1,
                                  .a_col = f->height,
                                  .b_table = b->table,
                                  .c = side,
                                  .c_row = f->columns,
                                  .row_bias_step = f->p->bias_stride};
        if (job->t->bias && c0 == 0)
            t.row_bias = (const char *)job->t->bias +
                         (b->g * f->out_c + channel) * f->p->bias_stride * f->size;
        if (!direct) {
            const int vectors = (strip->columns + f->kernels->lanes - 1) / f->kernels->lanes;
            cvp_tile_run(f->kernels, &t, rows, vectors * f->kernels->lanes);
            put(job, b, strip, channel, rows, side, add);
            continue;
        }
        const int64_t od = s->d.out_first + b->td * s->d.out_step;
        const int64_t oh = s->h.out_first + strip->th * s->h.out_step;
        t.c = job->out + ((b->n * f->out_all + b->g * f->out_c + channel) * f->out_plane +
                          (od * f->out_h + oh) * f->out_w + s->w.out_first + strip->at) *
                             f->size;
        t.c_row = f->out_plane;
        t.add = add;
        cvp_tile_run(f->kernels, &t, rows, strip->columns);
    }
}

/* No tap reaches the phase: zeros, where nothing is added to. */
static void clear(const struct job *job, const struct block *b)
{
    const struct implicit_first *f = job->f;
    static const char zeros[14 * 2 * 64];
    if (f->p->add) return;
    for (int64_t th = b->h0; th < b->h1; th++)
        for (int64_t at = 0; at < b->s.w.count; at += f->columns)
            for (int64_t i = b->tile0; i < b->tile1; i++)
                put(job, b,
                    &(struct strip){th, at, (int)cvp_min_i64(f->columns, b->s.w.count - at)},
                    i * f->height, (int)cvp_min_i64(f->height, f->out_c - i * f->height), zeros, 0);
}

/* All strips of the block's rows, for a chunk of input channels. */
static void compute_chunk(const struct job *job, const struct block *b, int64_t c0, int64_t c1)
{
    const struct implicit_first *f = job->f;
    const int64_t width = b->s.w.count;
    if (f->is_flat) {
        const int64_t all = (b->h1 - b->h0 - 1) * f->pitch + width;
        for (int64_t y = 0; y < all; y += f->columns)
            compute_strip(job, b,
                          &(struct strip){b->h0 + y / f->pitch, y % f->pitch,
                                          (int)cvp_min_i64(f->columns, all - y)},
                          c0, c1);
        return;
    }
    for (int64_t th = b->h0; th < b->h1; th++)
        for (int64_t at = 0; at < width; at += f->columns)
            compute_strip(job, b, &(struct strip){th, at, (int)cvp_min_i64(f->columns, width - at)},
                          c0, c1);
}

static void compute(const struct job *job, const struct block *b)
{
    const struct implicit_first *f = job->f;
    const struct stencil *s = &b->s;
    if (s->d.taps * s->h.taps * s->w.taps == 0) {
        clear(job, b);
        return;
    }
    fill_table(f, b);
    for (int64_t c0 = 0; c0 < f->in_c; c0 += f->chunk) {
        const int64_t c1 = cvp_min_i64(c0 + f->chunk, f->in_c);
        int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
        stage(job, b, c0, c1);
        cvp_stage_leave(outer);
        outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
        compute_chunk(job, b, c0, c1);
        cvp_stage_leave(outer);
    }
}

static void run_tasks(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    const struct implicit_first *f = job->f;
    char *own = job->lanes + (size_t)lane * f->lane_bytes;
    for (int64_t i = begin; i < end; i++) {
        struct block b = {.table = (int64_t *)(void *)own, .staged = own + f->table_bytes};
        int64_t rest = i;
        b.tile0 = rest % f->tile_blocks * f->tile_block;
        b.tile1 = cvp_min_i64(b.tile0 + f->tile_block, f->tiles);
        rest /= f->tile_blocks;
        b.h0 = rest % f->h_blocks * f->rows;
        rest /= f->h_blocks;
        b.td = rest % f->d_count;
        rest /= f->d_count;
        b.g = rest % f->p->g;
        rest /= f->p->g;
        b.n = rest % f->p->mb;
        b.phase = rest / f->p->mb;
        b.s = cvp_conv_stencil(f->p, b.phase, 0);
        b.h1 = cvp_min_i64(b.h0 + f->rows, b.s.h.count);
        if (b.td < b.s.d.count && b.h0 < b.h1) compute(job, &b); /* some phases have fewer */
    }
}

/* ---- the row ------------------------------------------------------------------------------- */

int cvp_conv_implicit_first_applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    const struct implicit_first f = cvp_conv_implicit_first_plan(p);
    if (f.lanes > 0) return 1;
    if (f.phases > CVP_IMPLICIT_MAX_PHASES)
        snprintf(why, CONVOP_WHY_SIZE, "the strides' product is %lld, it takes up to %d",
                 (long long)f.phases, CVP_IMPLICIT_MAX_PHASES);
    else
        snprintf(why, CONVOP_WHY_SIZE, "needs more workspace than the limit of %zu bytes",
                 p->workspace_limit);
    return 0;
}

size_t cvp_conv_implicit_first_workspace(const convop_conv_problem *p)
{
    const struct implicit_first f = cvp_conv_implicit_first_plan(p);
    return f.weight_bytes + (size_t)f.lanes * f.lane_bytes;
}

size_t cvp_conv_implicit_first_packed_bytes(const convop_conv_problem *p)
{
    return cvp_conv_implicit_first_plan(p).weight_bytes;
}

void cvp_conv_implicit_first_pack(const convop_conv_problem *p, const void *weights, void *packed,
                                  const convop_context *context)
{
    const struct implicit_first f = cvp_conv_implicit_first_plan(p);
    cvp_conv_implicit_first_pack_weights(&f, weights, packed, context);
}

convop_status cvp_conv_implicit_first_run(const convop_conv_problem *p,
                                          const convop_conv_operands *t,
                                          const convop_context *context, void *workspace)
{
    const struct implicit_first f = cvp_conv_implicit_first_plan(p);
    const int forward = p->direction == CONVOP_FWD;
    struct job job = {.f = &f,
                      .t = t,
                      .in = forward ? t->src : t->dst,
                      .out = t->out,
                      .panels = t->packed ? t->packed : workspace,
                      .lanes = (char *)workspace + f.weight_bytes};
    if (!t->packed) cvp_conv_implicit_first_pack_weights(&f, t->weights, workspace, context);
    cvp_parallel_on(context, f.lanes, f.tasks, run_tasks, &job);
    return CONVOP_OK;
}

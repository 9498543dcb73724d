/* The row `grouped`, forward and backward by data; see grouped.h. */
#include "src/operator/convolution/cpu/grouped.h"

#include <string.h>

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/bias.h"
#include "src/operator/convolution/cpu/implicit.h"
#include "src/operator/convolution/cpu/window.h"

struct job {
    const struct grouped *k;
    const char *in, *weights, *bias;
    char *out, *lanes;
};

/* A strip, and where its outputs go. */
struct piece {
    struct grouped_strip s;
    int64_t n, od, w0, w1;
    const char *weights; /* of its vector and input channels */
    const void *bias;
    char *buffer; /* NC*: a row of outputs */
    struct cvp_grouped_run *runs;
    int add;
};

/* What row t of phase h and the taps of phase w read; how many runs. */
static int64_t list_runs(const struct piece *b, const struct stencil_axis *h,
                         const struct stencil_axis *w, int64_t t)
{
    const struct grouped *k = b->s.k;
    const convop_conv_problem *p = k->p;
    const struct stencil_axis *d = &b->s.d;
    const int64_t vector = k->kernels->lanes * k->size;
    int64_t n = 0;
    for (int64_t jd = 0; jd < d->taps && w->taps > 0; jd++) {
        if (!inside(b->s.td * d->in_step + d->at_first + jd * d->at_step, d->in_size)) continue;
        for (int64_t jh = 0; jh < h->taps; jh++) {
            const int64_t row = t * h->in_step + h->at_first + jh * h->at_step;
            if (!inside(row, h->in_size)) continue;
            const int64_t tap =
                ((d->k_first + jd * d->k_step) * p->kh + h->k_first + jh * h->k_step) * p->kw +
                w->k_first + (w->at_step < 0 ? (w->taps - 1) * w->k_step : 0);
            b->runs[n++] = (struct cvp_grouped_run){.x = cvp_conv_grouped_row(&b->s, jd, row) +
                                                         (stencil_low(w) - k->w.low) * vector,
                                                    .w = b->weights + tap * k->w_tap * vector};
        }
    }
    return n;
}

/* Row t of phase h, all phases of its pixels. */
static void sum_row(const struct job *job, const struct piece *b, const struct stencil_axis *h,
                    int64_t t)
{
    const struct grouped *k = job->k;
    const struct conv_end *out = &k->ends.out;
    const struct grouped_vector *v = b->s.v;
    const int64_t lanes = k->kernels->lanes, last = k->p->channels_last;
    const int64_t row = (b->od * out->h + h->out_first + t * h->out_step) * out->w;
    const int64_t begin = b->w0 * k->w.phases; /* the first pixel of the strip's outputs */
    char *image = job->out + b->n * out->image * k->size;
    int64_t pixels = 0;
    for (int64_t r = 0; r < k->w.phases; r++) {
        const struct stencil_axis *w = &k->w.at[r];
        const int64_t n = cvp_min_i64(b->w1, w->count) - b->w0;
        if (n <= 0) continue;
        const int64_t ow = w->out_first + b->w0 * w->out_step;
        /* Taps ascend as what they read does; the steps of a single one may be of any size. */
        const int64_t next = w->taps < 2 ? 0 : w->at_step < 0 ? -1 : 1;
        const struct cvp_grouped_sum s = {.runs = b->runs,
                                          .num_runs = list_runs(b, h, w, t),
                                          .taps = w->taps,
                                          .channels = b->s.j1 - b->s.j0,
                                          .plane = k->pixels * lanes,
                                          .x_tap = next * w->at_step * lanes,
                                          .w_step = k->w_step * lanes,
                                          .w_tap = next * w->k_step * k->w_tap * lanes,
                                          .x_step = w->in_step,
                                          .bias = b->bias,
                                          .out = last ? image + ((row + ow) * out->all + v->out) *
                                                                    k->size
                                                      : b->buffer + (ow - begin) * lanes * k->size,
                                          .out_step = w->out_step * (last ? out->all : lanes),
                                          .pixels = n,
                                          .lanes = last ? v->lanes : (int)lanes,
                                          .add = last && b->add};
        k->kernels->sum(&s);
        pixels += n;
    }
    if (last) return;
    int64_t rows[GROUPED_MOST_LANES];
    cvp_conv_grouped_planes(out, v->out, v->lanes, row + begin, rows);
    k->kernels->turn_out(image, rows, b->buffer, lanes, pixels, b->add);
}

/* A strip, some input channels at a time. */
static void sum_strip(const struct job *job, struct piece *b, int64_t h0, int64_t h1,
                      const void *bias)
{
    const struct grouped *k = job->k;
    struct grouped_strip *s = &b->s;
    const char *weights = b->weights;
    s->low_w = b->w0 * k->w.step + k->w.low;
    s->pixels = (b->w1 - b->w0 - 1) * k->w.step + k->w.reach;
    for (s->j0 = 0; s->j0 < k->ends.in.c; s->j0 = s->j1) {
        s->j1 = cvp_min_i64(s->j0 + k->block, k->ends.in.c);
        s->next = h0 * k->h.step + k->h.low;
        b->weights = weights + s->j0 * k->w_step * k->kernels->lanes * k->size;
        b->bias = s->j0 == 0 ? bias : NULL;
        b->add = k->p->add || s->j0 > 0;
        for (int64_t t = h0; t < h1; t++) {
            cvp_conv_grouped_read(s, t);
            for (int64_t r = 0; r < k->h.phases; r++)
                if (t < k->h.at[r].count) sum_row(job, b, &k->h.at[r], t);
        }
    }
    b->weights = weights;
}

static void run_tasks(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    const struct grouped *k = job->k;
    const int64_t vector = k->kernels->lanes * k->size;
    char *own = job->lanes + (size_t)lane * k->lane_bytes;
    struct piece b = {.s = {.k = k, .ring = own, .turned = own + k->ring_bytes}};
    b.buffer = b.s.turned + k->turned_bytes;
    b.runs = (struct cvp_grouped_run *)(void *)(b.buffer + k->out_bytes);
    char *bias = b.buffer + k->width * k->w.phases * vector;
    const int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i;
        const int64_t at = cvp_conv_implicit_next(&rest, k->vectors);
        const struct grouped_vector v = cvp_conv_grouped_vector(k, at);
        const int64_t h0 = cvp_conv_implicit_next(&rest, k->row_blocks) * k->rows;
        const int64_t h1 = cvp_min_i64(h0 + k->rows, k->h.count);
        b.s.v = &v;
        b.s.td = cvp_conv_implicit_next(&rest, k->d_count);
        b.n = cvp_conv_implicit_next(&rest, k->p->mb);
        b.s.d = cvp_conv_grouped_depths(k, rest);
        if (b.s.td >= b.s.d.count || h0 >= h1) continue; /* a phase with fewer */
        b.od = b.s.d.out_first + b.s.td * b.s.d.out_step;
        b.s.image = job->in + b.n * k->ends.in.image * k->size;
        b.weights = job->weights + at * k->ends.in.c * k->taps * vector;
        if (job->bias) {
            memset(bias, 0, (size_t)vector);
            memcpy(bias, job->bias + v.out * k->size, (size_t)(v.lanes * k->size));
        }
        for (b.w0 = 0; b.w0 < k->w.count; b.w0 = b.w1) {
            b.w1 = cvp_min_i64(b.w0 + k->width, k->w.count);
            sum_strip(job, &b, h0, h1, job->bias ? bias : NULL);
        }
    }
    cvp_stage_leave(outer);
}

/* ---- the row ------------------------------------------------------------------------------- */

static size_t workspace(const convop_conv_problem *p)
{
    const struct grouped *k = p->cut;
    return k->weight_bytes + k->bias_bytes + (size_t)k->lanes * k->lane_bytes;
}

static size_t packed_bytes(const convop_conv_problem *p)
{
    const struct grouped *k = p->cut;
    return k->weight_bytes;
}

struct pack_job {
    const struct grouped *k;
    const void *weights;
    void *packed;
};

static void pack_range(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct pack_job *job = arg;
    cvp_conv_grouped_pack(job->k, job->weights, job->packed, begin, end);
}

static void pack(const convop_conv_problem *p, const void *weights, void *packed,
                 const convop_context *context)
{
    const struct grouped *k = p->cut;
    const int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
    struct pack_job job = {k, weights, packed};
    cvp_parallel(context, k->vectors, pack_range, &job);
    cvp_stage_leave(outer);
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *workspace_)
{
    const struct grouped *k = p->cut;
    char *bias = (char *)workspace_ + k->weight_bytes;
    struct job job = {.k = k,
                      .in = p->direction == CONVOP_FWD ? t->src : t->dst,
                      .weights = t->packed ? t->packed : workspace_,
                      .bias = cvp_conv_bias_compact(p, t->bias, bias, context),
                      .out = t->out,
                      .lanes = bias + k->bias_bytes};
    if (!t->packed) pack(p, t->weights, workspace_, context);
    cvp_parallel_on(context, k->lanes, k->tasks, run_tasks, &job);
    return CONVOP_OK;
}

#define GROUPED(row, dir)                                                                          \
    extern const convop_conv_impl row;                                                             \
    const convop_conv_impl row = {                                                                 \
        .struct_size = sizeof(convop_conv_impl),                                                   \
        .name = "grouped",                                                                         \
        .direction = dir,                                                                          \
        .version = 1,                                                                              \
        .level = CONVOP_LEVEL_BUILTIN,                                                             \
        .cut = cvp_conv_grouped_cut,                                                               \
        .cut_size = CONV_CUT_SIZE(struct grouped),                                                 \
        .workspace = workspace,                                                                    \
        .packed_bytes = packed_bytes,                                                              \
        .pack = pack,                                                                              \
        .run = run,                                                                                \
        .estimate = cvp_conv_grouped_estimate,                                                     \
    }

GROUPED(cvp_conv_grouped_fwd, CONVOP_FWD);
GROUPED(cvp_conv_grouped_bwd_d, CONVOP_BWD_D);

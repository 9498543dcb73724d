/* The row `grouped`, backward by weights; see grouped.h. Blocks of rows are shared among parts,
 * each of which has sums of its own; a second loop adds these in their order. A block is one chain
 * of sums, which gets no longer with the number of images. The cut follows from the problem: the
 * bits depend on no thread. */
#include <string.h>

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/grouped.h"
#include "src/operator/convolution/cpu/implicit.h"
#include "src/operator/convolution/cpu/window.h"

struct job {
    const struct grouped *k;
    const char *src, *dst;
    char *out, *sums, *lanes;
};

/* Pixels [w0, w0 + n) of a row of diff_dst. */
struct row {
    const char *at;
    int64_t step;
};

static struct row row_of(const struct job *job, const struct grouped_vector *v, int64_t image,
                         int64_t at, int64_t n, char *copy)
{
    const struct grouped *k = job->k;
    const struct conv_end *out = &k->ends.out;
    const int64_t lanes = k->kernels->lanes;
    const char *base = job->dst + image * out->image * k->size;
    const char *pixel = base + (at * out->all + v->out) * k->size;
    if (k->p->channels_last && v->lanes == lanes) {
        /* The next row, which is not there yet when it is wanted. */
        for (int64_t x = 0; x < n; x++)
            __builtin_prefetch(pixel + (out->w + x) * out->all * k->size, 0, 2);
        return (struct row){pixel, out->all};
    }
    if (k->p->channels_last) {
        memset(copy, 0, (size_t)(n * lanes * k->size));
        for (int64_t x = 0; x < n; x++)
            memcpy(copy + x * lanes * k->size, pixel + x * out->all * k->size,
                   (size_t)(v->lanes * k->size));
    } else {
        int64_t rows[GROUPED_MOST_LANES];
        cvp_conv_grouped_planes(out, v->out, v->lanes, at, rows);
        k->kernels->turn_in(copy, lanes, base, rows, n, out->w);
    }
    return (struct row){copy, lanes};
}

/* Adds the products of row t of a strip to its sums. */
static void add_row(const struct grouped *k, const struct grouped_strip *s, int64_t t,
                    const struct row *y, int64_t pixels, char *sums)
{
    const struct stencil_axis *d = &s->d, *h = &k->h.at[0], *w = &k->w.at[0];
    const int64_t lanes = k->kernels->lanes;
    struct cvp_grouped_filter f = {.taps = w->taps,
                                   .channels = s->j1 - s->j0,
                                   .plane = k->pixels * lanes,
                                   .x_tap = w->taps > 1 ? w->at_step * lanes : 0,
                                   .x_step = w->in_step * lanes,
                                   .y = y->at,
                                   .y_step = y->step,
                                   .pixels = pixels,
                                   .sum_step = k->w_step * lanes,
                                   .sum_tap = k->w_tap * lanes};
    for (int64_t jd = 0; jd < d->taps; jd++) {
        if (!inside(s->td * d->in_step + d->at_first + jd * d->at_step, d->in_size)) continue;
        for (int64_t jh = 0; jh < h->taps; jh++) {
            const int64_t row = t * h->in_step + h->at_first + jh * h->at_step;
            if (!inside(row, h->in_size)) continue;
            f.x = cvp_conv_grouped_row(s, jd, row);
            f.sums = sums + (jd * h->taps + jh) * w->taps * f.sum_tap * k->size;
            k->kernels->filter(&f);
        }
    }
}

/* Rows [h0, h1) of an image, all of their strips, for some input channels. */
static void add_block(const struct job *job, struct grouped_strip *s, int64_t image, int64_t h0,
                      int64_t h1, char *copy, char *sums)
{
    const struct grouped *k = job->k;
    for (int64_t w0 = 0; w0 < k->w.count; w0 += k->width) {
        const int64_t n = cvp_min_i64(k->width, k->w.count - w0);
        s->low_w = w0 * k->w.step + k->w.low;
        s->pixels = (n - 1) * k->w.step + k->w.reach;
        s->next = h0 * k->h.step + k->h.low;
        for (int64_t t = h0; t < h1; t++) {
            cvp_conv_grouped_read(s, t);
            const int64_t at = (s->td * k->ends.out.h + t) * k->ends.out.w + w0;
            const struct row y = row_of(job, s->v, image, at, n, copy);
            add_row(k, s, t, &y, n, sums);
        }
    }
}

/* Task = (part, vector), the vector the fastest. */
static void sum_parts(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    const struct grouped *k = job->k;
    const int64_t vector = k->kernels->lanes * k->size, all = k->ends.in.c * k->taps * vector;
    char *own = job->lanes + (size_t)lane * k->lane_bytes;
    struct grouped_strip s = {
        .k = k, .ring = own, .turned = own + k->ring_bytes, .d = cvp_conv_grouped_depths(k, 0)};
    char *copy = s.turned + k->turned_bytes, *chain = copy + k->out_bytes;
    const int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    for (int64_t task = begin; task < end; task++) {
        const struct grouped_vector v = cvp_conv_grouped_vector(k, task % k->vectors);
        const int64_t part = task / k->vectors;
        const int64_t share = k->blocks / k->parts, more = k->blocks % k->parts;
        const int64_t first = part * share + cvp_min_i64(part, more);
        char *sums = job->sums + task * all;
        s.v = &v;
        memset(sums, 0, (size_t)all);
        for (int64_t i = first; i < first + share + (part < more); i++) {
            int64_t rest = i;
            const int64_t h0 = cvp_conv_implicit_next(&rest, k->row_blocks) * k->rows;
            s.td = cvp_conv_implicit_next(&rest, k->d_count);
            s.image = job->src + rest * k->ends.in.image * k->size;
            memset(chain, 0, (size_t)all);
            for (s.j0 = 0; s.j0 < k->ends.in.c; s.j0 = s.j1) {
                s.j1 = cvp_min_i64(s.j0 + k->block, k->ends.in.c);
                add_block(job, &s, rest, h0, cvp_min_i64(h0 + k->rows, k->h.count), copy,
                          chain + s.j0 * k->w_step * vector);
            }
            k->kernels->add(sums, chain, all / k->size);
        }
    }
    cvp_stage_leave(outer);
}

/* Vectors [begin, end), of all parts. */
static void add_parts(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    const struct grouped *k = job->k;
    const int64_t n = k->taps * k->ends.in.c * k->kernels->lanes;
    for (int64_t i = begin; i < end; i++)
        for (int64_t part = 1; part < k->parts; part++)
            k->kernels->add(job->sums + i * n * k->size,
                            job->sums + (part * k->vectors + i) * n * k->size, n);
    cvp_conv_grouped_unpack(k, job->sums, job->out, begin, end);
}

static size_t workspace(const convop_conv_problem *p)
{
    const struct grouped *k = p->cut;
    return k->weight_bytes + (size_t)k->lanes * k->lane_bytes;
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *scratch)
{
    const struct grouped *k = p->cut;
    struct job job = {.k = k,
                      .src = t->src,
                      .dst = t->dst,
                      .out = t->out,
                      .sums = scratch,
                      .lanes = (char *)scratch + k->weight_bytes};
    cvp_parallel_on(context, k->lanes, k->tasks, sum_parts, &job);
    cvp_parallel(context, k->vectors, add_parts, &job);
    return CONVOP_OK;
}

extern const convop_conv_impl cvp_conv_grouped_bwd_w;
const convop_conv_impl cvp_conv_grouped_bwd_w = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "grouped",
    .direction = CONVOP_BWD_W,
    .version = 1,
    .level = CONVOP_LEVEL_BUILTIN,
    .cut = cvp_conv_grouped_cut,
    .cut_size = CONV_CUT_SIZE(struct grouped),
    .workspace = workspace,
    .run = run,
    .estimate = cvp_conv_grouped_estimate,
};

/* A block of the row `split`: its grid, and products of it and the weights. */
#include "src/common/size.h"
#include "src/operator/convolution/cpu/finish.h"
#include "src/operator/convolution/cpu/split_walk.h"

/* Pixels of a row that are made at a time, N*C. */
#define PART 64

int64_t cvp_conv_split_parts(const struct split_job *job)
{
    if (!job->k->p->channels_last) return job->k->steps * SPLIT_SIDE;
    return cvp_conv_split_rows(&job->layout, &job->b) * cvp_ceil_div(job->layout.pitch, PART);
}

/* N*C: pixels of a row, each with its channels side by side: of each 32 the terms in turn. */
static void stage_last(const struct split_job *job, int64_t part)
{
    const struct split_walk *k = job->k;
    const struct conv_end *in = &k->ends.in;
    const int64_t parts = cvp_ceil_div(job->layout.pitch, PART);
    const struct split_row r = cvp_conv_split_row(&job->layout, &job->b, in, part / parts);
    const float *from = job->in + r.n * in->image + job->g * in->c;
    const int64_t x0 = part % parts * PART, x1 = cvp_min_i64(x0 + PART, job->layout.pitch);
    char *to = job->grid + (r.at + x0) * k->pixel;
    for (int64_t x = x0; x < x1; x++, to += k->pixel) {
        const int is_in = x >= r.begin && x < r.end;
        k->kernels->rows(to, SPLIT_TERMS * SPLIT_LINE, SPLIT_LINE,
                         is_in ? from + (r.from + (x - r.begin) * r.step) * in->all : NULL, 1,
                         in->c);
    }
}

/* NC*: a plane of pairs of two channels, each term. */
static void stage_first(const struct split_job *job, int64_t pair)
{
    const struct split_walk *k = job->k;
    const struct conv_end *in = &k->ends.in;
    const struct split_grid *g = &job->layout;
    const int64_t term = k->steps * SPLIT_SIDE * job->plane, c = 2 * pair;
    const int64_t rows = cvp_conv_split_rows(g, &job->b);
    char *plane = job->grid + pair * job->plane;
    if (c >= in->c) {
        k->kernels->pairs(plane, term, NULL, NULL, 1, g->pixels);
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        const struct split_row r = cvp_conv_split_row(g, &job->b, in, i);
        const float *even = job->in + r.n * in->image + (job->g * in->c + c) * in->plane + r.from;
        char *to = plane + r.at * 4;
        if (r.begin > 0) k->kernels->pairs(to, term, NULL, NULL, 1, r.begin);
        if (r.end > r.begin)
            k->kernels->pairs(to + r.begin * 4, term, even, c + 1 < in->c ? even + in->plane : NULL,
                              r.step, r.end - r.begin);
        if (g->pitch > r.end)
            k->kernels->pairs(to + r.end * 4, term, NULL, NULL, 1, g->pitch - r.end);
    }
}

void cvp_conv_split_stage(const struct split_job *job, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        (job->k->p->channels_last ? stage_last : stage_first)(job, i);
}

/* How the sums of outputs o and of a panel's channels are put. */
static struct split_put put_of(const struct split_job *job, const struct split_outs *o,
                               int64_t panel)
{
    const struct split_walk *k = job->k;
    const convop_conv_problem *p = k->p;
    const struct conv_end *out = &k->ends.out;
    const int64_t c = job->g * out->c + panel * SPLIT_PANEL;
    const int64_t channels = cvp_min_i64(SPLIT_PANEL, out->c - panel * SPLIT_PANEL);
    const int64_t pixel =
        job->out_first + o->d * job->out_depth + o->h * job->out_row + o->w * job->out_step;
    const float *bias = job->bias ? job->bias + c : NULL;
    struct split_put to = {.add = p->add,
                           .clamps = p->activation != CONVOP_ACTIVATION_NONE,
                           .high = (float)cvp_conv_high(p)};
    int64_t first = o->image * out->image;
    if (p->channels_last) {
        first += pixel * out->all + c;
        to.rows = o->n;
        to.columns = channels;
        to.row = job->out_step * out->all;
        to.column = 1;
        to.column_bias = bias;
    } else {
        first += c * out->plane + pixel;
        to.rows = channels;
        to.columns = o->n;
        to.row = out->plane;
        to.column = job->out_step;
        to.row_bias = bias;
    }
    to.out = job->out + first;
    to.residual = job->residual ? job->residual + first : NULL;
    return to;
}

/* 1 if tiles of sums are what is put. */
static int is_direct(const struct split_put *to)
{
    return to->rows == SPLIT_PANEL && to->columns == SPLIT_PANEL && to->column == 1 && !to->add &&
           !to->clamps && !to->residual && !to->row_bias && !to->column_bias;
}

/* The product of a panel and 32 pixels from o's first on, numbers below m1. */
static void multiply_tiles(const struct split_job *job, struct split_product *t,
                           const struct split_outs *o, int64_t panel, int64_t m1)
{
    _Alignas(64) float sums[SPLIT_PANEL * SPLIT_PANEL];
    const struct split_walk *k = job->k;
    const int last = k->p->channels_last;
    const int64_t m = o->m, end = cvp_min_i64(m + SPLIT_PANEL, m1);
    const int64_t weights = k->is_by_panel ? 0 : panel * job->walk_taps * k->steps * SPLIT_STEP;
    const int channels = k->ends.out.c - panel * SPLIT_PANEL > SPLIT_SIDE ? 2 : 1;
    const int pixels = m1 - m > SPLIT_SIDE ? 2 : 1;
    t->a_at = last ? m * k->pixel : weights;
    t->b_at = last ? weights : m * k->pixel;
    t->rows = last ? pixels : channels;
    t->columns = last ? channels : pixels;
    t->c = sums;
    t->c_row = SPLIT_PANEL;
    struct split_put to = put_of(job, o, panel);
    if (is_direct(&to)) {
        t->c = to.out;
        t->c_row = to.row;
        k->kernels->multiply(t);
        return;
    }
    k->kernels->multiply(t);
    for (struct split_outs at = *o; at.n > 0;) {
        to.sums = sums + (at.m - m) * (last ? SPLIT_PANEL : 1);
        k->kernels->put(&to);
        at = cvp_conv_split_outs(&job->layout, &job->b, at.m + at.n, end);
        if (at.n > 0) to = put_of(job, &at, panel);
    }
}

/* Panels [i0, i1) and the numbers [m0, m1). */
static void multiply_panels(const struct split_job *job, struct split_product *t, int64_t i0,
                            int64_t i1, int64_t m0, int64_t m1)
{
    for (int64_t m = m0; m < m1; m += SPLIT_PANEL) {
        const struct split_outs first = cvp_conv_split_outs(&job->layout, &job->b, m, m1);
        if (first.n == 0) break;
        m = first.m;
        struct split_outs o = first;
        o.n = cvp_min_i64(o.n, SPLIT_PANEL);
        for (int64_t i = i0; i < i1; i++) multiply_tiles(job, t, &o, i, m1);
    }
}

/* What all products of a block have in common; `runs` is room for the taps. */
static struct split_product product_of(const struct split_job *job, const char *packed,
                                       struct split_run runs[SPLIT_MAX_TAPS])
{
    const struct split_walk *k = job->k;
    const int last = k->p->channels_last;
    for (int64_t t = 0; t < job->walk_taps; t++) {
        const char *grid = job->grid + cvp_conv_split_tap(&job->layout, t) * k->pixel;
        const char *weights = packed + t * k->steps * SPLIT_STEP;
        runs[t] = (struct split_run){last ? grid : weights, last ? weights : grid, k->steps};
    }
    const int64_t pixel = SPLIT_SIDE * k->pixel;
    const struct split_operand grid =
        last ? (struct split_operand){k->pixel, pixel, SPLIT_LINE, SPLIT_TERMS * SPLIT_LINE}
             : (struct split_operand){job->plane, pixel, k->steps * SPLIT_SIDE * job->plane,
                                      SPLIT_SIDE * job->plane};
    return (struct split_product){.runs = runs,
                                  .num_runs = job->walk_taps,
                                  .a = last ? grid : k->weights,
                                  .b = last ? k->weights : grid};
}

void cvp_conv_split_multiply(const struct split_job *job, int64_t begin, int64_t end)
{
    const struct split_walk *k = job->k;
    struct split_run runs[SPLIT_MAX_TAPS];
    struct split_product t = product_of(job, job->packed, runs);
    const int64_t tiles = cvp_ceil_div(job->layout.sums, SPLIT_PANEL);
    for (int64_t i = begin; i < end; i++) {
        const int64_t panel = i / k->shares * k->group, share = i % k->shares;
        const int64_t m0 = tiles * share / k->shares * SPLIT_PANEL;
        const int64_t m1 =
            cvp_min_i64(tiles * (share + 1) / k->shares * SPLIT_PANEL, job->layout.sums);
        multiply_panels(job, &t, panel, cvp_min_i64(panel + k->group, k->panels), m0, m1);
    }
}

void cvp_conv_split_multiply_panel(const struct split_job *job, int64_t i, const char *packed)
{
    struct split_run runs[SPLIT_MAX_TAPS];
    struct split_product t = product_of(job, packed, runs);
    multiply_panels(job, &t, i, i + 1, 0, job->layout.sums);
}

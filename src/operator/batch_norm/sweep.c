/* The passes: what an item of each parallel loop is, and how sums of parts are joined. */
#include "src/operator/batch_norm/sweep.h"

#include <string.h>

#include "src/common/size.h"
#include "src/operator/common.h"

/* Elements that an item of the passes without sums has at least, where it can. */
#define ITEM 8192

static double *sums_of(const struct bn_sweep *s, int64_t part)
{
    return (double *)(s->workspace + s->plan->sums_at + (size_t)part * s->plan->sums_of_part);
}

static int64_t first_block(const struct bn_plan *p, int64_t part)
{
    /* As equal as can be; in this order, nothing overflows that the number of elements does not. */
    int64_t each = p->blocks / p->parts, more = p->blocks % p->parts;
    return part * each + cvp_min_i64(part, more);
}

/* A block of planes: the first element of channel 0, how many lines of how many elements. */
struct block {
    int64_t at, lines, n;
};

static struct block plane_block(const struct bn_plan *p, int64_t i)
{
    int64_t plane = i / p->plane_blocks * p->block_planes;
    int64_t inner = i % p->plane_blocks * p->block_inner;
    return (struct block){plane * p->channels * p->inner + inner,
                          cvp_min_i64(p->outer - plane, p->block_planes),
                          cvp_min_i64(p->inner - inner, p->block_inner)};
}

static const void *element(const struct bn_plan *p, const void *base, int64_t i)
{
    return (const char *)base + i * p->element_size;
}

/* An item is a channel of a part, the channels of a part one after the other. A run of them goes
 * through memory as it lies: block by block, and in each block channel by channel. */
struct run {
    int64_t part, c0, c1;
};

static struct run run_at(const struct bn_plan *p, int64_t item, int64_t end)
{
    int64_t part = item / p->channels, c = item % p->channels;
    return (struct run){part, c, cvp_min_i64(p->channels, c + end - item)};
}

static void moments_of_run(const struct bn_sweep *s, struct run run)
{
    const struct bn_plan *p = s->plan;
    double *mean = sums_of(s, run.part), *m2 = mean + p->sums_step, n = 0;
    for (int64_t i = first_block(p, run.part); i < first_block(p, run.part + 1); i++) {
        struct block b = plane_block(p, i);
        double nb = (double)(b.lines * b.n);
        for (int64_t c = run.c0; c < run.c1; c++) {
            double m[2];
            p->kernels->moments(element(p, s->x, b.at + c * p->inner), b.lines,
                                p->channels * p->inner, b.n, m);
            if (n == 0) {
                mean[c] = m[0];
                m2[c] = m[1];
            } else {
                cvp_bn_join(&mean[c], &m2[c], n, m[0], m[1], nb);
            }
        }
        n += nb;
    }
}

static void moments_planes(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct bn_sweep *s = arg;
    while (begin < end) {
        struct run run = run_at(s->plan, begin, end);
        moments_of_run(s, run);
        begin += run.c1 - run.c0;
    }
}

static void products_of_run(const struct bn_sweep *s, struct run run)
{
    const struct bn_plan *p = s->plan;
    double *sum = sums_of(s, run.part), *product = sum + p->sums_step;
    for (int64_t c = run.c0; c < run.c1; c++) sum[c] = product[c] = 0;
    for (int64_t i = first_block(p, run.part); i < first_block(p, run.part + 1); i++) {
        struct block b = plane_block(p, i);
        for (int64_t c = run.c0; c < run.c1; c++) {
            double both[2] = {sum[c], product[c]};
            int64_t at = b.at + c * p->inner;
            p->kernels->products(element(p, s->dy, at), element(p, s->x, at), b.lines,
                                 p->channels * p->inner, b.n,
                                 cvp_bn_coef(s)[c * BN_COEFS + BN_DIFF_MEAN], both);
            sum[c] = both[0];
            product[c] = both[1];
        }
    }
}

static void products_planes(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct bn_sweep *s = arg;
    while (begin < end) {
        struct run run = run_at(s->plan, begin, end);
        products_of_run(s, run);
        begin += run.c1 - run.c0;
    }
}

/* An item is a part of the rows. */
static void moments_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct bn_sweep *s = arg;
    const struct bn_plan *p = s->plan;
    for (int64_t part = begin; part < end; part++) {
        double *mean = sums_of(s, part), *m2 = mean + p->sums_step, *b_mean = m2 + p->sums_step,
               *b_m2 = b_mean + p->sums_step, n = 0;
        for (int64_t i = first_block(p, part); i < first_block(p, part + 1); i++) {
            int64_t row = i * p->block_rows, rows = cvp_min_i64(p->outer - row, p->block_rows);
            const void *x = element(p, s->x, row * p->channels);
            if (n == 0) {
                p->kernels->moments_rows(x, rows, p->channels, mean, m2);
            } else {
                p->kernels->moments_rows(x, rows, p->channels, b_mean, b_m2);
                for (int64_t c = 0; c < p->channels; c++)
                    cvp_bn_join(&mean[c], &m2[c], n, b_mean[c], b_m2[c], (double)rows);
            }
            n += (double)rows;
        }
    }
}

static void products_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct bn_sweep *s = arg;
    const struct bn_plan *p = s->plan;
    for (int64_t part = begin; part < end; part++) {
        double *sum = sums_of(s, part), *product = sum + p->sums_step,
               *mean = product + p->sums_step;
        memset(sum, 0, 2 * (size_t)p->sums_step * sizeof *sum);
        for (int64_t c = 0; c < p->channels; c++)
            mean[c] = cvp_bn_coef(s)[c * BN_COEFS + BN_DIFF_MEAN];
        for (int64_t i = first_block(p, part); i < first_block(p, part + 1); i++) {
            int64_t row = i * p->block_rows, rows = cvp_min_i64(p->outer - row, p->block_rows);
            int64_t at = row * p->channels;
            p->kernels->products_rows(element(p, s->dy, at), element(p, s->x, at), rows,
                                      p->channels, mean, sum, product);
        }
    }
}

static int64_t elements_of_part(const struct bn_plan *p, int64_t part)
{
    int64_t n = 0;
    for (int64_t i = first_block(p, part); i < first_block(p, part + 1); i++) {
        if (p->inner == 1) {
            n += cvp_min_i64(p->outer - i * p->block_rows, p->block_rows);
        } else {
            struct block b = plane_block(p, i);
            n += b.lines * b.n;
        }
    }
    return n;
}

static void run_sums(const struct bn_sweep *s, cvp_range_body *planes, cvp_range_body *rows)
{
    const struct bn_plan *p = s->plan;
    struct bn_sweep own = *s;
    int is_rows = p->inner == 1;
    cvp_parallel_elements(s->context, p->elements, is_rows ? p->parts : p->parts * p->channels,
                          is_rows ? rows : planes, &own);
}

void cvp_bn_sweep_moments(const struct bn_sweep *s)
{
    const struct bn_plan *p = s->plan;
    run_sums(s, moments_planes, moments_rows);
    double *mean = sums_of(s, 0), *m2 = mean + p->sums_step;
    double n = (double)elements_of_part(p, 0);
    for (int64_t part = 1; part < p->parts; part++) {
        const double *b = sums_of(s, part);
        double nb = (double)elements_of_part(p, part);
        for (int64_t c = 0; c < p->channels; c++)
            cvp_bn_join(&mean[c], &m2[c], n, b[c], b[p->sums_step + c], nb);
        n += nb;
    }
}

void cvp_bn_sweep_products(const struct bn_sweep *s)
{
    run_sums(s, products_planes, products_rows);
    double *sum = sums_of(s, 0);
    for (int64_t part = 1; part < s->plan->parts; part++) {
        const double *b = sums_of(s, part);
        for (int64_t c = 0; c < s->plan->channels; c++) {
            sum[c] += b[c];
            sum[s->plan->sums_step + c] += b[s->plan->sums_step + c];
        }
    }
}

/* The passes without sums. An item is a piece of a plane, or some periods of rows. */
struct cut {
    const struct bn_sweep *sweep;
    int is_backward;
    int64_t piece, pieces; /* elements of an item; items of a plane */
    const void *table;
};

static void apply_planes(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct cut *cut = arg;
    const struct bn_sweep *s = cut->sweep;
    const struct bn_plan *p = s->plan;
    for (int64_t item = begin; item < end; item++) {
        int64_t plane = item / cut->pieces, first = item % cut->pieces * cut->piece;
        int64_t n = cvp_min_i64(p->inner - first, cut->piece);
        int64_t at = (plane * p->inner + first) * p->element_size;
        const double *coef = cvp_bn_coef(s) + plane % p->channels * BN_COEFS;
        const char *x = s->x ? (const char *)s->x + at : NULL;
        if (cut->is_backward)
            p->kernels->diff((char *)s->out + at, (const char *)s->dy + at, x, n, coef, s->add);
        else
            p->kernels->scale((char *)s->out + at, x, n, coef, s->add);
    }
}

static void apply_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct cut *cut = arg;
    const struct bn_sweep *s = cut->sweep;
    const struct bn_plan *p = s->plan;
    for (int64_t item = begin; item < end; item++) {
        int64_t first = item * cut->piece, n = cvp_min_i64(p->elements - first, cut->piece);
        int64_t at = first * p->element_size;
        const char *x = s->x ? (const char *)s->x + at : NULL;
        if (cut->is_backward)
            p->kernels->diff_rows((char *)s->out + at, (const char *)s->dy + at, x, n, p->period,
                                  cut->table, s->add);
        else
            p->kernels->scale_rows((char *)s->out + at, x, n, p->period, cut->table, s->add);
    }
}

static void apply(const struct bn_sweep *s, int is_backward)
{
    const struct bn_plan *p = s->plan;
    struct cut cut = {.sweep = s, .is_backward = is_backward};
    if (p->inner > 1) {
        cut.piece = cvp_min_i64(p->inner, ITEM);
        cut.pieces = cvp_ceil_div(p->inner, cut.piece);
        cvp_parallel_elements(s->context, p->elements, p->outer * p->channels * cut.pieces,
                              apply_planes, &cut);
        return;
    }
    void *table = s->workspace + p->table_at;
    p->kernels->fill_table(table, p->period, p->channels,
                           is_backward ? BN_BACKWARD_COEFS : BN_FORWARD_COEFS, cvp_bn_coef(s));
    cut.table = table;
    cut.piece = p->period * cvp_max_i64(ITEM / p->period, 1);
    cvp_parallel_elements(s->context, p->elements, cvp_ceil_div(p->elements, cut.piece), apply_rows,
                          &cut);
}

void cvp_bn_sweep_scale(const struct bn_sweep *s)
{
    apply(s, 0);
}

void cvp_bn_sweep_diff(const struct bn_sweep *s)
{
    apply(s, 1);
}

/* The judge of `ok`: a direct loop over the definition, in float64, that shares nothing with the
 * library. It works on copies in one layout, whatever that of the case. The fill makes every sum
 * exact, whatever its order; so all elements must be equal. Those of 16-bit types are the exact
 * sum, rounded once: equal too. A row with an error bound of its own is held to that. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"

struct reference {
    const struct descriptor *problem;
    enum direction direction;
    double *at[NUM_OPERANDS]; /* row-major in (a, b, d, h, w) */
};

/* ---- what is known before --------------------------------------------------------------- */

/* Offset in the tensor of the i-th element of its shape in row-major order. */
static int64_t offset_of(const struct tensor *t, int64_t i)
{
    int64_t offset = 0;
    for (int a = t->ndim - 1; a >= 0; a--) {
        offset += i % t->shape[a] * t->stride[a];
        i /= t->shape[a];
    }
    return offset;
}

static void free_reference(struct reference *r)
{
    for (int o = 0; o < NUM_OPERANDS; o++) free(r->at[o]);
}

/* What was read was before the call, zeros for what was not. 0: no memory. */
static int make_reference(const struct bench_case *c, struct reference *r)
{
    *r = (struct reference){.problem = &c->problem->descriptor, .direction = c->direction};
    for (int o = 0; o < NUM_OPERANDS; o++) {
        const struct tensor *t = &c->tensor[o];
        if (!t->block) continue;
        r->at[o] = calloc((size_t)t->elements + 1, sizeof(double));
        if (!r->at[o]) return free_reference(r), 0;
        for (int64_t i = 0; case_reads(c, o) && i < t->elements; i++)
            r->at[o][i] = case_exact(c, o, offset_of(t, i));
    }
    return 1;
}

/* ---- the definition ------------------------------------------------------------------------ */

/* All outputs along w that one weight takes part in. */
static void row(const struct reference *r, double *src, double *weight, double *dst, int64_t kw)
{
    const struct axis *w = &r->problem->axis[2];
    double sum = 0;
    for (int64_t ow = 0; ow < w->o; ow++) {
        int64_t iw = ow * w->s - w->p + kw * (w->d + 1);
        if (iw < 0 || iw >= w->i) continue;
        switch (r->direction) {
        case BWD_D: src[iw] += dst[ow] * *weight; break;
        case BWD_W:
        case BWD_WB: sum += dst[ow] * src[iw]; break;
        default: dst[ow] += src[iw] * *weight; break;
        }
    }
    if (r->direction == BWD_W || r->direction == BWD_WB) *weight += sum;
}

/* One image, one filter, one of its input channels. */
static void plane(const struct reference *r, double *src, double *weights, double *dst)
{
    const struct axis *d = &r->problem->axis[0], *h = &r->problem->axis[1],
                      *w = &r->problem->axis[2];
    for (int64_t kd = 0; kd < d->k; kd++)
        for (int64_t kh = 0; kh < h->k; kh++)
            for (int64_t kw = 0; kw < w->k; kw++)
                for (int64_t od = 0; od < d->o; od++)
                    for (int64_t oh = 0; oh < h->o; oh++) {
                        int64_t id = od * d->s - d->p + kd * (d->d + 1);
                        int64_t ih = oh * h->s - h->p + kh * (h->d + 1);
                        if (id < 0 || id >= d->i || ih < 0 || ih >= h->i) continue;
                        row(r, src + (id * h->i + ih) * w->i,
                            weights + (kd * h->k + kh) * w->k + kw, dst + (od * h->o + oh) * w->o,
                            kw);
                    }
}

static void add_bias(const struct reference *r, int64_t out_size)
{
    const struct descriptor *p = r->problem;
    for (int64_t n = 0; n < p->mb; n++)
        for (int64_t o = 0; o < p->oc; o++)
            for (int64_t y = 0; y < out_size; y++) {
                double *dst = &r->at[DST][(n * p->oc + o) * out_size + y];
                if (r->direction == BWD_WB)
                    r->at[BIA][o] += *dst;
                else
                    *dst += r->at[BIA][o];
            }
}

static void compute(const struct reference *r)
{
    const struct descriptor *p = r->problem;
    int64_t in_size = 1, out_size = 1, kernel_size = 1;
    for (int i = 0; i < 3; i++) {
        in_size *= p->axis[i].i;
        out_size *= p->axis[i].o;
        kernel_size *= p->axis[i].k;
    }
    int64_t group_in = p->ic / p->g, group_out = p->oc / p->g;
    for (int64_t n = 0; n < p->mb; n++)
        for (int64_t o = 0; o < p->oc; o++)
            for (int64_t c = 0; c < group_in; c++)
                plane(r, r->at[SRC] + (n * p->ic + o / group_out * group_in + c) * in_size,
                      r->at[WEI] + (o * group_in + c) * kernel_size,
                      r->at[DST] + (n * p->oc + o) * out_size);
    if (r->at[BIA]) add_bias(r, out_size);
}

/* What follows the sum; dst itself was there from the begin. */
static void finish(const struct bench_case *c, const struct reference *r)
{
    const int activation = c->problem->settings.post_ops.activation;
    const double high = activation == CONVOP_ACTIVATION_RELU6 ? 6 : (double)INFINITY;
    for (int64_t i = 0; i < c->tensor[DST].elements && case_writes(c, DST); i++) {
        double *dst = &r->at[DST][i];
        if (r->at[ADDEND]) *dst += r->at[ADDEND][i];
        if (activation) *dst = fmin(fmax(*dst, 0), high);
    }
}

static void round_outputs(const struct bench_case *c, const struct reference *r)
{
    if (c->type != F16 && c->type != BF16) return;
    for (int o = 0; o < NUM_OPERANDS; o++)
        for (int64_t i = 0; r->at[o] && case_writes(c, o) && i < c->tensor[o].elements; i++)
            r->at[o][i] = half_value(c->type, half_bits(c->type, r->at[o][i]));
}

/* ---- the comparison ------------------------------------------------------------------------ */

static const char *operand_name(const struct bench_case *c, enum operand o)
{
    static const char *const names[2][NUM_OPERANDS] = {
        {"src", "weights", "bias", "dst", "residual"},
        {"diff_src", "diff_weights", "diff_bias", "diff_dst"}};
    return names[c->direction == BWD_D || c->direction == BWD_W || c->direction == BWD_WB][o];
}

static int guards_hold(const struct tensor *t)
{
    const unsigned char *end = t->block + GUARD + t->bytes;
    for (int i = 0; i < GUARD; i++)
        if (t->block[i] != GUARD_BYTE || end[i] != GUARD_BYTE) return 0;
    return 1;
}

static double largest(const double *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    return most;
}

/* How far outputs may be off: the row's bound, in units of 2^-24 of the largest input times the
 * largest sum of weights that an output has. */
static double tolerance(const struct bench_case *c, const struct reference *r)
{
    const struct descriptor *p = r->problem;
    const int backward = r->direction == BWD_D;
    const struct tensor *in = &c->tensor[backward ? DST : SRC];
    if (c->error_bound == 0) return 0;
    const int64_t icg = p->ic / p->g, ocg = p->oc / p->g, n = backward ? p->ic : p->oc;
    const int64_t kernel = c->tensor[WEI].elements / (p->oc * icg);
    double most = 0;
    for (int64_t channel = 0; channel < n; channel++) {
        const int64_t first = backward ? channel / icg * ocg : channel;
        double sum = 0;
        for (int64_t o = first; o < first + (backward ? ocg : 1); o++)
            for (int64_t i = 0; i < icg * kernel; i++)
                if (!backward || i / kernel == channel % icg)
                    sum += fabs(r->at[WEI][o * icg * kernel + i]);
        most = fmax(most, sum);
    }
    return c->error_bound * 0x1p-24 * most * largest(r->at[backward ? DST : SRC], in->elements);
}

/* 1 if equal, or as near as allowed. Inputs are compared too: a call must not change them. */
static int compare(const struct bench_case *c, enum operand o, const double *expected,
                   double allowed, char *why, size_t size)
{
    /* What is off before it is rounded may fall on the other side of a tie: one unit. */
    const double unit = allowed == 0 ? 0 : c->type == F16 ? 0x1p-10 : c->type == BF16 ? 0x1p-7 : 0;
    const struct tensor *t = &c->tensor[o];
    int64_t wrong = 0, first = -1;
    for (int64_t i = 0; i < t->elements; i++) {
        if (fabs(case_get(c, t, offset_of(t, i)) - expected[i]) <=
            allowed + unit * fabs(expected[i]))
            continue;
        if (first < 0) first = i;
        wrong++;
    }
    if (wrong == 0) {
        if (guards_hold(t)) return 1;
        snprintf(why, size, "memory beside %s was written", operand_name(c, o));
        return 0;
    }
    int n = snprintf(why, size, "%s[", operand_name(c, o));
    int64_t below = 1, part[5], rest = first;
    for (int a = t->ndim - 1; a >= 0; a--) {
        part[a] = rest % t->shape[a];
        rest /= t->shape[a];
        below *= t->shape[a];
    }
    for (int a = 0; a < t->ndim; a++)
        n += snprintf(why + n, size - (size_t)n, a ? ", %lld" : "%lld", (long long)part[a]);
    snprintf(why + n, size - (size_t)n, "] is %.9g, not %.9g; %lld of %lld elements are wrong",
             case_get(c, t, offset_of(t, first)), expected[first], (long long)wrong,
             (long long)below);
    return 0;
}

int case_check(const struct bench_case *c, char *why, size_t size)
{
    struct reference r;
    if (!make_reference(c, &r)) {
        snprintf(why, size, "the reference does not fit into memory");
        return -1;
    }
    const double allowed = tolerance(c, &r);
    compute(&r);
    finish(c, &r);
    round_outputs(c, &r);
    int equal = 1;
    for (int o = 0; o < NUM_OPERANDS && equal; o++)
        if (c->tensor[o].block)
            equal = compare(c, o, r.at[o], case_writes(c, o) ? allowed : 0, why, size);
    free_reference(&r);
    return equal;
}

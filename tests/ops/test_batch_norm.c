/* BatchNorm and its gradient against plain float64 loops, finite differences, and the rules:
 * running statistics, fix_gamma, NaN, empty batches, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/ops/batch_norm.h"
#include "tests/ops/ops.h"

struct setting {
    double eps, momentum;
    int fix_gamma, use_global_stats, axis, bits, ndim;
    int64_t shape[CONVOP_MAX_DIMS], channels, count;
    enum op_layout layout;
};

static void draw(struct setting *s, struct op_case *c, struct rng *r)
{
    s->bits = rng_chance(r, 50) ? 32 : 64;
    s->ndim = op_random_shape(r, 1, s->shape);
    if (rng_chance(r, 2)) { /* many channels, whose planes are more than a block */
        s->ndim = 3;
        s->shape[0] = rng_int(r, 1, 2);
        s->shape[1] = rng_int(r, 60, 70);
        s->shape[2] = rng_int(r, 4000, 4500);
    }
    s->axis = s->ndim == 1 ? 0 : rng_chance(r, 70) ? 1 : (int)rng_int(r, 0, s->ndim - 1);
    s->eps = rng_chance(r, 30) ? 1e-3 : rng_real(r, 1e-5, 0.5);
    s->momentum = rng_real(r, 0, 1);
    s->fix_gamma = rng_chance(r, 40);
    s->use_global_stats = rng_chance(r, 25);
    s->channels = s->shape[s->axis];
    s->count = 1;
    for (int d = 0; d < s->ndim; d++) s->count *= d == s->axis ? 1 : s->shape[d];
    s->layout = (enum op_layout)rng_int(r, 0, OP_LAYOUTS - 1);
    c->is_train = rng_chance(r, 70);
    op_param(c, "eps", "%.17g", s->eps);
    op_param(c, "momentum", "%.17g", s->momentum);
    op_param(c, "use_global_stats", "%d", s->use_global_stats);
    if (!s->fix_gamma || rng_chance(r, 50)) op_param(c, "fix_gamma", "%d", s->fix_gamma);
    if (s->axis != 1 || rng_chance(r, 50))
        op_param(c, "axis", "%d", rng_chance(r, 50) ? s->axis : s->axis - s->ndim);
}

/* The layout of the first tensor mostly, so that the kernels run; else any. */
static enum op_layout layout_of(const struct setting *s, struct rng *r)
{
    return rng_chance(r, 75) ? s->layout : (enum op_layout)rng_int(r, 0, OP_LAYOUTS - 1);
}

static enum op_layout vector_layout(struct rng *r)
{
    return rng_chance(r, 50) ? OP_COMPACT : OP_GAPS;
}

static struct op_tensor *vector_in(struct op_case *c, const struct setting *s, struct rng *r,
                                   double low, double high)
{
    struct op_tensor *v = op_in(c, r, s->bits, 1, &s->channels, vector_layout(r));
    op_fill(v, r, low, high);
    return v;
}

/* A workspace of a few bytes: the way without scratch. */
static void maybe_no_scratch(struct op_case *c, struct rng *r)
{
    static char few[16];
    if (!rng_chance(r, 15)) return;
    c->workspace = few;
    c->workspace_bytes = sizeof few;
}

static int64_t channel_of(const struct setting *s, int64_t i)
{
    int64_t inner = 1;
    for (int d = s->axis + 1; d < s->ndim; d++) inner *= s->shape[d];
    return i / inner % s->channels;
}

/* Two passes over all elements, in double. */
static void moments(const struct setting *s, const struct op_tensor *x, double *mean, double *var)
{
    memset(mean, 0, (size_t)s->channels * sizeof *mean);
    memset(var, 0, (size_t)s->channels * sizeof *var);
    for (int64_t i = 0; i < op_elements(x); i++) mean[channel_of(s, i)] += op_get(x, i);
    for (int64_t c = 0; c < s->channels; c++) mean[c] /= (double)s->count;
    for (int64_t i = 0; i < op_elements(x); i++) {
        double d = op_get(x, i) - mean[channel_of(s, i)];
        var[channel_of(s, i)] += d * d / (double)s->count;
    }
}

static double *doubles(int64_t n)
{
    return calloc((size_t)n + 1, sizeof(double));
}

static void forward_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case c = {.seed = seed, .op = "BatchNorm"};
    struct setting s;
    draw(&s, &c, &r);
    double spread = rng_real(&r, 0.1, 3), offset = rng_real(&r, -3, 3);
    op_fill(op_in(&c, &r, s.bits, s.ndim, s.shape, s.layout), &r, offset - spread, offset + spread);
    vector_in(&c, &s, &r, -2, 2);
    vector_in(&c, &s, &r, -2, 2);
    vector_in(&c, &s, &r, -2, 2);
    vector_in(&c, &s, &r, 0.1, 3);
    op_out(&c, &r, s.bits, s.ndim, s.shape, layout_of(&s, &r), op_random_request(&r));
    for (int i = 0; i < 2; i++)
        op_out(&c, &r, s.bits, 1, &s.channels, vector_layout(&r), op_random_request(&r));
    if (rng_chance(&r, 25)) op_make_inplace(&c, DST, SRC);
    maybe_no_scratch(&c, &r);

    int trains = c.is_train && !s.use_global_stats;
    if (trains) c.mutated |= 1u << MOVING_MEAN | 1u << MOVING_VAR;
    double *mean = doubles(s.channels), *var = doubles(s.channels);
    double *new_mean = doubles(s.channels), *new_var = doubles(s.channels);
    moments(&s, &c.in[SRC], mean, var);
    struct op_expected e[3];
    for (int o = 0; o < 3; o++) e[o] = op_expected(&c.out[o]);
    for (int64_t k = 0; k < s.channels; k++) {
        double old_mean = op_get(&c.in[MOVING_MEAN], k), old_var = op_get(&c.in[MOVING_VAR], k);
        new_mean[k] = old_mean * s.momentum + mean[k] * (1 - s.momentum);
        new_var[k] = old_var * s.momentum + var[k] * (1 - s.momentum);
        if (!trains) {
            mean[k] = old_mean;
            var[k] = old_var;
        }
        e[MEAN].value[k] = mean[k];
        e[MEAN].magnitude[k] = fabs(offset) + spread + fabs(old_mean);
        e[INV_STD].value[k] = e[INV_STD].magnitude[k] = 1 / sqrt(var[k] + s.eps);
    }
    for (int64_t i = 0; i < op_elements(&c.in[SRC]); i++) {
        int64_t k = channel_of(&s, i);
        double scale = (s.fix_gamma ? 1 : op_get(&c.in[GAMMA], k)) * e[INV_STD].value[k];
        double d = op_get(&c.in[SRC], i) - mean[k], beta = op_get(&c.in[BETA], k);
        e[DST].value[i] = d * scale + beta;
        e[DST].magnitude[i] = fabs(scale) * (fabs(d) + fabs(mean[k])) + fabs(beta);
    }
    op_check(&c, e, s.bits == 32 ? 8 : 200);
    for (int64_t k = 0; k < s.channels && trains; k++) {
        double eps = s.bits == 32 ? 1e-6 : 1e-13;
        assert_true(fabs(op_get(&c.in[MOVING_MEAN], k) - new_mean[k]) <= eps * 10);
        assert_true(fabs(op_get(&c.in[MOVING_VAR], k) - new_var[k]) <= eps * (1 + new_var[k]));
    }
    for (int o = 0; o < 3; o++) op_expected_free(&e[o]);
    free(mean), free(var), free(new_mean), free(new_var);
    op_case_destroy(&c);
}

static void forward(void **state)
{
    (void)state;
    op_for_seeds(1, 500, forward_case);
}

static void backward_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case c = {.seed = seed, .op = "_backward_BatchNorm"};
    struct setting s;
    draw(&s, &c, &r);
    op_in(&c, &r, s.bits, s.ndim, s.shape, s.layout);
    op_in(&c, &r, s.bits, s.ndim, s.shape, layout_of(&s, &r));
    vector_in(&c, &s, &r, -2, 2);
    vector_in(&c, &s, &r, -0.5, 0.5);
    vector_in(&c, &s, &r, 0.5, 2);
    op_out(&c, &r, s.bits, s.ndim, s.shape, layout_of(&s, &r), op_random_request(&r));
    for (int i = 0; i < 2; i++)
        op_out(&c, &r, s.bits, 1, &s.channels, vector_layout(&r), op_random_request(&r));
    if (rng_chance(&r, 25)) op_make_inplace(&c, DIFF_SRC, DIFF_DST);
    maybe_no_scratch(&c, &r);

    int trains = c.is_train && !s.use_global_stats;
    struct op_expected e[3];
    for (int o = 0; o < 3; o++) e[o] = op_expected(&c.out[o]);
    double *sum = doubles(s.channels), *product = doubles(s.channels);
    int64_t n = op_elements(&c.in[B_SRC]);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = channel_of(&s, i);
        double dy = op_get(&c.in[DIFF_DST], i);
        double hat =
            (op_get(&c.in[B_SRC], i) - op_get(&c.in[B_MEAN], k)) * op_get(&c.in[B_INV_STD], k);
        sum[k] += dy;
        product[k] += dy * hat;
        e[DIFF_BETA].magnitude[k] += fabs(dy);
        e[DIFF_GAMMA].magnitude[k] += s.fix_gamma ? 0 : fabs(dy * hat);
    }
    for (int64_t k = 0; k < s.channels; k++) {
        e[DIFF_BETA].value[k] = sum[k];
        e[DIFF_GAMMA].value[k] = s.fix_gamma ? 0 : product[k];
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t k = channel_of(&s, i);
        double inv_std = op_get(&c.in[B_INV_STD], k), dy = op_get(&c.in[DIFF_DST], i);
        double hat = (op_get(&c.in[B_SRC], i) - op_get(&c.in[B_MEAN], k)) * inv_std;
        double scale = (s.fix_gamma ? 1 : op_get(&c.in[B_GAMMA], k)) * inv_std;
        double count = trains ? (double)s.count : INFINITY;
        e[DIFF_SRC].value[i] = scale * (dy - sum[k] / count - hat * product[k] / count);
        e[DIFF_SRC].magnitude[i] =
            fabs(scale) *
            (fabs(dy) + fabs(sum[k]) / count + fabs(hat * product[k]) / count + (trains ? 4 : 0));
    }
    op_check(&c, e, s.bits == 32 ? 8 : 64);
    for (int o = 0; o < 3; o++) op_expected_free(&e[o]);
    free(sum), free(product);
    op_case_destroy(&c);
}

static void backward(void **state)
{
    (void)state;
    op_for_seeds(2, 500, backward_case);
}

/* Both operators of one small problem in float64, the second fed by the first. */
static void gradient_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case f = {.seed = seed, .op = "BatchNorm"}, b = {.seed = seed};
    int64_t shape[] = {3, 4, 5};
    int axis = (int)rng_int(&r, 0, 2), fix_gamma = rng_chance(&r, 30);
    int64_t channels = shape[axis];
    f.is_train = rng_chance(&r, 70);
    op_param(&f, "axis", "%d", axis);
    op_param(&f, "fix_gamma", "%d", fix_gamma);
    enum op_layout layout = (enum op_layout)rng_int(&r, 0, OP_LAYOUTS - 1);
    op_in(&f, &r, 64, 3, shape, layout);
    for (int i = 0; i < 4; i++) op_in(&f, &r, 64, 1, &channels, OP_COMPACT);
    op_fill(&f.in[MOVING_VAR], &r, 0.5, 2);
    op_out(&f, &r, 64, 3, shape, layout, CONVOP_REQ_WRITE);
    for (int i = 0; i < 2; i++) op_out(&f, &r, 64, 1, &channels, OP_COMPACT, CONVOP_REQ_WRITE);
    expect_ok(op_run(&f));

    b = (struct op_case){.seed = seed, .op = "_backward_BatchNorm", .is_train = f.is_train};
    op_param(&b, "axis", "%d", axis);
    op_param(&b, "fix_gamma", "%d", fix_gamma);
    op_in(&b, &r, 64, 3, shape, layout);
    op_in(&b, &r, 64, 3, shape, layout);
    for (int i = 0; i < 3; i++) op_in(&b, &r, 64, 1, &channels, OP_COMPACT);
    op_out(&b, &r, 64, 3, shape, layout, CONVOP_REQ_WRITE);
    for (int i = 0; i < 2; i++) op_out(&b, &r, 64, 1, &channels, OP_COMPACT, CONVOP_REQ_WRITE);
    for (int64_t i = 0; i < 60; i++) op_set(&b.in[B_SRC], i, op_get(&f.in[SRC], i));
    for (int64_t k = 0; k < channels; k++) {
        op_set(&b.in[B_GAMMA], k, op_get(&f.in[GAMMA], k));
        op_set(&b.in[B_MEAN], k, op_get(&f.out[MEAN], k));
        op_set(&b.in[B_INV_STD], k, op_get(&f.out[INV_STD], k));
    }
    expect_ok(op_run(&b));
    for (int i = 0; i < 3; i++)
        op_check_gradient(&f, &r, i, &b.in[DIFF_DST], &b.out[i], 1e-5, 1e-7);
    op_case_destroy(&f);
    op_case_destroy(&b);
}

static void finite_differences(void **state)
{
    (void)state;
    op_for_seeds(3, 100, gradient_case);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward),
        cmocka_unit_test(backward),
        cmocka_unit_test(finite_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Checks that every operator must pass. Part of ops.h. */
#ifndef TESTS_OPS_CHECKS_H
#define TESTS_OPS_CHECKS_H

#include "tests/ops/ops.h"

/* All memory of a case, to go back to and to compare with. */
struct op_memory {
    unsigned char *in[OP_MOST], *out[OP_MOST];
};

static inline struct op_memory op_save(const struct op_case *c)
{
    struct op_memory m = {{0}, {0}};
    for (int i = 0; i < c->num_inputs; i++)
        m.in[i] = memcpy(malloc(c->in[i].bytes), c->in[i].memory, c->in[i].bytes);
    for (int i = 0; i < c->num_outputs; i++)
        m.out[i] = memcpy(malloc(c->out[i].bytes), c->out[i].memory, c->out[i].bytes);
    return m;
}

static inline void op_restore(struct op_case *c, const struct op_memory *m)
{
    for (int i = 0; i < c->num_inputs; i++) memcpy(c->in[i].memory, m->in[i], c->in[i].bytes);
    for (int i = 0; i < c->num_outputs; i++) memcpy(c->out[i].memory, m->out[i], c->out[i].bytes);
}

/* outputs 0: inputs alone. Inputs that the operator writes do not count then. */
static inline int op_is_as(const struct op_case *c, const struct op_memory *m, int outputs)
{
    int same = 1;
    for (int i = 0; i < c->num_inputs; i++)
        if (outputs || !(c->mutated >> i & 1))
            same &= memcmp(c->in[i].memory, m->in[i], c->in[i].bytes) == 0;
    for (int i = 0; i < c->num_outputs && outputs; i++)
        same &= memcmp(c->out[i].memory, m->out[i], c->out[i].bytes) == 0;
    return same;
}

static inline void op_forget(const struct op_case *c, struct op_memory *m)
{
    for (int i = 0; i < c->num_inputs; i++) free(m->in[i]);
    for (int i = 0; i < c->num_outputs; i++) free(m->out[i]);
}

/* What an output or a written input must become: values, and what they are rounded relative to. */
struct op_expected {
    double *value, *magnitude;
};

static inline struct op_expected op_expected(const struct op_tensor *x)
{
    size_t n = (size_t)op_elements(x) + 1;
    return (struct op_expected){calloc(n, sizeof(double)), calloc(n, sizeof(double))};
}

static inline void op_expected_free(struct op_expected *e)
{
    free(e->value);
    free(e->magnitude);
}

/* Runs the case: every output must be as expected within units of rounding, given its request;
 * what is not asked for, inputs and gaps as they were. e[i] is that of output i. */
static inline void op_check(struct op_case *c, const struct op_expected *e, double units)
{
    struct op_memory before = op_save(c);
    double *old[OP_MOST];
    for (int o = 0; o < c->num_outputs; o++) {
        old[o] = calloc((size_t)op_elements(&c->out[o]) + 1, sizeof(double));
        for (int64_t i = 0; i < op_elements(&c->out[o]) && c->requests[o] == CONVOP_REQ_ADD; i++)
            old[o][i] = op_get(&c->out[o], i);
    }
    if (op_run(c) != CONVOP_OK) {
        op_print(c);
        fail_msg("%s", convop_last_error());
    }
    for (int o = 0; o < c->num_outputs; o++) {
        struct op_tensor *x = &c->out[o];
        if (c->requests[o] == CONVOP_REQ_NULL) {
            assert_memory_equal(x->memory, before.out[o], x->bytes);
            continue;
        }
        double eps = units * (x->t.dtype.bits == 64 ? 0x1p-53 : 0x1p-24);
        for (int64_t i = 0; i < op_elements(x); i++) {
            double want = old[o][i] + e[o].value[i], got = op_get(x, i);
            double bound = eps * (e[o].magnitude[i] + fabs(old[o][i]));
            if (fabs(got - want) <= bound || got == want || (isnan(got) && isnan(want))) continue;
            op_print(c);
            fail_msg("output %d [%lld] is %.17g, must be %.17g within %g", o, (long long)i, got,
                     want, bound);
        }
        if (!op_canaries_whole(x)) op_print(c);
        assert_true(op_canaries_whole(x));
    }
    assert_true(op_is_as(c, &before, 0));
    for (int i = 0; i < c->num_inputs; i++) assert_true(op_canaries_whole(&c->in[i]));
    for (int o = 0; o < c->num_outputs; o++) free(old[o]);
    op_forget(c, &before);
}

/* 1 to 5 threads give the same bits. */
static inline void op_check_threads(struct op_case *c)
{
    struct op_memory before = op_save(c), first = {{0}, {0}};
    for (int threads = 1; threads <= 5; threads++) {
        convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
        options.num_threads = threads;
        convop_context *context = NULL;
        expect_ok(convop_context_create(&options, &context));
        op_restore(c, &before);
        expect_ok(op_run_on(c, context));
        convop_context_destroy(&context);
        if (threads == 1) {
            first = op_save(c);
        } else if (!op_is_as(c, &first, 1)) {
            op_print(c);
            fail_msg("%d threads give other bits than 1", threads);
        }
    }
    op_restore(c, &before);
    op_forget(c, &first);
    op_forget(c, &before);
}

/* The n-th allocation fails, for every n: NO_MEMORY and nothing written, or success. */
static inline void op_check_memory(struct op_case *c)
{
    struct op_memory before = op_save(c);
    expect_ok(op_run(c));
    uint64_t live = cvp_alloc_live();
    int failures = 0, was_reached = 1;
    for (uint64_t n = 1; was_reached; n++) {
        op_restore(c, &before);
        cvp_alloc_fail_at(n);
        convop_status status = op_run(c);
        was_reached = cvp_alloc_calls() >= n;
        cvp_alloc_fail_at(0);
        assert_int_equal(cvp_alloc_live(), live);
        if (status == CONVOP_OK) continue;
        failures++;
        assert_int_equal(status, CONVOP_E_NO_MEMORY);
        assert_true(op_is_as(c, &before, 1));
        assert_true(n < 1000);
    }
    assert_true(failures > 0);
    op_restore(c, &before);
    expect_ok(op_run(c));
    op_forget(c, &before);
}

/* The call fails with that sentence, writes nothing and leaks nothing. */
static inline void op_check_refusal(struct op_case *c, convop_status status, const char *sentence)
{
    struct op_memory before = op_save(c);
    uint64_t live = cvp_alloc_live();
    expect_text(status, sentence, op_run(c));
    assert_int_equal(cvp_alloc_live(), live);
    assert_true(op_is_as(c, &before, 1));
    op_forget(c, &before);
}

/* The gradient of sum(out[0] * weights) of `forward` by its input, by central differences, against
 * `gradient`; some elements of it. float64 only. weights: of out[0]'s shape. */
static inline double op_loss(struct op_case *forward, const struct op_tensor *weights)
{
    double sum = 0;
    expect_ok(op_run(forward));
    for (int64_t i = 0; i < op_elements(weights); i++)
        sum += op_get(&forward->out[0], i) * op_get(weights, i);
    return sum;
}

static inline void op_check_gradient(struct op_case *forward, struct rng *r, int input,
                                     const struct op_tensor *weights,
                                     const struct op_tensor *gradient, double step,
                                     double tolerance)
{
    struct op_tensor *x = &forward->in[input];
    for (int n = 0; n < 8 && op_elements(x) > 0; n++) {
        int64_t i = rng_int(r, 0, op_elements(x) - 1);
        double v = op_get(x, i);
        op_set(x, i, v + step);
        double above = op_loss(forward, weights);
        op_set(x, i, v - step);
        double below = op_loss(forward, weights);
        op_set(x, i, v);
        double want = (above - below) / (2 * step), got = op_get(gradient, i);
        if (fabs(want - got) <= tolerance * (1 + fabs(want))) continue;
        op_print(forward);
        fail_msg("gradient by input %d [%lld] is %.17g, differences say %.17g", input, (long long)i,
                 got, want);
    }
}

#endif

/* The executor for inference against one that is not: random networks of convolutions with what
 * follows them, some of it shared, so that fusing it would be wrong; parameters that change;
 * refusals.
 *
 *     CONVOP_SEED=<seed> test_graph_fuse     another series */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ops.h"
#include "src/common/alloc.h"
#include "tests/graph/apply.h"
#include "tests/support/expect.h"
#include "tests/support/rng.h"

/* ---- symbols ------------------------------------------------------------------------------- */

#define MAX_RESULTS 16

/* A network whose tensors all have one shape, so that any two can be added. */
struct network {
    struct cvp_symbol *symbol;
    struct cvp_entry results[MAX_RESULTS];
    int num_results;
    int channels_last, is_double;
    struct cvp_bind_input input;
};

static struct cvp_entry pick(const struct network *n, struct rng *r)
{
    /* Mostly the last one, so that chains come about. */
    return n
        ->results[rng_chance(r, 70) ? n->num_results - 1 : (int)rng_int(r, 0, n->num_results - 1)];
}

static void add_node(struct network *n, struct rng *r)
{
    char text[300];
    const struct cvp_entry a = pick(n, r);
    struct cvp_entry e;
    switch (rng_int(r, 0, 9)) {
    case 0:
    case 1:
    case 2:
    case 3:
        snprintf(text, sizeof text,
                 "num_filter=8 num_group=%d kernel=(3,3) pad=(1,1) no_bias=%s layout=%s",
                 rng_chance(r, 30) ? 8 : 1, rng_chance(r, 50) ? "True" : "False",
                 n->channels_last ? "NHWC" : "NCHW");
        e = apply(n->symbol, "Convolution", NULL, a, CVP_NO_ENTRY, text);
        break;
    case 4:
    case 5:
        snprintf(text, sizeof text, "axis=%s fix_gamma=%s eps=%s",
                 n->channels_last ? rng_chance(r, 50) ? "3" : "-1" : "1",
                 rng_chance(r, 30) ? "True" : "False", rng_chance(r, 50) ? "0.001" : "0.3");
        e = apply(n->symbol, "BatchNorm", NULL, a, CVP_NO_ENTRY, text);
        break;
    case 6:
    case 7: e = apply(n->symbol, "Activation", NULL, a, CVP_NO_ENTRY, "act_type=relu"); break;
    case 8:
        e = rng_chance(r, 50)
                ? apply(n->symbol, "Activation", NULL, a, CVP_NO_ENTRY, "act_type=tanh")
            : rng_chance(r, 70)
                ? apply(n->symbol, "clip", NULL, a, CVP_NO_ENTRY, "a_min=0 a_max=6")
                : apply(n->symbol, "clip", NULL, a, CVP_NO_ENTRY, "a_min=-0.1 a_max=0.1");
        break;
    default: e = apply(n->symbol, "elemwise_add", NULL, a, pick(n, r), ""); break;
    }
    n->results[n->num_results++] = e;
}

static void create(struct network *n, struct rng *r)
{
    memset(n, 0, sizeof *n);
    expect_ok(cvp_symbol_create(&n->symbol));
    n->channels_last = rng_chance(r, 50);
    n->is_double = rng_chance(r, 50);
    n->results[n->num_results++] = graph_variable(n->symbol, "data");
    const int64_t side = 6, channels = 8;
    n->input = (struct cvp_bind_input){
        "data",
        {4, {2, n->channels_last ? side : channels, side, n->channels_last ? channels : side}},
        {kDLFloat, n->is_double ? 64 : 32, 1}};
    while (n->num_results < MAX_RESULTS) add_node(n, r);
    expect_ok(cvp_symbol_output(n->symbol, n->results[n->num_results - 1]));
    while (rng_chance(r, 40))
        expect_ok(cvp_symbol_output(n->symbol, n->results[rng_int(r, 1, n->num_results - 1)]));
}

/* ---- executors ------------------------------------------------------------------------------ */

static struct cvp_executor *bind(const struct network *n, int for_inference, int no_fuse)
{
    struct cvp_executor *x;
    const struct cvp_bind_options o = {
        .inputs = &n->input, .num_inputs = 1, .for_inference = for_inference, .no_fuse = no_fuse};
    expect_ok(cvp_executor_bind(n->symbol, &o, &x));
    return x;
}

static int64_t count(const DLTensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) n *= t->shape[i];
    return n;
}

static double get(const DLTensor *t, int64_t i)
{
    return t->dtype.bits == 64 ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i];
}

static void set(const DLTensor *t, int64_t i, double value)
{
    if (t->dtype.bits == 64)
        ((double *)t->data)[i] = value;
    else
        ((float *)t->data)[i] = (float)value;
}

/* The same values in all executors, by name; variances are above 0. */
static void fill(struct cvp_executor *x, uint64_t seed)
{
    int n, aux;
    const struct cvp_bound *b = cvp_executor_arguments(x, &n);
    (void)cvp_executor_auxiliary(x, &aux);
    for (int i = 0; i < n + aux; i++) {
        uint64_t hash = seed;
        for (const char *c = b[i].name; *c; c++) hash = hash * 31 + (unsigned char)*c;
        struct rng r = {hash};
        const int is_variance = strstr(b[i].name, "var") != NULL;
        for (int64_t k = 0; k < count(b[i].value); k++)
            set(b[i].value, k, rng_real(&r, is_variance ? 0.5 : -0.5, is_variance ? 2 : 0.5));
    }
}

/* Outputs of x are those of `want`, but for rounding. */
static void compare(const struct cvp_executor *x, const struct cvp_executor *want)
{
    for (int i = 0; i < cvp_executor_num_outputs(want); i++) {
        const DLTensor *a = cvp_executor_output(x, i), *b = cvp_executor_output(want, i);
        double most = 1;
        for (int64_t k = 0; k < count(b); k++) most = fmax(most, fabs(get(b, k)));
        for (int64_t k = 0; k < count(b); k++)
            if (!(fabs(get(a, k) - get(b, k)) <= most * (b->dtype.bits == 64 ? 1e-12 : 2e-5)))
                fail_msg("output %d [%d] is %.9g, not %.9g", i, (int)k, get(a, k), get(b, k));
    }
}

static void run_and_compare(struct cvp_executor *x, struct cvp_executor *want, uint64_t seed)
{
    fill(x, seed);
    fill(want, seed);
    cvp_executor_update(x);
    expect_ok(cvp_executor_forward(x, 0));
    expect_ok(cvp_executor_forward(want, 0));
    compare(x, want);
}

static int num_steps(const struct cvp_executor *x)
{
    struct cvp_executor_usage u;
    cvp_executor_usage(x, &u);
    return u.num_steps;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void random_networks(void **state)
{
    (void)state;
    struct rng r = {test_seed(88)};
    int fused = 0;
    for (int64_t i = test_scaled(150); i > 0; i--) {
        struct network n;
        create(&n, &r);
        struct cvp_executor *plain = bind(&n, 0, 0), *kept = bind(&n, 1, 1), *x = bind(&n, 1, 0);
        int a, b;
        const struct cvp_bound *args = cvp_executor_arguments(plain, &a);
        assert_non_null(args);
        (void)cvp_executor_arguments(x, &b);
        assert_int_equal(a, b);
        (void)cvp_executor_auxiliary(plain, &a);
        (void)cvp_executor_auxiliary(x, &b);
        assert_int_equal(a, b);
        run_and_compare(kept, plain, 1);
        run_and_compare(x, plain, 2);
        run_and_compare(x, plain, 3);
        fused += num_steps(x) < num_steps(plain);
        cvp_executor_destroy(&plain);
        cvp_executor_destroy(&kept);
        cvp_executor_destroy(&x);
        cvp_symbol_release(&n.symbol);
    }
    assert_true(fused > 0);
}

/* conv, BatchNorm, relu; depthwise conv, BatchNorm, + the first relu, relu: two steps that run, and
 * two that fold. */
static void make_residual(struct network *n)
{
    memset(n, 0, sizeof *n);
    expect_ok(cvp_symbol_create(&n->symbol));
    struct cvp_entry e = graph_variable(n->symbol, "data"), skip;
    const char *const norm = "fix_gamma=False";
    e = apply(n->symbol, "Convolution", NULL, e, CVP_NO_ENTRY,
              "num_filter=32 kernel=(3,3) pad=(1,1)");
    e = apply(n->symbol, "BatchNorm", NULL, e, CVP_NO_ENTRY, norm);
    skip = e = apply(n->symbol, "Activation", NULL, e, CVP_NO_ENTRY, "act_type=relu");
    e = apply(n->symbol, "Convolution", NULL, e, CVP_NO_ENTRY,
              "num_filter=32 num_group=32 kernel=(3,3) pad=(1,1) no_bias=True");
    e = apply(n->symbol, "BatchNorm", NULL, e, CVP_NO_ENTRY, norm);
    e = apply(n->symbol, "elemwise_add", NULL, e, skip, "");
    e = apply(n->symbol, "Activation", NULL, e, CVP_NO_ENTRY, "act_type=relu");
    expect_ok(cvp_symbol_output(n->symbol, e));
    n->input = (struct cvp_bind_input){"data", {4, {2, 16, 12, 12}}, {kDLFloat, 32, 1}};
}

static void a_block_is_one_step(void **state)
{
    (void)state;
    struct network n;
    make_residual(&n);
    struct cvp_executor *plain = bind(&n, 0, 0), *x = bind(&n, 1, 0);
    assert_int_equal(num_steps(plain), 7);
    assert_int_equal(num_steps(x), 4);
    run_and_compare(x, plain, 5);

    /* Nothing is folded or packed again before it is said that constants have changed. */
    cvp_alloc_fail_at(0);
    expect_ok(cvp_executor_forward(x, 0));
    assert_int_equal(cvp_alloc_calls(), 0);
    const struct cvp_bound *beta = cvp_executor_find(x, "batchnorm1_beta");
    const struct cvp_bound *other = cvp_executor_find(plain, "batchnorm1_beta");
    for (int64_t i = 0; i < count(beta->value); i++) {
        set(beta->value, i, 2);
        set(other->value, i, 2);
    }
    expect_ok(cvp_executor_forward(x, 0));
    compare(x, plain);
    cvp_executor_update(x);
    expect_ok(cvp_executor_forward(x, 0));
    expect_ok(cvp_executor_forward(plain, 0));
    compare(x, plain);

    cvp_executor_destroy(&plain);
    cvp_executor_destroy(&x);
    cvp_symbol_release(&n.symbol);
}

/* Each allocation fails in its turn, while binding and in the first forward. */
static void without_memory(void **state)
{
    (void)state;
    struct network n;
    make_residual(&n);
    int failed = 0;
    for (int i = 1;; i++) {
        struct cvp_executor *x = NULL;
        const struct cvp_bind_options o = {.inputs = &n.input, .num_inputs = 1, .for_inference = 1};
        cvp_alloc_fail_at(i);
        convop_status status = cvp_executor_bind(n.symbol, &o, &x);
        if (status == CONVOP_OK) status = cvp_executor_forward(x, 0);
        cvp_alloc_fail_at(0);
        if (status == CONVOP_OK) {
            cvp_executor_destroy(&x);
            break;
        }
        assert_int_equal(status, CONVOP_E_NO_MEMORY);
        failed++;
        if (x) expect_ok(cvp_executor_forward(x, 0)); /* as if nothing had happened */
        cvp_executor_destroy(&x);
    }
    assert_true(failed > 20);
    cvp_symbol_release(&n.symbol);
}

static void refusals(void **state)
{
    (void)state;
    struct network n;
    struct cvp_executor *x;
    make_residual(&n);
    struct cvp_bind_options o = {
        .inputs = &n.input, .num_inputs = 1, .for_inference = 1, .request = CONVOP_REQ_WRITE};
    expect_text(CONVOP_E_INVALID, "executor: gradients are asked for of one that is for inference",
                cvp_executor_bind(n.symbol, &o, &x));
    o.request = CONVOP_REQ_NULL;
    expect_ok(cvp_executor_bind(n.symbol, &o, &x));
    expect_text(CONVOP_E_STATE, "executor: it was bound for inference, not to train",
                cvp_executor_forward(x, 1));
    cvp_executor_destroy(&x);
    cvp_symbol_release(&n.symbol);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_networks),
        cmocka_unit_test(a_block_is_one_step),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Activation and its gradient against plain float64 loops, finite differences, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/ops/ops.h"

static const char *const types[] = {"relu", "sigmoid", "tanh", "softrelu", "softsign"};
enum { RELU, SIGMOID, TANH, SOFTRELU, SOFTSIGN, TYPES };

static double value(int type, double x)
{
    switch (type) {
    case RELU: return isnan(x) || x > 0 ? x : 0;
    case SIGMOID: return 1 / (1 + exp(-x));
    case TANH: return tanh(x);
    case SOFTRELU: return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
    default: return x / (1 + fabs(x));
    }
}

/* From the input, unlike the operator. */
static double slope(int type, double x)
{
    double s = 1 / (1 + exp(-x));
    switch (type) {
    case RELU: return isnan(x) ? x : x > 0;
    case SIGMOID: return s * (1 - s);
    case TANH: return 1 / (cosh(x) * cosh(x));
    case SOFTRELU: return s;
    default: return 1 / ((1 + fabs(x)) * (1 + fabs(x)));
    }
}

/* Some numbers are far out, some special. */
static void fill(struct op_tensor *x, struct rng *r)
{
    op_fill(x, r, -3, 3);
    for (int64_t i = 0; i < op_elements(x); i++) {
        static const double special[] = {0, -0.0, NAN, 80, -80, 1e-30, -1e-30};
        if (rng_chance(r, 10)) op_set(x, i, special[rng_int(r, 0, 6)]);
    }
}

static void forward_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case c = {.seed = seed, .op = "Activation"};
    int64_t shape[CONVOP_MAX_DIMS];
    int type = (int)rng_int(&r, 0, TYPES - 1), bits = rng_chance(&r, 50) ? 32 : 64;
    int ndim = op_random_shape(&r, 0, shape);
    op_param(&c, "act_type", "%s", types[type]);
    fill(op_in(&c, &r, bits, ndim, shape, (enum op_layout)rng_int(&r, 0, OP_LAYOUTS - 1)), &r);
    op_out(&c, &r, bits, ndim, shape, (enum op_layout)rng_int(&r, 0, OP_LAYOUTS - 1),
           op_random_request(&r));
    if (rng_chance(&r, 25)) op_make_inplace(&c, 0, 0);
    struct op_expected e = op_expected(&c.in[0]);
    for (int64_t i = 0; i < op_elements(&c.in[0]); i++) {
        e.value[i] = value(type, op_get(&c.in[0], i));
        e.magnitude[i] = fabs(e.value[i]);
    }
    op_check(&c, &e, 8);
    op_expected_free(&e);
    op_case_destroy(&c);
}

static void forward(void **state)
{
    (void)state;
    op_for_seeds(1, 600, forward_case);
}

static void backward_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case c = {.seed = seed, .op = "_backward_Activation"};
    int64_t shape[CONVOP_MAX_DIMS];
    int type = (int)rng_int(&r, 0, TYPES - 1), bits = rng_chance(&r, 50) ? 32 : 64;
    int ndim = op_random_shape(&r, 0, shape);
    op_param(&c, "act_type", "%s", types[type]);
    op_in(&c, &r, bits, ndim, shape, (enum op_layout)rng_int(&r, 0, OP_LAYOUTS - 1));
    op_in(&c, &r, bits, ndim, shape, (enum op_layout)rng_int(&r, 0, OP_LAYOUTS - 1));
    op_out(&c, &r, bits, ndim, shape, (enum op_layout)rng_int(&r, 0, OP_LAYOUTS - 1),
           op_random_request(&r));
    if (rng_chance(&r, 25)) op_make_inplace(&c, 0, 0);
    struct op_tensor x;
    op_create(&x, &r, 64, ndim, shape, OP_COMPACT);
    fill(&x, &r);
    struct op_expected e = op_expected(&x);
    for (int64_t i = 0; i < op_elements(&x); i++) {
        double dy = op_get(&c.in[0], i);
        op_set(&c.in[1], i, value(type, op_get(&x, i)));
        /* A relu whose output float32 rounds to 0 has no slope. */
        double at = type == RELU ? op_get(&c.in[1], i) : op_get(&x, i);
        e.value[i] = isnan(at) ? NAN : dy * slope(type, at);
        /* The output is rounded before the slope is taken from it, and is 1 at most. */
        e.magnitude[i] = fabs(dy);
    }
    op_check(&c, &e, 8);
    op_expected_free(&e);
    op_destroy(&x);
    op_case_destroy(&c);
}

static void backward(void **state)
{
    (void)state;
    op_for_seeds(2, 600, backward_case);
}

static void gradient_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case f = {.seed = seed, .op = "Activation"}, b = {.op = "_backward_Activation"};
    int64_t shape[] = {3, 4};
    const char *type = types[rng_int(&r, 0, TYPES - 1)];
    op_param(&f, "act_type", "%s", type);
    op_param(&b, "act_type", "%s", type);
    op_in(&f, &r, 64, 2, shape, OP_COMPACT);
    op_out(&f, &r, 64, 2, shape, OP_COMPACT, CONVOP_REQ_WRITE);
    op_in(&b, &r, 64, 2, shape, OP_COMPACT);
    op_in(&b, &r, 64, 2, shape, OP_COMPACT);
    op_out(&b, &r, 64, 2, shape, OP_COMPACT, CONVOP_REQ_WRITE);
    for (int64_t i = 0; i < 12; i++) /* away from the corner of relu */
        op_set(&f.in[0], i, op_get(&f.in[0], i) + (op_get(&f.in[0], i) > 0 ? 0.01 : -0.01));
    expect_ok(op_run(&f));
    for (int64_t i = 0; i < 12; i++) op_set(&b.in[1], i, op_get(&f.out[0], i));
    expect_ok(op_run(&b));
    op_check_gradient(&f, &r, 0, &b.in[0], &b.out[0], 1e-5, 1e-8);
    op_case_destroy(&f);
    op_case_destroy(&b);
}

static void finite_differences(void **state)
{
    (void)state;
    op_for_seeds(3, 50, gradient_case);
}

static void nan_passes(void **state)
{
    (void)state;
    for (int type = 0; type < TYPES; type++) {
        struct rng r = {5};
        struct op_case c = {.op = "Activation"};
        op_param(&c, "act_type", "%s", types[type]);
        int64_t shape[] = {2, 50}; /* the vectorised loop and its rest */
        op_in(&c, &r, 32, 2, shape, OP_COMPACT);
        op_out(&c, &r, 32, 2, shape, OP_COMPACT, CONVOP_REQ_WRITE);
        op_fill(&c.in[0], &r, NAN, NAN);
        expect_ok(op_run(&c));
        for (int64_t i = 0; i < 100; i++) assert_true(isnan(op_get(&c.out[0], i)));
        op_case_destroy(&c);
    }
}

static void build(struct op_case *c, const char *op, int64_t rows)
{
    struct rng r = {7};
    const int64_t shape[] = {rows, 100};
    *c = (struct op_case){.op = op};
    op_param(c, "act_type", "relu");
    op_in(c, &r, 32, 2, shape, OP_COMPACT);
    if (op[0] == '_') op_in(c, &r, 32, 2, shape, OP_GAPS);
    op_out(c, &r, 32, 2, shape, OP_COMPACT, CONVOP_REQ_ADD);
}

static void threads_and_memory(void **state)
{
    (void)state;
    struct op_case c;
    static const char *const ops[] = {"Activation", "_backward_Activation"};
    for (int i = 0; i < 2; i++) {
        build(&c, ops[i], 500);
        op_check_threads(&c);
        op_check_memory(&c);
        op_case_destroy(&c);
    }
}

static void refusals(void **state)
{
    (void)state;
    struct op_case c;
    build(&c, "Activation", 2);
    c.values[0] = "swish";
    struct op_memory before = op_save(&c);
    assert_int_equal(op_run(&c), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "act_type"));
    assert_non_null(strstr(convop_last_error(), "softsign"));
    c.num_params = 0;
    assert_int_equal(op_run(&c), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "act_type"));
    assert_true(op_is_as(&c, &before, 1));
    op_forget(&c, &before);
    c.num_params = 1;
    c.values[0] = "tanh";
    c.out[0].shape[1] = 50;
    op_check_refusal(&c, CONVOP_E_INVALID,
                     "Activation: src has shape (2, 100), dst has shape (2, 50): they must be "
                     "equal");
    c.out[0].shape[1] = 100;
    c.in[0].t.dtype.bits = c.out[0].t.dtype.bits = 16;
    op_check_refusal(&c, CONVOP_E_UNSUPPORTED,
                     "Activation: no implementation for dtype float16; float32 and float64 have "
                     "one");
    op_case_destroy(&c);
    build(&c, "_backward_Activation", 2);
    c.in[0].shape[0] = 1;
    op_check_refusal(&c, CONVOP_E_INVALID,
                     "_backward_Activation: dst has shape (2, 100), diff_dst has shape (1, 100): "
                     "they must be equal");
    op_case_destroy(&c);
}

static void inference(void **state)
{
    (void)state;
    const convop_op *op = NULL;
    expect_ok(convop_op_find("Activation", &op));
    _Alignas(16) char params[64];
    const char *key = "act_type", *text = "relu";
    expect_ok(convop_params_parse(op, 1, &key, &text, params, sizeof params));
    convop_shape in = {2, {-1, 7}}, out = {2, {3, -1}};
    expect_ok(convop_infer(op, params, 1, &in, 1, &out, NULL, NULL));
    assert_int_equal(in.dim[0], 3);
    assert_int_equal(out.dim[1], 7);
    in.ndim = -1;
    expect_ok(convop_infer(op, params, 1, &in, 1, &out, NULL, NULL));
    assert_int_equal(in.ndim, 2);
    convop_op_release(&op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward),
        cmocka_unit_test(backward),
        cmocka_unit_test(finite_differences),
        cmocka_unit_test(nan_passes),
        cmocka_unit_test(threads_and_memory),
        cmocka_unit_test(refusals),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* elemwise_add and its gradient: sums, both in-place ways, any strides, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/ops/ops.h"

static enum op_layout any_layout(struct rng *r)
{
    return (enum op_layout)rng_int(r, 0, OP_LAYOUTS - 1);
}

static void forward_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case c = {.seed = seed, .op = "elemwise_add"};
    int64_t shape[CONVOP_MAX_DIMS];
    int bits = rng_chance(&r, 50) ? 32 : 64, ndim = op_random_shape(&r, 0, shape);
    op_in(&c, &r, bits, ndim, shape, any_layout(&r));
    op_in(&c, &r, bits, ndim, shape, any_layout(&r));
    op_out(&c, &r, bits, ndim, shape, any_layout(&r), op_random_request(&r));
    if (rng_chance(&r, 40)) op_make_inplace(&c, 0, (int)rng_int(&r, 0, 1));
    struct op_expected e = op_expected(&c.in[0]);
    for (int64_t i = 0; i < op_elements(&c.in[0]); i++) {
        e.value[i] = op_get(&c.in[0], i) + op_get(&c.in[1], i);
        e.magnitude[i] = 2;
    }
    op_check(&c, &e, 2);
    op_expected_free(&e);
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
    struct op_case c = {.seed = seed, .op = "_backward_elemwise_add"};
    int64_t shape[CONVOP_MAX_DIMS];
    int bits = rng_chance(&r, 50) ? 32 : 64, ndim = op_random_shape(&r, 0, shape);
    op_in(&c, &r, bits, ndim, shape, any_layout(&r));
    for (int i = 0; i < 2; i++)
        op_out(&c, &r, bits, ndim, shape, any_layout(&r), op_random_request(&r));
    if (rng_chance(&r, 40)) op_make_inplace(&c, (int)rng_int(&r, 0, 1), 0);
    struct op_expected e[2];
    for (int o = 0; o < 2; o++) {
        e[o] = op_expected(&c.in[0]);
        for (int64_t i = 0; i < op_elements(&c.in[0]); i++) {
            e[o].value[i] = op_get(&c.in[0], i);
            e[o].magnitude[i] = 1;
        }
    }
    op_check(&c, e, 2);
    for (int o = 0; o < 2; o++) op_expected_free(&e[o]);
    op_case_destroy(&c);
}

static void backward(void **state)
{
    (void)state;
    op_for_seeds(2, 500, backward_case);
}

static void build(struct op_case *c, int64_t rows)
{
    struct rng r = {7};
    const int64_t shape[] = {rows, 100};
    *c = (struct op_case){.op = "elemwise_add"};
    op_in(c, &r, 64, 2, shape, OP_COMPACT);
    op_in(c, &r, 64, 2, shape, OP_GAPS);
    op_out(c, &r, 64, 2, shape, OP_COMPACT, CONVOP_REQ_WRITE);
}

/* An input may be the same number everywhere, with strides of 0, and may be both inputs. */
static void broadcast_and_repeated(void **state)
{
    (void)state;
    struct op_case c;
    build(&c, 300);
    op_set(&c.in[0], 0, 2.5);
    c.in[0].t.strides = c.in[0].strides;
    c.in[0].strides[0] = c.in[0].strides[1] = 0;
    expect_ok(op_run(&c));
    for (int64_t i = 0; i < 30000; i++)
        assert_true(op_get(&c.out[0], i) == 2.5 + op_get(&c.in[1], i));
    const DLTensor *const in[] = {&c.in[1].t, &c.in[1].t};
    DLTensor *const out[] = {&c.out[0].t};
    expect_ok(convop_invoke("elemwise_add", 0, NULL, NULL, 2, in, 1, out, NULL, NULL));
    for (int64_t i = 0; i < 30000; i++)
        assert_true(op_get(&c.out[0], i) == 2 * op_get(&c.in[1], i));
    op_case_destroy(&c);
}

static void special_numbers(void **state)
{
    (void)state;
    struct op_case c;
    build(&c, 1);
    op_set(&c.in[0], 3, NAN);
    op_set(&c.in[0], 4, INFINITY);
    op_set(&c.in[1], 4, -INFINITY);
    op_set(&c.in[0], 5, 5e-324);
    op_set(&c.in[1], 5, 5e-324);
    expect_ok(op_run(&c));
    assert_true(isnan(op_get(&c.out[0], 3)));
    assert_true(isnan(op_get(&c.out[0], 4)));
    assert_true(op_get(&c.out[0], 5) == 1e-323);
    op_case_destroy(&c);
}

static void gradient(void **state)
{
    (void)state;
    struct rng r = {test_seed(4)};
    struct op_case c;
    build(&c, 2);
    struct op_tensor weights;
    op_create(&weights, &r, 64, 2, c.out[0].shape, OP_COMPACT);
    op_fill(&weights, &r, -1, 1);
    for (int i = 0; i < 2; i++) op_check_gradient(&c, &r, i, &weights, &weights, 0x1p-6, 1e-9);
    op_destroy(&weights);
    op_case_destroy(&c);
}

static void threads_and_memory(void **state)
{
    (void)state;
    struct op_case c;
    build(&c, 500);
    op_check_threads(&c);
    op_check_memory(&c);
    op_case_destroy(&c);
}

static void refusals(void **state)
{
    (void)state;
    struct op_case c;
    build(&c, 2);
    c.in[1].shape[0] = 1;
    op_check_refusal(&c, CONVOP_E_INVALID,
                     "elemwise_add: lhs has shape (2, 100), rhs has shape (1, 100): they must be "
                     "equal");
    c.in[1].shape[0] = 2;
    c.in[1].t.dtype.bits = 32;
    op_check_refusal(&c, CONVOP_E_INVALID,
                     "elemwise_add: rhs has dtype float32, but lhs has dtype float64; all must be "
                     "equal");
    c.in[0].t.dtype.code = c.in[1].t.dtype.code = c.out[0].t.dtype.code = kDLInt;
    c.in[1].t.dtype.bits = 64;
    op_check_refusal(&c, CONVOP_E_UNSUPPORTED,
                     "elemwise_add: no implementation for dtype int64; float32 and float64 have "
                     "one");
    op_case_destroy(&c);

    /* The output on an input, but not asked for as in place. */
    build(&c, 2);
    op_make_inplace(&c, 0, 0);
    c.requests[0] = CONVOP_REQ_WRITE;
    assert_int_equal(op_run(&c), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "dst and lhs overlap"));
    op_case_destroy(&c);
}

static void inference(void **state)
{
    (void)state;
    const convop_op *op = NULL;
    expect_ok(convop_op_find("elemwise_add", &op));
    _Alignas(16) char params[64];
    expect_ok(convop_params_parse(op, 0, NULL, NULL, params, sizeof params));
    convop_shape in[2] = {{2, {-1, 7}}, {-1, {0}}}, out = {2, {3, -1}};
    DLDataType types[2] = {{0, 0, 0}, {kDLFloat, 64, 1}}, type = {0, 0, 0};
    expect_ok(convop_infer(op, params, 2, in, 1, &out, types, &type));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(in[i].ndim, 2);
        assert_int_equal(in[i].dim[0], 3);
        assert_int_equal(in[i].dim[1], 7);
        assert_int_equal(types[i].bits, 64);
    }
    assert_int_equal(out.dim[1], 7);
    assert_int_equal(type.bits, 64);
    in[1].dim[0] = 4;
    expect_text(CONVOP_E_INVALID,
                "elemwise_add: lhs has shape (3, 7), rhs has shape (4, 7): they must be equal",
                convop_infer(op, params, 2, in, 1, &out, NULL, NULL));
    convop_op_release(&op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward),
        cmocka_unit_test(backward),
        cmocka_unit_test(broadcast_and_repeated),
        cmocka_unit_test(special_numbers),
        cmocka_unit_test(gradient),
        cmocka_unit_test(threads_and_memory),
        cmocka_unit_test(refusals),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

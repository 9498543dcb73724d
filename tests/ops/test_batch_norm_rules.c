/* What BatchNorm and its gradient promise beyond their formulas: bits that threads do not change,
 * failing allocations, a large mean, NaN, empty batches, refusals, inference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/operator/memo.h"
#include "tests/ops/batch_norm.h"
#include "tests/ops/ops.h"

static void build(struct op_case *c, const char *op, int ndim, const int64_t *shape,
                  enum op_layout layout)
{
    struct rng r = {7};
    *c = (struct op_case){.op = op, .is_train = 1};
    int is_backward = op[0] == '_';
    const int64_t channels = shape[1];
    op_param(c, "fix_gamma", "0");
    op_in(c, &r, 32, ndim, shape, layout);
    if (is_backward) op_in(c, &r, 32, ndim, shape, layout);
    for (int i = 0; i < (is_backward ? 3 : 4); i++)
        op_fill(op_in(c, &r, 32, 1, &channels, OP_COMPACT), &r, 0.5, 1);
    op_out(c, &r, 32, ndim, shape, layout, CONVOP_REQ_WRITE);
    for (int i = 0; i < 2; i++) op_out(c, &r, 32, 1, &channels, OP_COMPACT, CONVOP_REQ_WRITE);
    if (!is_backward) c->mutated = 1u << MOVING_MEAN | 1u << MOVING_VAR;
}

static void threads_and_memory(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {
        {4, 7, 50, 60}, {3, 70, 13, 11}, {2, 1, 200, 150}, {5, 3, 100, 30}};
    static const char *const ops[] = {"BatchNorm", "_backward_BatchNorm"};
    for (int i = 0; i < 4 * 2 * OP_LAYOUTS; i++) {
        struct op_case c;
        build(&c, ops[i % 2], 4, shapes[i / 2 % 4], (enum op_layout)(i / 8));
        op_check_threads(&c);
        if (i < 2) op_check_memory(&c);
        op_case_destroy(&c);
    }
}

/* A mean that is large beside the deviation: sums of squares would lose all digits. */
static void large_mean(void **state)
{
    (void)state;
    for (int layout = 0; layout < OP_LAYOUTS; layout++) {
        struct op_case c;
        build(&c, "BatchNorm", 4, (const int64_t[]){4, 3, 70, 60}, (enum op_layout)layout);
        for (int64_t i = 0; i < op_elements(&c.in[SRC]); i++)
            op_set(&c.in[SRC], i, 4096 + (double)(i % 3 - 1) / 1024);
        expect_ok(op_run(&c));
        for (int64_t k = 0; k < 3; k++) {
            double want = 1 / sqrt(2.0 / 3 / 1048576 + 1e-3), got = op_get(&c.out[INV_STD], k);
            assert_true(fabs(got - want) <= 1e-6 * want);
            assert_true(op_get(&c.out[MEAN], k) == 4096);
        }
        op_case_destroy(&c);
    }
}

/* The mean lies between two numbers of float32, and all elements are one of these. */
static void mean_between_numbers(void **state)
{
    (void)state;
    for (int layout = 0; layout < OP_LAYOUTS; layout++) {
        struct op_case c;
        build(&c, "BatchNorm", 4, (const int64_t[]){4, 3, 70, 60}, (enum op_layout)layout);
        op_param(&c, "eps", "1e-9");
        for (int64_t i = 0; i < op_elements(&c.in[SRC]); i++)
            op_set(&c.in[SRC], i, 4096 + (double)(i % 2) / 2048);
        expect_ok(op_run(&c));
        for (int64_t i = 0; i < op_elements(&c.in[SRC]); i++) {
            int64_t k = i / 4200 % 3;
            double d = (i % 2 ? 0x1p-12 : -0x1p-12) / sqrt(0x1p-24 + 1e-9);
            double want = d * op_get(&c.in[GAMMA], k) + op_get(&c.in[BETA], k);
            assert_true(fabs(op_get(&c.out[DST], i) - want) < 1e-6);
        }
        op_case_destroy(&c);
    }
}

/* A workspace that is too small is not exceeded: there is a way without one. */
static void no_scratch(void **state)
{
    (void)state;
    static const char *const ops[] = {"BatchNorm", "_backward_BatchNorm"};
    for (int i = 0; i < 2; i++) {
        struct op_case c;
        char few[16];
        build(&c, ops[i], 3, (const int64_t[]){2, 3, 40}, OP_COMPACT);
        expect_ok(op_run(&c));
        cvp_memo_purge(); /* two first calls are compared */
        cvp_alloc_fail_at(0);
        expect_ok(op_run(&c));
        uint64_t calls = cvp_alloc_calls();
        c.workspace = few;
        c.workspace_bytes = sizeof few;
        cvp_alloc_fail_at(0);
        expect_ok(op_run(&c));
        assert_int_equal(cvp_alloc_calls(), calls - 1);
        op_case_destroy(&c);
    }
}

/* NaN and infinity spoil their channel and no other. */
static void special_numbers(void **state)
{
    (void)state;
    static const double special[] = {NAN, INFINITY};
    for (int i = 0; i < 2 * OP_LAYOUTS; i++) {
        struct op_case c;
        build(&c, "BatchNorm", 3, (const int64_t[]){2, 3, 40}, (enum op_layout)(i / 2));
        op_set(&c.in[SRC], 45, special[i % 2]); /* channel 1 */
        expect_ok(op_run(&c));
        for (int64_t j = 0; j < 240; j++)
            assert_true(isnan(op_get(&c.out[DST], j)) == (j / 40 % 3 == 1));
        assert_true(isnan(op_get(&c.in[MOVING_VAR], 1)));
        assert_false(isnan(op_get(&c.in[MOVING_VAR], 2)));
        op_case_destroy(&c);
    }
    /* With the running statistics the gradient by src does not depend on src. */
    struct op_case c;
    build(&c, "_backward_BatchNorm", 3, (const int64_t[]){2, 3, 40}, OP_COMPACT);
    c.is_train = 0;
    op_set(&c.in[B_SRC], 45, NAN);
    expect_ok(op_run(&c));
    for (int64_t j = 0; j < 240; j++) assert_false(isnan(op_get(&c.out[DIFF_SRC], j)));
    assert_true(isnan(op_get(&c.out[DIFF_GAMMA], 1)));
    op_case_destroy(&c);
}

static void empty_batch(void **state)
{
    (void)state;
    struct op_case c;
    build(&c, "BatchNorm", 3, (const int64_t[]){0, 3, 4}, OP_COMPACT);
    double mean = op_get(&c.in[MOVING_MEAN], 2), var = op_get(&c.in[MOVING_VAR], 2);
    expect_ok(op_run(&c));
    assert_true(op_get(&c.in[MOVING_MEAN], 2) == mean && op_get(&c.in[MOVING_VAR], 2) == var);
    assert_true(op_get(&c.out[MEAN], 2) == 0);
    op_case_destroy(&c);
    build(&c, "_backward_BatchNorm", 3, (const int64_t[]){0, 3, 4}, OP_COMPACT);
    expect_ok(op_run(&c));
    assert_true(op_get(&c.out[DIFF_GAMMA], 2) == 0 && op_get(&c.out[DIFF_BETA], 0) == 0);
    op_case_destroy(&c);
    build(&c, "BatchNorm", 3, (const int64_t[]){2, 0, 4}, OP_COMPACT);
    expect_ok(op_run(&c));
    op_case_destroy(&c);
}

static void refusals(void **state)
{
    (void)state;
    const int64_t shape[] = {2, 3, 4};
    struct op_case c;
    build(&c, "BatchNorm", 3, shape, OP_COMPACT);
    c.in[GAMMA].shape[0] = 2;
    op_check_refusal(&c, CONVOP_E_INVALID,
                     "BatchNorm: gamma has shape (2), but its shape must be (3): one value a "
                     "channel");
    c.in[GAMMA].shape[0] = 3;
    op_param(&c, "axis", "3");
    op_check_refusal(&c, CONVOP_E_INVALID,
                     "BatchNorm: axis=3 is none of src with shape (2, 3, 4), allowed is -3..2");
    c.values[1] = "-4";
    op_check_refusal(&c, CONVOP_E_INVALID,
                     "BatchNorm: axis=-4 is none of src with shape (2, 3, 4), allowed is -3..2");
    c.values[1] = "1";
    for (int i = 0; i < 5; i++) c.in[i].t.dtype.bits = 16;
    for (int i = 0; i < 3; i++) c.out[i].t.dtype.bits = 16;
    op_check_refusal(&c, CONVOP_E_UNSUPPORTED,
                     "BatchNorm: no implementation for dtype float16; float32 and float64 have "
                     "one");
    for (int i = 0; i < 5; i++) c.in[i].t.dtype.bits = 32;
    for (int i = 0; i < 3; i++) c.out[i].t.dtype.bits = 32;
    /* A running statistic is an output too: it may not be another tensor. */
    c.in[MOVING_MEAN].t.data = c.in[BETA].t.data;
    assert_int_equal(op_run(&c), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "moving_mean and beta overlap"));
    c.num_params = 1;
    c.keys[0] = "momentum";
    c.values[0] = "1.5";
    assert_int_equal(op_run(&c), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "momentum"));
    op_case_destroy(&c);

    build(&c, "_backward_BatchNorm", 3, shape, OP_COMPACT);
    c.in[B_INV_STD].shape[0] = 2;
    op_check_refusal(&c, CONVOP_E_INVALID,
                     "_backward_BatchNorm: inv_std has shape (2), but its shape must be (3): one "
                     "value a channel");
    op_case_destroy(&c);
}

static void inference(void **state)
{
    (void)state;
    const convop_op *op = NULL;
    expect_ok(convop_op_find("BatchNorm", &op));
    _Alignas(16) char params[128];
    const char *key = "axis", *text = "-1";
    expect_ok(convop_params_parse(op, 1, &key, &text, params, sizeof params));
    convop_shape in[5], out[3];
    for (int i = 0; i < 5; i++) in[i].ndim = -1;
    for (int i = 0; i < 3; i++) out[i].ndim = -1;
    in[SRC] = (convop_shape){3, {2, -1, -1}};
    out[DST] = (convop_shape){3, {-1, 4, -1}};
    in[MOVING_VAR] = (convop_shape){1, {5}};
    expect_ok(convop_infer(op, params, 5, in, 3, out, NULL, NULL));
    assert_memory_equal(in[SRC].dim, ((int64_t[]){2, 4, 5}), 3 * sizeof(int64_t));
    assert_memory_equal(out[DST].dim, in[SRC].dim, 3 * sizeof(int64_t));
    assert_int_equal(in[GAMMA].dim[0], 5);
    assert_int_equal(out[INV_STD].dim[0], 5);

    for (int i = 0; i < 5; i++) in[i].ndim = -1;
    for (int i = 0; i < 3; i++) out[i].ndim = -1;
    in[BETA] = (convop_shape){1, {6}};
    expect_ok(convop_infer(op, params, 5, in, 3, out, NULL, NULL));
    assert_int_equal(out[MEAN].dim[0], 6);
    assert_int_equal(in[SRC].ndim, -1);

    const convop_visible *visible = NULL;
    const void *value = NULL;
    expect_ok(convop_op_attr(op, "visible", "convop_visible", &value));
    visible = value;
    assert_int_equal(visible->num_outputs(params), 1);
    convop_op_release(&op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_memory),
        cmocka_unit_test(large_mean),
        cmocka_unit_test(mean_between_numbers),
        cmocka_unit_test(no_scratch),
        cmocka_unit_test(special_numbers),
        cmocka_unit_test(empty_batch),
        cmocka_unit_test(refusals),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Flatten and its gradient: the same elements in row-major order, whatever the strides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/ops/ops.h"

static enum op_layout any_layout(struct rng *r)
{
    return (enum op_layout)rng_int(r, 0, OP_LAYOUTS - 1);
}

static void one_case(uint64_t seed)
{
    struct rng r = {seed};
    int is_backward = rng_chance(&r, 50), bits = rng_chance(&r, 50) ? 32 : 64;
    struct op_case c = {.seed = seed, .op = is_backward ? "_backward_Flatten" : "Flatten"};
    int64_t image[CONVOP_MAX_DIMS], flat[2];
    int ndim = op_random_shape(&r, 1, image);
    if (rng_chance(&r, 5)) image[rng_int(&r, 0, ndim - 1)] = 0;
    flat[0] = image[0];
    flat[1] = 1;
    for (int d = 1; d < ndim; d++) flat[1] *= image[d];
    /* In place: both are compact. */
    int inplace = rng_chance(&r, 25);
    enum op_layout from = inplace ? OP_COMPACT : any_layout(&r);
    op_in(&c, &r, bits, is_backward ? 2 : ndim, is_backward ? flat : image, from);
    op_out(&c, &r, bits, is_backward ? ndim : 2, is_backward ? image : flat, any_layout(&r),
           op_random_request(&r));
    if (inplace) {
        op_make_inplace(&c, 0, 0);
        c.out[0].t.ndim = is_backward ? ndim : 2;
        c.out[0].t.strides = NULL;
        int64_t step = 1;
        for (int d = c.out[0].t.ndim - 1; d >= 0; d--) {
            c.out[0].shape[d] = (is_backward ? image : flat)[d];
            c.out[0].strides[d] = step;
            step *= c.out[0].shape[d];
        }
    }
    struct op_expected e = op_expected(&c.in[0]);
    for (int64_t i = 0; i < op_elements(&c.in[0]); i++) {
        e.value[i] = op_get(&c.in[0], i);
        e.magnitude[i] = c.requests[0] == CONVOP_REQ_ADD;
    }
    op_check(&c, &e, 2);
    op_expected_free(&e);
    op_case_destroy(&c);
}

static void random_shapes(void **state)
{
    (void)state;
    op_for_seeds(1, 800, one_case);
}

static void build(struct op_case *c, const char *op)
{
    struct rng r = {7};
    const int64_t image[] = {60, 10, 50}, flat[] = {60, 500};
    *c = (struct op_case){.op = op};
    int is_backward = op[0] == '_';
    op_in(c, &r, 64, is_backward ? 2 : 3, is_backward ? flat : image, OP_GAPS);
    op_out(c, &r, 64, is_backward ? 3 : 2, is_backward ? image : flat, OP_COMPACT,
           CONVOP_REQ_WRITE);
}

static void gradient(void **state)
{
    (void)state;
    struct rng r = {test_seed(2)};
    struct op_case f, b;
    build(&f, "Flatten");
    build(&b, "_backward_Flatten");
    expect_ok(op_run(&b));
    op_check_gradient(&f, &r, 0, &b.in[0], &b.out[0], 0x1p-4, 1e-9);
    op_case_destroy(&f);
    op_case_destroy(&b);
}

static void threads_and_memory(void **state)
{
    (void)state;
    static const char *const ops[] = {"Flatten", "_backward_Flatten"};
    for (int i = 0; i < 2; i++) {
        struct op_case c;
        build(&c, ops[i]);
        op_check_threads(&c);
        op_check_memory(&c);
        op_case_destroy(&c);
    }
}

static void refusals(void **state)
{
    (void)state;
    struct op_case c;
    build(&c, "Flatten");
    c.out[0].shape[1] = 400;
    op_check_refusal(&c, CONVOP_E_INVALID,
                     "Flatten: dst has shape (60, 400), but its shape must be (60, 500): the "
                     "batch, and the product of the other sizes");
    c.out[0].shape[1] = 500;
    c.in[0].t.dtype = c.out[0].t.dtype = (DLDataType){kDLInt, 8, 1};
    op_check_refusal(&c, CONVOP_E_UNSUPPORTED,
                     "Flatten: no implementation for dtype int8; float32 and float64 have one");
    c.in[0].t.ndim = 0;
    op_check_refusal(&c, CONVOP_E_INVALID, "Flatten: src has no dimensions, want 1 or more");
    op_case_destroy(&c);

    /* In place needs both compact: here the input's rows have gaps. */
    build(&c, "Flatten");
    op_make_inplace(&c, 0, 0);
    c.out[0].t.ndim = 2;
    c.out[0].shape[1] = 500;
    c.out[0].t.strides = NULL;
    assert_int_equal(op_run(&c), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "dst and src overlap"));
    op_case_destroy(&c);
}

static void inference(void **state)
{
    (void)state;
    const convop_op *op = NULL;
    expect_ok(convop_op_find("Flatten", &op));
    _Alignas(16) char params[64];
    expect_ok(convop_params_parse(op, 0, NULL, NULL, params, sizeof params));
    convop_shape in = {4, {-1, 2, 3, 5}}, out = {-1, {0}};
    expect_ok(convop_infer(op, params, 1, &in, 1, &out, NULL, NULL));
    assert_int_equal(out.ndim, 2);
    assert_int_equal(out.dim[0], -1);
    assert_int_equal(out.dim[1], 30);

    in = (convop_shape){3, {-1, -1, 6}};
    out = (convop_shape){2, {9, 30}};
    expect_ok(convop_infer(op, params, 1, &in, 1, &out, NULL, NULL));
    assert_int_equal(in.dim[0], 9);
    assert_int_equal(in.dim[1], 5);

    in = (convop_shape){3, {-1, -1, 7}};
    expect_text(CONVOP_E_INVALID,
                "Flatten: src has shape (9, ?, 7), dst has shape (9, 30): 30 is not a multiple of "
                "7",
                convop_infer(op, params, 1, &in, 1, &out, NULL, NULL));

    in = (convop_shape){3, {1, INT64_MAX, 7}};
    out.ndim = -1;
    expect_text(CONVOP_E_INVALID,
                "Flatten: src has shape (1, 9223372036854775807, 7): the product of its sizes "
                "overflows 64 bits",
                convop_infer(op, params, 1, &in, 1, &out, NULL, NULL));
    in.ndim = -1;
    expect_ok(convop_infer(op, params, 1, &in, 1, &out, NULL, NULL));
    assert_int_equal(in.ndim, -1);
    assert_int_equal(out.ndim, 2);
    convop_op_release(&op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_shapes),      cmocka_unit_test(gradient),
        cmocka_unit_test(threads_and_memory), cmocka_unit_test(refusals),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Inference: answers come back whole or not at all, counts and shapes are checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "src/common/alloc.h"
#include "tests/support/expect.h"
#include "tests/support/sample_op.h"

static convop_op op;
static const DLDataType f32 = {kDLFloat, 32, 1}, f64 = {kDLFloat, 64, 1}, unknown = {0, 0, 0};

static struct sample_params with_count(int64_t count)
{
    return (struct sample_params){
        .struct_size = sizeof(struct sample_params), .kernel = convop_tuple1(1), .count = count};
}

/* One call's arguments: two inputs, one output. */
struct call {
    convop_shape in[2], out[1];
    DLDataType types_in[2], types_out[1];
};

static struct call all_unknown(void)
{
    return (struct call){{{-1, {0}}, {-1, {0}}}, {{-1, {0}}}, {unknown, unknown}, {unknown}};
}

static convop_status infer(struct call *c)
{
    struct sample_params p = with_count(2);
    return convop_infer(&op, &p, 2, c->in, 1, c->out, c->types_in, c->types_out);
}

static void refuse(convop_status status, const char *sentence, struct call c)
{
    const struct call before = c;
    expect_text(status, sentence, infer(&c));
    assert_memory_equal(&c, &before, sizeof c);
}

static void forward_and_backward(void **state)
{
    (void)state;
    struct call c = all_unknown();
    c.in[0] = (convop_shape){2, {4, -1}};
    c.types_out[0] = f64;
    expect_ok(infer(&c));
    assert_int_equal(c.out[0].ndim, 2);
    assert_int_equal(c.out[0].dim[1], -1);
    assert_int_equal(c.in[1].dim[0], 4);
    assert_memory_equal(&c.types_in[0], &f64, sizeof f64);
    assert_memory_equal(&c.types_in[1], &f64, sizeof f64);

    c = all_unknown();
    c.out[0] = (convop_shape){1, {7}};
    expect_ok(infer(&c));
    assert_int_equal(c.in[0].dim[0], 7);
    assert_int_equal(c.types_out[0].bits, 0);

    c = all_unknown();
    expect_ok(infer(&c));
    assert_int_equal(c.out[0].ndim, -1);

    /* Shapes only. */
    struct sample_params p = with_count(2);
    c.in[0] = (convop_shape){1, {3}};
    expect_ok(convop_infer(&op, &p, 2, c.in, 1, c.out, NULL, NULL));
    assert_int_equal(c.out[0].dim[0], 3);
}

static void contradictions(void **state)
{
    (void)state;
    struct call c = all_unknown();
    c.in[0] = (convop_shape){1, {3}};
    c.in[1] = (convop_shape){1, {4}};
    refuse(CONVOP_E_INVALID, "Sample: scale does not fit", c);
    c = all_unknown();
    c.in[0] = (convop_shape){1, {3}};
    c.types_in[1] = f32;
    c.types_out[0] = f64;
    refuse(CONVOP_E_INVALID,
           "Sample: dst has dtype float64, but scale has dtype float32; all must be equal", c);
}

static void malformed_shapes(void **state)
{
    (void)state;
    struct call c = all_unknown();
    c.in[1].ndim = 9;
    refuse(CONVOP_E_INVALID, "Sample: scale has 9 dimensions, allowed is -1..8", c);
    c.in[1].ndim = -2;
    refuse(CONVOP_E_INVALID, "Sample: scale has -2 dimensions, allowed is -1..8", c);
    c = all_unknown();
    c.out[0] = (convop_shape){2, {1, -2}};
    refuse(CONVOP_E_INVALID, "Sample: dst has size -2 in dimension 1, allowed is >= -1", c);
}

static void arguments(void **state)
{
    (void)state;
    struct call c = all_unknown();
    struct sample_params one = with_count(1), two = with_count(2), bad = with_count(-1);
    expect_text(CONVOP_E_INVALID, "Sample: 2 inputs are given, these parameters take 1 (src)",
                convop_infer(&op, &one, 2, c.in, 1, c.out, NULL, NULL));
    expect_text(CONVOP_E_INVALID,
                "Sample: -1 inputs are given, these parameters take 2 (src, scale)",
                convop_infer(&op, &two, -1, c.in, 1, c.out, NULL, NULL));
    expect_text(CONVOP_E_INVALID, "Sample: 0 outputs are given, these parameters take 1 (dst)",
                convop_infer(&op, &two, 2, c.in, 0, c.out, NULL, NULL));
    expect_text(CONVOP_E_INVALID,
                "Sample: parameter count: is -1, allowed is 0..9223372036854775807",
                convop_infer(&op, &bad, 2, c.in, 1, c.out, NULL, NULL));
    expect_text(CONVOP_E_INVALID, "Sample: params is NULL",
                convop_infer(&op, NULL, 2, c.in, 1, c.out, NULL, NULL));
    expect_text(CONVOP_E_INVALID, "Sample: inputs is NULL",
                convop_infer(&op, &two, 2, NULL, 1, c.out, NULL, NULL));
    expect_text(CONVOP_E_INVALID, "Sample: outputs is NULL",
                convop_infer(&op, &two, 2, c.in, 1, NULL, NULL, NULL));
    expect_text(CONVOP_E_INVALID, "Sample: types_in is NULL",
                convop_infer(&op, &two, 2, c.in, 1, c.out, NULL, c.types_out));
    expect_text(CONVOP_E_INVALID, "Sample: types_out is NULL",
                convop_infer(&op, &two, 2, c.in, 1, c.out, c.types_in, NULL));
    expect_text(CONVOP_E_INVALID, "convop_infer: op is NULL",
                convop_infer(NULL, &two, 2, c.in, 1, c.out, NULL, NULL));
    convop_op none = op;
    none.infer_shape = NULL;
    expect_text(CONVOP_E_INVALID, "Sample: the descriptor's infer_shape is NULL",
                convop_infer(&none, &two, 2, c.in, 1, c.out, NULL, NULL));
}

static convop_status wild_shape(const void *params, int num_inputs, convop_shape *inputs,
                                int num_outputs, convop_shape *outputs)
{
    (void)params, (void)num_inputs, (void)num_outputs;
    inputs[0] = (convop_shape){1, {1}};
    outputs[0].ndim = 100;
    return CONVOP_OK;
}

static convop_status no_type(const void *params, int num_inputs, DLDataType *inputs,
                             int num_outputs, DLDataType *outputs)
{
    (void)params, (void)num_inputs, (void)num_outputs, (void)outputs;
    inputs[0] = f32;
    return convop_fail(CONVOP_E_INVALID, "Sample: no type will do");
}

static void operators_that_misbehave(void **state)
{
    (void)state;
    const convop_op good = op;
    op.infer_shape = wild_shape;
    refuse(CONVOP_E_INTERNAL, "Sample: dst has 100 dimensions, allowed is -1..8", all_unknown());
    op = good;
    op.infer_type = no_type;
    struct call c = all_unknown();
    c.in[0] = (convop_shape){1, {3}};
    refuse(CONVOP_E_INVALID, "Sample: no type will do", c);
    op = good;
}

static convop_status nothing_to_infer(const void *params, int num_inputs, convop_shape *inputs,
                                      int num_outputs, convop_shape *outputs)
{
    (void)params, (void)num_inputs, (void)inputs, (void)num_outputs, (void)outputs;
    return CONVOP_OK;
}

static void operator_without_inputs(void **state)
{
    (void)state;
    convop_op source = op;
    source.num_inputs = NULL;
    source.inputs = NULL;
    source.max_inputs = 0;
    source.infer_shape = nothing_to_infer;
    struct sample_params p = with_count(0);
    convop_shape out = {1, {5}};
    DLDataType type = f32;
    expect_ok(convop_infer(&source, &p, 0, NULL, 1, &out, NULL, &type));
    assert_int_equal(out.dim[0], 5);
}

static void known_shapes(void **state)
{
    (void)state;
    assert_int_equal(convop_shape_is_known(NULL), 0);
    assert_int_equal(convop_shape_is_known(&(convop_shape){-1, {0}}), 0);
    assert_int_equal(convop_shape_is_known(&(convop_shape){0, {0}}), 1);
    assert_int_equal(convop_shape_is_known(&(convop_shape){2, {0, 3}}), 1);
    assert_int_equal(convop_shape_is_known(&(convop_shape){2, {3, -1}}), 0);
    assert_int_equal(convop_shape_is_known(&(convop_shape){9, {0}}), 0);
}

static void without_memory(void **state)
{
    (void)state;
    const uint64_t live = cvp_alloc_live();
    struct call c = all_unknown();
    c.in[0] = (convop_shape){1, {3}};
    cvp_alloc_fail_at(1);
    refuse(CONVOP_E_NO_MEMORY, "Sample: no memory to infer 3 shapes", c);
    cvp_alloc_fail_at(0);
    expect_ok(infer(&c));
    assert_int_equal(cvp_alloc_live(), live);
}

int main(void)
{
    op = sample_op("Sample", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_and_backward),
        cmocka_unit_test(contradictions),
        cmocka_unit_test(malformed_shapes),
        cmocka_unit_test(arguments),
        cmocka_unit_test(operators_that_misbehave),
        cmocka_unit_test(operator_without_inputs),
        cmocka_unit_test(known_shapes),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

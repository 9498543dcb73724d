/* Shape inference of Convolution and of its gradient: forwards, backwards, from parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "convop/convop.h"

#define U (-1)
#define UNKNOWN                                                                                    \
    {                                                                                              \
        -1,                                                                                        \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

static const convop_op *op, *backward;

static int setup(void **state)
{
    (void)state;
    return convop_op_find("Convolution", &op) || convop_op_find("_backward_Convolution", &backward);
}

static int teardown(void **state)
{
    (void)state;
    convop_op_release(&op);
    convop_op_release(&backward);
    return 0;
}

static convop_conv_params params_of(const char *kernel, const char *stride, const char *pad,
                                    const char *dilate, const char *filters, const char *group,
                                    const char *layout)
{
    const char *keys[] = {"kernel", "stride", "pad", "dilate", "num_filter", "num_group", "layout"};
    const char *values[] = {kernel, stride, pad, dilate, filters, group, layout};
    convop_conv_params p;
    if (convop_params_parse(op, 7, keys, values, &p, sizeof p) != CONVOP_OK)
        fail_msg("%s", convop_last_error());
    return p;
}

static void same(const convop_shape *got, int ndim, const int64_t *want)
{
    assert_int_equal(got->ndim, ndim);
    for (int i = 0; i < ndim; i++) assert_int_equal(got->dim[i], want[i]);
}

#define SAME(got, ...)                                                                             \
    do {                                                                                           \
        const int64_t want_[] = {__VA_ARGS__};                                                     \
        same(got, (int)(sizeof want_ / 8), want_);                                                 \
    } while (0)

static void everything_from_data(void **state)
{
    (void)state;
    convop_conv_params p = params_of("(3,5)", "(2,1)", "(1,2)", "(1,1)", "8", "2", "NCHW");
    convop_shape in[3] = {{4, {7, 6, 11, 20}}, UNKNOWN, UNKNOWN}, out = UNKNOWN;
    assert_int_equal(convop_infer(op, &p, 3, in, 1, &out, NULL, NULL), CONVOP_OK);
    SAME(&in[1], 8, 3, 3, 5);
    SAME(&in[2], 8);
    SAME(&out, 7, 8, 6, 20);
    assert_true(convop_shape_is_known(&out));
    p.layout = CONVOP_LAYOUT_NHWC;
    convop_shape last[3] = {{4, {7, 11, 20, 6}}, UNKNOWN, UNKNOWN}, out2 = UNKNOWN;
    assert_int_equal(convop_infer(op, &p, 3, last, 1, &out2, NULL, NULL), CONVOP_OK);
    SAME(&last[1], 8, 3, 5, 3);
    SAME(&out2, 7, 6, 20, 8);
}

static void data_from_the_rest(void **state)
{
    (void)state;
    convop_conv_params p = params_of("(3,3)", "(1,2)", "(1,1)", "(1,1)", "22", "2", "NCHW");
    /* The batch and the height (stride 1) from dst, the channels from the weights. */
    convop_shape in[3] = {{4, {U, U, U, U}}, {4, {22, 5, U, U}}, UNKNOWN};
    convop_shape out = {4, {5, U, 32, 16}};
    assert_int_equal(convop_infer(op, &p, 3, in, 1, &out, NULL, NULL), CONVOP_OK);
    SAME(&in[0], 5, 10, 32, U);
    SAME(&in[1], 22, 5, 3, 3);
    SAME(&out, 5, 22, 32, 16);
    assert_false(convop_shape_is_known(&in[0]));
}

static void zero_is_a_size(void **state)
{
    (void)state;
    convop_conv_params p = params_of("(3,3)", "()", "(1,1)", "None", "4", "1", "None");
    p.no_bias = 1;
    convop_shape in[2] = {{4, {0, 3, 10, 10}}, UNKNOWN}, out = UNKNOWN;
    assert_int_equal(convop_infer(op, &p, 2, in, 1, &out, NULL, NULL), CONVOP_OK);
    SAME(&out, 0, 4, 10, 10);
    convop_shape part[2] = {{4, {0, U, 10, U}}, UNKNOWN}, part_out = UNKNOWN;
    assert_int_equal(convop_infer(op, &p, 2, part, 1, &part_out, NULL, NULL), CONVOP_OK);
    SAME(&part_out, 0, 4, 10, U);
}

static void large_numbers(void **state)
{
    (void)state;
    /* A stride of 2^62 has one output where the kernel fits. */
    convop_conv_params p =
        params_of("(3,3)", "(4611686018427387904,1)", "(0,0)", "()", "2", "1", "NCHW");
    p.no_bias = 1;
    convop_shape in[2] = {{4, {1, 1, 8, 8}}, UNKNOWN}, out = UNKNOWN;
    assert_int_equal(convop_infer(op, &p, 2, in, 1, &out, NULL, NULL), CONVOP_OK);
    SAME(&out, 1, 2, 1, 6);
    /* More than 2^31 elements are no trouble, more bytes than 2^63 are an error. */
    p = params_of("(3,3)", "()", "(1,1)", "()", "2048", "2048", "NCHW");
    p.no_bias = 1;
    convop_shape big[2] = {{4, {1, 2048, 1024, 1025}}, UNKNOWN}, big_out = UNKNOWN;
    assert_int_equal(convop_infer(op, &p, 2, big, 1, &big_out, NULL, NULL), CONVOP_OK);
    SAME(&big_out, 1, 2048, 1024, 1025);
    convop_shape huge[2] = {{4, {(int64_t)1 << 32, 2048, (int64_t)1 << 32, 2}}, UNKNOWN};
    convop_shape huge_out = UNKNOWN;
    assert_int_equal(convop_infer(op, &p, 2, huge, 1, &huge_out, NULL, NULL), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "overflow"));
    SAME(&huge[0], (int64_t)1 << 32, 2048, (int64_t)1 << 32, 2);
    assert_int_equal(huge[1].ndim, -1);
}

static void contradictions(void **state)
{
    (void)state;
    convop_conv_params p = params_of("(3,3)", "()", "()", "(2,2)", "4", "1", "NCHW");
    p.no_bias = 1;
    static const struct {
        convop_shape data, weights, out;
        const char *word;
    } rows[] = {
        {{4, {1, 1, 4, 4}}, UNKNOWN, UNKNOWN, "kernel"},
        {{4, {1, 1, 4, 4}}, UNKNOWN, UNKNOWN, "dilate"},
        {{4, {1, 1, 9, 9}}, {4, {4, 2, 3, 3}}, UNKNOWN, "(4, 1, 3, 3)"},
        {{4, {1, 1, 9, 9}}, UNKNOWN, {4, {1, 4, 6, 5}}, "(1, 4, 5, 5)"},
        {{4, {1, 1, 9, 9}}, UNKNOWN, {4, {2, 4, 5, 5}}, "output"},
        {{3, {1, 9, 9}}, UNKNOWN, UNKNOWN, "NCHW"},
        {{4, {1, 0, 9, 9}}, UNKNOWN, UNKNOWN, "batch"},
        {{4, {U, U, U, U}}, UNKNOWN, {4, {1, 4, 0, 5}}, "0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        convop_shape in[2] = {rows[i].data, rows[i].weights}, out = rows[i].out;
        assert_int_equal(convop_infer(op, &p, 2, in, 1, &out, NULL, NULL), CONVOP_E_INVALID);
        if (!strstr(convop_last_error(), rows[i].word))
            fail_msg("row %zu: no '%s' in: %s", i, rows[i].word, convop_last_error());
        assert_memory_equal(&in[0], &rows[i].data, sizeof in[0]);
        assert_memory_equal(&out, &rows[i].out, sizeof out);
    }
}

static void gradients_without_a_graph(void **state)
{
    (void)state;
    convop_conv_params p = params_of("(4,)", "(2,)", "(1,)", "()", "6", "3", "NWC");
    convop_shape in[3] = {UNKNOWN, {3, {2, 11, 9}}, UNKNOWN}, out[3] = {UNKNOWN, UNKNOWN, UNKNOWN};
    assert_int_equal(convop_infer(backward, &p, 3, in, 3, out, NULL, NULL), CONVOP_OK);
    SAME(&in[0], 2, 5, 6);
    SAME(&in[2], 6, 4, 3);
    SAME(&out[0], 2, 11, 9);
    SAME(&out[1], 6, 4, 3);
    SAME(&out[2], 6);
    out[0].dim[1] = 12;
    assert_int_equal(convop_infer(backward, &p, 3, in, 3, out, NULL, NULL), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "diff_src"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_from_data), cmocka_unit_test(data_from_the_rest),
        cmocka_unit_test(zero_is_a_size),       cmocka_unit_test(large_numbers),
        cmocka_unit_test(contradictions),       cmocka_unit_test(gradients_without_a_graph),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* Building symbols, MXNet's names and order, and inference over a whole graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>

#include "ops.h"
#include "src/common/alloc.h"
#include "src/graph/infer.h"
#include "tests/support/expect.h"

#define NONE CVP_NO_ENTRY

static void check_list(const struct cvp_symbol *s, enum cvp_list what, const char *want)
{
    char got[400] = "";
    const char **names;
    int count;
    expect_ok(cvp_symbol_list(s, what, &names, &count));
    for (int i = 0; i < count; i++) {
        strcat(got, names[i]);
        strcat(got, " ");
    }
    cvp_free(names);
    assert_string_equal(got, want);
}

static struct cvp_entry convolution(struct cvp_symbol *s, const char *name, struct cvp_entry in,
                                    const char *kernel, const char *no_bias)
{
    const char *keys[] = {"kernel", "num_filter", "no_bias"};
    const char *values[] = {kernel, "6", no_bias};
    struct cvp_entry out = NONE;
    expect_ok(cvp_symbol_apply(s, "Convolution", name, 3, keys, values, in.node >= 0, &in, &out));
    return out;
}

static void names_are_those_of_mxnet(void **state)
{
    (void)state;
    struct cvp_symbol *s;
    expect_ok(cvp_symbol_create(&s));
    struct cvp_entry data = graph_variable(s, "data");
    struct cvp_entry c = convolution(s, "conv_1_conv2d", data, "(3,3)", "True");
    c = graph_node(s, "t_stat", "conv_1_batchnorm", c, NONE, NULL);
    c = convolution(s, "conv_2_conv2d", c, "(1,1)", "False");
    c = graph_node(s, "t_loss", "softmax", c, NONE, NULL);
    expect_ok(cvp_symbol_output(s, c));
    check_list(s, CVP_ARGUMENTS,
               "data conv_1_conv2d_weight conv_2_conv2d_weight conv_2_conv2d_bias softmax_label ");
    check_list(s, CVP_AUXILIARY, "conv_1_batchnorm_moving ");
    char name[64];
    assert_int_equal(cvp_symbol_output_name(s, 0, name, sizeof name), strlen("softmax_output"));
    assert_string_equal(name, "softmax_output");
    cvp_symbol_release(&s);

    expect_ok(cvp_symbol_create(&s));
    c = convolution(s, NULL, NONE, "(3,3)", "True");
    c = convolution(s, NULL, c, "(3,3)", "True");
    expect_ok(cvp_symbol_output(s, c));
    check_list(s, CVP_ARGUMENTS, "convolution0_data convolution0_weight convolution1_weight ");
    cvp_symbol_release(&s);
}

/* Depth first, not as they were made; nodes that no output needs are not there. */
static void order_is_depth_first(void **state)
{
    (void)state;
    struct cvp_symbol *s;
    expect_ok(cvp_symbol_create(&s));
    struct cvp_entry c = graph_variable(s, "c"), b = graph_variable(s, "b");
    struct cvp_entry a = graph_variable(s, "a");
    struct cvp_entry dead = graph_node(s, "t_add", "dead", c, NONE, NULL);
    struct cvp_entry right = graph_node(s, "t_tanh", "right", b, NONE, NULL);
    struct cvp_entry left = graph_node(s, "t_add", "left", a, c, NULL);
    expect_ok(cvp_symbol_output(s, graph_node(s, "t_mul", "top", left, right, NULL)));
    (void)dead;
    check_list(s, CVP_ARGUMENTS, "a c b ");
    int order[16], count;
    expect_ok(cvp_symbol_order(s, order, &count));
    static const char *const want[] = {"a", "c", "left", "b", "right", "top"};
    assert_int_equal(count, 6);
    for (int i = 0; i < 6; i++) assert_string_equal(s->nodes[order[i]]->name, want[i]);
    cvp_symbol_release(&s);
}

static void deep_graphs_need_no_stack(void **state)
{
    (void)state;
    struct cvp_symbol *s;
    char name[32];
    expect_ok(cvp_symbol_create(&s));
    struct cvp_entry e = graph_variable(s, "x");
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        e = graph_node(s, "t_tanh", name, e, NONE, NULL);
    }
    expect_ok(cvp_symbol_output(s, e));
    check_list(s, CVP_ARGUMENTS, "x ");
    cvp_symbol_release(&s);
}

static void refusals(void **state)
{
    (void)state;
    struct cvp_symbol *s;
    struct cvp_entry out = NONE;
    expect_ok(cvp_symbol_create(&s));
    struct cvp_entry a = graph_variable(s, "a");
    struct cvp_entry y = graph_node(s, "t_tanh", "y", a, NONE, NULL);
    const int nodes = s->num_nodes;
    expect_text(CONVOP_E_INVALID, "symbol: the name is empty", cvp_symbol_variable(s, "", &out));
    expect_text(CONVOP_E_INVALID, "node a: another node has this name",
                cvp_symbol_variable(s, "a", &out));
    expect_text(
        CONVOP_E_INVALID, "node z: t_tanh: 2 inputs were given, with these parameters it takes 1",
        cvp_symbol_apply(s, "t_tanh", "z", 0, NULL, NULL, 2, (struct cvp_entry[]){a, a}, &out));
    expect_text(
        CONVOP_E_INVALID,
        "node z: t_tanh: input a is output 1 of node number 1, which there is not",
        cvp_symbol_apply(s, "t_tanh", "z", 0, NULL, NULL, 1, &(struct cvp_entry){1, 1}, &out));
    expect_text(
        CONVOP_E_INVALID,
        "node z: t_stat: it writes input moving, which must be a variable and not the "
        "result of y",
        cvp_symbol_apply(s, "t_stat", "z", 0, NULL, NULL, 2, (struct cvp_entry[]){a, y}, &out));
    const char *key = "factor", *value = "much";
    assert_int_equal(cvp_symbol_apply(s, "t_scale", "z", 1, &key, &value, 1, &a, &out),
                     CONVOP_E_INVALID);
    assert_ptr_equal(strstr(convop_last_error(), "node z: t_scale: parameter factor=\"much\""),
                     convop_last_error());
    assert_int_equal(cvp_symbol_apply(s, "t_none", "z", 0, NULL, NULL, 0, NULL, &out),
                     CONVOP_E_NOT_FOUND);
    /* The variable z_b would be the second of that name: nothing of z stays. */
    graph_variable(s, "z_b");
    expect_text(CONVOP_E_INVALID, "node z: node z_b: another node has this name",
                cvp_symbol_apply(s, "t_add", "z", 0, NULL, NULL, 1, &a, &out));
    assert_int_equal(s->num_nodes, nodes + 1);
    assert_int_equal(cvp_symbol_output(s, (struct cvp_entry){77, 0}), CONVOP_E_INVALID);
    cvp_symbol_release(&s);
}

/* ---- inference ------------------------------------------------------------------------------ */

struct known {
    const char *name;
    convop_shape shape;
    DLDataType type;
};
static const DLDataType f32 = {kDLFloat, 32, 1}, f64 = {kDLFloat, 64, 1}, no_type = {0, 0, 0};

static convop_status infer(const struct cvp_symbol *s, const struct known *known, int n,
                           convop_shape *shapes, DLDataType *types)
{
    int order[64], count;
    expect_ok(cvp_symbol_order(s, order, &count));
    memset(types, 0, 64 * sizeof *types);
    for (int i = 0; i < 64; i++) shapes[i].ndim = -1;
    for (int i = 0; i < n; i++) {
        const int e = s->nodes[cvp_symbol_find(s, known[i].name)]->first_entry;
        shapes[e] = known[i].shape;
        types[e] = known[i].type;
    }
    return cvp_graph_infer(s, order, count, shapes, types);
}

static void shapes_flow_both_ways(void **state)
{
    (void)state;
    struct cvp_symbol *s;
    convop_shape shapes[64];
    DLDataType types[64];
    expect_ok(cvp_symbol_create(&s));
    struct cvp_entry data = graph_variable(s, "data");
    struct cvp_entry c = convolution(s, "conv", data, "(3,3)", "False");
    struct cvp_entry skip = graph_variable(s, "skip");
    struct cvp_entry sum = graph_node(s, "t_add", "sum", c, skip, NULL);
    expect_ok(cvp_symbol_output(s, sum));

    const struct known forward = {"data", {4, {2, 3, 9, 8}}, f64};
    expect_ok(infer(s, &forward, 1, shapes, types));
    const convop_shape *w = &shapes[s->nodes[cvp_symbol_find(s, "conv_weight")]->first_entry];
    assert_int_equal(w->ndim, 4);
    assert_int_equal(w->dim[0], 6);
    assert_int_equal(w->dim[1], 3);
    assert_int_equal(shapes[cvp_entry_id(s, skip)].dim[2], 7);
    assert_int_equal(types[cvp_entry_id(s, skip)].bits, 64);

    /* From the far end, and from the weight: sizes of data that nobody gave. */
    const struct known back[] = {{"skip", {4, {2, 6, 7, 6}}, f32},
                                 {"conv_weight", {4, {6, 3, 3, 3}}, no_type}};
    expect_ok(infer(s, back, 2, shapes, types));
    const convop_shape *d = &shapes[cvp_entry_id(s, data)];
    assert_int_equal(d->dim[0] * 1000000 + d->dim[1] * 10000 + d->dim[2] * 100 + d->dim[3],
                     2030908);
    assert_int_equal(types[cvp_entry_id(s, data)].bits, 32);

    const struct known clash[] = {forward, {"skip", {4, {2, 6, 7, 7}}, no_type}};
    assert_int_equal(infer(s, clash, 2, shapes, types), CONVOP_E_INVALID);
    assert_ptr_equal(strstr(convop_last_error(), "node sum: t: sizes 6 and 7 differ"),
                     convop_last_error());
    const struct known wrong = {"data", {3, {2, 3, 9}}, f64};
    assert_int_equal(infer(s, &wrong, 1, shapes, types), CONVOP_E_INVALID);
    assert_ptr_equal(strstr(convop_last_error(), "node conv: Convolution: src"),
                     convop_last_error());
    const struct known mixed[] = {forward, {"skip", {4, {2, 6, 7, 6}}, f32}};
    assert_int_equal(infer(s, mixed, 2, shapes, types), CONVOP_E_INVALID);
    assert_ptr_equal(strstr(convop_last_error(), "node sum: t_add: "), convop_last_error());

    expect_text(CONVOP_E_INVALID,
                "graph: these have no shape that follows from what is given: data, conv_weight, "
                "skip",
                infer(s, NULL, 0, shapes, types));
    const struct known untyped = {"data", {4, {2, 3, 9, 8}}, no_type};
    expect_text(CONVOP_E_INVALID,
                "graph: these have no dtype that follows from what is given: data, conv_weight, "
                "conv_bias, skip",
                infer(s, &untyped, 1, shapes, types));
    cvp_symbol_release(&s);
}

/* One variable as two inputs that want different shapes. */
static void one_variable_two_shapes(void **state)
{
    (void)state;
    struct cvp_symbol *s;
    convop_shape shapes[64];
    DLDataType types[64];
    struct cvp_entry out;
    expect_ok(cvp_symbol_create(&s));
    const char *keys[] = {"kernel", "num_filter"}, *values[] = {"(1,1)", "3"};
    struct cvp_entry x = graph_variable(s, "x"), w = graph_variable(s, "w");
    expect_ok(cvp_symbol_apply(s, "Convolution", "c", 2, keys, values, 3,
                               (struct cvp_entry[]){x, w, w}, &out));
    expect_ok(cvp_symbol_output(s, out));
    const struct known data = {"x", {4, {1, 3, 2, 2}}, f32};
    expect_text(CONVOP_E_INVALID,
                "node c: Convolution: what is used as bias is used as another input too, and the "
                "two have different shapes",
                infer(s, &data, 1, shapes, types));
    cvp_symbol_release(&s);
}

static int set_up(void **state)
{
    (void)state;
    graph_ops_register();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    graph_ops_unregister();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_mxnet),  cmocka_unit_test(order_is_depth_first),
        cmocka_unit_test(deep_graphs_need_no_stack), cmocka_unit_test(refusals),
        cmocka_unit_test(shapes_flow_both_ways),     cmocka_unit_test(one_variable_two_shapes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

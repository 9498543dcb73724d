/* Networks of convolutions alone: a graph computes what the same calls by hand do, bit for bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "convop/convop.h"
#include "ops.h"
#include "tests/support/expect.h"
#include "tests/support/rng.h"

enum { LAYERS = 3 };

/* 3x3 with stride, depthwise, 1x1 with bias. */
static const char *const filters[LAYERS] = {"8", "8", "12"};
static const char *const kernels[LAYERS] = {"(3,3)", "(3,3)", "(1,1)"};
static const char *const pads[LAYERS] = {"(1,1)", "(1,1)", "(0,0)"};
static const char *const strides[LAYERS] = {"(2,2)", "(1,1)", "(1,1)"};
static const char *const groups[LAYERS] = {"1", "8", "1"};
static const char *const no_bias[LAYERS] = {"True", "True", "False"};
static const char *const keys[] = {"kernel", "num_filter", "pad", "stride", "num_group", "no_bias"};

static void values_of(int layer, const char *values[6])
{
    const char *const v[] = {kernels[layer], filters[layer], pads[layer],
                             strides[layer], groups[layer],  no_bias[layer]};
    memcpy(values, v, sizeof v);
}

struct net {
    struct cvp_symbol *symbol;
    struct cvp_executor *x;
    convop_context *context;
};

static void make_net(struct net *net, convop_engine *engine, int threads)
{
    struct cvp_entry e;
    expect_ok(cvp_symbol_create(&net->symbol));
    e = graph_variable(net->symbol, "data");
    for (int i = 0; i < LAYERS; i++) {
        const char *values[6];
        char name[16];
        snprintf(name, sizeof name, "conv_%d", i);
        values_of(i, values);
        expect_ok(cvp_symbol_apply(net->symbol, "Convolution", name, 6, keys, values, 1, &e, &e));
    }
    expect_ok(cvp_symbol_output(net->symbol, e));
    convop_context_options co = CONVOP_CONTEXT_OPTIONS_INIT;
    co.num_threads = threads;
    expect_ok(convop_context_create(&co, &net->context));
    const struct cvp_bind_input input = {"data", {4, {2, 3, 17, 15}}, {kDLFloat, 32, 1}};
    const struct cvp_bind_request request = {"data", CONVOP_REQ_WRITE};
    const struct cvp_bind_options o = {.inputs = &input,
                                       .num_inputs = 1,
                                       .request = CONVOP_REQ_WRITE,
                                       .requests = &request,
                                       .num_requests = 1,
                                       .context = net->context,
                                       .engine = engine};
    expect_ok(cvp_executor_bind(net->symbol, &o, &net->x));
}

static void end_net(struct net *net)
{
    cvp_executor_destroy(&net->x);
    cvp_symbol_release(&net->symbol);
    convop_context_destroy(&net->context);
}

static int64_t count(const DLTensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) n *= t->shape[i];
    return n;
}

static void fill(DLTensor *t, struct rng *r)
{
    for (int64_t i = 0; i < count(t); i++) ((float *)t->data)[i] = (float)rng_real(r, -1, 1);
}

static convop_array *like(const DLTensor *t)
{
    convop_array *a;
    expect_ok(convop_array_create(NULL, t->dtype, t->ndim, t->shape, &a));
    return a;
}

static DLTensor *writable(convop_array *a)
{
    DLTensor *t;
    expect_ok(convop_array_writable(a, &t));
    return t;
}

static void assert_same(const DLTensor *a, const DLTensor *b)
{
    assert_int_equal(count(a), count(b));
    assert_memory_equal(a->data, b->data, (size_t)count(a) * sizeof(float));
}

static DLTensor *value(struct net *net, int layer, const char *what, int gradient)
{
    char name[32];
    snprintf(name, sizeof name, "conv_%d_%s", layer, what);
    const struct cvp_bound *b = cvp_executor_find(net->x, name);
    return !b ? NULL : gradient ? b->gradient : b->value;
}

/* The shapes of a layer's result, from inference. */
static convop_array *result_of(int layer, const DLTensor *src)
{
    const char *values[6];
    const convop_op *op;
    convop_conv_params p;
    convop_shape in[3] = {{.ndim = src->ndim}, {.ndim = -1}, {.ndim = -1}}, out = {.ndim = -1};
    convop_array *a;
    values_of(layer, values);
    for (int i = 0; i < src->ndim; i++) in[0].dim[i] = src->shape[i];
    expect_ok(convop_op_find("Convolution", &op));
    expect_ok(convop_params_parse(op, 6, keys, values, &p, sizeof p));
    expect_ok(convop_infer(op, &p, p.no_bias ? 2 : 3, in, 1, &out, NULL, NULL));
    expect_ok(convop_array_create(NULL, src->dtype, out.ndim, out.dim, &a));
    convop_op_release(&op);
    return a;
}

static void compare_with_calls(struct net *net)
{
    convop_exec exec = CONVOP_EXEC_INIT;
    convop_array *made[LAYERS], *diff[LAYERS + 1];
    const DLTensor *src[LAYERS + 1];
    exec.context = net->context;
    const struct cvp_bound *data = cvp_executor_find(net->x, "data");
    src[0] = data->value;
    for (int i = 0; i < LAYERS; i++) {
        const char *values[6];
        values_of(i, values);
        made[i] = result_of(i, src[i]);
        src[i + 1] = convop_array_view(made[i]);
        const DLTensor *inputs[] = {src[i], value(net, i, "weight", 0), value(net, i, "bias", 0)};
        DLTensor *outputs[] = {writable(made[i])};
        expect_ok(convop_invoke("Convolution", 6, keys, values, inputs[2] ? 3 : 2, inputs, 1,
                                outputs, NULL, &exec));
    }
    assert_same(src[LAYERS], cvp_executor_output(net->x, 0));
    for (int i = 0; i <= LAYERS; i++) diff[i] = like(src[i]);
    memcpy(writable(diff[LAYERS])->data, cvp_executor_head(net->x, 0)->data,
           (size_t)count(src[LAYERS]) * sizeof(float));
    for (int i = LAYERS - 1; i >= 0; i--) {
        const char *values[6];
        values_of(i, values);
        DLTensor *bias = value(net, i, "bias", 1);
        convop_array *weights = like(value(net, i, "weight", 1)), *b = bias ? like(bias) : NULL;
        const DLTensor *inputs[] = {convop_array_view(diff[i + 1]), src[i],
                                    value(net, i, "weight", 0)};
        DLTensor *outputs[] = {writable(diff[i]), writable(weights), b ? writable(b) : NULL};
        expect_ok(convop_invoke("_backward_Convolution", 6, keys, values, 3, inputs, b ? 3 : 2,
                                outputs, NULL, &exec));
        assert_same(convop_array_view(weights), value(net, i, "weight", 1));
        if (b) assert_same(convop_array_view(b), bias);
        convop_array_release(&weights);
        convop_array_release(&b);
    }
    assert_same(convop_array_view(diff[0]), data->gradient);
    for (int i = 0; i < LAYERS; i++) convop_array_release(&made[i]);
    for (int i = 0; i <= LAYERS; i++) convop_array_release(&diff[i]);
}

static void equals_calls_by_hand(void **state)
{
    (void)state;
    struct rng r = {test_seed(31)};
    for (int way = 0; way < 4; way++) {
        convop_engine *engine = NULL;
        convop_engine_options eo = CONVOP_ENGINE_OPTIONS_INIT;
        eo.kind = CONVOP_ENGINE_THREADED;
        eo.num_workers = 2;
        if (way / 2) expect_ok(convop_engine_create(&eo, &engine));
        struct net net;
        make_net(&net, engine, 1 + way % 2);
        int n;
        const struct cvp_bound *b = cvp_executor_arguments(net.x, &n);
        assert_int_equal(n, 5);
        for (int i = 0; i < n; i++) fill(b[i].value, &r);
        fill(cvp_executor_head(net.x, 0), &r);
        for (int i = 0; i < 2; i++) {
            expect_ok(cvp_executor_forward(net.x, 1));
            expect_ok(cvp_executor_backward(net.x));
            compare_with_calls(&net);
        }
        end_net(&net);
        convop_engine_destroy(&engine);
    }
}

/* What an operator refuses at bind comes with the node's name. */
static void refusal_at_bind(void **state)
{
    (void)state;
    struct net net;
    make_net(&net, NULL, 1);
    const struct cvp_bind_input small = {"data", {4, {2, 3, 17, 15}}, {kDLInt, 32, 1}};
    const struct cvp_bind_options o = {.inputs = &small, .num_inputs = 1};
    struct cvp_executor *x;
    assert_int_not_equal(cvp_executor_bind(net.symbol, &o, &x), CONVOP_OK);
    assert_ptr_equal(strstr(convop_last_error(), "node conv_0: Convolution: "),
                     convop_last_error());
    end_net(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_calls_by_hand),
        cmocka_unit_test(refusal_at_bind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

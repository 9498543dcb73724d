/* A small network of the built-in operators, as MobileNet has them: MXNet's names, and the same
 * bits with and without reuse of memory, on any engine and any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ops.h"
#include "src/common/alloc.h"
#include "tests/graph/apply.h"
#include "tests/support/expect.h"
#include "tests/support/rng.h"

static struct cvp_entry block(struct cvp_symbol *s, const char *name, struct cvp_entry e,
                              const char *params)
{
    char text[64];
    snprintf(text, sizeof text, "%s_conv2d", name);
    e = apply(s, "Convolution", text, e, CVP_NO_ENTRY, params);
    snprintf(text, sizeof text, "%s_batchnorm", name);
    e = apply(s, "BatchNorm", text, e, CVP_NO_ENTRY, "");
    snprintf(text, sizeof text, "%s_relu", name);
    return apply(s, "Activation", text, e, CVP_NO_ENTRY, "act_type=relu");
}

static struct cvp_symbol *make_symbol(void)
{
    struct cvp_symbol *s;
    expect_ok(cvp_symbol_create(&s));
    struct cvp_entry e = graph_variable(s, "data");
    e = block(s, "conv_1", e, "num_filter=8 kernel=(3,3) stride=(2,2) pad=(1,1) no_bias=True");
    struct cvp_entry skip = e;
    e = block(s, "conv_2_dw", e, "num_filter=8 num_group=8 kernel=(3,3) pad=(1,1) no_bias=True");
    e = apply(s, "elemwise_add", "sum", e, skip, "");
    e = apply(s, "Pooling", "pool", e, CVP_NO_ENTRY, "kernel=(8,8) stride=(1,1) pool_type=avg");
    e = apply(s, "Flatten", "flatten", e, CVP_NO_ENTRY, "");
    e = apply(s, "FullyConnected", "fc", e, CVP_NO_ENTRY, "num_hidden=5");
    e = apply(s, "SoftmaxOutput", "softmax", e, CVP_NO_ENTRY, "");
    expect_ok(cvp_symbol_output(s, e));
    return s;
}

static void check_list(const struct cvp_symbol *s, enum cvp_list what, const char *want)
{
    char got[600] = "";
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

static void names(void **state)
{
    (void)state;
    struct cvp_symbol *s = make_symbol();
    check_list(s, CVP_ARGUMENTS,
               "data conv_1_conv2d_weight conv_1_batchnorm_gamma conv_1_batchnorm_beta "
               "conv_2_dw_conv2d_weight conv_2_dw_batchnorm_gamma conv_2_dw_batchnorm_beta "
               "fc_weight fc_bias softmax_label ");
    check_list(s, CVP_AUXILIARY,
               "conv_1_batchnorm_moving_mean conv_1_batchnorm_moving_var "
               "conv_2_dw_batchnorm_moving_mean conv_2_dw_batchnorm_moving_var ");
    cvp_symbol_release(&s);
}

static int64_t count(const DLTensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) n *= t->shape[i];
    return n;
}

/* Copies n floats to *at. */
static void keep(float **at, const DLTensor *t)
{
    if (!t) return;
    memcpy(*at, t->data, (size_t)count(t) * sizeof(float));
    *at += count(t);
}

enum { ROOM = 4096 };

/* Three steps of descent; keeps arguments, gradients, statistics and the output. Returns the loss
 * before the first and after the last step. */
static size_t train(struct cvp_executor *x, float *to, double loss[2])
{
    int n, aux;
    struct rng r = {3};
    float *at = to;
    const struct cvp_bound *b = cvp_executor_arguments(x, &n);
    (void)cvp_executor_auxiliary(x, &aux);
    for (int i = 0; i < n + aux; i++)
        for (int64_t k = 0; k < count(b[i].value); k++)
            ((float *)b[i].value->data)[k] = i >= n ? 1
                                             : strcmp(b[i].name, "softmax_label") == 0
                                                 ? (float)(k % 5)
                                                 : (float)rng_real(&r, -1, 1);
    for (int step = 0; step < 4; step++) {
        expect_ok(cvp_executor_forward(x, 1));
        const float *p = cvp_executor_output(x, 0)->data;
        double sum = 0;
        for (int i = 0; i < 4; i++) sum += p[5 * i + i];
        if (step == 0 || step == 3) loss[step == 3] = -sum;
        expect_ok(cvp_executor_backward(x));
        for (int i = 0; i < n; i++)
            for (int64_t k = 0; b[i].gradient && k < count(b[i].gradient); k++)
                ((float *)b[i].value->data)[k] -= 0.05f * ((float *)b[i].gradient->data)[k];
    }
    for (int i = 0; i < n + aux; i++) {
        keep(&at, b[i].value);
        keep(&at, b[i].gradient);
    }
    keep(&at, cvp_executor_output(x, 0));
    assert_true(at - to <= ROOM);
    return (size_t)(at - to);
}

static void same_bits_and_less_loss(void **state)
{
    (void)state;
    static float want[ROOM], got[ROOM];
    size_t n = 0;
    struct cvp_symbol *s = make_symbol();
    convop_engine *engine;
    convop_engine_options eo = CONVOP_ENGINE_OPTIONS_INIT;
    eo.kind = CONVOP_ENGINE_THREADED;
    eo.num_workers = 2;
    expect_ok(convop_engine_create(&eo, &engine));
    for (int way = 0; way < 6; way++) {
        struct cvp_executor *x;
        struct cvp_executor_usage u;
        double loss[2];
        convop_context *context;
        convop_context_options co = CONVOP_CONTEXT_OPTIONS_INIT;
        co.num_threads = 1 + way / 3;
        expect_ok(convop_context_create(&co, &context));
        const struct cvp_bind_input input = {"data", {4, {4, 3, 16, 16}}, {kDLFloat, 32, 1}};
        const struct cvp_bind_options o = {.inputs = &input,
                                           .num_inputs = 1,
                                           .request = CONVOP_REQ_WRITE,
                                           .context = context,
                                           .no_reuse = way % 3 == 0,
                                           .engine = way % 3 == 2 ? engine : NULL};
        expect_ok(cvp_executor_bind(s, &o, &x));
        cvp_executor_usage(x, &u);
        if (way % 3) assert_true(u.planned_bytes < u.planned_unshared_bytes && u.num_inplace > 0);
        assert_null(cvp_executor_head(x, 0));
        const size_t m = train(x, way ? got : want, loss);
        if (way == 0) n = m;
        assert_int_equal(m, n);
        if (way) assert_memory_equal(want, got, n * sizeof *want);
        assert_true(loss[1] < loss[0]);
        cvp_alloc_fail_at(0);
        expect_ok(cvp_executor_forward(x, 1));
        expect_ok(cvp_executor_backward(x));
        assert_int_equal(cvp_alloc_calls(), 0);
        cvp_executor_destroy(&x);
        convop_context_destroy(&context);
    }
    convop_engine_destroy(&engine);
    cvp_symbol_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(same_bits_and_less_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

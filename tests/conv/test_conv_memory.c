/* The n-th allocation fails, for every n: a clean NO_MEMORY, nothing written, nothing leaked, and a
 * second try works. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "../support/conv_case.h"
#include "convop/convop.h"
#include "src/common/alloc.h"
#include "src/operator/memo.h"

static convop_status run_forward(struct conv_case *c)
{
    return conv_forward(&c->params, &c->src.tensor, &c->weights.tensor,
                        c->params.no_bias ? NULL : &c->bias.tensor, &c->dst.tensor,
                        CONVOP_REQ_WRITE, NULL);
}

static convop_status run_backward(struct conv_case *c)
{
    const convop_request all[3] = {CONVOP_REQ_WRITE, CONVOP_REQ_WRITE, CONVOP_REQ_WRITE};
    return conv_backward(&c->params, &c->diff_dst.tensor, &c->src.tensor, &c->weights.tensor,
                         &c->diff_src.tensor, &c->diff_weights.tensor,
                         c->params.no_bias ? NULL : &c->diff_bias.tensor, all, NULL);
}

static convop_status run_invoke(struct conv_case *c)
{
    char kernel[64], filters[32], group[32];
    snprintf(kernel, sizeof kernel, "(%lld,%lld)", (long long)c->k[1], (long long)c->k[2]);
    snprintf(filters, sizeof filters, "%lld", (long long)c->oc);
    snprintf(group, sizeof group, "%lld", (long long)c->g);
    const char *keys[] = {"kernel", "num_filter", "num_group", "no_bias"};
    const char *values[] = {kernel, filters, group, "1"};
    const DLTensor *inputs[] = {&c->src.tensor, &c->weights.tensor};
    DLTensor *outputs[] = {&c->dst.tensor};
    return convop_invoke("Convolution", 4, keys, values, 2, inputs, 1, outputs, NULL, NULL);
}

static convop_status run_context(struct conv_case *c)
{
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    options.num_threads = 3;
    convop_context *context = NULL;
    convop_status status = convop_context_create(&options, &context);
    if (status != CONVOP_OK) return status;
    convop_exec x = CONVOP_EXEC_INIT;
    x.context = context;
    status = conv_forward(&c->params, &c->src.tensor, &c->weights.tensor,
                          c->params.no_bias ? NULL : &c->bias.tensor, &c->dst.tensor,
                          CONVOP_REQ_WRITE, &x);
    convop_context_destroy(&context);
    return status;
}

static void plain_case(struct conv_case *c)
{
    struct rng r = {9};
    memset(c, 0, sizeof *c);
    *c = (struct conv_case){.axes = 2,
                            .bits = 32,
                            .integers = 1,
                            .mb = 2,
                            .ic = 4,
                            .oc = 6,
                            .g = 2,
                            .i = {1, 9, 8},
                            .k = {1, 3, 3},
                            .s = {1, 1, 1},
                            .d = {1, 1, 1}};
    const convop_conv_params defaults = CONVOP_CONV_PARAMS_INIT;
    c->params = defaults;
    c->params.kernel = convop_tuple2(3, 3);
    c->params.num_filter = 6;
    c->params.num_group = 2;
    c->params.no_bias = 1;
    conv_case_create_tensors(c, &r, 0);
}

static void every_allocation_fails(convop_status (*run)(struct conv_case *))
{
    struct conv_case c;
    plain_case(&c);
    assert_int_equal(run(&c), CONVOP_OK); /* what is made once is there */
    uint64_t live = cvp_alloc_live();
    uint64_t n = 1;
    for (;; n++) {
        for (int i = 0; i < 4; i++) box_fill_value(conv_case_output(&c, i), 77);
        unsigned char *before[4];
        for (int i = 0; i < 4; i++) before[i] = box_snapshot(conv_case_output(&c, i));
        cvp_memo_purge(); /* what a first call allocates counts */
        cvp_alloc_fail_at(n);
        convop_status status = run(&c);
        int was_reached = cvp_alloc_calls() >= n;
        cvp_alloc_fail_at(0);
        assert_int_equal(cvp_alloc_live(), live);
        /* A pool that gets no memory means fewer threads, no error. */
        for (int i = 0; i < 4; i++) {
            int same = box_unchanged(conv_case_output(&c, i), before[i]);
            if (status != CONVOP_OK) assert_true(same);
        }
        if (status != CONVOP_OK) {
            assert_int_equal(status, CONVOP_E_NO_MEMORY);
            assert_true(strlen(convop_last_error()) > 0);
            assert_int_equal(run(&c), CONVOP_OK);
        }
        if (!was_reached) break;
        assert_true(n < 1000);
    }
    assert_true(n > 1);
    conv_case_destroy(&c);
}

static void forward(void **state)
{
    (void)state;
    every_allocation_fails(run_forward);
}

static void backward(void **state)
{
    (void)state;
    every_allocation_fails(run_backward);
}

static void invoke(void **state)
{
    (void)state;
    every_allocation_fails(run_invoke);
}

static void context(void **state)
{
    (void)state;
    every_allocation_fails(run_context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward),
        cmocka_unit_test(backward),
        cmocka_unit_test(invoke),
        cmocka_unit_test(context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

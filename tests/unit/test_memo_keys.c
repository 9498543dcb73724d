/* Which calls take the plan of an earlier one: each thing that a plan depends on makes another key,
 * and what it does not depend on makes none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/memo_call.h"

static _Alignas(64) char scratch[1 << 16];
static convop_context *other_context;

static void kernel(struct call *c)
{
    c->params.kernel = convop_tuple2(1, 1);
    set_shape(c, WEIGHTS, 4, 4, 1, 1);
    set_shape(c, DST, 2, 4, 6, 6);
}
static void stride(struct call *c)
{
    c->params.stride = convop_tuple2(2, 1);
    set_shape(c, DST, 2, 4, 2, 4);
}
static void dilate(struct call *c)
{
    c->params.dilate = convop_tuple2(1, 2);
    set_shape(c, DST, 2, 4, 4, 2);
}
static void pad_begin(struct call *c)
{
    c->params.pad_begin = convop_tuple2(1, 0);
    set_shape(c, DST, 2, 4, 5, 4);
}
static void pad_end(struct call *c)
{
    c->params.pad_end = convop_tuple2(1, 0);
    set_shape(c, DST, 2, 4, 5, 4);
}
static void num_filter(struct call *c)
{
    c->params.num_filter = 8;
    set_shape(c, WEIGHTS, 8, 4, 3, 3);
    set_shape(c, DST, 2, 8, 4, 4);
}
static void num_group(struct call *c)
{
    c->params.num_group = 2;
    set_shape(c, WEIGHTS, 4, 2, 3, 3);
}
static void workspace_bytes(struct call *c)
{
    c->params.workspace_bytes /= 2;
}
static void with_bias(struct call *c)
{
    c->params.no_bias = 0;
}
static void cudnn_tune(struct call *c)
{
    c->params.cudnn_tune = CONVOP_TUNE_OFF;
}
static void cudnn_off(struct call *c)
{
    c->params.cudnn_off = 1;
}
static void depthwise_conv_off(struct call *c)
{
    c->params.depthwise_conv_off = 1;
}
static void layout(struct call *c)
{
    c->params.layout = CONVOP_LAYOUT_NCHW;
}
static void batch(struct call *c)
{
    set_shape(c, SRC, 1, 4, 6, 6);
    set_shape(c, DST, 1, 4, 4, 4);
}
static void empty_batch(struct call *c)
{
    set_shape(c, SRC, 0, 4, 6, 6);
    set_shape(c, DST, 0, 4, 4, 4);
}
static void height(struct call *c)
{
    set_shape(c, SRC, 2, 4, 7, 6);
    set_shape(c, DST, 2, 4, 5, 4);
}
static void src_strides_given(struct call *c)
{
    set_strides(c, SRC, 4 * 36, 36, 6, 1); /* as they are without */
}
static void src_strides(struct call *c)
{
    set_strides(c, SRC, 4 * 42, 42, 7, 1);
}
static void weights_strides(struct call *c)
{
    set_strides(c, WEIGHTS, 40, 10, 3, 1);
}
static void dst_strides(struct call *c)
{
    set_strides(c, DST, 4 * 20, 20, 5, 1);
}
static void dtype(struct call *c)
{
    for (int i = 0; i < NUM_TENSORS; i++) c->t[i].dtype.bits = 64;
}
static void dtype_code(struct call *c)
{
    for (int i = 0; i < NUM_TENSORS; i++) c->t[i].dtype.bits = 16;
}
static void device(struct call *c)
{
    for (int i = 0; i < NUM_TENSORS; i++) c->t[i].device.device_type = kDLCUDAHost;
}
static void device_id(struct call *c)
{
    c->t[WEIGHTS].device.device_id = 1;
}
static void request_add(struct call *c)
{
    c->request = CONVOP_REQ_ADD;
}
static void request_inplace(struct call *c)
{
    c->request = CONVOP_REQ_INPLACE;
}
static void request_null(struct call *c)
{
    c->request = CONVOP_REQ_NULL;
}
static void given_workspace(struct call *c)
{
    c->exec.workspace = scratch;
    c->exec.workspace_bytes = sizeof scratch;
}
static void is_train(struct call *c)
{
    c->exec.is_train = 1;
}
static void context(struct call *c)
{
    c->exec.context = other_context;
}

static const struct {
    const char *name;
    void (*change)(struct call *c);
} changes[] = {
#define CHANGE(name)                                                                               \
    {                                                                                              \
#name, name                                                                                \
    }
    CHANGE(kernel),
    CHANGE(stride),
    CHANGE(dilate),
    CHANGE(pad_begin),
    CHANGE(pad_end),
    CHANGE(num_filter),
    CHANGE(num_group),
    CHANGE(workspace_bytes),
    CHANGE(with_bias),
    CHANGE(cudnn_tune),
    CHANGE(cudnn_off),
    CHANGE(depthwise_conv_off),
    CHANGE(layout),
    CHANGE(batch),
    CHANGE(empty_batch),
    CHANGE(height),
    CHANGE(src_strides_given),
    CHANGE(src_strides),
    CHANGE(weights_strides),
    CHANGE(dst_strides),
    CHANGE(dtype),
    CHANGE(dtype_code),
    CHANGE(device),
    CHANGE(device_id),
    CHANGE(request_add),
    CHANGE(request_inplace),
    CHANGE(request_null),
    CHANGE(given_workspace),
    CHANGE(is_train),
    CHANGE(context),
};
enum { NUM_CHANGES = sizeof changes / sizeof changes[0] };

static void each_part_makes_another_plan(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_CHANGES; i++) {
        struct call base, changed;
        begin(&base);
        changed = base;
        changes[i].change(&changed);
        cvp_memo_purge();
        assert_false(is_hit(&base));
        assert_true(is_hit(&base));
        if (is_hit(&changed)) fail_msg("%s: the plan of another call was taken", changes[i].name);
        if (!is_hit(&changed)) fail_msg("%s: its own plan was not taken", changes[i].name);
        if (!is_hit(&base)) fail_msg("%s: threw out the first plan", changes[i].name);
    }
}

/* All at once: no two changes are one key. */
static void no_two_changes_are_one(void **state)
{
    (void)state;
    cvp_memo_purge();
    for (size_t i = 0; i < NUM_CHANGES; i++) {
        struct call c;
        begin(&c);
        changes[i].change(&c);
        if (is_hit(&c)) fail_msg("%s: the plan of another change was taken", changes[i].name);
    }
}

static void addresses_and_what_is_not_read_make_none(void **state)
{
    (void)state;
    struct call c, same;
    begin(&c);
    cvp_memo_purge();
    assert_false(is_hit(&c));
    same = c;
    same.t[SRC].data = memory[BIAS];
    same.t[DST].byte_offset = 20;
    assert_true(is_hit(&same));
    same = c;
    same.params.kernel.at[2] = 5; /* behind its length */
    same.params.stride.at[0] = 7;
    assert_true(is_hit(&same));
    same.exec.stream = &same;
    assert_true(is_hit(&same));
}

static convop_status run_backward(void *call)
{
    struct call *c = call;
    const convop_request all[3] = {CONVOP_REQ_WRITE, CONVOP_REQ_WRITE, CONVOP_REQ_NULL};
    static _Alignas(64) char diff_src[ROOM], diff_weights[ROOM];
    DLTensor ds = c->t[SRC], dw = c->t[WEIGHTS];
    ds.data = diff_src;
    dw.data = diff_weights;
    return conv_backward(&c->params, &c->t[DST], &c->t[SRC], &c->t[WEIGHTS], &ds, &dw, NULL, all,
                         &c->exec);
}

static convop_status run_invoke(void *call)
{
    struct call *c = call;
    const char *keys[] = {"kernel", "num_filter", "no_bias"}, *values[] = {"(3,3)", "4", "1"};
    const DLTensor *in[] = {&c->t[SRC], &c->t[WEIGHTS]};
    DLTensor *out[] = {&c->t[DST]};
    return convop_invoke("Convolution", 3, keys, values, 2, in, 1, out, NULL, NULL);
}

static void other_entries_have_plans_too(void **state)
{
    (void)state;
    struct call c;
    begin(&c);
    cvp_memo_purge();
    assert_false(is_hit(&c));
    assert_false(hits(run_backward, &c));
    assert_true(hits(run_backward, &c));
    assert_false(hits(run_invoke, &c));
    assert_true(hits(run_invoke, &c));
    assert_true(is_hit(&c));
}

/* And what the process opens once, OpenBLAS for one, is open: it is part of the keys. */
static int make_other_context(void **state)
{
    (void)state;
    struct call c;
    begin(&c);
    return run(&c) != CONVOP_OK || convop_context_create(NULL, &other_context) != CONVOP_OK;
}

static int destroy_other_context(void **state)
{
    (void)state;
    convop_context_destroy(&other_context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_makes_another_plan),
        cmocka_unit_test(no_two_changes_are_one),
        cmocka_unit_test(addresses_and_what_is_not_read_make_none),
        cmocka_unit_test(other_entries_have_plans_too),
    };
    return cmocka_run_group_tests(tests, make_other_context, destroy_other_context);
}

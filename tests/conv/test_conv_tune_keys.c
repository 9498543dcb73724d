/* Keys of the tuning cache: whatever can change the winner makes another one, nothing else does.
 * They are seen as a host sees them, that keeps records itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/conv_fixed.h"
#include "tests/support/tune_rows.h"

#define MAX_KEYS 64

static char keys[MAX_KEYS][2048];
static const char *names[MAX_KEYS];
static size_t count;
static char seen[2048];

static int look(void *user, convop_tune_record *r)
{
    (void)user;
    snprintf(seen, sizeof seen, "%s|%s|%s", r->device, r->software, r->problem);
    return 0;
}

/* The key that the last call asked for is one of its own. */
static void keep(const char *name)
{
    assert_true(seen[0] != '\0' && count < MAX_KEYS);
    for (size_t i = 0; i < count; i++)
        if (strcmp(keys[i], seen) == 0) fail_msg("%s and %s: %s", names[i], name, seen);
    names[count] = name;
    strcpy(keys[count++], seen);
    seen[0] = '\0';
}

static const struct conv_size plain = {2, 0, BOX_F32, 2, 8, 8, 1, 9, 3, 1, 1, 1};

static void ask(const struct conv_size *size, int bias, const convop_exec *exec, const char *name)
{
    struct conv_case c;
    conv_case_fixed(&c, size, bias, 1);
    expect_ok(conv_case_forward(&c, exec));
    conv_case_destroy(&c);
    keep(name);
}

static void ask_direction(convop_request src, convop_request weights, const char *name)
{
    struct conv_case c;
    conv_case_fixed(&c, &plain, 0, 1);
    c.requests[0] = src;
    c.requests[1] = weights;
    c.requests[2] = CONVOP_REQ_NULL;
    expect_ok(conv_case_backward(&c, NULL));
    conv_case_destroy(&c);
    keep(name);
}

static void ask_set(const char *setting, const char *value, const char *name)
{
    expect_ok(convop_set(setting, value));
    ask(&plain, 0, NULL, name);
    expect_ok(convop_set(setting, NULL));
}

static void ask_parameter(const char *name, void (*change)(convop_conv_params *p))
{
    struct conv_case c;
    conv_case_fixed(&c, &plain, 0, 1);
    change(&c.params);
    expect_ok(conv_case_forward(&c, NULL));
    conv_case_destroy(&c);
    keep(name);
}

static void less_workspace(convop_conv_params *p)
{
    p->workspace_bytes /= 2;
}
static void no_depthwise(convop_conv_params *p)
{
    p->depthwise_conv_off = 1;
}
static void no_cudnn(convop_conv_params *p)
{
    p->cudnn_off = 1;
}

/* An instance whose weights are constant, and one of the same shapes whose weights are not, which
 * is as a plain call. */
static void ask_constant(void)
{
    struct conv_case c;
    conv_case_fixed(&c, &plain, 0, 1);
    const DLTensor *constants[] = {NULL, &c.weights.tensor};
    const DLTensor *inputs[] = {&c.src.tensor, &c.weights.tensor};
    DLTensor *outputs[] = {&c.dst.tensor};
    for (int i = 0; i < 2; i++) {
        convop_instance *x = NULL;
        expect_ok(convop_instance_create_typed("Convolution", &c.params, 2, i ? NULL : constants,
                                               NULL, &x));
        expect_ok(convop_instance_reshape(x, inputs, outputs, NULL, SIZE_MAX, NULL));
        convop_instance_destroy(&x);
        if (i) assert_string_equal(seen, keys[0]);
        if (!i) keep("constant weights");
    }
    conv_case_destroy(&c);
    seen[0] = '\0';
}

/* Gaps between the rows of src; the same memory, otherwise. */
static void ask_strides(void)
{
    struct conv_case c;
    struct conv_size wide = plain;
    conv_case_fixed(&c, &plain, 0, 1);
    struct conv_case large;
    wide.i += 3;
    conv_case_fixed(&large, &wide, 0, 1);
    int64_t strides[4];
    DLTensor src = c.src.tensor;
    const int64_t *full = large.src.tensor.shape;
    strides[3] = 1;
    for (int i = 2; i >= 0; i--) strides[i] = strides[i + 1] * full[i + 1];
    src.data = large.src.tensor.data;
    src.byte_offset = large.src.tensor.byte_offset;
    src.strides = strides;
    expect_ok(conv_forward(&c.params, &src, &c.weights.tensor, NULL, &c.dst.tensor,
                           CONVOP_REQ_WRITE, NULL));
    conv_case_destroy(&c);
    conv_case_destroy(&large);
    keep("strides");
}

/* cache.key_dtype_compute, key_layout, key_groups_dilate_pad. */
static void what_can_change_the_winner_is_in_the_key(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct conv_size size;
    } sizes[] = {
        {"plain", {2, 0, BOX_F32, 2, 8, 8, 1, 9, 3, 1, 1, 1}},
        {"float64", {2, 0, BOX_F64, 2, 8, 8, 1, 9, 3, 1, 1, 1}},
        {"float16", {2, 0, BOX_F16, 2, 8, 8, 1, 9, 3, 1, 1, 1}},
        {"bfloat16", {2, 0, BOX_BF16, 2, 8, 8, 1, 9, 3, 1, 1, 1}},
        {"layout", {2, 1, BOX_F32, 2, 8, 8, 1, 9, 3, 1, 1, 1}},
        {"axes", {3, 0, BOX_F32, 2, 8, 8, 1, 9, 3, 1, 1, 1}},
        {"one axis", {1, 0, BOX_F32, 2, 8, 8, 1, 9, 3, 1, 1, 1}},
        {"batch", {2, 0, BOX_F32, 3, 8, 8, 1, 9, 3, 1, 1, 1}},
        {"channels", {2, 0, BOX_F32, 2, 16, 8, 1, 9, 3, 1, 1, 1}},
        {"filters", {2, 0, BOX_F32, 2, 8, 16, 1, 9, 3, 1, 1, 1}},
        {"groups", {2, 0, BOX_F32, 2, 8, 8, 4, 9, 3, 1, 1, 1}},
        {"depthwise", {2, 0, BOX_F32, 2, 8, 8, 8, 9, 3, 1, 1, 1}},
        {"image", {2, 0, BOX_F32, 2, 8, 8, 1, 10, 3, 1, 1, 1}},
        {"kernel", {2, 0, BOX_F32, 2, 8, 8, 1, 9, 2, 1, 1, 1}},
        {"stride", {2, 0, BOX_F32, 2, 8, 8, 1, 9, 3, 2, 1, 1}},
        {"dilation", {2, 0, BOX_F32, 2, 8, 8, 1, 9, 3, 1, 2, 1}},
        {"padding", {2, 0, BOX_F32, 2, 8, 8, 1, 9, 3, 1, 1, 2}},
        {"no padding", {2, 0, BOX_F32, 2, 8, 8, 1, 9, 3, 1, 1, 0}},
    };
    count = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        ask(&sizes[i].size, 0, NULL, sizes[i].name);
    ask(&plain, 1, NULL, "bias");
    ask_direction(CONVOP_REQ_WRITE, CONVOP_REQ_NULL, "by data");
    ask_direction(CONVOP_REQ_NULL, CONVOP_REQ_WRITE, "by weights");
    ask_direction(CONVOP_REQ_ADD, CONVOP_REQ_NULL, "by data, added");
    ask_direction(CONVOP_REQ_NULL, CONVOP_REQ_ADD, "by weights, added");
    if (!strstr(keys[0], ";isa=baseline;")) ask_set("isa", "baseline", "instruction set");
    ask_set("deterministic", "0", "deterministic");
    ask_set("math", "strict", "math");
    ask_set("tune_batch_bucket", "1", "bucket");
    ask_parameter("workspace", less_workspace);
    ask_parameter("depthwise_conv_off", no_depthwise);
    ask_parameter("cudnn_off", no_cudnn);
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_exec exec = CONVOP_EXEC_INIT;
    convop_context *context = NULL;
    options.num_threads = 7;
    expect_ok(convop_context_create(&options, &context));
    exec.context = context;
    ask(&plain, 0, &exec, "threads");
    convop_context_destroy(&context);
    ask_constant();
    ask_strides();
    add_row(0, "another", 20, 1, 1);
    ask(&plain, 0, NULL, "rows");
}

static void equal_problems_have_equal_keys(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct conv_case c;
        conv_case_fixed(&c, &plain, 0, (uint64_t)i + 5);
        expect_ok(convop_set("verbose", i == 2 ? "0" : NULL)); /* no plan is kept over this */
        /* Strides that are written out, and of axes of one element, say nothing new. */
        int64_t strides[] = {8 * 81, 81, 9, 1};
        DLTensor src = c.src.tensor;
        if (i == 1) src.strides = strides;
        expect_ok(conv_forward(&c.params, &src, &c.weights.tensor, NULL, &c.dst.tensor,
                               CONVOP_REQ_WRITE, NULL));
        conv_case_destroy(&c);
        if (i > 0 && seen[0]) assert_string_equal(seen, keys[0]);
        if (i == 0) strcpy(keys[0], seen);
    }
    assert_true(seen[0] != '\0');
}

static void batches_share_a_bucket_on_request(void **state)
{
    (void)state;
    static const int64_t batches[] = {5, 8, 6, 9, 4};
    expect_ok(convop_set("tune_batch_bucket", "1"));
    for (int i = 0; i < 5; i++) {
        struct conv_size size = plain;
        struct conv_case c;
        size.mb = batches[i];
        conv_case_fixed(&c, &size, 0, 1);
        expect_ok(conv_case_forward(&c, NULL));
        conv_case_destroy(&c);
        strcpy(keys[i], seen);
    }
    assert_string_equal(keys[0], keys[1]);
    assert_string_equal(keys[0], keys[2]);
    assert_string_not_equal(keys[0], keys[3]);
    assert_string_not_equal(keys[0], keys[4]);
}

static int set_up(void **state)
{
    const convop_tune_callbacks callbacks = {sizeof callbacks, look, NULL, NULL};
    seen[0] = '\0';
    return tune_set_up(state) || convop_tune_set_callbacks(&callbacks) != CONVOP_OK;
}

static int tear_down(void **state)
{
    convop_tune_set_callbacks(NULL);
    return tune_tear_down(state);
}

#define KEY_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KEY_TEST(what_can_change_the_winner_is_in_the_key),
        KEY_TEST(equal_problems_have_equal_keys),
        KEY_TEST(batches_share_a_bucket_on_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

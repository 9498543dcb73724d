/* Bad calls of conv_forward, conv_backward, convop_invoke and convop_infer: each gives its status
 * and one sentence that names the thing; nothing is written, nothing stays allocated, and the next
 * good call works. */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "../support/conv_case.h"
#include "convop/convop.h"
#include "src/common/alloc.h"

/* A good call, of which each test breaks one thing. */
struct call {
    struct conv_case c;
    const DLTensor *src, *weights, *bias, *diff_dst;
    DLTensor *dst, *diff_src, *diff_weights, *diff_bias;
    convop_request request, requests[3];
    convop_exec exec;
};

static void start(struct call *k)
{
    memset(k, 0, sizeof *k);
    struct conv_case *c = &k->c;
    struct rng r = {1};
    *c = (struct conv_case){.axes = 2,
                            .bits = 32,
                            .integers = 1,
                            .mb = 2,
                            .ic = 4,
                            .oc = 6,
                            .g = 2,
                            .i = {1, 6, 5},
                            .k = {1, 3, 3},
                            .s = {1, 1, 1},
                            .d = {1, 1, 1}};
    const convop_conv_params defaults = CONVOP_CONV_PARAMS_INIT;
    c->params = defaults;
    c->params.kernel = convop_tuple2(3, 3);
    c->params.num_filter = 6;
    c->params.num_group = 2;
    c->request = CONVOP_REQ_WRITE;
    for (int i = 0; i < 3; i++) c->requests[i] = CONVOP_REQ_WRITE;
    conv_case_create_tensors(c, &r, 0);
    k->src = &c->src.tensor;
    k->weights = &c->weights.tensor;
    k->bias = &c->bias.tensor;
    k->diff_dst = &c->diff_dst.tensor;
    k->dst = &c->dst.tensor;
    k->diff_src = &c->diff_src.tensor;
    k->diff_weights = &c->diff_weights.tensor;
    k->diff_bias = &c->diff_bias.tensor;
    k->request = CONVOP_REQ_WRITE;
    for (int i = 0; i < 3; i++) k->requests[i] = CONVOP_REQ_WRITE;
    const convop_exec exec = CONVOP_EXEC_INIT;
    k->exec = exec;
    /* Strides in the open, so that a test may break them. */
    struct box *all[] = {&c->src,      &c->weights,  &c->bias,         &c->dst,
                         &c->diff_dst, &c->diff_src, &c->diff_weights, &c->diff_bias};
    for (size_t i = 0; i < 8; i++) all[i]->tensor.strides = all[i]->strides;
}

static int contains(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (; *text; text++) {
        size_t i = 0;
        while (i < n && tolower((unsigned char)text[i]) == tolower((unsigned char)word[i])) i++;
        if (i == n) return 1;
    }
    return 0;
}

static convop_status forward(struct call *k)
{
    return conv_forward(&k->c.params, k->src, k->weights, k->bias, k->dst, k->request, &k->exec);
}

static convop_status backward(struct call *k)
{
    return conv_backward(&k->c.params, k->diff_dst, k->src, k->weights, k->diff_src,
                         k->diff_weights, k->diff_bias, k->requests, &k->exec);
}

/* The call must fail like that; `word` in its sentence, which names the operator too. */
static void refuse(struct call *k, convop_status (*run)(struct call *), convop_status want,
                   const char *word)
{
    unsigned char *before[4];
    for (int i = 0; i < 4; i++) before[i] = box_snapshot(conv_case_output(&k->c, i));
    uint64_t live = cvp_alloc_live();
    convop_status got = run(k);
    const char *text = convop_last_error();
    if (got != want) fail_msg("status %d, must be %d for '%s': %s", got, want, word, text);
    if (!contains(text, word)) fail_msg("'%s' is not in: %s", word, text);
    if (!contains(text, "convolution") && !contains(text, "convop_"))
        fail_msg("no operator in: %s", text);
    if (strchr(text, '\n')) fail_msg("more than a sentence: %s", text);
    assert_int_equal(cvp_alloc_live(), live);
    for (int i = 0; i < 4; i++) assert_true(box_unchanged(conv_case_output(&k->c, i), before[i]));
}

/* Breaks one thing of a fresh call; `edit` sees it as k. */
#define REFUSE(run, status, word, ...)                                                             \
    do {                                                                                           \
        struct call k_, *k = &k_;                                                                  \
        start(k);                                                                                  \
        __VA_ARGS__;                                                                               \
        refuse(k, run, status, word);                                                              \
        conv_case_destroy(&k->c);                                                                  \
    } while (0)
#define INVALID(word, ...)      REFUSE(forward, CONVOP_E_INVALID, word, __VA_ARGS__)
#define INVALID_BACK(word, ...) REFUSE(backward, CONVOP_E_INVALID, word, __VA_ARGS__)

static void the_call_itself_is_good(void **state)
{
    (void)state;
    struct call k;
    start(&k);
    uint64_t live = cvp_alloc_live();
    assert_int_equal(forward(&k), CONVOP_OK);
    assert_int_equal(backward(&k), CONVOP_OK);
    convop_trim();
    assert_true(cvp_alloc_live() >= live); /* the default context stays */
    conv_case_destroy(&k.c);
}

static void null_tensors(void **state)
{
    (void)state;
    INVALID("src", k->src = NULL);
    INVALID("weights", k->weights = NULL);
    INVALID("bias", k->bias = NULL);
    INVALID("dst", k->dst = NULL);
    INVALID("bias", k->c.params.no_bias = 1);
    INVALID_BACK("diff_dst", k->diff_dst = NULL);
    INVALID_BACK("src", k->src = NULL);
    INVALID_BACK("weights", k->weights = NULL);
    INVALID_BACK("diff_src", k->diff_src = NULL);
    INVALID_BACK("diff_weights", k->diff_weights = NULL);
    INVALID_BACK("diff_bias", k->diff_bias = NULL);
    INVALID_BACK("diff_bias", k->c.params.no_bias = 1);
}

static void shapes(void **state)
{
    (void)state;
    INVALID("src", k->c.src.shape[1] = 3);
    INVALID("group", k->c.src.shape[1] = 3);
    INVALID("weights", k->c.weights.shape[1] = 1);
    INVALID("weights", k->c.weights.shape[2] = 2);
    INVALID("kernel", k->c.weights.shape[3] = 2);
    INVALID("num_filter", k->c.weights.shape[0] = 4);
    INVALID("bias", k->c.bias.shape[0] = 5);
    INVALID("output", k->c.dst.shape[2] = 3);
    INVALID("shape", k->c.dst.shape[0] = 1);
    INVALID("dim", k->c.src.tensor.ndim = 3);
    INVALID("dim", k->c.src.tensor.ndim = 0);
    INVALID("dim", k->c.src.tensor.ndim = -1);
    INVALID("dim", k->c.src.tensor.ndim = 9);
    INVALID("dim", k->c.weights.tensor.ndim = 2);
    INVALID("shape", k->c.src.tensor.shape = NULL);
    INVALID("shape", k->c.src.shape[2] = -1);
    INVALID("kernel", k->c.src.shape[2] = 2);
    INVALID("0", k->c.src.shape[1] = 0);
    INVALID("0", k->c.src.shape[3] = 0);
    INVALID("overflow", {
        k->c.src.shape[0] = (int64_t)1 << 32;
        k->c.src.shape[2] = (int64_t)1 << 32;
        k->c.src.tensor.strides = NULL;
    });
    INVALID_BACK("diff_dst", k->c.diff_dst.shape[3] = 2);
    INVALID_BACK("diff_src", k->c.diff_src.shape[3] = 4);
    INVALID_BACK("diff_weights", k->c.diff_weights.shape[0] = 4);
    INVALID_BACK("diff_bias", k->c.diff_bias.shape[0] = 4);
}

static void dtypes_strides_devices(void **state)
{
    (void)state;
    static double large[4096];
    INVALID("type", {
        k->c.weights.tensor.data = large;
        k->c.weights.tensor.byte_offset = 0;
        k->c.weights.tensor.dtype.bits = 64;
    });
    INVALID("lanes", k->c.src.tensor.dtype.lanes = 0);
    INVALID("lanes", k->c.src.tensor.dtype.lanes = 4);
    INVALID("type", k->c.src.tensor.dtype.code = 77);
    INVALID("bits", k->c.src.tensor.dtype.bits = 24);
    INVALID("stride", k->c.src.strides[3] = -1);
    INVALID("overlap", k->c.dst.strides[0] = 0);
    INVALID("overlap", k->c.dst.strides[2] = 1);
    INVALID("overlap", k->dst->data = k->src->data);
    INVALID("null", k->c.src.tensor.data = NULL);
    INVALID("align", k->c.src.tensor.byte_offset += 1);
    INVALID("device", k->c.src.tensor.device.device_type = (DLDeviceType)99);
    REFUSE(forward, CONVOP_E_DEVICE, "device", k->c.src.tensor.device.device_type = kDLMetal);
    INVALID("device", {
        k->c.src.tensor.device.device_type = kDLCUDA;
        k->c.src.tensor.device.device_id = -1;
    });
    /* An absent device is refused before its memory is touched. */
    REFUSE(forward, CONVOP_E_DEVICE, "device", {
        k->c.src.tensor.device.device_type = kDLCUDA;
        k->c.src.tensor.data = (void *)(uintptr_t)64;
    });
    REFUSE(forward, CONVOP_E_UNSUPPORTED, "int32", {
        struct box *all[] = {&k->c.src, &k->c.weights, &k->c.bias, &k->c.dst};
        for (int i = 0; i < 4; i++) all[i]->tensor.dtype.code = kDLInt;
    });
}

static void parameters(void **state)
{
    (void)state;
    INVALID("struct_size", k->c.params.struct_size = 0);
    INVALID("kernel", k->c.params.kernel.len = 0);
    INVALID("kernel", k->c.params.kernel.len = 4);
    INVALID("kernel", k->c.params.kernel.len = 9);
    INVALID("kernel", k->c.params.kernel.len = -1);
    INVALID("kernel", k->c.params.kernel.at[0] = 0);
    INVALID("stride", k->c.params.stride = convop_tuple1(1));
    INVALID("stride", k->c.params.stride = convop_tuple2(0, 1));
    INVALID("stride", k->c.params.stride = convop_tuple2(1, -5));
    INVALID("dilate", k->c.params.dilate = convop_tuple2(0, 1));
    INVALID("dilate", k->c.params.dilate = convop_tuple2(-2, 1));
    INVALID("dilate", k->c.params.dilate = convop_tuple2(1250999896764, 1));
    INVALID("dilate", k->c.params.dilate = convop_tuple2(INT64_MAX, 1));
    INVALID("pad", k->c.params.pad_begin = convop_tuple2(-1, 0));
    INVALID("pad", k->c.params.pad_end = convop_tuple2(0, -1));
    INVALID("pad", k->c.params.pad_end = convop_tuple3(0, 1, 1));
    INVALID("pad", {
        k->c.params.pad_begin = convop_tuple2(INT64_MAX, 0);
        k->c.params.pad_end = convop_tuple2(INT64_MAX, 0);
    });
    INVALID("num_filter", k->c.params.num_filter = 0);
    INVALID("num_filter", k->c.params.num_filter = 5);
    INVALID("num_group", k->c.params.num_group = 0);
    INVALID("num_group", k->c.params.num_group = -1);
    INVALID("group", k->c.params.num_group = 3);
    INVALID("layout", k->c.params.layout = 7);
    INVALID("layout", k->c.params.layout = -1);
    INVALID("layout", k->c.params.layout = CONVOP_LAYOUT_NCW);
    INVALID("cudnn_tune", k->c.params.cudnn_tune = 4);
    INVALID("request", k->request = (convop_request)4);
    INVALID("request", k->request = (convop_request)-1);
    INVALID_BACK("request", k->requests[1] = (convop_request)9);
    INVALID("struct_size", k->exec.struct_size = 0);
}

static void structs_of_other_sizes(void **state)
{
    (void)state;
    struct {
        convop_conv_params params;
        char tail[16];
    } large = {CONVOP_CONV_PARAMS_INIT, {0}};
    struct call k;
    start(&k);
    large.params = k.c.params;
    large.params.struct_size = sizeof large;
    assert_int_equal(
        conv_forward(&large.params, k.src, k.weights, k.bias, k.dst, CONVOP_REQ_WRITE, NULL),
        CONVOP_OK);
    large.tail[3] = 1;
    assert_int_equal(
        conv_forward(&large.params, k.src, k.weights, k.bias, k.dst, CONVOP_REQ_WRITE, NULL),
        CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "convop_conv_params"));
    /* A struct that ends before no_bias gets its default. */
    k.c.params.struct_size = offsetof(convop_conv_params, no_bias);
    k.c.params.no_bias = 1;
    assert_int_equal(forward(&k), CONVOP_OK);
    assert_int_equal(conv_forward(NULL, k.src, k.weights, k.bias, k.dst, CONVOP_REQ_WRITE, NULL),
                     CONVOP_E_INVALID);
    conv_case_destroy(&k.c);
}

/* ---- by name -------------------------------------------------------------------------------- */

static convop_status invoke(struct call *k, const char *name, const char *key, const char *value,
                            int num_inputs)
{
    const char *keys[] = {"kernel", "num_filter", "num_group", key};
    const char *values[] = {"(3,3)", "6", "2", value};
    const DLTensor *inputs[] = {k->src, k->weights, k->bias};
    DLTensor *outputs[] = {k->dst};
    return convop_invoke(name, key ? 4 : 3, keys, values, num_inputs, inputs, 1, outputs, NULL,
                         NULL);
}

static void invoke_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *name, *key, *value;
        int inputs;
        convop_status status;
        const char *word;
    } rows[] = {
        {"Convolution", NULL, NULL, 3, CONVOP_OK, ""},
        {"Convolution", "stride", "(1, 1)", 3, CONVOP_OK, ""},
        {"Convolution", "__layout__", "anything", 3, CONVOP_OK, ""},
        {"Convolutoin", NULL, NULL, 3, CONVOP_E_NOT_FOUND, "Convolution"},
        {"", NULL, NULL, 3, CONVOP_E_NOT_FOUND, ""},
        {NULL, NULL, NULL, 3, CONVOP_E_INVALID, "name"},
        {"Convolution", "strides", "(1,1)", 3, CONVOP_E_INVALID, "stride"},
        {"Convolution", "stride", "(1,x)", 3, CONVOP_E_INVALID, "(1,x)"},
        {"Convolution", "stride", "(1,0)", 3, CONVOP_E_INVALID, "stride"},
        {"Convolution", "pad", "(0,1,1,2)", 3, CONVOP_E_INVALID, "pad"},
        {"Convolution", "workspace", "-1", 3, CONVOP_E_INVALID, "workspace"},
        {"Convolution", "workspace", "17592186044416", 3, CONVOP_E_INVALID, "workspace"},
        {"Convolution", "layout", "CHWN", 3, CONVOP_E_INVALID, "layout"},
        {"Convolution", "cudnn_tune", "slow", 3, CONVOP_E_INVALID, "limited_workspace"},
        {"Convolution", "no_bias", "maybe", 3, CONVOP_E_INVALID, "no_bias"},
        {"Convolution", NULL, NULL, 2, CONVOP_E_INVALID, "bias"},
        {"Convolution", "no_bias", "True", 3, CONVOP_E_INVALID, "input"},
        {"Convolution", NULL, NULL, -1, CONVOP_E_INVALID, "input"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct call k;
        start(&k);
        unsigned char *before = box_snapshot(&k.c.dst);
        convop_status got = invoke(&k, rows[i].name, rows[i].key, rows[i].value, rows[i].inputs);
        if (got != rows[i].status)
            fail_msg("row %zu: status %d: %s", i, (int)got, convop_last_error());
        if (got != CONVOP_OK) {
            assert_true(box_unchanged(&k.c.dst, before));
            if (!contains(convop_last_error(), rows[i].word))
                fail_msg("row %zu: no '%s' in: %s", i, rows[i].word, convop_last_error());
        } else {
            assert_false(box_unchanged(&k.c.dst, before));
        }
        conv_case_destroy(&k.c);
    }
}

static void rows_by_name(void **state)
{
    (void)state;
    assert_int_equal(convop_set("impl", "gem"), CONVOP_OK);
    INVALID("gemm", (void)0);
    assert_int_equal(convop_set("impl", "gemm"), CONVOP_OK);
    REFUSE(forward, CONVOP_E_UNSUPPORTED, "workspace", k->c.params.workspace_bytes = 64);
    assert_int_equal(convop_set("impl", NULL), CONVOP_OK);
}

/* What no request asks for is not looked at, whatever it is; and steps as far as they go. */
static void unwanted_outputs_and_huge_strides(void **state)
{
    (void)state;
    struct call k;
    start(&k);
    DLTensor stale = {.data = (void *)(uintptr_t)8, .ndim = 99};
    k.src = NULL;
    k.weights = NULL;
    k.diff_src = k.diff_weights = &stale;
    k.requests[0] = k.requests[1] = CONVOP_REQ_NULL;
    assert_int_equal(backward(&k), CONVOP_OK);
    conv_case_destroy(&k.c);

    static const char *const rows[] = {NULL,       "depthwise", "packed",
                                       "implicit", "gemm",      "reference"};
    for (int last = 0; last < 2; last++)
        for (int shift = 60; shift < 63; shift++)
            for (int row = 0; row < 6; row++) {
                struct rng r = {5};
                struct conv_case c = {.axes = 2,
                                      .channels_last = last,
                                      .bits = 32,
                                      .integers = 1,
                                      .mb = 2,
                                      .ic = 4,
                                      .oc = 4,
                                      .g = 4,
                                      .i = {1, 1, 5},
                                      .k = {1, 1, 1},
                                      .s = {1, (int64_t)1 << shift, 1},
                                      .d = {1, 1, 1}};
                const convop_conv_params defaults = CONVOP_CONV_PARAMS_INIT;
                c.params = defaults;
                c.params.kernel = convop_tuple2(1, 1);
                c.params.stride = convop_tuple2((int64_t)1 << shift, 1);
                c.params.num_filter = c.params.num_group = 4;
                c.params.layout = last ? CONVOP_LAYOUT_NHWC : CONVOP_LAYOUT_NCHW;
                c.request = CONVOP_REQ_WRITE;
                for (int i = 0; i < 3; i++) c.requests[i] = CONVOP_REQ_WRITE;
                if (row == 2) c.requests[1] = CONVOP_REQ_NULL; /* which "packed" lacks */
                conv_case_create_tensors(&c, &r, 0);
                struct conv_expected e;
                conv_case_expect(&c, &e);
                assert_int_equal(convop_set("impl", rows[row]), CONVOP_OK);
                assert_int_equal(conv_forward(&c.params, &c.src.tensor, &c.weights.tensor,
                                              &c.bias.tensor, &c.dst.tensor, c.request, NULL),
                                 CONVOP_OK);
                assert_int_equal(conv_backward(&c.params, &c.diff_dst.tensor, &c.src.tensor,
                                               &c.weights.tensor, &c.diff_src.tensor,
                                               &c.diff_weights.tensor, &c.diff_bias.tensor,
                                               c.requests, NULL),
                                 CONVOP_OK);
                for (int i = 0; i < 4; i++)
                    assert_true((row == 2 && i == 2) || conv_case_matches(&c, &e, i));
                conv_expected_free(&e);
                conv_case_destroy(&c);
            }
    assert_int_equal(convop_set("impl", NULL), CONVOP_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_call_itself_is_good),
        cmocka_unit_test(null_tensors),
        cmocka_unit_test(shapes),
        cmocka_unit_test(dtypes_strides_devices),
        cmocka_unit_test(parameters),
        cmocka_unit_test(structs_of_other_sizes),
        cmocka_unit_test(invoke_by_name),
        cmocka_unit_test(rows_by_name),
        cmocka_unit_test(unwanted_outputs_and_huge_strides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

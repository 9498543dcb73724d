/* A whole struct from key/value pairs, and the check of a struct that a caller filled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "convop/convolution.h"
#include "src/common/alloc.h"
#include "src/registry/registry_internal.h"
#include "tests/support/expect.h"
#include "tests/support/sample_op.h"

#define PAIRS(...) pairs((const char *const[]){__VA_ARGS__, NULL})

/* Pairs as "key=value", ended by NULL. */
struct list {
    size_t n;
    char text[16][64];
    const char *keys[16], *values[16];
};

static struct list *pairs(const char *const *items)
{
    static struct list list;
    list.n = 0;
    for (; items[list.n]; list.n++) {
        char *text = list.text[list.n];
        snprintf(text, sizeof list.text[0], "%s", items[list.n]);
        char *equal = strchr(text, '=');
        *equal = 0;
        list.keys[list.n] = text;
        list.values[list.n] = equal + 1;
    }
    return &list;
}

static convop_op op;

static convop_status parse(const struct list *list, struct sample_params *p)
{
    return convop_params_parse(&op, list->n, list->keys, list->values, p, sizeof *p);
}

/* The sentence, and the caller's struct as it was. */
static void refuse(const char *sentence, const struct list *list)
{
    struct sample_params p, before;
    memset(&p, 0x5a, sizeof p);
    before = p;
    expect_text(CONVOP_E_INVALID, sentence, parse(list, &p));
    assert_memory_equal(&p, &before, sizeof p);
}

static void defaults_then_pairs(void **state)
{
    (void)state;
    struct sample_params p;
    memset(&p, 0x5a, sizeof p);
    expect_ok(parse(PAIRS("kernel=(3,4)"), &p));
    struct sample_params expected = {.struct_size = sizeof expected,
                                     .kernel = convop_tuple2(3, 4),
                                     .count = 1,
                                     .ratio = 0.1,
                                     .workspace = (size_t)1 << 30};
    assert_memory_equal(&p, &expected, sizeof p);

    expect_ok(parse(PAIRS("kernel=3", "pad=(7,)", "count=2", "ratio=1", "workspace=0", "flag=True",
                          "mode=fast", "__ctx_group__=dev1", "__lr_mult__=x"),
                    &p));
    expected = (struct sample_params){.struct_size = sizeof expected,
                                      .kernel = convop_tuple1(3),
                                      .pad_begin = convop_tuple1(7),
                                      .pad_end = convop_tuple1(7),
                                      .count = 2,
                                      .ratio = 1,
                                      .flag = 1,
                                      .mode = 5};
    assert_memory_equal(&p, &expected, sizeof p);
}

static void refusals(void **state)
{
    (void)state;
    refuse("Sample: parameter kernel (tuple) is required", PAIRS("pad=1"));
    refuse("Sample: parameter count is given twice", PAIRS("kernel=3", "count=1", "count=1"));
    refuse("Sample: there is no parameter \"kernal\"; did you mean \"kernel\"? Known are kernel, "
           "pad, count, ratio, workspace, flag, mode",
           PAIRS("kernal=3"));
    refuse("Sample: there is no parameter \"__x\"; known are kernel, pad, count, ratio, workspace, "
           "flag, mode",
           PAIRS("kernel=3", "__x=3"));
    refuse("Sample: parameter kernel=\"(0,1)\": entry 0 is 0, allowed is 1..9223372036854775807",
           PAIRS("kernel=(0,1)"));
    refuse("Sample: pad has 2 entries, kernel has 1", PAIRS("kernel=3", "pad=(1,1)"));
    assert_int_equal(parse(PAIRS("kernel=3", "____=3"), &(struct sample_params){0}),
                     CONVOP_E_INVALID); /* four characters: no hidden name */

    convop_op bare = sample_op("Bare", 1);
    bare.num_fields = 0;
    bare.check = NULL;
    struct sample_params p;
    const char *key = "a", *value = "b";
    expect_text(CONVOP_E_INVALID, "Bare: there is no parameter \"a\", it has none",
                convop_params_parse(&bare, 1, &key, &value, &p, sizeof p));
    expect_ok(convop_params_parse(&bare, 0, NULL, NULL, &p, sizeof p));
}

static void arguments(void **state)
{
    (void)state;
    struct sample_params p;
    const char *keys[] = {"kernel", NULL}, *values[] = {"3", "3"}, *no_values[] = {NULL};
    expect_text(CONVOP_E_INVALID, "convop_params_parse: op is NULL",
                convop_params_parse(NULL, 0, NULL, NULL, &p, sizeof p));
    expect_text(CONVOP_E_INVALID, "Sample: keys is NULL, but n is 1",
                convop_params_parse(&op, 1, NULL, values, &p, sizeof p));
    expect_text(CONVOP_E_INVALID, "Sample: values is NULL, but n is 1",
                convop_params_parse(&op, 1, keys, NULL, &p, sizeof p));
    expect_text(CONVOP_E_INVALID, "Sample: keys[1] is NULL",
                convop_params_parse(&op, 2, keys, values, &p, sizeof p));
    expect_text(CONVOP_E_INVALID, "Sample: the text of parameter kernel is NULL",
                convop_params_parse(&op, 1, keys, no_values, &p, sizeof p));
    expect_text(CONVOP_E_INVALID, "Sample: params is NULL",
                convop_params_parse(&op, 1, keys, values, NULL, sizeof p));
    char text[100];
    snprintf(text, sizeof text, "Sample: params_size is 8, needed is %zu", sizeof p);
    expect_text(CONVOP_E_INVALID, text, convop_params_parse(&op, 1, keys, values, &p, 8));
    convop_op small = op;
    small.struct_size = 8;
    snprintf(text, sizeof text,
             "convop_params_parse: the descriptor's struct_size is 8, needed is %zu", sizeof op);
    expect_text(CONVOP_E_INVALID, text, convop_params_parse(&small, 1, keys, values, &p, sizeof p));

    struct {
        struct sample_params p;
        size_t later[2];
    } larger;
    memset(&larger, 0x5a, sizeof larger);
    expect_ok(convop_params_parse(&op, 1, keys, values, &larger, sizeof larger));
    assert_int_equal(larger.p.struct_size, sizeof larger.p);
    assert_int_equal(larger.later[0] | larger.later[1], 0);
}

/* Spoils one member of a good struct. */
#define expect_spoiled(sentence, change)                                                           \
    do {                                                                                           \
        struct sample_params p;                                                                    \
        expect_ok(parse(PAIRS("kernel=(3,3)"), &p));                                               \
        change;                                                                                    \
        expect_text(CONVOP_E_INVALID, sentence, cvp_params_check(&op, &p));                        \
    } while (0)

static void typed_structs(void **state)
{
    (void)state;
    struct sample_params good;
    expect_ok(parse(PAIRS("kernel=(3,3)"), &good));
    expect_ok(cvp_params_check(&op, &good));
    const char *length = "Sample: parameter kernel: has 9 entries, allowed is 0..8";
    expect_spoiled(length, p.kernel.len = 9);
    expect_spoiled("Sample: parameter kernel: has -1 entries, allowed is 0..8", p.kernel.len = -1);
    expect_spoiled("Sample: parameter kernel: entry 1 is 0, allowed is 1..9223372036854775807",
                   p.kernel.at[1] = 0);
    expect_spoiled("Sample: parameter pad: entry 0 is 101, allowed is 0..100",
                   p.pad_end = convop_tuple2(101, 0));
    expect_spoiled("Sample: parameter count: is -1, allowed is 0..9223372036854775807",
                   p.count = -1);
    expect_spoiled("Sample: parameter ratio: is nan, allowed is 0..1", p.ratio = NAN);
    expect_spoiled("Sample: parameter flag: is 2, allowed is 0..1", p.flag = 2);
    expect_spoiled("Sample: parameter mode: is 1, which is not in its list of values", p.mode = 1);
    expect_spoiled("Sample: pad has 1 entries, kernel has 2", p.pad_begin = convop_tuple1(0));
    char text[100];
    snprintf(text, sizeof text, "Sample: params->struct_size is 0, needed is %zu", sizeof good);
    expect_spoiled(text, p.struct_size = 0);
    snprintf(text, sizeof text, "Sample: params->struct_size is 1000000, expected is %zu",
             sizeof good);
    expect_spoiled(text, p.struct_size = 1000000);

    struct {
        struct sample_params p;
        unsigned char later[8];
    } larger = {good, {0}};
    larger.p.struct_size = sizeof larger;
    expect_ok(cvp_params_check(&op, &larger));
    larger.later[7] = 1;
    snprintf(text, sizeof text, "Sample: byte %zu of params is set, this convop knows %zu bytes",
             sizeof larger - 1, sizeof good);
    expect_text(CONVOP_E_INVALID, text, cvp_params_check(&op, &larger));
}

static void convolution_as_mxnet_writes_it(void **state)
{
    (void)state;
    const convop_op *conv;
    convop_conv_params p;
    const struct list *list =
        PAIRS("kernel=(3, 3)", "num_filter=32", "no_bias=True", "pad=(1, 1)", "stride=(2L, 2L)",
              "workspace=512", "cudnn_tune=limited_workspace", "__profiler_scope__=x");
    expect_ok(convop_op_find("Convolution", &conv));
    expect_ok(convop_params_parse(conv, list->n, list->keys, list->values, &p, sizeof p));
    assert_int_equal(p.kernel.len, 2);
    assert_int_equal(p.stride.at[1], 2);
    assert_int_equal(p.pad_begin.at[0], 1);
    assert_int_equal(p.pad_end.at[1], 1);
    assert_int_equal(p.num_filter, 32);
    assert_int_equal(p.num_group, 1);
    assert_int_equal(p.no_bias, 1);
    assert_int_equal(p.workspace_bytes, (size_t)512 << 20);
    assert_int_equal(p.cudnn_tune, CONVOP_TUNE_LIMITED_WORKSPACE);
    assert_int_equal(p.layout, CONVOP_LAYOUT_DEFAULT);
    list = PAIRS("kernel=(3,3)", "num_filter=8", "stride=(0,1)");
    expect_text(
        CONVOP_E_INVALID,
        "Convolution: parameter stride=\"(0,1)\": entry 0 is 0, allowed is 1..9223372036854775807",
        convop_params_parse(conv, list->n, list->keys, list->values, &p, sizeof p));
    convop_op_release(&conv);
}

static void without_memory(void **state)
{
    (void)state;
    struct sample_params p;
    const uint64_t live = cvp_alloc_live();
    memset(&p, 0x5a, sizeof p);
    cvp_alloc_fail_at(1);
    const convop_status status = parse(PAIRS("kernel=3"), &p);
    cvp_alloc_fail_at(0);
    assert_int_equal(status, CONVOP_E_NO_MEMORY);
    assert_int_equal(p.count, 0x5a5a5a5a5a5a5a5a);
    expect_ok(parse(PAIRS("kernel=3"), &p));
    assert_int_equal(cvp_alloc_live(), live);
}

int main(void)
{
    op = sample_op("Sample", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_then_pairs),
        cmocka_unit_test(refusals),
        cmocka_unit_test(arguments),
        cmocka_unit_test(typed_structs),
        cmocka_unit_test(convolution_as_mxnet_writes_it),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

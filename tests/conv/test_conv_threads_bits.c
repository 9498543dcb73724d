/* Rows whose lanes share the work in more than one way: the same bits for any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "convop/convop.h"
#include "tests/support/conv_fixed.h"

static convop_context *context_of(int threads)
{
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_context *context = NULL;
    options.num_threads = threads;
    assert_int_equal(convop_context_create(&options, &context), CONVOP_OK);
    return context;
}

/* A prepared instance on so many threads: its dst is that of the call before. */
static void expect_same_prepared(struct conv_case *c, int threads)
{
    unsigned char *want = box_snapshot(&c->dst);
    convop_context *context = context_of(threads);
    convop_instance *instance = NULL;
    const DLTensor *constants[] = {NULL, &c->weights.tensor}, *inputs[] = {&c->src.tensor, NULL};
    DLTensor *outputs[] = {&c->dst.tensor};
    if (convop_instance_create_typed("Convolution", &c->params, 2, constants, context, &instance) ||
        convop_instance_reshape(instance, inputs, NULL, NULL, SIZE_MAX, NULL))
        fail_msg("%s", convop_last_error());
    box_fill_value(&c->dst, 0.5);
    assert_int_equal(convop_instance_run(instance, inputs, outputs, NULL), CONVOP_OK);
    assert_memory_equal(want, c->dst.memory, c->dst.bytes);
    convop_instance_destroy(&instance);
    convop_context_destroy(&context);
    free(want);
}

/* The row `packed`, whose lanes take blocks of their own or share them: the whole walk, and zones.
 */
static void packed(void **state)
{
    (void)state;
    assert_int_equal(convop_set("impl", "packed"), CONVOP_OK);
    assert_int_equal(convop_set("light_work", "0"), CONVOP_OK);
    for (int n = 0; n < 4; n++) {
        const struct conv_size plain = {2, n & 1, BOX_F32, 3, 20, 34, 1, 14, 3, 1, 1, 1};
        const struct conv_size zoned = {2, n & 1, BOX_F32, 9, 20, 34, 1, 13, 3, 1, 5, 5};
        struct conv_case c;
        struct rng r = {(uint64_t)n + 1};
        conv_case_fixed(&c, n < 2 ? &plain : &zoned, 0, (uint64_t)n);
        box_fill_real(&c.src, &r);
        box_fill_real(&c.weights, &r);
        assert_int_equal(conv_case_forward(&c, NULL), CONVOP_OK);
        for (int threads = 1; threads <= 5; threads++) expect_same_prepared(&c, threads);
        conv_case_destroy(&c);
    }
    assert_int_equal(convop_set("light_work", NULL), CONVOP_OK);
    assert_int_equal(convop_set("impl", NULL), CONVOP_OK);
}

/* Whether this machine has the row. */
static int is_there(struct conv_case *c, const char *impl)
{
    convop_conv_row rows[CONV_CASE_MAX_ROWS];
    const int count = conv_case_rows(c, CONVOP_BWD_W, rows);
    for (int i = 0; i < count; i++)
        if (strcmp(rows[i].name, impl) == 0) return 1;
    return 0;
}

/* By weights, where pixels are enough for sums of lanes' own, by each row that has such. */
static void weights(void **state)
{
    (void)state;
    static const struct {
        const char *impl;
        struct conv_size size;
    } problems[] = {{"packed", {2, 0, BOX_F32, 2, 24, 41, 1, 40, 1, 1, 1, 0}},
                    {"packed", {2, 1, BOX_F32, 2, 24, 41, 1, 40, 1, 1, 1, 0}},
                    {"packed", {2, 0, BOX_F64, 3, 5, 34, 1, 32, 3, 1, 1, 1}},
                    {"packed", {2, 1, BOX_F32, 3, 6, 34, 2, 32, 3, 1, 1, 1}},
                    {"pointwise", {2, 1, BOX_F32, 2, 24, 41, 1, 40, 1, 1, 1, 0}},
                    {"pointwise", {2, 1, BOX_F64, 2, 41, 24, 1, 40, 1, 1, 1, 0}},
                    {"pointwise", {2, 1, BOX_F32, 1, 70, 33, 1, 9, 1, 1, 1, 0}},
                    {"split", {2, 0, BOX_F32, 4, 96, 70, 1, 40, 1, 1, 1, 0}},
                    {"split", {2, 1, BOX_F32, 4, 70, 96, 1, 40, 1, 1, 1, 0}},
                    {"split", {2, 0, BOX_F32, 4, 40, 48, 2, 40, 3, 1, 1, 1}},
                    {"split", {2, 1, BOX_F32, 5, 64, 64, 1, 40, 3, 2, 1, 1}}};
    for (size_t s = 0; s < sizeof problems / sizeof problems[0]; s++) {
        struct conv_case c;
        struct rng r = {s + 1};
        unsigned char *first = NULL;
        conv_case_fixed(&c, &problems[s].size, 0, s);
        if (strcmp(problems[s].impl, "split") == 0 && !is_there(&c, "split")) {
            conv_case_destroy(&c);
            continue;
        }
        assert_int_equal(convop_set("impl", problems[s].impl), CONVOP_OK);
        box_fill_real(&c.src, &r);
        box_fill_real(&c.diff_dst, &r);
        for (int i = 0; i < 3; i++)
            c.requests[i] = i == CONVOP_BWD_W - 1 ? CONVOP_REQ_WRITE : CONVOP_REQ_NULL;
        for (int threads = 1; threads <= 9; threads++) {
            convop_context *context = context_of(threads);
            convop_exec x = CONVOP_EXEC_INIT;
            x.context = context;
            assert_int_equal(conv_case_backward(&c, &x), CONVOP_OK);
            struct box *b = conv_case_output(&c, CONVOP_BWD_W);
            if (first == NULL) first = box_snapshot(b);
            assert_memory_equal(first, b->memory, b->bytes);
            convop_context_destroy(&context);
        }
        free(first);
        conv_case_destroy(&c);
        assert_int_equal(convop_set("impl", NULL), CONVOP_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed),
        cmocka_unit_test(weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

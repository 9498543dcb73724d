/* Implementation rows registered at run time: order, hiding, checks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "convop/convop.h"
#include "src/operator/convolution/row_set.h"
#include "tests/support/sample_row.h"

#define refused(sentence, row)                                                                     \
    expect_text(CONVOP_E_INVALID, "convop_conv_impl_register: " sentence,                          \
                convop_conv_impl_register(row))

static int refuses(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    (void)p;
    memset(why, 'x', CONVOP_WHY_SIZE); /* no text */
    return 0;
}

static void levels_decide_the_order(void **state)
{
    (void)state;
    convop_conv_impl rows[] = {row_of("low", 5), row_of("high", 20), row_of("highest", 30),
                               row_of("equal", 10), row_of("high2", 20)};
    for (int i = 0; i < 5; i++) expect_ok(convop_conv_impl_register(&rows[i]));
    char builtin[256], expected[512];
    const size_t n = strlen(builtin_order) - strlen(" reference");
    snprintf(builtin, sizeof builtin, "%.*s", (int)n, builtin_order);
    snprintf(expected, sizeof expected, "highest high high2 %s equal low reference", builtin);
    assert_string_equal(order(CONVOP_FWD), expected);
    struct problem x;
    make_problem(&x);
    expect_ok(forward(&x));
    assert_true(x.dst[3] == 42);
    for (int i = 0; i < 5; i++) expect_ok(convop_conv_impl_unregister(&rows[i], NULL, NULL));
    assert_string_equal(order(CONVOP_FWD), builtin_order);
    expect_ok(forward(&x));
    assert_true(x.dst[3] == 3);
}

static void higher_hides_lower_until_it_goes(void **state)
{
    (void)state;
    convop_conv_impl gemm = row_of("gemm", 20), low = row_of("gemm", 5), other = row_of("gemm", 20);
    struct problem x;
    make_problem(&x);
    expect_ok(convop_conv_impl_register(&low));
    assert_string_equal(order(CONVOP_FWD), builtin_order);
    expect_ok(convop_conv_impl_register(&gemm));
    assert_int_equal(strncmp(order(CONVOP_FWD), "gemm ", 5), 0);
    assert_int_equal(strlen(order(CONVOP_FWD)), strlen(builtin_order));
    expect_ok(forward(&x));
    assert_true(x.dst[3] == 42);
    expect_text(CONVOP_E_STATE,
                "convop_conv_impl_register: gemm: a row of this name and direction is there at "
                "level 20; a higher level hides it",
                convop_conv_impl_register(&other));
    other.direction = CONVOP_BWD_W;
    expect_ok(convop_conv_impl_register(&other));
    expect_ok(convop_conv_impl_unregister(&other, NULL, NULL));
    /* The row that was hidden all the time ends at once. */
    atomic_int released = 0;
    expect_ok(convop_conv_impl_unregister(&low, count, &released));
    assert_int_equal(released, 1);
    expect_ok(convop_conv_impl_unregister(&gemm, count, &released));
    assert_int_equal(released, 2);
    expect_ok(forward(&x));
    assert_true(x.dst[3] == 3);
    low.level = CONVOP_LEVEL_BUILTIN;
    assert_int_equal(convop_conv_impl_register(&low), CONVOP_E_STATE);
}

static void builtin_rows_stay(void **state)
{
    (void)state;
    convop_conv_impl reference = row_of("reference", 20), stranger = row_of("stranger", 20);
    expect_text(CONVOP_E_STATE,
                "convop_conv_impl_register: the name \"reference\" is that of the last resort, "
                "which is built in",
                convop_conv_impl_register(&reference));
    extern const convop_conv_impl cvp_conv_gemm_fwd;
    expect_text(CONVOP_E_STATE, "convop_conv_impl_unregister: gemm is built in and stays",
                convop_conv_impl_unregister(&cvp_conv_gemm_fwd, NULL, NULL));
    expect_text(CONVOP_E_NOT_FOUND, "convop_conv_impl_unregister: the descriptor is not registered",
                convop_conv_impl_unregister(&stranger, NULL, NULL));
    expect_text(CONVOP_E_INVALID, "convop_conv_impl_unregister: impl is NULL",
                convop_conv_impl_unregister(NULL, NULL, NULL));
}

static void builtin_rows_are_complete_and_in_their_groups(void **state)
{
    (void)state;
    const struct conv_rows *rows = &cvp_conv_builtin_rows;
    assert_int_equal(rows->first[0], 0);
    for (size_t group = 0; group < CONV_GROUPS; group++) {
        assert_true(rows->first[group] < rows->first[group + 1]);
        for (size_t i = rows->first[group]; i < rows->first[group + 1]; i++) {
            assert_int_equal(cvp_conv_group_of(rows->at[i]), group);
            expect_ok(cvp_conv_impl_check("built-in", rows->at[i]));
        }
    }
}

/* What `cutter` makes of a problem. */
struct sample_cut {
    const convop_conv_problem *p;
    int64_t outputs;
};

static int cut(const convop_conv_problem *p, void *to, char why[CONVOP_WHY_SIZE])
{
    if (p->depthwise_conv_off) {
        snprintf(why, CONVOP_WHY_SIZE, "not today");
        return 0;
    }
    *(struct sample_cut *)to = (struct sample_cut){p, p->mb * p->oc * p->oh * p->ow};
    return 1;
}

static size_t workspace_of_cut(const convop_conv_problem *p)
{
    const struct sample_cut *c = p->cut;
    assert_ptr_equal(c->p, p);
    return (size_t)c->outputs;
}

static convop_status run_cut(const convop_conv_problem *p, const convop_conv_operands *t,
                             const convop_context *context, void *workspace)
{
    const struct sample_cut *c = p->cut;
    assert_ptr_equal(c->p, p);
    memset(workspace, 1, (size_t)c->outputs);
    return fill(p, t, context, workspace);
}

static void what_a_row_cuts_is_there_in_every_call(void **state)
{
    (void)state;
    convop_conv_impl row = row_of("cutter", 20);
    row.applicable = NULL;
    row.cut = cut;
    row.cut_size = CONVOP_CONV_CUT_SIZE + 1;
    refused("cutter: the cut_size is 1025, allowed is 0..1024", &row);
    row.cut_size = sizeof(struct sample_cut);
    row.workspace = workspace_of_cut;
    row.run = run_cut;
    expect_ok(convop_conv_impl_register(&row));
    struct problem x;
    make_problem(&x);
    convop_conv_row first;
    for (int refuses = 0; refuses < 2; refuses++) {
        size_t n = 1;
        x.params.depthwise_conv_off = refuses;
        for (int i = 0; i < 2; i++) { /* planned, and again from the plan that is kept */
            memset(x.dst, 0, sizeof x.dst);
            expect_ok(forward(&x));
            assert_true(x.dst[3] == (refuses ? 3 : 42));
        }
        expect_ok(convop_conv_explain(&x.params, CONVOP_FWD, &x.s, &x.w, &x.d, NULL, &first, &n));
        assert_string_equal(first.name, "cutter");
        assert_string_equal(first.why_not, refuses ? "not today" : "");
    }
    expect_ok(convop_conv_impl_unregister(&row, NULL, NULL));
}

static size_t some_bytes(const convop_conv_problem *p)
{
    return (void)p, 64;
}

static void half_filled_descriptors_are_refused(void **state)
{
    (void)state;
    refused("impl is NULL", NULL);
    convop_conv_impl r = row_of("", 20);
    refused("the descriptor's name is NULL or empty", &r);
    r.name = NULL;
    refused("the descriptor's name is NULL or empty", &r);
    r = row_of("r", 0);
    refused("r: the level is 0, needed is >= 1", &r);
    r = row_of("r", 20);
    r.error_bound = -1;
    refused("r: the error_bound is -1, needed is >= 0", &r);
    r = row_of("r", 20);
    r.direction = (convop_conv_direction)4;
    refused("r: the direction is 4, allowed is 0..3", &r);
    r = row_of("r", 20);
    r.applicable = NULL;
    refused("r: the descriptor's applicable is NULL", &r);
    r = row_of("r", 20);
    r.run = NULL;
    refused("r: the descriptor's run is NULL", &r);
    r = row_of("r", 20);
    r.packed_bytes = some_bytes;
    refused("r: the descriptor's pack, which packed_bytes needs, is NULL", &r);
    r = row_of("r", 20);
    r.struct_size = 8;
    assert_int_equal(convop_conv_impl_register(&r), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "struct_size is 8"));
    struct {
        convop_conv_impl row;
        char more[8];
    } later = {row_of("later", 20), {0}};
    later.row.struct_size = sizeof later;
    expect_ok(convop_conv_impl_register(&later.row));
    expect_ok(convop_conv_impl_unregister(&later.row, NULL, NULL));
    later.more[3] = 1;
    assert_int_equal(convop_conv_impl_register(&later.row), CONVOP_E_INVALID);
    assert_string_equal(order(CONVOP_FWD), builtin_order);
}

static size_t too_much(const convop_conv_problem *p)
{
    return p->workspace_limit + 1;
}

static convop_status fails(const convop_conv_problem *p, const convop_conv_operands *t,
                           const convop_context *context, void *workspace)
{
    (void)p, (void)t, (void)context, (void)workspace;
    return convop_fail(CONVOP_E_DEVICE, "not today");
}

static void rows_are_not_trusted(void **state)
{
    (void)state;
    convop_conv_impl liar = row_of("liar", 20), moody = row_of("moody", 20),
                     mute = row_of("mute", 30);
    struct problem x;
    make_problem(&x);
    x.params.workspace_bytes = 1 << 20;
    liar.workspace = too_much;
    expect_ok(convop_conv_impl_register(&liar));
    expect_text(CONVOP_E_INTERNAL,
                "Convolution: implementation liar wants 1048577 bytes of workspace for a problem "
                "that it takes, allowed are 1048576",
                forward(&x));
    expect_ok(convop_conv_impl_unregister(&liar, NULL, NULL));

    moody.run = fails;
    mute.applicable = refuses;
    expect_ok(convop_conv_impl_register(&moody));
    expect_ok(convop_conv_impl_register(&mute));
    expect_text(CONVOP_E_DEVICE, "not today", forward(&x));
    convop_conv_row first;
    size_t n = 1;
    expect_ok(convop_conv_explain(&x.params, CONVOP_FWD, &x.s, &x.w, &x.d, NULL, &first, &n));
    assert_string_equal(first.name, "mute");
    assert_int_equal(strlen(first.why_not), CONVOP_WHY_SIZE - 1);
    expect_ok(convop_conv_impl_unregister(&moody, NULL, NULL));
    expect_ok(convop_conv_impl_unregister(&mute, NULL, NULL));
}

static void setting_impl_names_them(void **state)
{
    (void)state;
    convop_conv_impl low = row_of("low", 5), bias = row_of("my_bias", 20);
    bias.direction = CONVOP_BWD_B;
    struct problem x;
    make_problem(&x);
    expect_ok(convop_conv_impl_register(&low));
    expect_ok(convop_conv_impl_register(&bias));
    expect_ok(convop_set("impl", "low"));
    expect_ok(forward(&x));
    assert_true(x.dst[3] == 42);
    /* A name that the bias gradient does not have leaves it its choice. */
    convop_conv_row rows[8];
    for (int i = 0; i < 2; i++) {
        size_t n = 8;
        expect_ok(convop_set("impl", i ? "reduce" : "low"));
        expect_ok(convop_conv_explain(&x.params, CONVOP_BWD_B, &x.s, &x.w, &x.d, NULL, rows, &n));
        assert_int_equal(n, 2);
        assert_true(rows[i].chosen);
        assert_string_equal(rows[i].name, i ? "reduce" : "my_bias");
    }
    expect_ok(convop_set("impl", NULL));
    expect_ok(convop_conv_impl_unregister(&low, NULL, NULL));
    expect_ok(convop_conv_impl_unregister(&bias, NULL, NULL));
}

int main(void)
{
    builtin_order = strdup(order(CONVOP_FWD));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_decide_the_order),
        cmocka_unit_test(higher_hides_lower_until_it_goes),
        cmocka_unit_test(builtin_rows_stay),
        cmocka_unit_test(builtin_rows_are_complete_and_in_their_groups),
        cmocka_unit_test(what_a_row_cuts_is_there_in_every_call),
        cmocka_unit_test(half_filled_descriptors_are_refused),
        cmocka_unit_test(rows_are_not_trusted),
        cmocka_unit_test(setting_impl_names_them),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(builtin_order);
    return failed;
}

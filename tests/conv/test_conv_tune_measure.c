/* Measuring: budget, verification, memory, what convop_conv_tune reports, and lines of log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "src/common/alloc.h"
#include "tests/support/tune_rows.h"

enum { FIRST = 1, SECOND = 2, THIRD = 4, OWN = 3 };

static size_t tune(struct problem *x, const convop_tune_options *options, convop_conv_row rows[16])
{
    size_t n = 16;
    expect_ok(
        convop_conv_tune(&x->params, CONVOP_FWD, &x->s, &x->w, &x->d, NULL, options, rows, &n));
    return n;
}

static const convop_conv_row *row_named(const convop_conv_row rows[16], size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void tuning_reports_each_row(void **state)
{
    (void)state;
    struct problem x;
    convop_conv_row rows[16];
    convop_tune_options options = CONVOP_TUNE_OPTIONS_INIT;
    make_problem(&x);
    add_row(0, "first", 20, 30, FIRST);
    add_row(1, "second", 20, 2, SECOND);
    add_row(2, "third", 5, 500, THIRD);
    options.budget_ms = 100000;
    size_t n = tune(&x, &options, rows);
    assert_true(row_named(rows, n, "first")->ms == 30);
    assert_true(row_named(rows, n, "third")->ms == 500);
    const convop_conv_row *best = row_named(rows, n, "second");
    assert_true(best->ms == 2 && best->chosen && best->choice == CONVOP_CHOICE_MEASURED);
    /* A row is known to be slow after one run. */
    assert_int_equal(slots[2].runs, 1);
    assert_true(row_named(rows, n, "gemm")->estimated_ms > 0);
    assert_true(row_named(rows, n, "depthwise")->why_not[0] != '\0');
    assert_true(row_named(rows, n, "depthwise")->ms == 0);

    /* Known now: nothing runs; again: it does. */
    int runs = all_runs();
    n = tune(&x, NULL, rows);
    assert_int_equal(row_named(rows, n, "second")->choice, CONVOP_CHOICE_CACHED);
    assert_true(row_named(rows, n, "second")->ms == 2);
    assert_int_equal(all_runs(), runs);
    options.again = 1;
    options.keep = 0;
    slots[0].ms = 1;
    n = tune(&x, &options, rows);
    assert_int_equal(row_named(rows, n, "first")->choice, CONVOP_CHOICE_MEASURED);
    convop_conv_row row;
    assert_int_equal(choice_of(&x, &row), CONVOP_CHOICE_CACHED);
    assert_string_equal(row.name, "second");

    /* Room is heeded, and no room at all. */
    size_t two = 2, none = 0;
    rows[2].name = "untouched";
    expect_ok(convop_conv_tune(&x.params, CONVOP_FWD, &x.s, &x.w, &x.d, NULL, NULL, rows, &two));
    assert_int_equal(two, n);
    assert_string_equal(rows[2].name, "untouched");
    expect_ok(convop_conv_tune(&x.params, CONVOP_FWD, &x.s, &x.w, &x.d, NULL, NULL, NULL, &none));
    assert_int_equal(none, n);
    none = 0;
    options.budget_ms = -1;
    expect_text(
        CONVOP_E_INVALID, "convop_conv_tune: budget_ms is -1, must be 0 or more",
        convop_conv_tune(&x.params, CONVOP_FWD, &x.s, &x.w, &x.d, NULL, &options, NULL, &none));
    assert_int_equal(convop_conv_tune(NULL, CONVOP_FWD, &x.s, &x.w, &x.d, NULL, NULL, NULL, &none),
                     CONVOP_E_INVALID);
    assert_int_equal(
        convop_conv_tune(&x.params, CONVOP_FWD, &x.s, &x.w, &x.d, NULL, NULL, rows, NULL),
        CONVOP_E_INVALID);
}

static void the_budget_is_heeded(void **state)
{
    (void)state;
    struct problem x;
    convop_conv_row rows[16];
    convop_tune_options options = CONVOP_TUNE_OPTIONS_INIT;
    make_problem(&x);
    add_row(0, "first", 20, 1000, FIRST);
    add_row(1, "second", 20, 1, SECOND);
    options.keep = 0;
    /* The first one is measured whatever it takes; then there is no time left for the other. */
    options.budget_ms = 500;
    size_t n = tune(&x, &options, rows);
    assert_int_equal(slots[0].runs, 1);
    assert_int_equal(slots[1].runs, 0);
    assert_true(row_named(rows, n, "first")->chosen);
    assert_true(row_named(rows, n, "second")->ms == 0);
    options.budget_ms = 100000;
    n = tune(&x, &options, rows);
    assert_true(row_named(rows, n, "second")->chosen);
    /* The setting counts where the call says nothing. */
    options.budget_ms = 0;
    expect_ok(convop_set("tune_budget", "500"));
    n = tune(&x, &options, rows);
    assert_true(row_named(rows, n, "first")->chosen);
    const double before = fake_now;
    expect_ok(convop_set("autotune", "1"));
    expect_ok(convop_set("tune_budget", "2000"));
    assert_true(answer_of(&x) == SECOND);
    assert_true(fake_now - before < 2000 + 1000 + 40 * TICK);
}

/* What a first run waits for, such as memory, is not its row's time. */
static void a_first_run_far_from_its_estimate_is_repeated(void **state)
{
    (void)state;
    struct problem x;
    convop_conv_row rows[16];
    convop_tune_options options = CONVOP_TUNE_OPTIONS_INIT;
    make_problem(&x);
    add_row(0, "late", 20, 10, FIRST);
    add_row(1, "slow", 20, 20, SECOND);
    slots[0].estimate = slots[0].estimate_alone = 9;
    slots[1].estimate = slots[1].estimate_alone = 21;
    slots[0].more = 1000;
    options.keep = 0;
    options.budget_ms = 500;
    size_t n = tune(&x, &options, rows);
    assert_true(row_named(rows, n, "late")->ms < 11);
    assert_true(row_named(rows, n, "late")->chosen);
    /* The same behind a faster one. */
    slots[0].ms = 25;
    slots[0].runs = 0;
    slots[0].estimate = slots[0].estimate_alone = 23;
    options.budget_ms = 100000;
    n = tune(&x, &options, rows);
    assert_true(row_named(rows, n, "slow")->ms < 21);
    assert_true(row_named(rows, n, "late")->ms < 26);
}

static void a_wrong_row_does_not_win(void **state)
{
    (void)state;
    struct problem x;
    convop_conv_row rows[16];
    convop_tune_options options = CONVOP_TUNE_OPTIONS_INIT;
    make_problem(&x);
    add_row(0, "wrong", 20, 1, FIRST);
    add_row(1, "right", 20, 2, 0);
    options.again = 1;
    options.verify = 0;
    size_t n = tune(&x, &options, rows);
    assert_true(row_named(rows, n, "wrong")->chosen);
    options.verify = 1;
    n = tune(&x, &options, rows);
    assert_true(row_named(rows, n, "right")->chosen);
    assert_non_null(strstr(row_named(rows, n, "wrong")->why_not, "differs from"));
    assert_true(row_named(rows, n, "wrong")->ms == 0);
    assert_string_equal(row_named(rows, n, "right")->why_not, "");
    expect_ok(convop_tune_forget(NULL, NULL));
    expect_ok(convop_set("autotune", "1"));
    expect_ok(convop_set("tune_verify", "1"));
    assert_true(answer_of(&x) == OWN);
    expect_ok(convop_set("tune_verify", "0"));
    expect_ok(convop_tune_forget(NULL, NULL));
    assert_true(answer_of(&x) == FIRST);
    /* A row that fails does not win either. */
    slots[0].status = CONVOP_E_DEVICE;
    n = tune(&x, &options, rows);
    assert_string_equal(row_named(rows, n, "wrong")->why_not, "slot: not this one");
    assert_true(row_named(rows, n, "right")->chosen);
}

/* Memory of a host that has none for anything large. */
static void *little(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    return bytes > 16384 ? NULL : aligned_alloc(alignment, (bytes + 63) / 64 * 64);
}

static void give_back(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

/* Without memory to measure in there is the estimate, and no error. */
static void no_memory_to_measure_in_is_no_failure(void **state)
{
    (void)state;
    struct problem x;
    convop_conv_row rows[16];
    size_t n = 16;
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_exec exec = CONVOP_EXEC_INIT;
    convop_context *context = NULL;
    make_problem(&x);
    add_row(0, "first", 20, 100, FIRST);
    add_row(1, "second", 5, 1, SECOND);
    options.allocator = (convop_allocator){little, give_back, NULL};
    expect_ok(convop_context_create(&options, &context));
    exec.context = context;
    expect_ok(convop_set("autotune", "1"));
    expect_ok(convop_conv_forward(&x.params, &x.s, &x.w, NULL, &x.d, CONVOP_REQ_WRITE, &exec));
    assert_true(x.dst[3] == FIRST);
    assert_int_equal(slots[1].runs, 0);
    assert_int_equal(
        convop_conv_tune(&x.params, CONVOP_FWD, &x.s, &x.w, &x.d, &exec, NULL, rows, &n),
        CONVOP_E_NO_MEMORY);
    convop_context_destroy(&context);
}

/* Each allocation fails once. */
static void a_failing_allocation_leaves_nothing_behind(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    add_row(0, "first", 20, 100, FIRST);
    add_row(1, "second", 5, 1, SECOND);
    int measured = 0;
    uint64_t failed = 0;
    expect_ok(convop_set("autotune", "1"));
    assert_true(answer_of(&x) == SECOND);
    for (uint64_t n = 1;; n++) {
        expect_ok(convop_tune_forget(NULL, NULL));
        memset(x.dst, 0, sizeof x.dst);
        const uint64_t live = cvp_alloc_live();
        cvp_alloc_fail_at(n);
        const convop_status status = forward(&x);
        const int reached = cvp_alloc_calls() >= n;
        cvp_alloc_fail_at(0);
        /* What the call itself needs is another matter. */
        if (status != CONVOP_OK && status != CONVOP_E_NO_MEMORY)
            fail_msg("allocation %d: %s", (int)n, convop_last_error());
        measured += status == CONVOP_OK && x.dst[3] == SECOND;
        /* A row that there is no memory to try is left out. */
        assert_true(status ? x.dst[3] == 0
                           : x.dst[3] == FIRST || x.dst[3] == SECOND || x.dst[3] == OWN);
        expect_ok(convop_tune_forget(NULL, NULL));
        assert_true(cvp_alloc_live() <= live);
        if (!reached) break;
        failed = n;
    }
    assert_true(failed > 3 && measured > 0);
}

/* The problem's rows that take it, held against each other; how many of them have an error bound of
 * their own. */
static int bounded_that_agree(int64_t channels, int64_t groups, int64_t h, int64_t w,
                              DLDataType type, int direction, int last)
{
    int64_t nchw[4] = {2, channels, h, w}, nhwc[4] = {2, h, w, channels};
    int64_t first[4] = {channels, channels / groups, 3, 3};
    int64_t second[4] = {channels, 3, 3, channels / groups};
    convop_conv_params p = CONVOP_CONV_PARAMS_INIT;
    p.kernel = convop_tuple2(3, 3);
    p.pad_begin = p.pad_end = convop_tuple2(1, 1);
    p.num_filter = (int)channels;
    p.num_group = (int)groups;
    p.layout = last ? CONVOP_LAYOUT_NHWC : CONVOP_LAYOUT_NCHW;
    DLTensor image = {.device = {kDLCPU, 0}, .ndim = 4, .dtype = type, .shape = last ? nhwc : nchw};
    DLTensor weights = image;
    weights.shape = last ? second : first;
    convop_tune_options options = CONVOP_TUNE_OPTIONS_INIT;
    options.verify = options.again = 1;
    options.keep = 0;
    convop_conv_row rows[16];
    size_t n = 16;
    expect_ok(convop_conv_tune(&p, (convop_conv_direction)direction, &image, &weights, &image, NULL,
                               &options, rows, &n));
    int chosen = 0, agree = 0;
    for (size_t r = 0; r < n; r++) {
        if (rows[r].applicable && rows[r].why_not[0])
            fail_msg("%s: %s (%d %d)", rows[r].name, rows[r].why_not, direction, last);
        agree += rows[r].applicable && rows[r].error_bound > 0;
        chosen += rows[r].chosen && rows[r].ms > 0;
    }
    assert_int_equal(chosen, 1);
    return agree;
}

/* All directions, types and layouts: depthwise, and channels enough for rows that want many. */
static void built_in_rows_agree(void **state)
{
    (void)state;
    static const DLDataType types[] = {
        {kDLFloat, 32, 1}, {kDLFloat, 64, 1}, {kDLFloat, 16, 1}, {kDLBfloat, 16, 1}};
    enum cvp_isa isa;
    expect_ok(cvp_isa_in_use(&isa));
    cvp_conv_measure_clock(NULL);
    for (int i = 0; i < 4 * 2 * 4; i++) {
        const int direction = i % 4, last = i / 4 % 2, type = i / 8;
        assert_int_equal(bounded_that_agree(8, 8, 9, 7, types[type], direction, last), 0);
        const int more = bounded_that_agree(32, 1, 13, 12, types[type], direction, last);
        const int most = isa == CVP_ISA_AMX ? CONVOP_BWD_W : CONVOP_BWD_D;
        assert_int_equal(more > 0, direction <= most && types[type].bits < 64);
    }
}

#define TUNE_TEST(f) cmocka_unit_test_setup_teardown(f, tune_set_up, tune_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TUNE_TEST(tuning_reports_each_row),
        TUNE_TEST(the_budget_is_heeded),
        TUNE_TEST(a_first_run_far_from_its_estimate_is_repeated),
        TUNE_TEST(a_wrong_row_does_not_win),
        TUNE_TEST(no_memory_to_measure_in_is_no_failure),
        TUNE_TEST(a_failing_allocation_leaves_nothing_behind),
        TUNE_TEST(built_in_rows_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

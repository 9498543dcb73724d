/* The choice of a row: forced, cached, estimated, measured, by what is set and what is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/common/epoch.h"
#include "src/operator/tuning/tuning.h"
#include "tests/support/tune_rows.h"

/* SLOW is what the estimate takes: its level is above the built-in ones. FAST measures best. */
enum { SLOW = 1, FAST = 2, OWN = 3 };

static void add_slow_and_fast(void)
{
    add_row(0, "slow", 20, 100, SLOW);
    add_row(1, "fast", 5, 1, FAST);
}

static void measured_rows_win_and_are_kept(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    add_slow_and_fast();
    assert_true(answer_of(&x) == SLOW);
    assert_int_equal(all_runs(), 1);
    expect_ok(convop_set("autotune", "limited_workspace"));
    uint64_t epoch = cvp_epoch();
    assert_true(answer_of(&x) == FAST);
    assert_true(cvp_epoch() > epoch);
    int runs = all_runs();
    assert_true(runs > 4 && slots[0].runs < slots[1].runs);
    convop_conv_row row;
    assert_int_equal(choice_of(&x, &row), CONVOP_CHOICE_CACHED);
    assert_string_equal(row.name, "fast");
    assert_true(row.ms == 1);
    assert_true(answer_of(&x) == FAST);
    assert_int_equal(all_runs(), runs + 1);
    /* What is known is used where nothing may be measured, but for "off". */
    expect_ok(convop_set("autotune", NULL));
    assert_true(answer_of(&x) == FAST);
    expect_ok(convop_set("autotune", "off"));
    assert_true(answer_of(&x) == SLOW);
    assert_int_equal(choice_of(&x, NULL), CONVOP_CHOICE_ESTIMATED);
    expect_ok(convop_set("autotune", "2"));
    expect_ok(convop_set("impl", "gemm"));
    assert_true(answer_of(&x) == OWN);
    assert_int_equal(choice_of(&x, NULL), CONVOP_CHOICE_FORCED);
    assert_int_equal(all_runs(), runs + 3);
    convop_tune_listing *listing = NULL;
    const convop_tune_record *r = only_record(&listing);
    assert_string_equal(r->impl, "fast");
    assert_true(r->ms == 1 && r->estimated_ms == 100);
    convop_tune_listing_destroy(&listing);
}

static void the_setting_rules_over_the_parameter(void **state)
{
    (void)state;
    static const struct {
        const char *setting;
        int parameter, measures;
    } all[] = {
        {NULL, CONVOP_TUNE_DEFAULT, 0},    {NULL, CONVOP_TUNE_OFF, 0},
        {NULL, CONVOP_TUNE_FASTEST, 1},    {NULL, CONVOP_TUNE_LIMITED_WORKSPACE, 1},
        {"unset", CONVOP_TUNE_FASTEST, 1}, {"0", CONVOP_TUNE_FASTEST, 0},
        {"off", CONVOP_TUNE_FASTEST, 0},   {"1", CONVOP_TUNE_OFF, 1},
        {"2", CONVOP_TUNE_DEFAULT, 1},     {"fastest", CONVOP_TUNE_OFF, 1},
    };
    struct problem x;
    make_problem(&x);
    add_slow_and_fast();
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        expect_ok(convop_tune_forget(NULL, NULL));
        expect_ok(convop_set("autotune", all[i].setting));
        x.params.cudnn_tune = all[i].parameter;
        int runs = all_runs();
        float got = answer_of(&x);
        if (got != (all[i].measures ? FAST : SLOW) || (all_runs() > runs + 1) != all[i].measures)
            fail_msg("line %zu: %g after %d runs", i, got, all_runs() - runs);
    }
}

/* The fastest row wants more workspace than the parameter allows. */
static void limited_heeds_the_limit_and_fastest_does_not(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    x.params.workspace_bytes = 1 << 20;
    slots[1].workspace = (1 << 20) + 64;
    add_slow_and_fast();
    expect_ok(convop_set("autotune", "limited_workspace"));
    assert_true(answer_of(&x) == OWN);
    expect_ok(convop_set("autotune", "fastest"));
    assert_true(answer_of(&x) == FAST);
    /* Each has its own record, so the order does not matter. */
    expect_ok(convop_set("autotune", "limited_workspace"));
    assert_true(answer_of(&x) == OWN);
    assert_int_equal(choice_of(&x, NULL), CONVOP_CHOICE_CACHED);

    /* The same by the parameter. */
    expect_ok(convop_set("autotune", NULL));
    expect_ok(convop_tune_forget(NULL, NULL));
    x.params.cudnn_tune = CONVOP_TUNE_LIMITED_WORKSPACE;
    assert_true(answer_of(&x) == OWN);
    x.params.cudnn_tune = CONVOP_TUNE_FASTEST;
    assert_true(answer_of(&x) == FAST);

    /* The workspace of the call, and an instance's, bind in any case. */
    expect_ok(convop_set("autotune", "fastest"));
    static char memory[4096];
    convop_exec exec = CONVOP_EXEC_INIT;
    exec.workspace = memory;
    exec.workspace_bytes = sizeof memory;
    expect_ok(convop_conv_forward(&x.params, &x.s, &x.w, NULL, &x.d, CONVOP_REQ_WRITE, &exec));
    assert_true(x.dst[3] == OWN);
    const DLTensor *inputs[] = {&x.s, &x.w};
    DLTensor *outputs[] = {&x.d};
    convop_instance *instance = NULL;
    expect_ok(convop_instance_create_typed("Convolution", &x.params, 2, NULL, NULL, &instance));
    for (int large = 0; large < 2; large++) {
        size_t limit = large ? SIZE_MAX : 1 << 20;
        expect_ok(convop_instance_reshape(instance, inputs, outputs, NULL, limit, NULL));
        expect_ok(convop_instance_run(instance, inputs, outputs, NULL));
        assert_true(x.dst[3] == (large ? FAST : OWN));
    }
    convop_instance_destroy(&instance);
}

/* cache.algo_out_of_range: what the cache says cannot be trusted to fit. */
static void answers_that_do_not_fit_are_dropped(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    add_slow_and_fast();
    expect_ok(convop_set("autotune", "1"));
    assert_true(answer_of(&x) == FAST);
    convop_tune_listing *listing = NULL;
    const convop_tune_record *r = only_record(&listing);
    const struct cvp_tune_key key = {r->device, r->software, r->problem};
    const struct cvp_tune_choice bad[] = {
        {.impl = "algorithm 9999", .impl_version = 1, .ms = 1},
        {.impl = "slow", .impl_version = 2, .ms = 1},
        {.impl = "depthwise", .impl_version = 1, .ms = 1}, /* is there, does not apply */
        {.impl = "slow", .impl_version = 1, .ms = 1, .workspace_bytes = (size_t)1 << 40},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_ok(cvp_tune_store(&key, &bad[i]));
        int runs = all_runs();
        assert_true(answer_of(&x) == FAST);
        assert_true(all_runs() > runs + 4);
        convop_tune_listing *now = NULL;
        assert_string_equal(only_record(&now)->impl, "fast");
        convop_tune_listing_destroy(&now);
        /* Where nothing may be measured, the estimate answers. */
        expect_ok(cvp_tune_store(&key, &bad[i]));
        expect_ok(convop_set("autotune", NULL));
        assert_true(answer_of(&x) == SLOW);
        expect_ok(convop_set("autotune", "1"));
    }
    /* The same row is used when it does fit. */
    const struct cvp_tune_choice good = {.impl = "slow", .impl_version = 1, .ms = 1};
    expect_ok(cvp_tune_store(&key, &good));
    assert_true(answer_of(&x) == SLOW);
    convop_tune_listing_destroy(&listing);
}

/* cache.other_gpu, cache.other_lib_version: records of others are neither used nor deleted. */
static void records_of_others_are_left_alone(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    add_slow_and_fast();
    expect_ok(convop_set("autotune", "1"));
    assert_true(answer_of(&x) == FAST);
    convop_tune_listing *listing = NULL;
    const convop_tune_record *r = only_record(&listing);
    const struct cvp_tune_choice slow = {.impl = "slow", .impl_version = 1, .ms = 1};
    for (int i = 0; i < 2; i++) {
        expect_ok(convop_tune_forget(NULL, NULL));
        const struct cvp_tune_key other = {i ? r->device : "cpu=another;isa=avx512",
                                           i ? "convop=99.0.0;rows=0" : r->software, r->problem};
        expect_ok(cvp_tune_store(&other, &slow));
        assert_true(answer_of(&x) == FAST);
        convop_tune_listing *now = NULL;
        expect_ok(convop_tune_list(NULL, &now));
        assert_int_equal(convop_tune_listing_count(now), 2);
        convop_tune_listing_destroy(&now);
    }
    /* A row that comes or goes makes another generation too. */
    expect_ok(convop_tune_forget(NULL, NULL));
    assert_true(answer_of(&x) == FAST);
    int runs = all_runs();
    add_row(2, "slower", 5, 200, OWN + 1);
    assert_true(answer_of(&x) == FAST);
    assert_true(all_runs() > runs + 4);
    convop_tune_listing_destroy(&listing);
}

/* cache.plan_fails_at_exec: a cached row may still refuse when it runs. */
static void a_cached_row_that_refuses_is_replaced(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    for (int tuned = 0; tuned < 2; tuned++) {
        add_slow_and_fast();
        expect_ok(convop_tune_forget(NULL, NULL));
        expect_ok(convop_set("autotune", "1"));
        assert_true(answer_of(&x) == FAST);
        if (!tuned) expect_ok(convop_set("autotune", NULL));
        assert_true(answer_of(&x) == FAST);
        slots[1].good_runs = slots[1].runs;
        slots[1].status = CONVOP_E_UNSUPPORTED;
        /* Without leave to measure, the next rule is the estimate. */
        assert_true(answer_of(&x) == (tuned ? OWN : SLOW));
        assert_true(answer_of(&x) == (tuned ? OWN : SLOW));
        convop_tune_listing *listing = NULL;
        expect_ok(convop_tune_list(NULL, &listing));
        assert_int_equal(convop_tune_listing_count(listing), tuned);
        if (tuned) assert_string_not_equal(convop_tune_listing_at(listing, 0)->impl, "fast");
        convop_tune_listing_destroy(&listing);
        convop_conv_impl_unregister(&slot_rows[0], NULL, NULL);
        convop_conv_impl_unregister(&slot_rows[1], NULL, NULL);
        memset(slots, 0, sizeof slots);
    }
}

/* Any other failure is the caller's to know, and so is one of a row that was not cached. */
static void other_failures_are_passed_on(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    add_slow_and_fast();
    expect_ok(convop_set("autotune", "1"));
    assert_true(answer_of(&x) == FAST);
    slots[1].good_runs = 0;
    slots[1].status = CONVOP_E_DEVICE;
    expect_text(CONVOP_E_DEVICE, "slot: not this one", forward(&x));
    expect_ok(convop_set("autotune", "0"));
    slots[0].status = CONVOP_E_UNSUPPORTED;
    expect_text(CONVOP_E_UNSUPPORTED, "slot: not this one", forward(&x));
}

/* Descriptors made before rows had estimates end at that member. */
static void shorter_descriptors_are_rows(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    add_row(0, "slow", 20, 1, SLOW);
    const size_t size = offsetof(convop_conv_impl, estimate);
    convop_conv_impl whole = slot_rows[0], *old = malloc(size);
    whole.struct_size = size;
    whole.name = "old";
    whole.level = 30;
    memcpy(old, &whole, size);
    expect_ok(convop_conv_impl_register(old));
    convop_conv_row row;
    assert_int_equal(choice_of(&x, &row), CONVOP_CHOICE_ESTIMATED);
    assert_string_equal(row.name, "old");
    assert_true(row.estimated_ms == 0);
    expect_ok(convop_set("autotune", "1"));
    assert_true(answer_of(&x) == SLOW);
    expect_ok(convop_conv_impl_unregister(old, NULL, NULL));
    free(old);
}

/* On two threads, whatever the machine has. */
static convop_conv_choice choice_on_two(const struct problem *x, const char **name)
{
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_exec exec = CONVOP_EXEC_INIT;
    convop_context *context = NULL;
    convop_conv_row rows[16];
    size_t n = 16;
    options.num_threads = 2;
    expect_ok(convop_context_create(&options, &context));
    exec.context = context;
    expect_ok(convop_conv_explain(&x->params, CONVOP_FWD, &x->s, &x->w, &x->d, &exec, rows, &n));
    convop_context_destroy(&context);
    for (size_t i = 0; i < n; i++)
        if (rows[i].chosen) return *name = rows[i].name, (convop_conv_choice)rows[i].choice;
    return CONVOP_CHOICE_NONE;
}

static void the_least_estimate_wins(void **state)
{
    (void)state;
    struct problem x;
    const char *name = "";
    make_problem(&x);
    const char *built_in = "";
    choice_on_two(&x, &built_in);
    /* Not above the built-in level: the estimate alone decides, and none comes after any. */
    add_row(0, "silent", 10, 1, 1);
    add_row(1, "dear", 5, 1, 1);
    slots[1].estimate = slots[1].estimate_alone = 1e6;
    assert_int_equal(choice_on_two(&x, &name), CONVOP_CHOICE_ESTIMATED);
    assert_string_equal(name, built_in);
    add_row(2, "cheap", 5, 1, 1);
    slots[2].estimate = slots[2].estimate_alone = 1e-6;
    choice_on_two(&x, &name);
    assert_string_equal(name, "cheap");
    /* An estimate that depends on the threads must not make the bits depend on them. */
    slots[2].estimate_alone = 2e6;
    choice_on_two(&x, &name);
    assert_string_equal(name, built_in);
    expect_ok(convop_set("deterministic", "0"));
    choice_on_two(&x, &name);
    assert_string_equal(name, "cheap");
    /* Above that level the level decides. */
    add_row(3, "above", 20, 1, 1);
    slots[3].estimate = slots[3].estimate_alone = 1e9;
    choice_on_two(&x, &name);
    assert_string_equal(name, "above");
}

/* Where the two differ by far on any machine: lanes that are gathered, and lanes that are not. */
static void estimates_tell_built_in_rows_apart(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        int64_t src[] = {4, 14, 14, wide ? 64 : 1}, dst[] = {4, 14, 14, 64},
                weights[] = {64, 3, 3, 1};
        convop_conv_params p = CONVOP_CONV_PARAMS_INIT;
        p.kernel = convop_tuple2(3, 3);
        p.pad_begin = p.pad_end = convop_tuple2(1, 1);
        p.num_filter = 64;
        p.num_group = wide ? 64 : 1;
        p.layout = CONVOP_LAYOUT_NHWC;
        DLTensor s = {.device = {kDLCPU, 0}, .ndim = 4, .dtype = {kDLFloat, 32, 1}, .shape = src};
        DLTensor d = s, w = s;
        d.shape = dst;
        w.shape = weights;
        convop_conv_row rows[16];
        size_t n = 16;
        expect_ok(convop_conv_explain(&p, CONVOP_BWD_D, &s, &w, &d, NULL, rows, &n));
        for (size_t i = 0; i < n; i++) {
            /* Those with a bound of their own take only some problems, and `grouped` neither a
             * single group nor single channels. */
            const int is_choosy = strcmp(rows[i].name, "grouped") == 0;
            assert_true(rows[i].applicable || rows[i].error_bound > 0 || is_choosy);
            assert_true(!rows[i].applicable || rows[i].estimated_ms > 0);
            if (strcmp(rows[i].name, "depthwise") == 0) assert_int_equal(rows[i].chosen, wide);
        }
    }
}

#define TUNE_TEST(f) cmocka_unit_test_setup_teardown(f, tune_set_up, tune_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TUNE_TEST(measured_rows_win_and_are_kept),
        TUNE_TEST(the_setting_rules_over_the_parameter),
        TUNE_TEST(limited_heeds_the_limit_and_fastest_does_not),
        TUNE_TEST(answers_that_do_not_fit_are_dropped),
        TUNE_TEST(records_of_others_are_left_alone),
        TUNE_TEST(a_cached_row_that_refuses_is_replaced),
        TUNE_TEST(other_failures_are_passed_on),
        TUNE_TEST(shorter_descriptors_are_rows),
        TUNE_TEST(the_least_estimate_wins),
        TUNE_TEST(estimates_tell_built_in_rows_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

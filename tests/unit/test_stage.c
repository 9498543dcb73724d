/* Stages: whose time is whose, and that nothing is counted while nobody asks. Times are compared
 * with 0 and with each other's sum alone: how long anything takes is not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <time.h>

#include "convop/context.h"
#include "convop/registry.h"
#include "src/common/stage.h"
#include "src/common/status.h"
#include "src/engine/parallel.h"
#include "tests/support/copying_conv.h"

struct totals {
    uint64_t count[CONVOP_STAGE_COUNT];
    double ms[CONVOP_STAGE_COUNT];
};

static struct totals read_totals(void)
{
    struct totals r;
    for (int i = 0; i < CONVOP_STAGE_COUNT; i++) {
        convop_stage_time time = {.struct_size = sizeof time};
        assert_int_equal(convop_stage_read((convop_stage)i, &time), CONVOP_OK);
        assert_non_null(time.name);
        r.count[i] = time.count;
        r.ms[i] = time.ms;
    }
    return r;
}

/* What has come since. */
static struct totals since(const struct totals *before)
{
    struct totals r = read_totals();
    for (int i = 0; i < CONVOP_STAGE_COUNT; i++) {
        r.count[i] -= before->count[i];
        r.ms[i] -= before->ms[i];
        assert_true(r.ms[i] >= 0);
    }
    return r;
}

static void pass_time(void)
{
    nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static void is_off_by_default(void **state)
{
    (void)state;
    struct totals before = read_totals();
    int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    pass_time();
    cvp_stage_leave(outer);
    struct totals r = since(&before);
    for (int i = 0; i < CONVOP_STAGE_COUNT; i++) {
        assert_int_equal(r.count[i], 0);
        assert_true(r.ms[i] == 0);
    }
}

static void inner_time_is_not_the_outer_ones(void **state)
{
    (void)state;
    struct totals before = read_totals();
    convop_stages_collect(1);
    int none = cvp_stage_enter(CONVOP_STAGE_CALL);
    assert_int_equal(none, CVP_STAGE_NONE);
    int call = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    assert_int_equal(call, CONVOP_STAGE_CALL);
    pass_time();
    cvp_stage_leave(call);
    cvp_stage_leave(none);
    pass_time(); /* in no stage */
    convop_stages_collect(0);
    struct totals r = since(&before);
    assert_int_equal(r.count[CONVOP_STAGE_CALL], 1);
    assert_int_equal(r.count[CONVOP_STAGE_PRODUCT], 1);
    assert_true(r.ms[CONVOP_STAGE_PRODUCT] >= 2);
    double others = 0;
    for (int i = 0; i < CONVOP_STAGE_COUNT; i++)
        if (i != CONVOP_STAGE_CALL && i != CONVOP_STAGE_PRODUCT) others += r.ms[i];
    assert_true(others == 0);
}

/* Left while off, a stage is not the one that a later collection finds this thread in. */
static void earlier_collections_leave_nothing(void **state)
{
    (void)state;
    convop_stages_collect(1);
    int none = cvp_stage_enter(CONVOP_STAGE_COPY);
    convop_stages_collect(0);
    cvp_stage_leave(none);
    pass_time();
    convop_stages_collect(1);
    struct totals before = read_totals();
    assert_int_equal(cvp_stage_enter(CONVOP_STAGE_PLAN), CVP_STAGE_NONE);
    cvp_stage_leave(CVP_STAGE_NONE);
    convop_stages_collect(0);
    struct totals r = since(&before);
    assert_true(r.ms[CONVOP_STAGE_COPY] == 0);
    assert_int_equal(r.count[CONVOP_STAGE_PLAN], 1);
}

static void starts_and_ends_count(void **state)
{
    (void)state;
    convop_stages_collect(1);
    convop_stages_collect(1);
    convop_stages_collect(0);
    struct totals before = read_totals();
    cvp_stage_leave(cvp_stage_enter(CONVOP_STAGE_PLAN));
    assert_int_equal(since(&before).count[CONVOP_STAGE_PLAN], 1);
    for (int i = 0; i < 3; i++) convop_stages_collect(0);
    before = read_totals();
    cvp_stage_leave(cvp_stage_enter(CONVOP_STAGE_PLAN));
    assert_int_equal(since(&before).count[CONVOP_STAGE_PLAN], 0);
    convop_stages_collect(1);
    cvp_stage_leave(cvp_stage_enter(CONVOP_STAGE_PLAN));
    assert_int_equal(since(&before).count[CONVOP_STAGE_PLAN], 1);
    convop_stages_collect(0);
}

static void mark_lowering(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)arg;
    (void)lane;
    for (int64_t i = begin; i < end; i++) cvp_stage_leave(cvp_stage_enter(CONVOP_STAGE_LOWERING));
}

/* All items are counted, on whatever threads, and lanes are in their caller's stage. */
static void lanes_are_in_the_callers_stage(void **state)
{
    (void)state;
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    options.num_threads = 4;
    convop_context *context;
    assert_int_equal(convop_context_create(&options, &context), CONVOP_OK);
    convop_stages_collect(1);
    struct totals before = read_totals();
    int outer = cvp_stage_enter(CONVOP_STAGE_KERNEL);
    cvp_parallel(context, 1000, mark_lowering, NULL);
    cvp_stage_leave(outer);
    struct totals r = since(&before);
    convop_stages_collect(0);
    convop_context_destroy(&context);
    assert_int_equal(r.count[CONVOP_STAGE_LOWERING], 1000);
    assert_int_equal(r.count[CONVOP_STAGE_THREADS], 1);
    assert_true(r.count[CONVOP_STAGE_KERNEL] >= 2 && r.count[CONVOP_STAGE_KERNEL] <= 5);
}

static void *enter_many(void *arg)
{
    for (int i = 0; i < 10000; i++) cvp_stage_leave(cvp_stage_enter(CONVOP_STAGE_COPY));
    return arg;
}

static void threads_lose_no_count(void **state)
{
    (void)state;
    pthread_t threads[4];
    convop_stages_collect(1);
    struct totals before = read_totals();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, enter_many, NULL), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    assert_int_equal(since(&before).count[CONVOP_STAGE_COPY], 40000);
    convop_stages_collect(0);
}

static void wrong_readings_are_refused(void **state)
{
    (void)state;
    convop_stage_time time = {.struct_size = sizeof time};
    assert_int_equal(convop_stage_read(CONVOP_STAGE_COUNT, &time), CONVOP_E_INVALID);
    assert_int_equal(convop_stage_read((convop_stage)-1, &time), CONVOP_E_INVALID);
    assert_int_equal(convop_stage_read(CONVOP_STAGE_CALL, NULL), CONVOP_E_INVALID);
    time.struct_size = 1;
    assert_int_equal(convop_stage_read(CONVOP_STAGE_CALL, &time), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "convop_stage_read"));
}

/* A convolution chooses its row in its first call, another operator never. */
static void only_a_choice_is_planning(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    const DLTensor *in[] = {&x.s};
    DLTensor *out[] = {&x.d};
    static const char *const key[] = {"act_type"}, *const value[] = {"relu"};
    for (int i = 0; i < 3; i++) {
        struct totals before = read_totals();
        convop_stages_collect(1);
        if (i < 2)
            assert_int_equal(forward(&x), CONVOP_OK);
        else
            assert_int_equal(convop_invoke("Activation", 1, key, value, 1, in, 1, out, NULL, NULL),
                             CONVOP_OK);
        convop_stages_collect(0);
        struct totals r = since(&before);
        assert_int_equal(r.count[CONVOP_STAGE_CALL], 1);
        assert_int_equal(r.count[CONVOP_STAGE_PLAN], i == 0);
        assert_true((r.ms[CONVOP_STAGE_PLAN] > 0) == (i == 0));
        assert_int_equal(r.count[CONVOP_STAGE_KERNEL], i < 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_choice_is_planning),
        cmocka_unit_test(is_off_by_default),
        cmocka_unit_test(inner_time_is_not_the_outer_ones),
        cmocka_unit_test(earlier_collections_leave_nothing),
        cmocka_unit_test(starts_and_ends_count),
        cmocka_unit_test(lanes_are_in_the_callers_stage),
        cmocka_unit_test(threads_lose_no_count),
        cmocka_unit_test(wrong_readings_are_refused),
    };
    return cmocka_run_group_tests_name("stage", tests, NULL, NULL);
}

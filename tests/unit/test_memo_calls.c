/* When the plans of earlier calls are old, what is checked in each call all the same, and plans in
 * threads and forked children. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>

#include "tests/support/child.h"
#include "tests/support/memo_call.h"
#include "tests/support/sample_row.h"

/* ---- what makes plans old ------------------------------------------------------------------- */

static void settings_and_rows_make_plans_old(void **state)
{
    (void)state;
    struct call c;
    convop_conv_impl row = row_of("a", 20);
    begin(&c);
    cvp_memo_purge();
    assert_false(is_hit(&c));
    expect_ok(convop_set("deterministic", "0"));
    assert_false(is_hit(&c));
    assert_true(is_hit(&c));
    expect_ok(convop_set("deterministic", NULL));
    assert_false(is_hit(&c));
    expect_ok(convop_conv_impl_register(&row));
    assert_false(is_hit(&c));
    assert_true(*(float *)(void *)memory[DST] == 42);
    assert_true(is_hit(&c));
    expect_ok(convop_conv_impl_unregister(&row, NULL, NULL));
    assert_false(is_hit(&c));
    assert_true(*(float *)(void *)memory[DST] == 0);
    convop_trim();
    assert_int_equal(cvp_memo_counts().entries, 0);
    assert_false(is_hit(&c));
}

static void a_row_is_released_when_it_is_taken_back(void **state)
{
    (void)state;
    struct call c, d;
    begin(&c);
    d = c;
    d.request = CONVOP_REQ_ADD;
    convop_conv_impl row = row_of("a", 20);
    for (int i = 0; i < 3; i++) {
        atomic_int released = 0;
        expect_ok(convop_conv_impl_register(&row));
        expect_ok(run(&c));
        expect_ok(run(&c));
        if (i > 0) expect_ok(run(&d));
        /* A plan that no call finds any more still refers to the row. */
        if (i > 1) expect_ok(convop_set("deterministic", NULL));
        expect_ok(convop_conv_impl_unregister(&row, count, &released));
        assert_int_equal(released, 1);
    }
}

static void count_choices(void *number, const char *line)
{
    *(int *)number += strstr(line, ",chosen") != NULL;
}

static void how_each_call_was_planned_is_written(void **state)
{
    (void)state;
    struct call c;
    int chosen = 0;
    begin(&c);
    expect_ok(run(&c));
    expect_ok(convop_set("verbose", "2"));
    convop_set_log_sink(count_choices, &chosen);
    for (int i = 1; i < 4; i++) {
        expect_ok(run(&c));
        assert_int_equal(chosen, i);
    }
    convop_set_log_sink(NULL, NULL);
    expect_ok(convop_set("verbose", NULL));
}

/* The next context may lie where the last one was. */
static void a_context_is_known_by_more_than_its_address(void **state)
{
    (void)state;
    struct call c;
    begin(&c);
    const void *last = NULL;
    int same_place = 0;
    for (int i = 0; i < 20; i++) {
        convop_context *made;
        convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
        options.num_threads = 1 + i % 2;
        expect_ok(convop_context_create(&options, &made));
        same_place += made == last;
        c.exec.context = made;
        assert_false(is_hit(&c));
        assert_true(is_hit(&c));
        last = made;
        convop_context_destroy(&made);
    }
    printf("%d of 20 contexts were where the last one had been\n", same_place);
}

/* ---- errors after a plan is there ----------------------------------------------------------- */

static void addresses_are_checked_in_each_call(void **state)
{
    (void)state;
    struct call c, bad;
    begin(&c);
    char text[256];
    expect_ok(run(&c));
    for (int i = 0; i < 7; i++) {
        bad = c;
        if (i == 0) bad.t[SRC].data = NULL;
        if (i == 1) bad.t[WEIGHTS].byte_offset = 2;
        if (i == 2) bad.t[DST].data = memory[SRC] + 16;
        if (i == 3) bad.t[DST].data = memory[WEIGHTS];
        if (i == 4) bad.t[DST].data = NULL;
        if (i == 5) bad.t[SRC].byte_offset = UINT64_MAX - 3;
        if (i == 6) bad.t[SRC].data = (void *)(UINTPTR_MAX - 15);
        assert_int_equal(run(&bad), CONVOP_E_INVALID);
        snprintf(text, sizeof text, "%s", convop_last_error());
        cvp_memo_purge();
        expect_text(CONVOP_E_INVALID, text, run(&bad));
        assert_false(is_hit(&c));
        assert_true(is_hit(&c));
    }
}

static void bad_calls_are_not_kept(void **state)
{
    (void)state;
    struct call c;
    begin(&c);
    set_shape(&c, DST, 2, 4, 4, 5);
    struct cvp_memo_counts before = cvp_memo_counts();
    for (int i = 0; i < 2; i++) assert_int_equal(run(&c), CONVOP_E_INVALID);
    begin(&c);
    c.params.kernel.len = 900;
    for (int i = 0; i < 2; i++) assert_int_equal(run(&c), CONVOP_E_INVALID);
    begin(&c);
    for (int i = 0; i < NUM_TENSORS; i++) c.t[i].dtype = (DLDataType){kDLInt, 32, 1};
    for (int i = 0; i < 2; i++) assert_int_equal(run(&c), CONVOP_E_UNSUPPORTED);
    struct cvp_memo_counts after = cvp_memo_counts();
    assert_int_equal(after.kept, before.kept);
    assert_int_equal(after.hits, before.hits);
}

/* ---- threads and forks ---------------------------------------------------------------------- */

struct worker {
    struct call call;
    float dst[128], expected[128];
    int rounds;
    int wrong;
};

static void *work(void *worker_)
{
    struct worker *w = worker_;
    for (int i = 0; i < w->rounds; i++) {
        memset(w->dst, 0, sizeof w->dst);
        if (run(&w->call) != CONVOP_OK || memcmp(w->dst, w->expected, sizeof w->dst) != 0)
            w->wrong++;
    }
    return NULL;
}

/* Half of them the same problem, half of them one of their own. */
static void threads_take_plans(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    static struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < (int)(sizeof memory[0] / sizeof(float)); i++) {
        ((float *)(void *)memory[SRC])[i] = (float)(i % 11);
        ((float *)(void *)memory[WEIGHTS])[i] = (float)(i % 7) - 3;
    }
    for (int i = 0; i < THREADS; i++) {
        struct worker *w = &workers[i];
        begin(&w->call);
        if (i % 2) w->call.params.workspace_bytes -= (size_t)i;
        if (i % 4 == 3) set_strides(&w->call, SRC, 4 * 36, 36, 6, 1);
        w->call.t[DST].data = w->dst;
        w->rounds = 2000;
        cvp_memo_purge();
        expect_ok(run(&w->call));
        memcpy(w->expected, w->dst, sizeof w->dst);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    convop_conv_impl row = row_of("never", 5); /* below the others */
    for (int i = 0; i < 50; i++) {
        expect_ok(convop_conv_impl_register(&row));
        expect_ok(convop_conv_impl_unregister(&row, NULL, NULL));
        expect_ok(convop_set("deterministic", NULL));
        convop_trim();
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) assert_int_equal(workers[i].wrong, 0);
    memset(memory, 0, sizeof memory);
}

static int call_in_child(void *call)
{
    struct cvp_memo_counts before = cvp_memo_counts();
    if (run(call) != CONVOP_OK || run(call) != CONVOP_OK) return 1;
    if (cvp_memo_counts().hits - before.hits < 1) return 2;
    cvp_memo_purge();
    return run(call) != CONVOP_OK;
}

static void a_child_takes_plans(void **state)
{
    (void)state;
    struct call c;
    convop_context *context;
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    options.num_threads = 1;
    expect_ok(convop_context_create(&options, &context));
    begin(&c);
    c.exec.context = context;
    expect_ok(run(&c));
    assert_int_equal(test_reap(test_fork(call_in_child, &c)), 0);
    assert_true(is_hit(&c));
    convop_context_destroy(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_and_rows_make_plans_old),
        cmocka_unit_test(a_row_is_released_when_it_is_taken_back),
        cmocka_unit_test(how_each_call_was_planned_is_written),
        cmocka_unit_test(a_context_is_known_by_more_than_its_address),
        cmocka_unit_test(addresses_are_checked_in_each_call),
        cmocka_unit_test(bad_calls_are_not_kept),
        cmocka_unit_test(threads_take_plans),
        cmocka_unit_test(a_child_takes_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

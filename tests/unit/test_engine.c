/* The engine's calls on both kinds: making it, waits, many threads, bad arguments, no memory, its
 * end. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "convop/settings.h"
#include "src/engine/thread.h"
#include "tests/support/engine.h"

static void kinds(void **state)
{
    (void)state;
    convop_engine *e = NULL;
    convop_engine_options options = CONVOP_ENGINE_OPTIONS_INIT;
    options.num_workers = 1;
    expect_ok(convop_engine_create(&options, &e));
    assert_int_equal(convop_engine_get_kind(e), CONVOP_ENGINE_THREADED);
    convop_engine_destroy(&e);
    expect_ok(convop_set("engine", "naive"));
    expect_ok(convop_engine_create(NULL, &e));
    assert_int_equal(convop_engine_get_kind(e), CONVOP_ENGINE_NAIVE);
    convop_engine_destroy(&e);
    options.kind = CONVOP_ENGINE_THREADED;
    expect_ok(convop_engine_create(&options, &e));
    assert_int_equal(convop_engine_get_kind(e), CONVOP_ENGINE_THREADED);
    convop_engine_destroy(&e);
    expect_ok(convop_set("engine", NULL));
    for (int kind = -1; kind <= 3; kind += 4) {
        options.kind = (convop_engine_kind)kind;
        assert_int_equal(convop_engine_create(&options, &e), CONVOP_E_INVALID);
        assert_null(e);
    }
    options.kind = CONVOP_ENGINE_THREADED;
    for (int workers = -1; workers <= 4097; workers += 4098) {
        options.num_workers = workers;
        assert_int_equal(convop_engine_create(&options, &e), CONVOP_E_INVALID);
        assert_null(e);
    }
    assert_int_equal(convop_engine_create(NULL, NULL), CONVOP_E_INVALID);
    assert_int_equal(convop_engine_get_kind(NULL), CONVOP_ENGINE_DEFAULT);
}

static void create_fails_clean(void **state)
{
    (void)state;
    convop_engine_options options = CONVOP_ENGINE_OPTIONS_INIT;
    options.kind = CONVOP_ENGINE_THREADED;
    options.num_workers = 3;
    convop_engine *e = NULL;
    uint64_t live = cvp_alloc_live();
    for (uint64_t n = 1; n <= 2; n++) {
        cvp_alloc_fail_at(n);
        convop_status status = convop_engine_create(&options, &e);
        cvp_alloc_fail_at(0);
        assert_int_equal(status, CONVOP_E_NO_MEMORY);
        assert_null(e);
    }
    cvp_thread_refuse_after(0);
    convop_status status = convop_engine_create(&options, &e);
    cvp_thread_refuse_after(-1);
    assert_int_equal(status, CONVOP_E_NO_MEMORY);
    assert_null(e);
    cvp_thread_refuse_after(1); /* one worker is enough */
    status = convop_engine_create(&options, &e);
    cvp_thread_refuse_after(-1);
    expect_ok(status);
    int runs = 0;
    convop_var v = new_var(e);
    for (int i = 0; i < 10; i++) expect_ok(push(e, "x", good, &runs, NULL, VARS(v)));
    convop_engine_destroy(&e);
    assert_int_equal(runs, 10);
    assert_int_equal(cvp_alloc_live(), live);
}

/* ---- many threads ------------------------------------------------------------------------------
 */

struct crowd {
    convop_engine *engine;
    convop_var var[8];
    int value[8];
    atomic_int bad, next;
};

static void *push_and_wait(void *arg)
{
    struct crowd *crowd = arg;
    int me = atomic_fetch_add(&crowd->next, 1);
    for (int i = 0; i < 200; i++) {
        int k = (me + i) % 8, other = (k + 1) % 8;
        convop_status status = push(crowd->engine, "add", good, &crowd->value[k],
                                    VARS(crowd->var[other]), VARS(crowd->var[k]));
        if (status != CONVOP_OK) atomic_fetch_add(&crowd->bad, 1);
        status = i % 3 == 0    ? convop_engine_wait(crowd->engine, crowd->var[other])
                 : i % 50 == 1 ? convop_engine_wait_all(crowd->engine)
                               : CONVOP_OK;
        if (status != CONVOP_OK) atomic_fetch_add(&crowd->bad, 1);
    }
    return NULL;
}

static void many_threads_push_and_wait(void **state)
{
    struct crowd crowd = {.engine = ((struct fixture *)*state)->engine};
    pthread_t thread[8];
    for (int i = 0; i < 8; i++) crowd.var[i] = new_var(crowd.engine);
    for (int i = 0; i < 8; i++) pthread_create(&thread[i], NULL, push_and_wait, &crowd);
    for (int i = 0; i < 8; i++) pthread_join(thread[i], NULL);
    expect_ok(convop_engine_wait_all(crowd.engine));
    int sum = 0;
    for (int i = 0; i < 8; i++) sum += crowd.value[i];
    assert_int_equal(crowd.bad, 0);
    assert_int_equal(sum, 1600);
}

/* ---- waits and the end -------------------------------------------------------------------------
 */

/* wait(var) waits for writes only, and not for what does not use the variable. */
static void a_wait_waits_for_writes(void **state)
{
    struct fixture *f = *state;
    convop_var v = new_var(f->engine), w = new_var(f->engine);
    struct copy slow = {&(int){5}, 0, 300};
    expect_ok(convop_engine_wait(f->engine, v));
    struct timespec begin, end;
    expect_ok(push(f->engine, "slow", copy_slowly, &slow, VARS(v), VARS(w)));
    clock_gettime(CLOCK_MONOTONIC, &begin);
    expect_ok(convop_engine_wait(f->engine, v));
    clock_gettime(CLOCK_MONOTONIC, &end);
    double ms =
        (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) * 1e-6;
    assert_true(ms < 250);
    expect_ok(convop_engine_wait(f->engine, w));
    assert_int_equal(slow.to, 5);
}

static void destroy_finishes_what_is_queued(void **state)
{
    struct fixture *f = *state;
    convop_var v = new_var(f->engine), w = new_var(f->engine);
    static int runs;
    runs = 0;
    struct copy slow = {&(int){0}, 0, 20};
    expect_ok(push(f->engine, "slow", copy_slowly, &slow, NULL, VARS(v)));
    for (int i = 0; i < 100; i++) {
        expect_ok(push(f->engine, "queued", good, &runs, VARS(v), VARS(w)));
    }
    convop_engine_destroy(&f->engine);
    assert_null(f->engine);
    assert_int_equal(runs, 100);
}

static void bad_calls_are_refused(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine, *none = NULL;
    convop_var v = new_var(e), zero = 0, *no_vars = NULL;
    uint64_t version;
    convop_task task = CONVOP_TASK_INIT;
    assert_int_equal(convop_engine_push(e, &task), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "run"));
    task.run = good;
    assert_int_equal(convop_engine_push(NULL, &task), CONVOP_E_INVALID);
    assert_int_equal(convop_engine_push(e, NULL), CONVOP_E_INVALID);
    task.num_reads = 1;
    assert_int_equal(convop_engine_push(e, &task), CONVOP_E_INVALID);
    task.reads = &zero;
    assert_int_equal(convop_engine_push(e, &task), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "reads[0] is 0"));
    task.reads = &v;
    task.num_writes = SIZE_MAX;
    task.writes = &v;
    assert_int_equal(convop_engine_push(e, &task), CONVOP_E_NO_MEMORY);
    task.num_writes = 0;
    task.struct_size = 1;
    assert_int_equal(convop_engine_push(e, &task), CONVOP_E_INVALID);
    assert_int_equal(convop_engine_wait(e, 0), CONVOP_E_INVALID);
    assert_int_equal(convop_engine_wait(NULL, v), CONVOP_E_INVALID);
    assert_int_equal(convop_engine_wait_all(NULL), CONVOP_E_INVALID);
    assert_int_equal(convop_var_create(e, no_vars), CONVOP_E_INVALID);
    assert_int_equal(convop_var_create(NULL, &zero), CONVOP_E_INVALID);
    assert_int_equal(convop_var_delete(e, no_vars), CONVOP_E_INVALID);
    assert_int_equal(convop_var_delete(NULL, &v), CONVOP_E_INVALID);
    assert_int_equal(convop_var_version(e, v, NULL), CONVOP_E_INVALID);
    assert_int_equal(convop_var_version(NULL, v, &version), CONVOP_E_INVALID);
    convop_engine_destroy(&none);
    convop_engine_destroy(NULL);
    /* none of it did anything */
    expect_ok(convop_engine_wait_all(e));
    expect_ok(convop_var_version(e, v, &version));
    assert_int_equal(version, 0);
}

static void no_memory_for_a_push_leaves_nothing(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var v = new_var(e), fresh = 9;
    uint64_t live = cvp_alloc_live();
    cvp_alloc_fail_at(1);
    convop_status status = push(e, "x", good, NULL, VARS(v), VARS(v));
    cvp_alloc_fail_at(0);
    assert_int_equal(status, CONVOP_E_NO_MEMORY);
    assert_int_equal(cvp_alloc_live(), live);
    cvp_alloc_fail_at(1);
    status = convop_var_create(e, &fresh);
    cvp_alloc_fail_at(0);
    assert_int_equal(status, CONVOP_E_NO_MEMORY);
    assert_true(fresh == 0);
    assert_int_equal(cvp_alloc_live(), live);
    expect_ok(push(e, "x", good, NULL, VARS(v), VARS(v)));
    expect_ok(convop_engine_wait(e, v));
}

/* A table that cannot grow still finds everything. */
static void many_variables(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    enum { N = 3000 };
    static convop_var var[N];
    for (int i = 0; i < N; i++) {
        if (i == 64 || i == 1000) cvp_alloc_fail_at(2); /* 1 is the variable, 2 the table */
        var[i] = new_var(e);
        cvp_alloc_fail_at(0);
    }
    int runs = 0;
    for (int i = 0; i < N; i += 3) expect_ok(convop_var_delete(e, &var[i]));
    for (int i = 0; i < N; i++) {
        if (i % 3 != 0) expect_ok(push(e, "x", good, &runs, NULL, VARS(var[i], var[1])));
    }
    expect_ok(convop_engine_wait_all(e));
    assert_int_equal(runs, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(many_threads_push_and_wait),
        BOTH(a_wait_waits_for_writes),
        BOTH(destroy_finishes_what_is_queued),
        BOTH(bad_calls_are_refused),
        BOTH(no_memory_for_a_push_leaves_nothing),
        BOTH(many_variables),
        cmocka_unit_test(kinds),
        cmocka_unit_test(create_fails_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

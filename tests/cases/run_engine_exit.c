/* An engine with tasks pending where its process ends, or forks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/cases/run.h"
#include "tests/support/child.h"
#include "tests/support/engine.h"

static convop_engine *engine;

static convop_status nap(void *user)
{
    (void)user;
    sleep_ms(5);
    return CONVOP_OK;
}

/* In a process of its own: 1 destroys the engine, 0 just leaves. */
static int leave(void *destroys)
{
    convop_engine_options options = CONVOP_ENGINE_OPTIONS_INIT;
    convop_engine *own = NULL;
    convop_var v = 0;
    alarm(5);
    options.num_workers = 2;
    if (convop_engine_create(&options, &own) != CONVOP_OK) return 2;
    if (convop_var_create(own, &v) != CONVOP_OK) return 3;
    for (int i = 0; i < 50; i++)
        if (push(own, "nap", nap, NULL, NULL, VARS(v)) != CONVOP_OK) return 4;
    if (*(int *)destroys) convop_engine_destroy(&own);
    exit(0); /* with destructors and exit handlers, as a host would */
}

static void shutdown(const struct test_case *c)
{
    (void)c;
    for (int destroys = 0; destroys < 2 && TEST_CHILD_MAY_THREAD; destroys++)
        assert_int_equal(test_reap(test_fork(leave, &destroys)), 0);
}

/* The child of a fork with tasks pending: its queue is empty, the parent's engine is refused. */
static int child_of_pending(void *user)
{
    (void)user;
    if (convop_engine_wait_all(engine) == CONVOP_OK) return 1;
    convop_engine_destroy(&engine);
    return engine == NULL && library_is_usable() ? 0 : 2;
}

static void pending_at_a_fork(const struct test_case *c)
{
    (void)c;
    if (!TEST_CHILD_MAY_THREAD) skip_case("a sanitizer does not survive it");
    struct fixture f = {.kind = CONVOP_ENGINE_THREADED};
    void *state = &f;
    int count = 0;
    assert_int_equal(set_up(&state), 0);
    engine = f.engine;
    convop_var v = new_var(engine);
    for (int i = 0; i < 20; i++) {
        expect_ok(push(engine, "nap", nap, NULL, NULL, VARS(v)));
        expect_ok(push(engine, "count", good, &count, NULL, VARS(v)));
    }
    assert_int_equal(test_reap(test_fork(child_of_pending, NULL)), 0);
    expect_ok(convop_engine_wait(engine, v));
    assert_int_equal(count, 20);
    assert_int_equal(tear_down(&state), 0);
}

case_run run_engine_exit_for(const struct test_case *c)
{
    if (strcmp(c->id, "eng.shutdown_pending") == 0) return shutdown;
    if (strcmp(c->id, "fork.pending_engine") == 0) return pending_at_a_fork;
    return NULL;
}

/* What the tests of the engine share: an engine of each kind, a short form of push, small tasks.
 * Include after cmocka.h. */
#ifndef CVP_TESTS_ENGINE_H
#define CVP_TESTS_ENGINE_H

#include <stdint.h>
#include <time.h>

#include "convop/engine.h"
#include "src/common/alloc.h"
#include "src/common/status.h"
#include "tests/support/expect.h"

struct fixture {
    convop_engine_kind kind;
    convop_engine *engine;
    uint64_t live;
};

static inline int set_up(void **state)
{
    struct fixture *f = *state;
    convop_engine_options options = CONVOP_ENGINE_OPTIONS_INIT;
    options.kind = f->kind;
    options.num_workers = 4;
    f->live = cvp_alloc_live();
    return convop_engine_create(&options, &f->engine) == CONVOP_OK ? 0 : -1;
}

/* Whatever a test left on the engine, destroying it gives all back. */
static inline int tear_down(void **state)
{
    struct fixture *f = *state;
    convop_engine_destroy(&f->engine);
    return f->engine == NULL && cvp_alloc_live() == f->live ? 0 : -1;
}

static inline void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static inline convop_var new_var(convop_engine *engine)
{
    convop_var var = 0;
    expect_ok(convop_var_create(engine, &var));
    assert_true(var != 0);
    return var;
}

/* reads and writes end with 0. */
static inline convop_status push(convop_engine *engine, const char *name,
                                 convop_status (*run)(void *), const void *user,
                                 const convop_var *reads, const convop_var *writes)
{
    convop_task task = CONVOP_TASK_INIT;
    task.name = name;
    task.run = run;
    task.user = (void *)(uintptr_t)user;
    task.reads = reads;
    task.writes = writes;
    while (reads != NULL && reads[task.num_reads] != 0) task.num_reads++;
    while (writes != NULL && writes[task.num_writes] != 0) task.num_writes++;
    return convop_engine_push(engine, &task);
}

#define VARS(...) ((const convop_var[]){__VA_ARGS__, 0})

static inline convop_status good(void *user)
{
    if (user != NULL) ++*(int *)user;
    return CONVOP_OK;
}

static inline convop_status bad(void *user)
{
    return convop_fail(CONVOP_E_UNSUPPORTED, "task: cannot, because of %s", (const char *)user);
}

static inline convop_status silent(void *user)
{
    (void)user;
    return CONVOP_E_IO;
}

static inline convop_status slow_bad(void *user)
{
    sleep_ms(20);
    return bad(user);
}

#define TEXT(why) "task: cannot, because of " why

struct copy {
    const int *from;
    int to;
    long ms;
};

static inline convop_status copy_slowly(void *user)
{
    struct copy *copy = user;
    sleep_ms(copy->ms);
    copy->to = *copy->from;
    return CONVOP_OK;
}

/* Inside main only: the fixtures live as long as that. */
#define BOTH(test)                                                                                 \
    {"naive/" #test, test, set_up, tear_down, &(struct fixture){.kind = CONVOP_ENGINE_NAIVE}},     \
    {                                                                                              \
        "threaded/" #test, test, set_up, tear_down, &(struct fixture)                              \
        {                                                                                          \
            .kind = CONVOP_ENGINE_THREADED                                                         \
        }                                                                                          \
    }

#endif

/* Forks: of the pool and of the engine, before first use, in the middle of work, in chains, from
 * two threads at once. A deadlock ends by an alarm, so each case is a child or is timed by the
 * runner. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "convop/settings.h"
#include "src/engine/parallel.h"
#include "tests/support/child.h"
#include "tests/support/engine.h"

#define ITEMS 1009

static void square(void *arg, int lane, int64_t begin, int64_t end)
{
    uint64_t *out = arg;
    (void)lane;
    for (int64_t i = begin; i < end; i++) out[i] = (uint64_t)(i * i) + 1;
}

/* 0 if loops compute what they should. Also the body of children. */
static int use_loops(void *arg)
{
    uint64_t out[ITEMS];
    int wrong = 0;
    for (int k = 0; k < 20; k++) {
        memset(out, 0, sizeof(out));
        cvp_parallel(arg, ITEMS, square, out);
        for (int i = 0; i < ITEMS; i++) wrong |= out[i] != (uint64_t)(i * i) + 1;
    }
    return wrong;
}

static int exit_at_once(void *arg)
{
    (void)arg;
    return 0;
}

static int in_child(void *arg)
{
    return TEST_CHILD_MAY_THREAD ? use_loops(arg) : exit_at_once(arg);
}

/* Must be first: nothing of the library has been used yet. */
static void before_first_use(void **state)
{
    (void)state;
    expect_ok(convop_set("num_threads", "4"));
    pid_t child = test_fork(in_child, NULL);
    assert_int_equal(use_loops(NULL), 0);
    assert_int_equal(test_reap(child), 0);
}

static void parent_goes_on(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(use_loops(NULL), 0);
        assert_int_equal(test_reap(test_fork(exit_at_once, NULL)), 0);
    }
    assert_int_equal(use_loops(NULL), 0);
}

static int grandchildren(void *depth)
{
    int left = *(int *)depth - 1, wrong = use_loops(NULL);
    if (left > 0) wrong |= test_reap(test_fork(grandchildren, &left)) != 0;
    return wrong | use_loops(NULL);
}

static void chain_of_forks(void **state)
{
    if (!TEST_CHILD_MAY_THREAD) skip();
    (void)state;
    int depth = 5;
    assert_int_equal(use_loops(NULL), 0);
    assert_int_equal(test_reap(test_fork(grandchildren, &depth)), 0);
}

static int own_context(void *arg)
{
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_context *context, *inherited = arg;
    options.num_threads = 3;
    int wrong = use_loops(inherited);
    if (convop_context_create(&options, &context) != CONVOP_OK) return 2;
    wrong |= use_loops(context);
    convop_context_destroy(&context);
    convop_context_destroy(&inherited); /* its threads are the parent's */
    return wrong;
}

static void contexts_in_the_child(void **state)
{
    if (!TEST_CHILD_MAY_THREAD) skip();
    (void)state;
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_context *context;
    options.num_threads = 5;
    expect_ok(convop_context_create(&options, &context));
    assert_int_equal(use_loops(context), 0);
    assert_int_equal(test_reap(test_fork(own_context, context)), 0);
    assert_int_equal(use_loops(context), 0);
    convop_context_destroy(&context);
}

/* ---- forks while other threads work --------------------------------------------------------- */

static atomic_int stop, wrong, forks;

static void *keep_looping(void *arg)
{
    while (!atomic_load(&stop)) atomic_fetch_or(&wrong, use_loops(arg));
    return NULL;
}

static void *keep_forking(void *arg)
{
    (void)arg;
    for (int i = 0; i < 25; i++) {
        atomic_fetch_or(&wrong, test_reap(test_fork(in_child, NULL)) != 0);
        atomic_fetch_add(&forks, 1);
    }
    return NULL;
}

static void two_threads_fork_while_a_third_loops(void **state)
{
    (void)state;
    pthread_t looping, forking[2];
    atomic_store(&stop, 0);
    pthread_create(&looping, NULL, keep_looping, NULL);
    for (int i = 0; i < 2; i++) pthread_create(&forking[i], NULL, keep_forking, NULL);
    for (int i = 0; i < 2; i++) pthread_join(forking[i], NULL);
    atomic_store(&stop, 1);
    pthread_join(looping, NULL);
    assert_int_equal(forks, 50);
    assert_int_equal(wrong, 0);
}

static void *make_and_destroy(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
        convop_context *context = NULL;
        convop_engine *engine = NULL;
        convop_engine_options engine_options = CONVOP_ENGINE_OPTIONS_INIT;
        options.num_threads = 2;
        engine_options.num_workers = 1;
        if (convop_context_create(&options, &context) != CONVOP_OK) atomic_store(&wrong, 1);
        if (convop_engine_create(&engine_options, &engine) != CONVOP_OK) atomic_store(&wrong, 1);
        atomic_fetch_or(&wrong, use_loops(context));
        convop_engine_destroy(&engine);
        convop_context_destroy(&context);
    }
    return NULL;
}

static void forks_while_pools_come_and_go(void **state)
{
    (void)state;
    pthread_t making, forking;
    atomic_store(&stop, 0);
    pthread_create(&making, NULL, make_and_destroy, NULL);
    pthread_create(&forking, NULL, keep_forking, NULL);
    pthread_join(forking, NULL);
    atomic_store(&stop, 1);
    pthread_join(making, NULL);
    assert_int_equal(wrong, 0);
}

/* A training loop that starts a program every 100 steps. */
static void subprocess_every_100_steps(void **state)
{
    (void)state;
    uint64_t out[ITEMS];
    for (int step = 0; step < 500; step++) {
        cvp_parallel(NULL, ITEMS, square, out);
        if (step % 100 != 0) continue;
        pid_t child = fork();
        if (child == 0) {
            execlp("true", "true", (char *)NULL);
            _exit(127);
        }
        assert_int_equal(test_reap(child), 0);
    }
}

/* A body that forks: the child gets through the loop without the threads it no longer has. */
static void fork_inside(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)begin, (void)end;
    if (lane == 0 && *(pid_t *)arg == -1) {
        *(pid_t *)arg = fork();
        if (*(pid_t *)arg == 0) alarm(TEST_CHILD_SECONDS);
    }
}

static void fork_in_a_body(void **state)
{
    if (!TEST_CHILD_MAY_THREAD) skip();
    (void)state;
    pid_t child = -1;
    cvp_parallel(NULL, 1000000, fork_inside, &child);
    if (child == 0) _exit(use_loops(NULL));
    if (child > 0) assert_int_equal(test_reap(child), 0);
}

/* ---- engines -------------------------------------------------------------------------------- */

static atomic_int open_gate, runs, destroys;

static convop_status behind_gate(void *user)
{
    (void)user;
    while (!atomic_load(&open_gate)) sched_yield();
    atomic_fetch_add(&runs, 1);
    return CONVOP_OK;
}

static void count_destroy(void *user)
{
    (void)user;
    atomic_fetch_add(&destroys, 1);
}

static int refused(convop_status status)
{
    return status == CONVOP_E_STATE && strstr(convop_last_error(), "parent") != NULL;
}

struct inherited {
    convop_engine *engine;
    convop_var var;
    convop_engine_kind kind;
};

static int engine_in_child(void *arg)
{
    struct inherited *in = arg;
    convop_var var = in->var, other;
    uint64_t version;
    if (!refused(convop_engine_wait(in->engine, var))) return 1;
    if (!refused(convop_engine_wait_all(in->engine))) return 2;
    if (!refused(push(in->engine, "late", good, NULL, NULL, VARS(var)))) return 3;
    if (!refused(convop_var_create(in->engine, &other))) return 4;
    if (!refused(convop_var_version(in->engine, var, &version))) return 5;
    if (!refused(convop_var_delete(in->engine, &var))) return 6;
    if (convop_engine_get_kind(in->engine) != in->kind) return 7;
    uint64_t live = cvp_alloc_live();
    convop_engine_destroy(&in->engine);
    if (in->engine != NULL) return 8;
    if (cvp_alloc_live() >= live) return 9;
    /* what was pending is the parent's to run and to destroy */
    if (atomic_load(&runs) != 0 || atomic_load(&destroys) != 0) return 10;
    convop_engine_options options = CONVOP_ENGINE_OPTIONS_INIT;
    options.kind = in->kind;
    if (convop_engine_create(&options, &in->engine) != CONVOP_OK) return 11;
    int count = 0;
    if (convop_var_create(in->engine, &var) != CONVOP_OK) return 12;
    for (int i = 0; i < 100; i++) {
        if (push(in->engine, "new", good, &count, NULL, VARS(var)) != CONVOP_OK) return 13;
    }
    if (convop_engine_wait(in->engine, var) != CONVOP_OK || count != 100) return 14;
    convop_engine_destroy(&in->engine);
    return use_loops(NULL);
}

static void pending_tasks_are_the_parents(void **state)
{
    if (!TEST_CHILD_MAY_THREAD) skip();
    struct fixture *f = *state;
    convop_var v = new_var(f->engine), deleted = new_var(f->engine);
    atomic_store(&open_gate, f->kind == CONVOP_ENGINE_NAIVE);
    for (int i = 0; i < 50; i++) {
        convop_task task = CONVOP_TASK_INIT;
        task.run = behind_gate;
        task.destroy = count_destroy;
        task.writes = (const convop_var[]){v, deleted};
        task.num_writes = 2;
        expect_ok(convop_engine_push(f->engine, &task));
    }
    expect_ok(convop_var_delete(f->engine, &deleted));
    if (f->kind == CONVOP_ENGINE_NAIVE)
        runs = destroys = 0; /* of the naive kind nothing is pending */
    struct inherited in = {f->engine, v, f->kind};
    assert_int_equal(test_reap(test_fork(engine_in_child, &in)), 0);
    atomic_store(&open_gate, 1);
    expect_ok(convop_engine_wait(f->engine, v));
    assert_int_equal(runs, f->kind == CONVOP_ENGINE_NAIVE ? 0 : 50);
    assert_int_equal(destroys, runs);
    runs = destroys = 0;
}

static void *keep_pushing(void *arg)
{
    struct inherited *in = arg;
    int count = 0, pushes = 0;
    while (!atomic_load(&stop)) {
        if (push(in->engine, "x", good, &count, VARS(in->var), VARS(in->var)) != CONVOP_OK) break;
        if (++pushes % 10 == 0 && convop_engine_wait(in->engine, in->var) != CONVOP_OK) break;
    }
    if (convop_engine_wait(in->engine, in->var) != CONVOP_OK || count != pushes) wrong = 1;
    return NULL;
}

static void forks_under_load(void **state)
{
    struct fixture *f = *state;
    struct inherited in = {f->engine, new_var(f->engine), f->kind};
    pthread_t pushing;
    atomic_store(&stop, 0);
    pthread_create(&pushing, NULL, keep_pushing, &in);
    for (int i = 0; i < 30; i++) {
        struct inherited mine = in;
        assert_int_equal(
            test_reap(test_fork(TEST_CHILD_MAY_THREAD ? engine_in_child : exit_at_once, &mine)), 0);
    }
    atomic_store(&stop, 1);
    pthread_join(pushing, NULL);
    assert_int_equal(wrong, 0);
}

static convop_status fork_in_task(void *user)
{
    pid_t *child = user;
    *child = fork();
    if (*child == 0) alarm(TEST_CHILD_SECONDS);
    return CONVOP_OK;
}

/* The child of a naive task comes back from the push; that of a threaded one ends with its thread.
 */
static void a_task_forks(void **state)
{
    if (!TEST_CHILD_MAY_THREAD) skip();
    struct fixture *f = *state;
    pid_t child = -1;
    convop_var v = new_var(f->engine);
    convop_task task = CONVOP_TASK_INIT;
    task.run = fork_in_task;
    task.destroy = count_destroy;
    task.user = &child;
    task.writes = &v;
    task.num_writes = 1;
    convop_status status = convop_engine_push(f->engine, &task);
    if (child == 0) {
        int bad = !refused(status) || atomic_load(&destroys) != 0;
        convop_engine_destroy(&f->engine);
        _exit(bad || f->engine != NULL || use_loops(NULL) != 0);
    }
    expect_ok(status);
    expect_ok(convop_engine_wait(f->engine, v));
    assert_int_equal(test_reap(child), 0);
    assert_int_equal(destroys, 1);
    destroys = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_first_use),
        cmocka_unit_test(parent_goes_on),
        cmocka_unit_test(chain_of_forks),
        cmocka_unit_test(contexts_in_the_child),
        cmocka_unit_test(two_threads_fork_while_a_third_loops),
        cmocka_unit_test(forks_while_pools_come_and_go),
        cmocka_unit_test(subprocess_every_100_steps),
        cmocka_unit_test(fork_in_a_body),
        BOTH(pending_tasks_are_the_parents),
        BOTH(forks_under_load),
        BOTH(a_task_forks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Programs on the engine, each on the naive kind and on the threaded one. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/cases/run.h"
#include "tests/support/engine.h"

static convop_engine *engine;

static convop_status double_it(void *user)
{
    *(int *)user *= 2;
    return CONVOP_OK;
}

static void expect_failure(convop_status status, const char *word)
{
    assert_int_equal(status, CONVOP_E_UNSUPPORTED);
    assert_non_null(strstr(convop_last_error(), word));
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void error_is_reported(void)
{
    convop_var v = new_var(engine);
    expect_ok(push(engine, "bad", bad, "rain", NULL, VARS(v)));
    expect_failure(convop_engine_wait(engine, v), "rain");
    expect_failure(convop_engine_wait(engine, v), "rain");
    assert_true(library_is_usable());
}

static void wait_all_reports(void)
{
    convop_var a = new_var(engine), b = new_var(engine);
    expect_ok(push(engine, "bad", bad, "rain", NULL, VARS(a)));
    expect_ok(push(engine, "bad", bad, "snow", NULL, VARS(b)));
    assert_int_equal(convop_engine_wait_all(engine), CONVOP_E_UNSUPPORTED);
    expect_failure(convop_engine_wait(engine, a), "rain");
    expect_failure(convop_engine_wait(engine, b), "snow");
}

static void cleared_by_write(void)
{
    convop_var v = new_var(engine);
    expect_ok(push(engine, "bad", bad, "rain", NULL, VARS(v)));
    expect_failure(convop_engine_wait(engine, v), "rain");
    expect_ok(push(engine, "good", good, NULL, NULL, VARS(v)));
    expect_ok(convop_engine_wait(engine, v));
}

/* A convolution that is refused when it runs. */
static convop_status bad_shape(void *user)
{
    (void)user;
    return convop_invoke("Convolution", 0, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL);
}

static void failing_operator(void)
{
    convop_var v = new_var(engine);
    expect_ok(push(engine, "conv", bad_shape, NULL, NULL, VARS(v)));
    assert_int_equal(convop_engine_wait(engine, v), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "kernel"));
}

/* ---- deletion -------------------------------------------------------------------------------- */

struct slow {
    int *memory, seen;
};

static convop_status slow_reader(void *user)
{
    struct slow *slow = user;
    sleep_ms(50);
    slow->seen = *slow->memory;
    free(slow->memory);
    return CONVOP_OK;
}

static void delete_in_use(void)
{
    struct slow slow = {malloc(sizeof(int)), 0};
    *slow.memory = 42;
    convop_var v = new_var(engine), other = new_var(engine);
    expect_ok(push(engine, "slow", slow_reader, &slow, NULL, VARS(v, other)));
    expect_ok(convop_var_delete(engine, &v));
    for (int i = 0; i < 1000; i++) free(memset(malloc(64), 0xee, 64));
    expect_ok(convop_engine_wait(engine, other));
    assert_int_equal(slow.seen, 42);
}

static void delete_twice(void)
{
    convop_var v = new_var(engine), again = v;
    expect_ok(convop_var_delete(engine, &v));
    assert_int_equal(convop_var_delete(engine, &again), CONVOP_E_INVALID);
}

static void use_after_delete(void)
{
    convop_var v = new_var(engine), gone = v;
    expect_ok(convop_var_delete(engine, &v));
    assert_int_equal(push(engine, "late", good, NULL, NULL, VARS(gone)), CONVOP_E_INVALID);
    assert_int_equal(convop_engine_wait(engine, gone), CONVOP_E_INVALID);
}

static atomic_int ends;

static void end_of(void *user)
{
    free(user);
    atomic_fetch_add(&ends, 1);
}

/* What a task needs is given up after it ran, once, and not read again. */
static void handle_ends_once(void)
{
    convop_var v = new_var(engine);
    atomic_store(&ends, 0);
    for (int i = 0; i < 20; i++) {
        convop_task *task = malloc(sizeof *task);
        const convop_task defaults = CONVOP_TASK_INIT;
        *task = defaults;
        task->run = good;
        task->user = calloc(1, sizeof(int));
        task->destroy = end_of;
        task->writes = &v;
        task->num_writes = 1;
        expect_ok(convop_engine_push(engine, task));
        memset(task, 0xee, sizeof *task);
        free(task);
    }
    expect_ok(convop_engine_wait(engine, v));
    expect_ok(convop_engine_wait_all(engine));
    assert_int_equal(ends, 20);
}

/* ---- order ----------------------------------------------------------------------------------- */

static void variable_twice(void)
{
    convop_var v = new_var(engine);
    int x = 1;
    expect_ok(push(engine, "double", double_it, &x, NULL, VARS(v, v)));
    expect_ok(push(engine, "double", double_it, &x, VARS(v), VARS(v, v)));
    expect_ok(convop_engine_wait(engine, v));
    assert_int_equal(x, 4);
}

static int circle_x, circle_y;

static convop_status y_of_x(void *user)
{
    (void)user;
    circle_y = (circle_x + 1) % 1009;
    return CONVOP_OK;
}

static convop_status x_of_y(void *user)
{
    (void)user;
    circle_x = circle_y * 2 % 1009;
    return CONVOP_OK;
}

static void circular(void)
{
    convop_var x = new_var(engine), y = new_var(engine);
    circle_x = 1, circle_y = 0;
    for (int i = 0; i < 1000; i++) {
        expect_ok(push(engine, "y", y_of_x, NULL, VARS(x), VARS(y)));
        expect_ok(push(engine, "x", x_of_y, NULL, VARS(y), VARS(x)));
    }
    expect_ok(convop_engine_wait_all(engine));
    assert_int_equal(circle_x, 806);
    assert_int_equal(circle_y, 403);
}

static void write_after_read(void)
{
    convop_var v = new_var(engine), r = new_var(engine);
    int value = 7;
    struct copy copy = {&value, 0, 20};
    expect_ok(push(engine, "slow reader", copy_slowly, &copy, VARS(v), VARS(r)));
    expect_ok(push(engine, "writer", good, &value, NULL, VARS(v)));
    expect_ok(convop_engine_wait_all(engine));
    assert_int_equal(copy.to, 7);
    assert_int_equal(value, 8);
}

static void many_readers(void)
{
    convop_var v = new_var(engine);
    int value = 1;
    struct copy copies[64];
    expect_ok(push(engine, "first", good, &value, NULL, VARS(v)));
    for (int i = 0; i < 64; i++) {
        copies[i] = (struct copy){&value, 0, i % 8 == 0};
        expect_ok(push(engine, "reader", copy_slowly, &copies[i], VARS(v), NULL));
    }
    expect_ok(push(engine, "second", good, &value, NULL, VARS(v)));
    expect_ok(convop_engine_wait_all(engine));
    for (int i = 0; i < 64; i++) assert_int_equal(copies[i].to, 2);
    assert_int_equal(value, 3);
}

static int scratch[64];

struct through {
    int from, to;
};

static convop_status through_scratch(void *user)
{
    struct through *t = user;
    for (int i = 0; i < 64; i++) scratch[i] = t->from + i;
    t->to = 0;
    for (int i = 0; i < 64; i++) t->to += scratch[i];
    return CONVOP_OK;
}

static void shared_scratch(void)
{
    convop_var s = new_var(engine);
    struct through work[200];
    for (int i = 0; i < 200; i++) {
        work[i] = (struct through){i, 0};
        convop_var out = new_var(engine);
        expect_ok(push(engine, "conv", through_scratch, &work[i], NULL, VARS(s, out)));
    }
    expect_ok(convop_engine_wait_all(engine));
    for (int i = 0; i < 200; i++) assert_int_equal(work[i].to, 64 * i + 63 * 32);
}

/* ---- threads --------------------------------------------------------------------------------- */

static convop_var shared_var;
static atomic_int wrong;

static void *push_and_wait(void *arg)
{
    convop_var own = 0;
    int count = 0;
    if (convop_var_create(engine, &own) != CONVOP_OK) atomic_store(&wrong, 1);
    for (int i = 0; i < 100; i++) {
        if (push(engine, "own", good, &count, VARS(shared_var), VARS(own)) != CONVOP_OK ||
            push(engine, "shared", good, NULL, NULL, VARS(shared_var)) != CONVOP_OK ||
            convop_engine_wait(engine, i % 2 ? own : shared_var) != CONVOP_OK)
            atomic_store(&wrong, 1);
    }
    if (convop_engine_wait(engine, own) != CONVOP_OK || count != 100) atomic_store(&wrong, 1);
    return arg;
}

static void many_threads_wait(void)
{
    pthread_t threads[8];
    shared_var = new_var(engine);
    atomic_store(&wrong, 0);
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, push_and_wait, NULL);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    assert_int_equal(wrong, 0);
}

static convop_var inner_var;
static convop_status wait_inside, push_inside;
static int inner_runs;

static convop_status push_within(void *user)
{
    (void)user;
    push_inside = push(engine, "inner", good, &inner_runs, NULL, VARS(inner_var));
    wait_inside = convop_engine_wait(engine, inner_var);
    return CONVOP_OK;
}

static void from_within(void)
{
    convop_var v = new_var(engine);
    inner_var = new_var(engine);
    inner_runs = 0;
    expect_ok(push(engine, "outer", push_within, NULL, NULL, VARS(v)));
    expect_ok(convop_engine_wait(engine, v));
    expect_ok(convop_engine_wait(engine, inner_var));
    assert_int_equal(push_inside, CONVOP_OK);
    assert_int_equal(wait_inside, CONVOP_E_STATE);
    assert_int_equal(inner_runs, 1);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct {
    const char *id;
    void (*run)(void);
} programs[] = {
    {"eng.err_wait_var", error_is_reported},
    {"eng.err_wait_twice", error_is_reported},
    {"eng.err_wait_all", wait_all_reports},
    {"eng.err_cleared_by_write", cleared_by_write},
    {"eng.err_in_worker_no_abort", failing_operator},
    {"eng.del_in_use", delete_in_use},
    {"eng.del_twice", delete_twice},
    {"eng.del_op_handle", handle_ends_once},
    {"eng.use_after_del", use_after_delete},
    {"eng.dup_mutable", variable_twice},
    {"eng.circular_rw", circular},
    {"eng.war", write_after_read},
    {"eng.many_readers", many_readers},
    {"eng.scratch_var", shared_scratch},
    {"eng.wait_many_threads", many_threads_wait},
    {"eng.push_inside_op", from_within},
};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static void on_engine(size_t program, convop_engine_kind kind)
{
    struct fixture f = {.kind = kind};
    void *state = &f;
    assert_int_equal(set_up(&state), 0);
    engine = f.engine;
    programs[program].run();
    assert_int_equal(tear_down(&state), 0);
}

static void run_program(const struct test_case *c)
{
    for (size_t i = 0; i < PROGRAMS; i++) {
        if (strcmp(programs[i].id, c->id) != 0) continue;
        on_engine(i, CONVOP_ENGINE_NAIVE);
        on_engine(i, CONVOP_ENGINE_THREADED);
    }
}

/* Each program holds on both kinds; this one runs them all, with one fixture after the other. */
static void every_program(const struct test_case *c)
{
    (void)c;
    for (size_t i = 0; i < PROGRAMS; i++) {
        on_engine(i, CONVOP_ENGINE_THREADED);
        on_engine(i, CONVOP_ENGINE_NAIVE);
    }
}

static void needs_gpu(const struct test_case *c)
{
    (void)c;
    skip_case("needs a GPU");
}

case_run run_engine_for(const struct test_case *c)
{
    if (strcmp(c->id, "eng.naive_equals_threaded") == 0) return every_program;
    if (strcmp(c->id, "eng.err_cuda_sticky") == 0) return needs_gpu;
    for (size_t i = 0; i < PROGRAMS; i++)
        if (strcmp(programs[i].id, c->id) == 0) return run_program;
    return NULL;
}

/* Who sees what: order of reads and writes, priorities, duplicates, pushes from within tasks. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/engine.h"

struct cell {
    int *to;
    const int *from;
    int times, plus;
};

static convop_status compute(void *user)
{
    const struct cell *cell = user;
    *cell->to = (*cell->from * cell->times + cell->plus) % 1009;
    return CONVOP_OK;
}

static void circular_read_write(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var vx = new_var(e), vy = new_var(e);
    int x = 1, y = 0;
    struct cell add = {&y, &x, 1, 1}, twice = {&x, &y, 2, 0};
    for (int i = 0; i < 1000; i++) {
        expect_ok(push(e, "add", compute, &add, VARS(vx), VARS(vy)));
        expect_ok(push(e, "twice", compute, &twice, VARS(vy), VARS(vx)));
    }
    expect_ok(convop_engine_wait_all(e));
    assert_int_equal(x, 806);
    assert_int_equal(y, 403);
}

static void a_writer_waits_for_readers(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var v = new_var(e), out = new_var(e);
    int value = 7;
    struct copy copy = {&value, 0, 50};
    expect_ok(push(e, "reader", copy_slowly, &copy, VARS(v), VARS(out)));
    expect_ok(push(e, "writer", good, &value, NULL, VARS(v)));
    expect_ok(convop_engine_wait_all(e));
    assert_int_equal(copy.to, 7);
    assert_int_equal(value, 8);
}

static void readers_between_two_writers(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var v = new_var(e);
    int value = 0;
    struct copy copy[64];
    expect_ok(push(e, "first", good, &value, NULL, VARS(v)));
    for (int i = 0; i < 64; i++) {
        copy[i] = (struct copy){&value, -1, i % 2};
        expect_ok(push(e, "reader", copy_slowly, &copy[i], VARS(v), NULL));
    }
    expect_ok(push(e, "second", good, &value, NULL, VARS(v)));
    expect_ok(convop_engine_wait_all(e));
    for (int i = 0; i < 64; i++) assert_int_equal(copy[i].to, 1);
    assert_int_equal(value, 2);
    uint64_t version;
    expect_ok(convop_var_version(e, v, &version));
    assert_int_equal(version, 2);
}

static atomic_int together;

/* Ends only when two readers run at once. */
static convop_status meet(void *user)
{
    (void)user;
    atomic_fetch_add(&together, 1);
    for (int i = 0; i < 5000 && atomic_load(&together) < 2; i++) sleep_ms(1);
    return atomic_load(&together) >= 2 ? CONVOP_OK : CONVOP_E_INTERNAL;
}

static void readers_run_at_once(void **state)
{
    struct fixture *f = *state;
    if (f->kind == CONVOP_ENGINE_NAIVE) return;
    convop_var v = new_var(f->engine), a = new_var(f->engine), b = new_var(f->engine);
    atomic_store(&together, 0);
    expect_ok(push(f->engine, "meet", meet, NULL, VARS(v), VARS(a)));
    expect_ok(push(f->engine, "meet", meet, NULL, VARS(v), VARS(b)));
    expect_ok(convop_engine_wait_all(f->engine));
    /* also when the end of one task frees both */
    struct copy slow = {&(int){1}, 0, 20};
    atomic_store(&together, 0);
    expect_ok(push(f->engine, "slow", copy_slowly, &slow, NULL, VARS(v)));
    expect_ok(push(f->engine, "meet", meet, NULL, VARS(v), VARS(a)));
    expect_ok(push(f->engine, "meet", meet, NULL, VARS(v), VARS(b)));
    expect_ok(convop_engine_wait_all(f->engine));
}

/* A variable listed often is used once; one in both lists is updated. */
static void duplicates_are_merged(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var v = new_var(e), w = new_var(e);
    int runs = 0;
    expect_ok(push(e, "w", good, &runs, NULL, VARS(v, v, v)));
    expect_ok(push(e, "r", good, &runs, VARS(v, w, v, w), VARS(w)));
    expect_ok(push(e, "u", good, &runs, VARS(v, v), VARS(v, v)));
    expect_ok(convop_engine_wait_all(e));
    assert_int_equal(runs, 3);
    uint64_t version;
    expect_ok(convop_var_version(e, v, &version));
    assert_int_equal(version, 2);
    /* in both: reads, so it passes the error on; only written: does not read */
    expect_ok(push(e, "bad", bad, "ice", NULL, VARS(v)));
    expect_ok(push(e, "u", good, &runs, VARS(v), VARS(v, v)));
    expect_text(CONVOP_E_UNSUPPORTED, TEXT("ice"), convop_engine_wait(e, v));
    expect_ok(push(e, "w", good, &runs, NULL, VARS(v, v)));
    expect_ok(convop_engine_wait(e, v));
    assert_int_equal(runs, 4);
}

/* Two convolutions that share scratch memory: the scratch is among what each writes. */
struct scratch_user {
    int *scratch, id, sum;
};

static convop_status use_scratch(void *user)
{
    struct scratch_user *u = user;
    for (int i = 0; i < 100; i++) u->scratch[i] = u->id + i;
    sched_yield();
    u->sum = 0;
    for (int i = 0; i < 100; i++) u->sum += u->scratch[i];
    return CONVOP_OK;
}

static void shared_scratch(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var scratch = new_var(e);
    int memory[100];
    static struct scratch_user user[300];
    for (int i = 0; i < 300; i++) {
        user[i] = (struct scratch_user){memory, i, 0};
        expect_ok(push(e, "conv", use_scratch, &user[i], NULL, VARS(scratch)));
    }
    expect_ok(convop_engine_wait(e, scratch));
    for (int i = 0; i < 300; i++) assert_int_equal(user[i].sum, 100 * i + 4950);
}

/* ---- within a task -----------------------------------------------------------------------------
 */

struct nest {
    convop_engine *engine;
    convop_var var;
    int left, order[8], count;
    convop_status wait, wait_all;
    char text[256];
    int destroyed_self;
    convop_status pushed;
};

static convop_status record_inner(void *user)
{
    struct nest *nest = user;
    nest->order[nest->count++] = 2;
    return CONVOP_OK;
}

static convop_status push_from_within(void *user)
{
    struct nest *nest = user;
    nest->pushed = push(nest->engine, "inner", record_inner, nest, NULL, VARS(nest->var));
    nest->wait = convop_engine_wait(nest->engine, nest->var);
    strncpy(nest->text, convop_last_error(), sizeof(nest->text) - 1);
    nest->wait_all = convop_engine_wait_all(nest->engine);
    convop_engine *self = nest->engine;
    convop_engine_destroy(&self);
    nest->destroyed_self = self == NULL;
    nest->order[nest->count++] = 1;
    return CONVOP_OK;
}

static void push_and_wait_from_within(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    struct nest nest = {.engine = e, .var = new_var(e)};
    expect_ok(push(e, "outer", push_from_within, &nest, NULL, VARS(nest.var)));
    expect_ok(convop_engine_wait_all(e)); /* also for what a task pushed */
    assert_int_equal(nest.pushed, CONVOP_OK);
    assert_int_equal(nest.wait, CONVOP_E_STATE);
    assert_int_equal(nest.wait_all, CONVOP_E_STATE);
    assert_non_null(strstr(nest.text, "'outer'"));
    assert_int_equal(nest.destroyed_self, 0);
    assert_int_equal(nest.count, 2);
    assert_int_equal(nest.order[0], 1);
    assert_int_equal(nest.order[1], 2);
}

static convop_status chain(void *user)
{
    struct nest *nest = user;
    nest->count++;
    if (--nest->left == 0) return CONVOP_OK;
    return push(nest->engine, "chain", chain, nest, VARS(nest->var), VARS(nest->var));
}

static void a_long_chain_of_pushes(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    struct nest nest = {.engine = e, .var = new_var(e), .left = 20000};
    expect_ok(push(e, "chain", chain, &nest, NULL, VARS(nest.var)));
    expect_ok(convop_engine_wait_all(e));
    assert_int_equal(nest.count, 20000);
}

static convop_status wait_on_other(void *user)
{
    struct nest *nest = user;
    int ran = 0;
    nest->pushed = push(nest->engine, "other", good, &ran, NULL, VARS(nest->var));
    nest->wait = convop_engine_wait(nest->engine, nest->var);
    nest->count = ran;
    return CONVOP_OK;
}

/* A task may wait on another engine. */
static void wait_on_another_engine(void **state)
{
    struct fixture *f = *state;
    struct fixture other = {.kind = f->kind};
    void *second = &other;
    convop_var v = new_var(f->engine);
    assert_int_equal(set_up(&second), 0);
    struct nest nest = {.engine = other.engine, .var = new_var(other.engine)};
    expect_ok(push(f->engine, "outer", wait_on_other, &nest, NULL, VARS(v)));
    expect_ok(convop_engine_wait(f->engine, v));
    assert_int_equal(nest.pushed, CONVOP_OK);
    assert_int_equal(nest.wait, CONVOP_OK);
    assert_int_equal(nest.count, 1);
    assert_int_equal(tear_down(&second), 0);
}

/* ---- priorities --------------------------------------------------------------------------------
 */
struct step {
    int *log, *count, id;
};

static convop_status log_step(void *user)
{
    const struct step *step = user;
    step->log[(*step->count)++] = step->id;
    return CONVOP_OK;
}

static atomic_int gate;

static convop_status wait_for_gate(void *user)
{
    (void)user;
    while (atomic_load(&gate) == 0) sched_yield();
    return CONVOP_OK;
}

/* One worker, held at a gate while the rest is pushed. */
static void priorities(void **state)
{
    (void)state;
    convop_engine_options options = CONVOP_ENGINE_OPTIONS_INIT;
    convop_engine *e = NULL;
    options.kind = CONVOP_ENGINE_THREADED;
    options.num_workers = 1;
    expect_ok(convop_engine_create(&options, &e));
    const int priority[] = {0, -5, 7, 0, 7, INT32_MAX, INT32_MIN, 0};
    const int want[] = {5, 2, 4, 0, 3, 7, 1, 6};
    int log[8], count = 0;
    struct step step[8];
    atomic_store(&gate, 0);
    convop_var v = new_var(e);
    expect_ok(push(e, "gate", wait_for_gate, NULL, NULL, VARS(v)));
    for (int i = 0; i < 8; i++) {
        convop_task task = CONVOP_TASK_INIT;
        step[i] = (struct step){log, &count, i};
        task.run = log_step;
        task.user = &step[i];
        task.priority = priority[i];
        if (i % 2 == 0) { /* half of them become ready only when the gate opens */
            task.reads = &v;
            task.num_reads = 1;
        }
        expect_ok(convop_engine_push(e, &task));
    }
    atomic_store(&gate, 1);
    expect_ok(convop_engine_wait_all(e));
    for (int i = 0; i < 8; i++) assert_int_equal(log[i], want[i]);
    convop_engine_destroy(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(circular_read_write),         BOTH(a_writer_waits_for_readers),
        BOTH(readers_between_two_writers), BOTH(readers_run_at_once),
        BOTH(duplicates_are_merged),       BOTH(shared_scratch),
        BOTH(push_and_wait_from_within),   BOTH(a_long_chain_of_pushes),
        BOTH(wait_on_another_engine),      cmocka_unit_test(priorities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

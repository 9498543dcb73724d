/* What is deleted while it is used: variables, and what tasks own. */
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

struct owner {
    int *memory;
    long ms;
    int ran, destroyed;
};

static convop_status use_memory(void *user)
{
    struct owner *owner = user;
    sleep_ms(owner->ms);
    owner->ran += owner->memory[0] + owner->memory[999] == 3;
    return CONVOP_OK;
}

static void free_memory(void *user)
{
    struct owner *owner = user;
    free(owner->memory);
    owner->memory = NULL;
    owner->destroyed++;
}

static void delete_while_in_use(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var v = new_var(e), old = v;
    struct owner owner = {calloc(1000, sizeof(int)), 50, 0, 0};
    owner.memory[0] = 1;
    owner.memory[999] = 2;
    convop_task task = CONVOP_TASK_INIT;
    task.run = use_memory;
    task.destroy = free_memory;
    task.user = &owner;
    task.writes = &v;
    task.num_writes = 1;
    expect_ok(convop_engine_push(e, &task));
    expect_ok(convop_var_delete(e, &v));
    assert_true(v == 0);
    for (int i = 0; i < 100; i++) { /* memory of the deleted one would be handed out again */
        convop_var other = new_var(e);
        assert_true(other != old);
        expect_ok(convop_var_delete(e, &other));
    }
    expect_ok(convop_engine_wait_all(e));
    assert_int_equal(owner.ran, 1);
    assert_int_equal(owner.destroyed, 1);
}

static void a_deleted_variable_is_known(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var v = new_var(e), again, kept = new_var(e);
    uint64_t version;
    again = v;
    expect_ok(convop_var_delete(e, &v));
    assert_int_equal(convop_var_delete(e, &v), CONVOP_E_INVALID);
    assert_int_equal(convop_var_delete(e, &again), CONVOP_E_INVALID);
    assert_true(again != 0);
    assert_int_equal(push(e, "late", good, NULL, VARS(again), VARS(kept)), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "'late': reads[0]"));
    assert_int_equal(push(e, "late", good, NULL, NULL, VARS(kept, again)), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "writes[1]"));
    assert_int_equal(convop_engine_wait(e, again), CONVOP_E_INVALID);
    assert_int_equal(convop_var_version(e, again, &version), CONVOP_E_INVALID);
    /* what the refused pushes had already looked up is as it was */
    expect_ok(convop_var_version(e, kept, &version));
    assert_int_equal(version, 0);
    expect_ok(push(e, "fine", good, NULL, VARS(kept), VARS(kept)));
    expect_ok(convop_engine_wait(e, kept));
}

static void deleted_while_pending_it_is_unknown_at_once(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var v = new_var(e), old = v;
    struct copy slow = {&(int){1}, 0, 30};
    expect_ok(push(e, "slow", copy_slowly, &slow, NULL, VARS(v)));
    expect_ok(convop_var_delete(e, &v));
    assert_int_equal(push(e, "late", good, NULL, VARS(old), NULL), CONVOP_E_INVALID);
    assert_int_equal(convop_engine_wait(e, old), CONVOP_E_INVALID);
    assert_int_equal(convop_var_delete(e, &old), CONVOP_E_INVALID);
    expect_ok(convop_engine_wait_all(e));
}

/* Not only when the engine goes. */
static void deletion_gives_memory_back(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var first = new_var(e);
    uint64_t live = cvp_alloc_live();
    for (int i = 0; i < 50; i++) {
        convop_var v = new_var(e);
        expect_ok(push(e, "bad", bad, "thaw", VARS(first), VARS(v)));
        expect_ok(push(e, "copy", good, NULL, VARS(v), VARS(v)));
        expect_ok(convop_var_delete(e, &v));
    }
    expect_ok(convop_engine_wait_all(e));
    assert_int_equal(cvp_alloc_live(), live);
}

static void variables_of_other_engines_are_refused(void **state)
{
    struct fixture *f = *state;
    struct fixture other = {.kind = f->kind};
    void *second = &other;
    convop_var mine = new_var(f->engine);
    assert_int_equal(set_up(&second), 0);
    convop_var its = new_var(other.engine);
    assert_true(mine != its);
    assert_int_equal(push(f->engine, "x", good, NULL, NULL, VARS(its)), CONVOP_E_INVALID);
    assert_int_equal(push(other.engine, "x", good, NULL, NULL, VARS(mine)), CONVOP_E_INVALID);
    assert_int_equal(tear_down(&second), 0);
}

static void deletion_under_load(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    static int counter[500];
    memset(counter, 0, sizeof(counter));
    convop_var common = new_var(e);
    for (int i = 0; i < 500; i++) {
        convop_var v = new_var(e);
        for (int k = 0; k < 5; k++) {
            expect_ok(push(e, "count", good, &counter[i], VARS(common), VARS(v)));
        }
        if (i % 7 == 0) expect_ok(push(e, "bad", bad, "wind", VARS(v), VARS(v)));
        expect_ok(convop_var_delete(e, &v));
    }
    expect_ok(convop_engine_wait_all(e));
    for (int i = 0; i < 500; i++) assert_int_equal(counter[i], 5);
}

/* ---- destroy of a task -------------------------------------------------------------------------
 */

struct calls {
    atomic_int run, destroyed, late;
    convop_status answer;
};

static convop_status count_run(void *user)
{
    struct calls *calls = user;
    atomic_fetch_add(&calls->run, 1);
    return calls->answer == CONVOP_OK ? CONVOP_OK : convop_fail(calls->answer, "told to");
}

static void count_destroy(void *user)
{
    struct calls *calls = user;
    if (atomic_load(&calls->run) == 0) atomic_fetch_add(&calls->late, 1);
    atomic_fetch_add(&calls->destroyed, 1);
}

static void destroy_is_called_once(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var v = new_var(e), gone = new_var(e), deleted = gone;
    expect_ok(convop_var_delete(e, &gone));
    struct calls ran = {0}, failed = {.answer = CONVOP_E_IO}, skipped = {0}, refused = {0};
    struct calls *calls[] = {&ran, &failed, &skipped, &refused};
    for (int i = 0; i < 4; i++) {
        convop_task task = CONVOP_TASK_INIT;
        task.run = count_run;
        task.destroy = count_destroy;
        task.user = calls[i];
        task.reads = i == 3 ? &deleted : &v;
        task.num_reads = 1;
        task.writes = &v;
        task.num_writes = 1;
        assert_int_equal(convop_engine_push(e, &task), i == 3 ? CONVOP_E_INVALID : CONVOP_OK);
    }
    /* a wait returns after destroy, so what it frees is free by then */
    assert_int_equal(convop_engine_wait(e, v), CONVOP_E_IO);
    assert_int_equal(ran.run * 10 + ran.destroyed, 11);
    assert_int_equal(failed.run * 10 + failed.destroyed, 11);
    assert_int_equal(skipped.run * 10 + skipped.destroyed, 1);
    assert_int_equal(refused.run * 10 + refused.destroyed, 0);
}

/* The name, the lists and the task itself may go as soon as push returns. */
static void a_push_borrows(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var v = new_var(e), hold = new_var(e);
    convop_task *task = calloc(1, sizeof(*task));
    convop_var *writes = calloc(1, sizeof(*writes));
    char *name = strdup("borrowed");
    struct copy block = {&(int){0}, 0, 20};
    expect_ok(push(e, "block", copy_slowly, &block, NULL, VARS(hold)));
    writes[0] = v;
    *task = (convop_task)CONVOP_TASK_INIT;
    task->name = name;
    task->run = silent;
    task->reads = &hold;
    task->num_reads = 1;
    task->writes = writes;
    task->num_writes = 1;
    expect_ok(convop_engine_push(e, task));
    memset(name, 'x', 8);
    free(name);
    free(writes);
    free(task);
    assert_int_equal(convop_engine_wait(e, v), CONVOP_E_IO);
    assert_non_null(strstr(convop_last_error(), "'borrowed'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(delete_while_in_use),
        BOTH(a_deleted_variable_is_known),
        BOTH(deleted_while_pending_it_is_unknown_at_once),
        BOTH(deletion_gives_memory_back),
        BOTH(variables_of_other_engines_are_refused),
        BOTH(deletion_under_load),
        BOTH(destroy_is_called_once),
        BOTH(a_push_borrows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tasks that are made once and pushed many times, on both kinds of engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/engine/prepared.h"
#include "tests/support/engine.h"

struct job {
    int *at;
    int add, times;
};

/* Not commutative, so that the order shows. */
static convop_status step(void *user)
{
    struct job *job = user;
    sleep_ms(job->add == 1);
    *job->at = (*job->at * job->times + job->add) % 10007;
    return CONVOP_OK;
}

static struct cvp_task *prepare(convop_engine *engine, struct job *job, convop_var var)
{
    struct cvp_task *made = NULL;
    convop_task task = CONVOP_TASK_INIT;
    task.name = "step";
    task.run = step;
    task.user = job;
    task.writes = &var;
    task.num_writes = 1;
    expect_ok(cvp_prepared_create(engine, &task, &made));
    return made;
}

static void runs_again_without_allocating(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var var = new_var(e);
    int value = 1, want = 1;
    struct job jobs[3] = {{&value, 1, 3}, {&value, 2, 5}, {&value, 3, 7}};
    struct cvp_task *tasks[3];
    for (int i = 0; i < 3; i++) tasks[i] = prepare(e, &jobs[i], var);
    cvp_alloc_fail_at(0);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 3; i++) {
            expect_ok(cvp_prepared_push(e, tasks[i]));
            want = (want * jobs[i].times + jobs[i].add) % 10007;
        }
        expect_ok(convop_engine_wait(e, var));
        assert_int_equal(value, want);
    }
    assert_int_equal(cvp_alloc_calls(), 0);
    uint64_t version;
    expect_ok(convop_var_version(e, var, &version));
    assert_int_equal(version, 30);
    for (int i = 0; i < 3; i++) cvp_prepared_destroy(&tasks[i]);
    cvp_prepared_destroy(&tasks[0]);
}

static void refuses_what_push_refuses(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var var = 0;
    struct cvp_task *made;
    convop_task task = CONVOP_TASK_INIT;
    assert_int_equal(cvp_prepared_create(e, &task, &made), CONVOP_E_INVALID);
    task.run = step;
    task.reads = &var;
    task.num_reads = 1;
    assert_int_equal(cvp_prepared_create(e, &task, &made), CONVOP_E_INVALID);
    assert_null(made);
    var = new_var(e);
    cvp_alloc_fail_at(1);
    assert_int_equal(cvp_prepared_create(e, &task, &made), CONVOP_E_NO_MEMORY);
    cvp_alloc_fail_at(0);
    assert_int_equal(cvp_prepared_create(NULL, &task, &made), CONVOP_E_INVALID);
    assert_int_equal(cvp_engine_num_workers(e),
                     ((struct fixture *)*state)->kind == CONVOP_ENGINE_NAIVE ? 1 : 4);
    assert_false(cvp_engine_is_inside(e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(runs_again_without_allocating),
        BOTH(refuses_what_push_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

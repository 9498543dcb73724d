/* The naive kind: tasks run one at a time, in the order in which they were pushed, each in the
 * thread that pushed it and before that push returns. It looks at no queue of a variable: the order
 * of pushes is right by itself, which makes this kind the oracle of the other.
 *
 * A task pushed from within a task runs after all that were pushed before it, so after the one that
 * pushed it, and before the push from outside that began it all returns. A push from another thread
 * waits for its turn; a task must therefore not wait for another thread's push. */
#include "src/engine/engine_internal.h"

#include <stddef.h>

static convop_status start(convop_engine *engine, int num_workers)
{
    (void)engine, (void)num_workers;
    return CONVOP_OK;
}

static void append(convop_engine *engine, struct cvp_task *task)
{
    if (engine->naive.first == NULL) {
        engine->naive.first = task;
    } else {
        engine->naive.last->next = task;
    }
    engine->naive.last = task;
}

/* 1 while this thread has to run a task: the one it pushed, or what its tasks pushed. */
static int has_own(const convop_engine *engine)
{
    const struct cvp_task *task = engine->naive.first;
    while (task != NULL && !pthread_equal(task->pusher, pthread_self())) task = task->next;
    return task != NULL;
}

static int run_first(convop_engine *engine)
{
    struct cvp_task *task = engine->naive.first;
    engine->naive.first = task->next;
    engine->naive.busy = 1;
    if (!cvp_task_run(engine, task)) return 0;
    engine->naive.busy = 0;
    if (engine->naive.waiters > 0) pthread_cond_broadcast(&engine->ended);
    return 1;
}

static int submit(convop_engine *engine, struct cvp_task *task)
{
    task->pusher = pthread_self();
    append(engine, task);
    if (cvp_task_current(engine) != NULL) return 1;
    while (has_own(engine)) {
        if (!engine->naive.busy && pthread_equal(engine->naive.first->pusher, pthread_self())) {
            if (!run_first(engine)) return 0;
        } else {
            engine->naive.waiters++;
            pthread_cond_wait(&engine->ended, &engine->lock);
            engine->naive.waiters--;
        }
    }
    return 1;
}

static void unblocked(convop_engine *engine, struct cvp_task *task)
{
    (void)engine, (void)task;
}

static void nothing(convop_engine *engine)
{
    (void)engine;
}

const struct cvp_engine_ops cvp_engine_naive = {
    .kind = CONVOP_ENGINE_NAIVE,
    .start = start,
    .submit = submit,
    .unblocked = unblocked,
    .stop = nothing,
    .forked = nothing,
};

/* The threaded kind: workers take the tasks that can run, the highest priority first. */
#include "src/engine/engine_internal.h"

#include <stddef.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/engine/thread.h"

static void *worker(void *arg)
{
    convop_engine *engine = arg;
    cvp_thread_defaults();
    pthread_mutex_lock(&engine->lock);
    for (;;) {
        struct cvp_ready *ready = cvp_ready_pop(&engine->threaded.ready);
        if (ready != NULL) {
            /* A task that ends may free several others and wakes nobody: this worker takes the
             * first of them, and whoever takes one wakes one more for the rest. */
            if (engine->threaded.ready.top != NULL) pthread_cond_signal(&engine->threaded.work);
            if (!cvp_task_run(engine, (struct cvp_task *)ready)) return NULL;
        } else if (engine->threaded.quit) {
            break;
        } else {
            pthread_cond_wait(&engine->threaded.work, &engine->lock);
        }
    }
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

static convop_status start(convop_engine *engine, int num_workers)
{
    int wanted;
    CVP_RETURN_IF_ERROR(cvp_thread_count(num_workers, &wanted));
    engine->threaded.thread = cvp_calloc((size_t)wanted, sizeof(pthread_t));
    if (engine->threaded.thread == NULL) {
        return convop_fail(CONVOP_E_NO_MEMORY, "convop_engine_create: %d workers", wanted);
    }
    pthread_t *thread = engine->threaded.thread;
    while (engine->threaded.workers < wanted &&
           cvp_thread_start(&thread[engine->threaded.workers], worker, engine)) {
        engine->threaded.workers++;
    }
    if (engine->threaded.workers > 0) return CONVOP_OK;
    return convop_fail(CONVOP_E_NO_MEMORY,
                       "convop_engine_create: the system refuses to make any of %d workers",
                       wanted);
}

static void unblocked(convop_engine *engine, struct cvp_task *task)
{
    cvp_ready_push(&engine->threaded.ready, &task->ready);
}

static int submit(convop_engine *engine, struct cvp_task *task)
{
    if (task->blocked == 0) {
        unblocked(engine, task);
        pthread_cond_signal(&engine->threaded.work);
    }
    return 1;
}

static void stop(convop_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->threaded.quit = 1;
    pthread_cond_broadcast(&engine->threaded.work);
    pthread_mutex_unlock(&engine->lock);
    for (int i = 0; i < engine->threaded.workers; i++) {
        pthread_join(engine->threaded.thread[i], NULL);
    }
}

static void forked(convop_engine *engine)
{
    engine->threaded.workers = 0;
    pthread_cond_init(&engine->threaded.work, NULL);
}

const struct cvp_engine_ops cvp_engine_threaded = {
    .kind = CONVOP_ENGINE_THREADED,
    .start = start,
    .submit = submit,
    .unblocked = unblocked,
    .stop = stop,
    .forked = forked,
};

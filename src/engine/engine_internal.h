/* The engine inside: what its kinds share, and what a kind is.
 *
 * One lock guards everything of an engine. It is released around callbacks, and whoever holds it
 * takes no other lock. Tasks are whole operators, so the lock is not where time goes. */
#ifndef CVP_ENGINE_ENGINE_INTERNAL_H
#define CVP_ENGINE_ENGINE_INTERNAL_H

#include <pthread.h>

#include "convop/engine.h"
#include "src/engine/error.h"
#include "src/engine/fork.h"
#include "src/engine/ready_queue.h"
#include "src/engine/var_table.h"

/* One variable of one task: listed once, however often the caller listed it. */
struct cvp_task_use {
    struct cvp_use use; /* first, so that it can be found from there */
    struct cvp_task *task;
    struct cvp_var *var;
    int reads;
};

struct cvp_task {
    struct cvp_ready ready; /* first, so that it can be found from there; age counts pushes */
    convop_status (*run)(void *user);
    void (*destroy)(void *user);
    void *user;
    const char *name; /* behind the uses, in the same block */
    /* The task pushed from outside that this one belongs to: itself, or its pusher's. */
    uint64_t root;
    struct cvp_task *older, *newer; /* of those that have not ended, ordered by root */
    size_t blocked;                 /* uses that have to wait */
    struct cvp_task *next;          /* naive: pushed after this one */
    pthread_t pusher;               /* naive: the thread that runs it */
    int is_kept;                    /* prepared.h: freed by who made it */
    size_t num_uses;
    struct cvp_task_use use[];
};

/* A kind: when, and in which thread, tasks run. Called with the lock held. */
struct cvp_engine_ops {
    convop_engine_kind kind;
    convop_status (*start)(convop_engine *engine, int num_workers);
    /* Takes a task whose uses are in line. 0: the process is a child that the task forked; the lock
     * is then not held. */
    int (*submit)(convop_engine *engine, struct cvp_task *task);
    /* The last thing that blocked a task has ended. */
    void (*unblocked)(convop_engine *engine, struct cvp_task *task);
    /* No task is left. Called, and returns, without the lock. */
    void (*stop)(convop_engine *engine);
    void (*forked)(convop_engine *engine); /* in the child */
};

extern const struct cvp_engine_ops cvp_engine_naive, cvp_engine_threaded;

struct convop_engine {
    const struct cvp_engine_ops *ops;
    struct cvp_fork_hook hook;
    int forked; /* this is a child of the process that made the engine */
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a task has ended that somebody waits for */
    struct cvp_var_table vars;
    size_t num_errors; /* variables with an error */
    uint64_t pushed;   /* tasks so far */
    uint64_t failed;   /* tasks so far */
    struct cvp_task *oldest, *newest;
    size_t waiters; /* threads that wait for tasks, not for a variable */

    struct {
        struct cvp_task *first, *last; /* pushed and not yet run */
        int busy;                      /* one runs */
        size_t waiters;                /* pushes that wait for their turn */
    } naive;
    struct {
        struct cvp_ready_queue ready;
        pthread_cond_t work;
        pthread_t *thread;
        int workers;
        int quit;
    } threaded;
};

/* ---- task.c: what is the same for all kinds ---------------------------------------------------
 */

/* A copy of a checked task with room for its uses. NULL without memory. Freed by cvp_free. */
struct cvp_task *cvp_task_make(const convop_task *from);

/* Finds the variables. INVALID if one is not there; the engine is then as it was. */
convop_status cvp_task_resolve(convop_engine *engine, struct cvp_task *task,
                               const convop_task *from);

/* Puts it in line: for its variables, and among the tasks that have not ended. */
void cvp_task_enter(convop_engine *engine, struct cvp_task *task);

/* Runs it, or passes an error on to it, ends it and frees it. With the lock held; releases it
 * around the callbacks. 0: the process is a child that the task forked; the lock is then not held,
 * and the task not freed. */
int cvp_task_run(convop_engine *engine, struct cvp_task *task);

/* The task of this engine that the calling thread is in, or NULL. Needs no lock. */
struct cvp_task *cvp_task_current(const convop_engine *engine);

/* Takes one hold off a variable and frees it if it was deleted and this was the last. */
void cvp_var_release(convop_engine *engine, struct cvp_var *var);

#endif

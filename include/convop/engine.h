/* The dependency engine: tasks say which variables they read and write, the engine runs them as
 * early as that allows. A reader sees the last write pushed before it; writers of a variable run in
 * the order of their pushes, alone.
 *
 * Errors: a task that fails leaves its status and text on every variable it writes. A task that
 * reads such a variable is not run and passes the error on to what it writes. The error stays until
 * a task that does not read the variable has written it; until then every wait reports it.
 *
 * Kinds: the naive engine runs a task inside push, in the caller's thread, one at a time; what a
 * task pushes runs after that task has ended. The threaded one runs tasks in worker threads. Both
 * have the same rules and give the same results.
 *
 * Forks: in a forked child an engine of the parent can only be destroyed; other calls return STATE.
 * Tasks that were pending are the parent's: the child neither runs nor destroys them. Since 0.1. */
#ifndef CONVOP_ENGINE_H
#define CONVOP_ENGINE_H

#include "convop/base.h"
#include "convop/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct convop_engine convop_engine;

/** A variable: a number that is never used twice, so that a deleted one is known. 0 is none. */
typedef uint64_t convop_var;

typedef enum convop_engine_kind {
    CONVOP_ENGINE_DEFAULT = 0, /* as the setting "engine" says */
    CONVOP_ENGINE_NAIVE = 1,
    CONVOP_ENGINE_THREADED = 2
} convop_engine_kind;

typedef struct convop_engine_options {
    size_t struct_size;
    convop_engine_kind kind;
    int num_workers; /* 0: the setting "num_threads"; else 1..4096 */
} convop_engine_options;

#define CONVOP_ENGINE_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(convop_engine_options), CONVOP_ENGINE_DEFAULT, 0                                    \
    }

/** What is pushed. All pointers but user are borrowed for the push. */
typedef struct convop_task {
    size_t struct_size;
    const char *name;                 /* for traces and error texts; NULL is "task" */
    convop_status (*run)(void *user); /* on failure leaves its sentence with convop_fail() */
    void (*destroy)(void *user);      /* called once after run or instead of it; NULL: nothing.
                                         Not called if the push fails */
    void *user;
    const convop_var *reads, *writes; /* a variable in both is updated: it is read, then written */
    size_t num_reads, num_writes;
    int priority; /* of the tasks that can run, the highest is taken first,
                     the oldest among equals */
} convop_task;

#define CONVOP_TASK_INIT                                                                           \
    {                                                                                              \
        sizeof(convop_task), NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0                           \
    }

/** Makes an engine. @return INVALID (kind, num_workers, a bad setting), NO_MEMORY */
CONVOP_API convop_status convop_engine_create(const convop_engine_options *options,
                                              convop_engine **out);

/** Waits for what was pushed, then frees the engine and its variables and sets *engine to NULL.
 *  Accepts NULL. Called from one of its own tasks it does nothing but set the error text. */
CONVOP_API void convop_engine_destroy(convop_engine **engine);

/** The kind that it is: naive or threaded. */
CONVOP_API convop_engine_kind convop_engine_get_kind(const convop_engine *engine);

/** A new variable of version 0. @return NO_MEMORY */
CONVOP_API convop_status convop_var_create(convop_engine *engine, convop_var *out);

/** Deletes it once every task pushed so far that uses it has ended; at once it may be pushed no
 *  more. *var becomes 0. @return INVALID if it is not a variable of this engine */
CONVOP_API convop_status convop_var_delete(convop_engine *engine, convop_var *var);

/** Writes that have ended, also failed ones. @return INVALID if it is not a variable */
CONVOP_API convop_status convop_var_version(convop_engine *engine, convop_var var,
                                            uint64_t *version);

/** Pushes a task. It may be pushed from within a task.
 *  @return INVALID (no run, a variable that is deleted or 0), NO_MEMORY; nothing is then queued.
 *          What the task itself answers is reported by the waits. */
CONVOP_API convop_status convop_engine_push(convop_engine *engine, const convop_task *task);

/** Waits until every write of var pushed so far has ended.
 *  @return the error that is on var, with the text of the task that failed; STATE if called
 *          from one of this engine's tasks, where it could wait for itself; INVALID */
CONVOP_API convop_status convop_engine_wait(convop_engine *engine, convop_var var);

/** Waits until everything pushed so far has ended, and what those tasks push.
 *  @return the first error that is still on a variable, in the order in which tasks failed */
CONVOP_API convop_status convop_engine_wait_all(convop_engine *engine);

#ifdef __cplusplus
}
#endif

#endif

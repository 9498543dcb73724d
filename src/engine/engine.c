/* The engine's public calls: choice of kind, variables, waits, forks. */
#include "convop/engine.h"

#include <stddef.h>

#include "src/common/alloc.h"
#include "src/common/settings.h"
#include "src/common/status.h"
#include "src/engine/engine_internal.h"
#include "src/engine/events.h"
#include "src/engine/prepared.h"
#include "src/engine/thread.h"

/* ---- forks ------------------------------------------------------------------------------------
 * The child has no workers, and no thread that will end a task that was running; so there the
 * engine can only be destroyed. The lock is held across the fork, so all it guards is whole. */

static convop_engine *engine_of(struct cvp_fork_hook *hook)
{
    return (convop_engine *)((char *)hook - offsetof(convop_engine, hook));
}

static void before_fork(struct cvp_fork_hook *hook)
{
    pthread_mutex_lock(&engine_of(hook)->lock);
}

static void after_fork(struct cvp_fork_hook *hook)
{
    pthread_mutex_unlock(&engine_of(hook)->lock);
}

static void in_child(struct cvp_fork_hook *hook)
{
    convop_engine *engine = engine_of(hook);
    engine->forked = 1;
    pthread_mutex_init(&engine->lock, NULL);
    pthread_cond_init(&engine->ended, NULL);
    engine->ops->forked(engine);
}

/* Takes the lock, or says why `call` cannot be served. */
static convop_status enter(convop_engine *engine, const char *call)
{
    if (engine == NULL) return convop_fail(CONVOP_E_INVALID, "%s: engine is NULL", call);
    if (engine->forked) {
        return convop_fail(CONVOP_E_STATE,
                           "%s: the engine is that of the parent process; in a forked child it can "
                           "only be destroyed",
                           call);
    }
    pthread_mutex_lock(&engine->lock);
    return CONVOP_OK;
}

static convop_status leave(convop_engine *engine, convop_status status)
{
    pthread_mutex_unlock(&engine->lock);
    return status;
}

/* As enter, for a call that could wait for the task that makes it. */
static convop_status enter_wait(convop_engine *engine, const char *call)
{
    if (engine != NULL && cvp_task_current(engine) != NULL) {
        return convop_fail(CONVOP_E_STATE,
                           "%s: called from task '%s' of this engine, which would wait for itself",
                           call, cvp_task_current(engine)->name);
    }
    return enter(engine, call);
}

/* ---- life ----------------------------------------------------------------------------------- */

static convop_status choose_kind(convop_engine_kind kind, const struct cvp_engine_ops **ops)
{
    int setting = kind == CONVOP_ENGINE_THREADED;
    if ((int)kind < CONVOP_ENGINE_DEFAULT || kind > CONVOP_ENGINE_THREADED) {
        return convop_fail(CONVOP_E_INVALID, "convop_engine_create: kind is %d, must be 0..2",
                           (int)kind);
    }
    if (kind == CONVOP_ENGINE_DEFAULT) {
        CVP_RETURN_IF_ERROR(cvp_setting_int(CVP_SETTING_ENGINE, &setting));
    }
    *ops = setting ? &cvp_engine_threaded : &cvp_engine_naive;
    return CONVOP_OK;
}

/* What is left is nobody's: no thread of this process uses the engine. */
static void free_engine(convop_engine *engine)
{
    for (struct cvp_task *task = engine->oldest, *next; task != NULL; task = next) {
        next = task->newer;
        if (!task->is_kept) cvp_free(task);
    }
    cvp_var_table_clear(&engine->vars);
    pthread_cond_destroy(&engine->threaded.work);
    pthread_cond_destroy(&engine->ended);
    pthread_mutex_destroy(&engine->lock);
    cvp_free(engine->threaded.thread);
    cvp_free(engine);
}

static convop_engine *make_engine(const struct cvp_engine_ops *ops)
{
    convop_engine *engine = cvp_calloc(1, sizeof(*engine));
    if (engine == NULL) return NULL;
    engine->ops = ops;
    pthread_mutex_init(&engine->lock, NULL);
    pthread_cond_init(&engine->ended, NULL);
    pthread_cond_init(&engine->threaded.work, NULL);
    engine->hook.prepare = before_fork;
    engine->hook.parent = after_fork;
    engine->hook.child = in_child;
    if (cvp_fork_watch(&engine->hook) == CONVOP_OK) return engine;
    free_engine(engine);
    return NULL;
}

convop_status convop_engine_create(const convop_engine_options *options, convop_engine **out)
{
    convop_engine_options o = CONVOP_ENGINE_OPTIONS_INIT;
    const struct cvp_engine_ops *ops = NULL;
    if (out == NULL) return convop_fail(CONVOP_E_INVALID, "convop_engine_create: out is NULL");
    *out = NULL;
    if (options != NULL) {
        CVP_RETURN_IF_ERROR(
            cvp_read_struct(&o, sizeof(o), options, "convop_engine_create: options"));
    }
    if (o.num_workers < 0 || o.num_workers > CVP_MAX_THREADS) {
        return convop_fail(CONVOP_E_INVALID,
                           "convop_engine_create: num_workers is %d, must be 0..%d", o.num_workers,
                           CVP_MAX_THREADS);
    }
    CVP_RETURN_IF_ERROR(choose_kind(o.kind, &ops));
    convop_engine *engine = make_engine(ops);
    if (engine == NULL) {
        return convop_fail(CONVOP_E_NO_MEMORY, "convop_engine_create: %zu bytes", sizeof(*engine));
    }
    convop_status status = ops->start(engine, o.num_workers);
    if (status != CONVOP_OK) {
        cvp_fork_unwatch(&engine->hook);
        free_engine(engine);
        return status;
    }
    *out = engine;
    return CONVOP_OK;
}

/* With the lock held: until every task up to that number, and all that those push, have ended. */
static void wait_for_tasks(convop_engine *engine, uint64_t last)
{
    engine->waiters++;
    while (engine->oldest != NULL && engine->oldest->root <= last) {
        pthread_cond_wait(&engine->ended, &engine->lock);
    }
    engine->waiters--;
}

void convop_engine_destroy(convop_engine **engine)
{
    if (engine == NULL || *engine == NULL) return;
    convop_engine *e = *engine;
    if (cvp_task_current(e) != NULL) {
        (void)enter_wait(e, "convop_engine_destroy");
        return;
    }
    if (!e->forked) {
        /* While all workers are still there: those told to stop leave the rest to the others. */
        pthread_mutex_lock(&e->lock);
        wait_for_tasks(e, UINT64_MAX);
        pthread_mutex_unlock(&e->lock);
        e->ops->stop(e);
    }
    cvp_fork_unwatch(&e->hook);
    free_engine(e);
    *engine = NULL;
}

convop_engine_kind convop_engine_get_kind(const convop_engine *engine)
{
    return engine != NULL ? engine->ops->kind : CONVOP_ENGINE_DEFAULT;
}

/* ---- variables ------------------------------------------------------------------------------ */

/* The variable, or INVALID. With the lock held. */
static convop_status find(convop_engine *engine, const char *call, convop_var id,
                          struct cvp_var **var)
{
    *var = cvp_var_table_find(&engine->vars, id);
    if (*var != NULL) return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID,
                       "%s: var is %llu, which is deleted or not a variable of this engine", call,
                       (unsigned long long)id);
}

convop_status convop_var_create(convop_engine *engine, convop_var *out)
{
    if (out == NULL) return convop_fail(CONVOP_E_INVALID, "convop_var_create: out is NULL");
    *out = 0;
    CVP_RETURN_IF_ERROR(enter(engine, "convop_var_create"));
    struct cvp_var *var = cvp_calloc(1, sizeof(*var));
    if (var != NULL) var->id = cvp_var_next_id();
    if (var == NULL || !cvp_var_table_add(&engine->vars, var)) {
        cvp_free(var);
        return leave(engine,
                     convop_fail(CONVOP_E_NO_MEMORY, "convop_var_create: %zu bytes", sizeof(*var)));
    }
    *out = var->id;
    return leave(engine, CONVOP_OK);
}

convop_status convop_var_delete(convop_engine *engine, convop_var *var)
{
    if (var == NULL) return convop_fail(CONVOP_E_INVALID, "convop_var_delete: var is NULL");
    CVP_RETURN_IF_ERROR(enter(engine, "convop_var_delete"));
    struct cvp_var *v;
    convop_status status = find(engine, "convop_var_delete", *var, &v);
    if (status != CONVOP_OK) return leave(engine, status);
    v->deleted = 1;
    v->holders++;
    cvp_var_release(engine, v);
    *var = 0;
    return leave(engine, CONVOP_OK);
}

convop_status convop_var_version(convop_engine *engine, convop_var var, uint64_t *version)
{
    if (version == NULL) {
        return convop_fail(CONVOP_E_INVALID, "convop_var_version: version is NULL");
    }
    CVP_RETURN_IF_ERROR(enter(engine, "convop_var_version"));
    struct cvp_var *v;
    convop_status status = find(engine, "convop_var_version", var, &v);
    if (status == CONVOP_OK) *version = v->queue.version;
    return leave(engine, status);
}

/* ---- push and wait -------------------------------------------------------------------------- */

static convop_status check_task(const convop_task *task)
{
    const char *name = task->name != NULL ? task->name : "task";
    if (task->run == NULL) {
        return convop_fail(CONVOP_E_INVALID, "convop_engine_push: task '%s': run is NULL", name);
    }
    if ((task->num_reads > 0 && task->reads == NULL) ||
        (task->num_writes > 0 && task->writes == NULL)) {
        return convop_fail(CONVOP_E_INVALID,
                           "convop_engine_push: task '%s': reads or writes is NULL, its number is "
                           "not 0",
                           name);
    }
    return CONVOP_OK;
}

convop_status convop_engine_push(convop_engine *engine, const convop_task *task)
{
    convop_task t = CONVOP_TASK_INIT;
    CVP_RETURN_IF_ERROR(cvp_read_struct(&t, sizeof(t), task, "convop_engine_push: task"));
    CVP_RETURN_IF_ERROR(check_task(&t));
    cvp_event_push(engine, t.name);
    CVP_RETURN_IF_ERROR(enter(engine, "convop_engine_push"));
    struct cvp_task *made = cvp_task_make(&t);
    convop_status status =
        made != NULL ? cvp_task_resolve(engine, made, &t)
                     : convop_fail(CONVOP_E_NO_MEMORY,
                                   "convop_engine_push: a task with %zu reads and %zu writes",
                                   t.num_reads, t.num_writes);
    if (status != CONVOP_OK) {
        cvp_free(made);
        return leave(engine, status);
    }
    cvp_task_enter(engine, made);
    if (!engine->ops->submit(engine, made)) return enter(engine, "convop_engine_push");
    return leave(engine, CONVOP_OK);
}

convop_status cvp_prepared_create(convop_engine *engine, const convop_task *task,
                                  struct cvp_task **out)
{
    *out = NULL;
    CVP_RETURN_IF_ERROR(check_task(task));
    CVP_RETURN_IF_ERROR(enter(engine, "cvp_prepared_create"));
    struct cvp_task *made = cvp_task_make(task);
    convop_status status = made != NULL
                               ? cvp_task_resolve(engine, made, task)
                               : convop_fail(CONVOP_E_NO_MEMORY, "engine: no memory for task '%s'",
                                             task->name != NULL ? task->name : "task");
    if (status != CONVOP_OK) {
        cvp_free(made);
        return leave(engine, status);
    }
    made->is_kept = 1;
    *out = made;
    return leave(engine, CONVOP_OK);
}

convop_status cvp_prepared_push(convop_engine *engine, struct cvp_task *task)
{
    cvp_event_push(engine, task->name);
    CVP_RETURN_IF_ERROR(enter(engine, "cvp_prepared_push"));
    task->next = NULL;
    cvp_task_enter(engine, task);
    if (!engine->ops->submit(engine, task)) return enter(engine, "cvp_prepared_push");
    return leave(engine, CONVOP_OK);
}

void cvp_prepared_destroy(struct cvp_task **task)
{
    if (*task != NULL) cvp_free(*task);
    *task = NULL;
}

int cvp_engine_num_workers(const convop_engine *engine)
{
    return engine->ops->kind == CONVOP_ENGINE_NAIVE ? 1 : engine->threaded.workers;
}

int cvp_engine_is_inside(const convop_engine *engine)
{
    return cvp_task_current(engine) != NULL;
}

static convop_status report(const struct cvp_error *error)
{
    return error != NULL ? convop_fail(error->status, "%s", error->text) : CONVOP_OK;
}

convop_status convop_engine_wait(convop_engine *engine, convop_var var)
{
    cvp_event_wait(engine, var);
    CVP_RETURN_IF_ERROR(enter_wait(engine, "convop_engine_wait"));
    struct cvp_var *v;
    convop_status status = find(engine, "convop_engine_wait", var, &v);
    if (status != CONVOP_OK) return leave(engine, status);
    /* Writers end in the order of their pushes, so the count of ended writes says which ended. */
    uint64_t last = v->queue.entered;
    v->holders++;
    v->waiters++;
    while (v->queue.version < last) pthread_cond_wait(&engine->ended, &engine->lock);
    v->waiters--;
    status = report(v->error);
    cvp_var_release(engine, v);
    return leave(engine, status);
}

convop_status convop_engine_wait_all(convop_engine *engine)
{
    cvp_event_wait(engine, 0);
    CVP_RETURN_IF_ERROR(enter_wait(engine, "convop_engine_wait_all"));
    wait_for_tasks(engine, engine->pushed);
    const struct cvp_error *error = NULL;
    if (engine->num_errors > 0) error = cvp_var_table_first_error(&engine->vars);
    return leave(engine, report(error));
}

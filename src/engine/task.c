/* The life of a task: made, put in line, run under the error rule, ended. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/engine/engine_internal.h"
#include "src/engine/events.h"

#define NO_TEXT   "no text"
#define TEXT_SIZE 1024 /* of the thread's error text */

/* The tasks that a thread is in: a task may push to another naive engine, which runs one there. */
struct scope {
    const convop_engine *engine;
    struct cvp_task *task;
    struct scope *outer;
};
static _Thread_local struct scope *innermost;

struct cvp_task *cvp_task_current(const convop_engine *engine)
{
    struct scope *scope = innermost;
    while (scope != NULL && scope->engine != engine) scope = scope->outer;
    return scope != NULL ? scope->task : NULL;
}

struct cvp_task *cvp_task_make(const convop_task *from)
{
    const char *name = from->name != NULL ? from->name : "task";
    size_t uses, bytes, name_bytes = strlen(name) + 1;
    if (!cvp_add_size(from->num_reads, from->num_writes, &uses) ||
        !cvp_mul_size(uses, sizeof(struct cvp_task_use), &bytes) ||
        !cvp_add_size(bytes, sizeof(struct cvp_task) + name_bytes, &bytes)) {
        return NULL;
    }
    struct cvp_task *task = cvp_calloc(1, bytes);
    if (task == NULL) return NULL;
    task->ready.priority = from->priority;
    task->run = from->run;
    task->destroy = from->destroy;
    task->user = from->user;
    task->name = memcpy((char *)(task->use + uses), name, name_bytes);
    return task;
}

static convop_status add_use(convop_engine *engine, struct cvp_task *task, const char *list,
                             size_t index, convop_var id)
{
    int writes = list[0] == 'w';
    struct cvp_var *var = cvp_var_table_find(&engine->vars, id);
    if (var == NULL) {
        return convop_fail(CONVOP_E_INVALID,
                           "convop_engine_push: task '%s': %s[%zu] is %llu, which is %s",
                           task->name, list, index, (unsigned long long)id,
                           id == 0 ? "no variable" : "deleted or not a variable of this engine");
    }
    struct cvp_task_use *use = var->mark;
    if (use == NULL) {
        use = var->mark = &task->use[task->num_uses++];
        use->task = task;
        use->var = var;
    }
    if (writes) {
        use->use.writes = 1;
    } else {
        use->reads = 1;
    }
    return CONVOP_OK;
}

convop_status cvp_task_resolve(convop_engine *engine, struct cvp_task *task,
                               const convop_task *from)
{
    convop_status status = CONVOP_OK;
    for (size_t i = 0; i < from->num_reads && status == CONVOP_OK; i++) {
        status = add_use(engine, task, "reads", i, from->reads[i]);
    }
    for (size_t i = 0; i < from->num_writes && status == CONVOP_OK; i++) {
        status = add_use(engine, task, "writes", i, from->writes[i]);
    }
    for (size_t i = 0; i < task->num_uses; i++) task->use[i].var->mark = NULL;
    return status;
}

/* Keeps the list ordered by root: a task pushed from within a task comes right behind that. */
static void link_task(convop_engine *engine, struct cvp_task *task)
{
    struct cvp_task *pusher = cvp_task_current(engine);
    task->root = pusher != NULL ? pusher->root : task->ready.age;
    task->older = pusher != NULL ? pusher : engine->newest;
    task->newer = task->older != NULL ? task->older->newer : NULL;
    *(task->older != NULL ? &task->older->newer : &engine->oldest) = task;
    *(task->newer != NULL ? &task->newer->older : &engine->newest) = task;
}

static void unlink_task(convop_engine *engine, struct cvp_task *task)
{
    *(task->older != NULL ? &task->older->newer : &engine->oldest) = task->newer;
    *(task->newer != NULL ? &task->newer->older : &engine->newest) = task->older;
}

void cvp_task_enter(convop_engine *engine, struct cvp_task *task)
{
    task->ready.age = ++engine->pushed;
    link_task(engine, task);
    for (size_t i = 0; i < task->num_uses; i++) {
        struct cvp_var *var = task->use[i].var;
        var->holders++;
        if (!cvp_var_queue_enter(&var->queue, &task->use[i].use)) task->blocked++;
    }
}

void cvp_var_release(convop_engine *engine, struct cvp_var *var)
{
    if (--var->holders > 0 || !var->deleted) return;
    if (var->error != NULL) engine->num_errors--;
    cvp_error_drop(var->error);
    cvp_var_table_remove(&engine->vars, var);
    cvp_free(var);
}

/* The error that keeps the task from running: the first in the order of its reads. */
static struct cvp_error *error_of_reads(const struct cvp_task *task)
{
    for (size_t i = 0; i < task->num_uses; i++) {
        if (task->use[i].reads && task->use[i].var->error != NULL) {
            return cvp_error_ref(task->use[i].var->error);
        }
    }
    return NULL;
}

/* The task's own callbacks, without the lock. *status and text are the answer of run; a naive task
 * runs in a thread of the host, whose error text is left as it was. */
static void call_back(const convop_engine *engine, struct cvp_task *task, int run,
                      convop_status *status, char text[TEXT_SIZE])
{
    struct scope scope = {engine, task, innermost};
    char before[TEXT_SIZE];
    snprintf(before, sizeof(before), "%s", convop_last_error());
    innermost = &scope;
    if (run) {
        double start = cvp_event_start(engine, task->name);
        convop_fail(CONVOP_OK, NO_TEXT);
        *status = task->run(task->user);
        snprintf(text, TEXT_SIZE, "%s", convop_last_error());
        if (!engine->forked) cvp_event_end(engine, task->name, *status, start);
    }
    if (!engine->forked && task->destroy != NULL) task->destroy(task->user);
    innermost = scope.outer;
    convop_fail(CONVOP_OK, "%s", before);
    if (*status != CONVOP_OK && strcmp(text, NO_TEXT) == 0) {
        snprintf(text, TEXT_SIZE, "task '%s' failed and did not say why: %s", task->name,
                 convop_status_name(*status));
    }
}

static void set_error(convop_engine *engine, struct cvp_var *var, struct cvp_error *error)
{
    struct cvp_error *old = var->error;
    var->error = error != NULL ? cvp_error_ref(error) : NULL;
    engine->num_errors += (size_t)(error != NULL) - (size_t)(old != NULL);
    cvp_error_drop(old);
}

/* Ends one use; 1 if somebody waits for it. */
static int end_use(convop_engine *engine, struct cvp_task_use *use, struct cvp_error *error)
{
    struct cvp_var *var = use->var;
    int awaited = use->use.writes && var->waiters > 0;
    if (use->use.writes) set_error(engine, var, error);
    struct cvp_use *next = cvp_var_queue_leave(&var->queue, &use->use);
    while (next != NULL) {
        struct cvp_task *task = ((struct cvp_task_use *)next)->task;
        next = next->next;
        if (--task->blocked == 0) engine->ops->unblocked(engine, task);
    }
    cvp_var_release(engine, var);
    return awaited;
}

int cvp_task_run(convop_engine *engine, struct cvp_task *task)
{
    char text[TEXT_SIZE];
    convop_status status = CONVOP_OK;
    struct cvp_error *error = error_of_reads(task);
    pthread_mutex_unlock(&engine->lock);
    call_back(engine, task, error == NULL, &status, text);
    if (engine->forked) return 0;
    pthread_mutex_lock(&engine->lock);
    if (status != CONVOP_OK) error = cvp_error_make(status, text, ++engine->failed);
    int awaited = engine->waiters > 0;
    unlink_task(engine, task);
    for (size_t i = 0; i < task->num_uses; i++) {
        awaited |= end_use(engine, &task->use[i], error);
    }
    cvp_error_drop(error);
    if (!task->is_kept) cvp_free(task);
    if (awaited) pthread_cond_broadcast(&engine->ended);
    return 1;
}

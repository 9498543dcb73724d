/* The list of those who hear of forks. Nothing is registered with the system before first use. */
#include "src/engine/fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "src/common/status.h"

/* Guards the list. Held across a fork, so that the child finds the list whole. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cvp_fork_hook *hooks;

/* Two threads may register the handlers at the same time, and a child forked in that moment may do
 * so once more. Then each fork calls them twice; the depth makes the second call do nothing. */
static atomic_int registered;
static _Thread_local int depth;

static void before_fork(void)
{
    if (depth++ > 0) return;
    pthread_mutex_lock(&lock);
    for (struct cvp_fork_hook *hook = hooks; hook != NULL; hook = hook->next) {
        if (hook->prepare != NULL) hook->prepare(hook);
    }
}

static void after_fork_parent(void)
{
    if (--depth > 0) return;
    for (struct cvp_fork_hook *hook = hooks; hook != NULL; hook = hook->next) {
        if (hook->parent != NULL) hook->parent(hook);
    }
    pthread_mutex_unlock(&lock);
}

static void after_fork_child(void)
{
    if (--depth > 0) return;
    for (struct cvp_fork_hook *hook = hooks; hook != NULL; hook = hook->next) hook->child(hook);
    pthread_mutex_unlock(&lock);
}

convop_status cvp_fork_watch(struct cvp_fork_hook *hook)
{
    if (atomic_load(&registered) == 0) {
        if (pthread_atfork(before_fork, after_fork_parent, after_fork_child) != 0) {
            return convop_fail(CONVOP_E_NO_MEMORY, "no memory to watch for forks");
        }
        atomic_store(&registered, 1);
    }
    pthread_mutex_lock(&lock);
    hook->previous = NULL;
    hook->next = hooks;
    if (hooks != NULL) hooks->previous = hook;
    hooks = hook;
    pthread_mutex_unlock(&lock);
    return CONVOP_OK;
}

void cvp_fork_unwatch(struct cvp_fork_hook *hook)
{
    pthread_mutex_lock(&lock);
    if (hook->previous != NULL) {
        hook->previous->next = hook->next;
    } else {
        hooks = hook->next;
    }
    if (hook->next != NULL) hook->next->previous = hook->previous;
    pthread_mutex_unlock(&lock);
}

/* Leaf locks that survive fork(): the forking thread holds all of them while it forks, so that the
 * child finds what they guard whole and can release them. Nothing is registered before first use.
 */
#include "src/common/lock.h"

#include <pthread.h>

static pthread_mutex_t locks[CVP_LOCK_COUNT] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER,
};
static pthread_cond_t woken[CVP_LOCK_COUNT] = {
    PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
    PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
    PTHREAD_COND_INITIALIZER,
};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
    for (int i = 0; i < CVP_LOCK_COUNT; i++) pthread_mutex_lock(&locks[i]);
}

static void after_fork(void)
{
    for (int i = CVP_LOCK_COUNT - 1; i >= 0; i--) pthread_mutex_unlock(&locks[i]);
}

/* A condition still counts the threads that waited in the parent, so the child takes new ones. */
static void after_fork_child(void)
{
    for (int i = 0; i < CVP_LOCK_COUNT; i++) woken[i] = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    after_fork();
}

/* Without memory for the handlers only a child of a fork in a busy moment is worse off. */
static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork_child);
}

void cvp_lock(enum cvp_lock lock)
{
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&locks[lock]);
}

void cvp_unlock(enum cvp_lock lock)
{
    pthread_mutex_unlock(&locks[lock]);
}

void cvp_lock_wait(enum cvp_lock lock)
{
    pthread_cond_wait(&woken[lock], &locks[lock]);
}

void cvp_lock_wake(enum cvp_lock lock)
{
    pthread_cond_broadcast(&woken[lock]);
}

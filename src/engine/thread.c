/* See thread.h. */
#include "src/engine/thread.h"

#include <fenv.h>
#include <signal.h>
#include <stdatomic.h>

#include "src/common/cpu.h"
#include "src/common/settings.h"

/* Starts left before they are refused; negative: no limit. */
static atomic_int starts_left = -1;

void cvp_thread_refuse_after(int n)
{
    atomic_store(&starts_left, n);
}

static int refused(void)
{
    int left = atomic_load(&starts_left);
    while (left > 0 && !atomic_compare_exchange_weak(&starts_left, &left, left - 1)) continue;
    return left == 0;
}

int cvp_thread_start(pthread_t *thread, void *(*body)(void *arg), void *arg)
{
    if (refused()) return 0;
    /* A thread begins with the mask of its maker, so there is no moment in which it takes one. */
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return 0;
    int error = pthread_create(thread, NULL, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

void cvp_thread_defaults(void)
{
    fesetenv(FE_DFL_ENV);
}

convop_status cvp_thread_count(int asked, int *count)
{
    if (asked == 0) {
        convop_status status = cvp_setting_int(CVP_SETTING_NUM_THREADS, &asked);
        if (status != CONVOP_OK) return status;
    }
    if (asked == 0) asked = cvp_cpu()->processors;
    *count = asked < CVP_MAX_THREADS ? asked : CVP_MAX_THREADS;
    return CONVOP_OK;
}

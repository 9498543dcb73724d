/* Forked children for tests. A child that hangs is killed by its alarm, so the test fails. */
#ifndef CVP_TESTS_CHILD_H
#define CVP_TESTS_CHILD_H

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEST_CHILD_SECONDS 60

/* ThreadSanitizer ends a child that makes threads unless it is told not to. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_HAVE_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define TEST_HAVE_TSAN 1
#endif
#ifdef TEST_HAVE_TSAN
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}
#endif

/* AddressSanitizer's own locks stay taken in a child that was forked while other threads were
 * making threads or freeing memory, so there a child that goes on to use threads may hang (gcc 12).
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_CHILD_MAY_HANG 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TEST_CHILD_MAY_HANG 1
#endif
#ifndef TEST_CHILD_MAY_HANG
#define TEST_CHILD_MAY_HANG 0
#endif

/* Forks a child that runs body and exits with what it answers. */
static inline pid_t test_fork(int (*body)(void *arg), void *arg)
{
    pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(TEST_CHILD_SECONDS);
        _exit(body(arg));
    }
    return child;
}

/* Its exit code; -1 if there is none, minus the signal if one ended it. */
static inline int test_reap(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#endif

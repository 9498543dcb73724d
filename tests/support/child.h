/* Forked children for tests. A child that hangs is killed by its alarm, so the test fails. */
#ifndef CVP_TESTS_CHILD_H
#define CVP_TESTS_CHILD_H

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEST_CHILD_SECONDS 60

/* 1 with the thread sanitizer (gcc 12, clang 14). In a child that was forked beside other threads
 * the locks of its malloc stay taken, and its pthread_once waits for a thread that was in it.
 * glibc's own free the former and begin the latter anew. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_THREAD_SANITIZER 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define TEST_THREAD_SANITIZER 1
#endif
#ifndef TEST_THREAD_SANITIZER
#define TEST_THREAD_SANITIZER 0
#endif

/* 0 where a child that was forked beside other threads must not make threads itself. Sanitizers
 * (gcc 12, clang 14) do not survive that: their own locks stay taken, or they take the child's
 * threads for those of the parent. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TEST_CHILD_MAY_THREAD 0
#endif
#elif defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TEST_CHILD_MAY_THREAD 0
#endif
#ifndef TEST_CHILD_MAY_THREAD
#define TEST_CHILD_MAY_THREAD 1
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

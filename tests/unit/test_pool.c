/* The pool: lanes run at most once, the work is done, threads are as promised. */
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "src/common/alloc.h"
#include "src/engine/pool.h"
#include "src/engine/thread.h"

#define LANES 64

/* Work of `items` items, and who did it. */
struct job {
    atomic_int next;
    int items;
    atomic_int done;
    atomic_int lane_runs[LANES];
    int together; /* lanes that wait for each other, so that all take part */
    atomic_int arrived;
    atomic_int bad;
};

static void work(void *arg, int lane)
{
    struct job *job = arg;
    if (lane < 0 || lane >= LANES) {
        atomic_fetch_add(&job->bad, 1);
        return;
    }
    atomic_fetch_add(&job->lane_runs[lane], 1);
    atomic_fetch_add(&job->arrived, 1);
    while (atomic_load(&job->arrived) < job->together) sched_yield();
    while (atomic_fetch_add(&job->next, 1) < job->items) atomic_fetch_add(&job->done, 1);
}

static int lanes_used(struct job *job)
{
    int used = 0;
    for (int i = 0; i < LANES; i++) {
        assert_true(job->lane_runs[i] <= 1);
        used += job->lane_runs[i];
    }
    assert_int_equal(job->bad, 0);
    return used;
}

static void check_job(struct job *job)
{
    assert_int_equal(job->done, job->items);
    assert_int_equal(job->lane_runs[0], 1);
    lanes_used(job);
}

static void sleep_us(long us)
{
    struct timespec t = {0, us * 1000};
    nanosleep(&t, NULL);
}

static void runs_all_work(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 5; threads++) {
        struct cvp_pool *pool = cvp_pool_create(threads);
        assert_non_null(pool);
        assert_int_equal(cvp_pool_threads(pool), threads);
        for (int i = 0; i < 3000; i++) {
            struct job job = {.items = i % 17};
            assert_int_equal(cvp_pool_run(pool, 1 + i % 6, work, &job), 1);
            check_job(&job);
        }
        cvp_pool_destroy(pool);
    }
}

static void uses_every_thread(void **state)
{
    (void)state;
    struct cvp_pool *pool = cvp_pool_create(4);
    for (int i = 0; i < 50; i++) {
        struct job job = {.items = 100, .together = 4};
        assert_int_equal(cvp_pool_run(pool, 4, work, &job), 1);
        check_job(&job);
        assert_int_equal(lanes_used(&job), 4);
    }
    cvp_pool_destroy(pool);
}

static void more_lanes_than_threads(void **state)
{
    (void)state;
    struct cvp_pool *pool = cvp_pool_create(2);
    struct job job = {.items = 1000, .together = 2};
    assert_int_equal(cvp_pool_run(pool, 60, work, &job), 1);
    check_job(&job);
    assert_int_equal(lanes_used(&job), 2);
    cvp_pool_destroy(pool);
}

static void wakes_sleepers(void **state)
{
    (void)state;
    struct cvp_pool *pool = cvp_pool_create(3);
    for (int i = 0; i < 40; i++) {
        struct job job = {.items = 10, .together = 3};
        sleep_us(i % 2 ? 1000 : 150);
        assert_int_equal(cvp_pool_run(pool, 3, work, &job), 1);
        check_job(&job);
    }
    cvp_pool_destroy(pool);
}

static struct cvp_pool *shared;

static void run_again(void *arg, int lane)
{
    struct job inner = {.items = 3};
    if (lane == 0) *(int *)arg = cvp_pool_run(shared, 2, work, &inner) + 10 * inner.done;
}

static void busy_runs_nothing(void **state)
{
    (void)state;
    int answer = -1;
    shared = cvp_pool_create(2);
    assert_int_equal(cvp_pool_run(shared, 2, run_again, &answer), 1);
    assert_int_equal(answer, 0);
    cvp_pool_destroy(shared);
}

static atomic_int wrong_sums;

static void *host_thread(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2000; i++) {
        struct job job = {.items = 5};
        if (cvp_pool_run(shared, 3, work, &job) && job.done != 5) atomic_fetch_add(&wrong_sums, 1);
    }
    return NULL;
}

static void many_host_threads(void **state)
{
    (void)state;
    pthread_t thread[8];
    shared = cvp_pool_create(3);
    for (int i = 0; i < 8; i++) pthread_create(&thread[i], NULL, host_thread, NULL);
    for (int i = 0; i < 8; i++) pthread_join(thread[i], NULL);
    assert_int_equal(wrong_sums, 0);
    cvp_pool_destroy(shared);
}

static void refused_threads_are_fewer(void **state)
{
    (void)state;
    for (int allowed = 0; allowed <= 2; allowed++) {
        struct cvp_pool *pool = cvp_pool_create(8);
        cvp_thread_refuse_after(allowed);
        struct job job = {.items = 100, .together = allowed + 1};
        int ran = cvp_pool_run(pool, 8, work, &job);
        cvp_thread_refuse_after(-1);
        assert_int_equal(ran, 1);
        check_job(&job);
        assert_int_equal(lanes_used(&job), allowed + 1);
        cvp_pool_destroy(pool);
    }
}

struct seen {
    atomic_int arrived, unblocked, rounding, denormals_lost;
};

/* On a worker: what the host must not be able to change. */
static void look(void *arg, int lane)
{
    struct seen *seen = arg;
    if (lane == 0) {
        while (atomic_load(&seen->arrived) == 0) sched_yield();
        return;
    }
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    const int signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGALRM, SIGPROF};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (!sigismember(&blocked, signals[i])) seen->unblocked = signals[i];
    }
    seen->rounding = fegetround();
    volatile float smallest = 1.17549435e-38f;
    seen->denormals_lost = smallest / 2 == 0;
    atomic_store(&seen->arrived, 1);
}

static void workers_are_undisturbed(void **state)
{
    (void)state;
    struct cvp_pool *pool = cvp_pool_create(2);
    struct seen seen = {0};
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    fesetround(FE_UPWARD);
#ifdef __SSE2__
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() |
                           0x8040); /* flush to zero, denormals are zero */
#endif
    int ran = cvp_pool_run(pool, 2, look, &seen);
    int rounding = fegetround();
    fesetenv(FE_DFL_ENV);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(ran, 1);
    assert_int_equal(seen.unblocked, 0);
    assert_int_equal(seen.rounding, FE_TONEAREST);
    assert_int_equal(seen.denormals_lost, 0);
    assert_int_equal(rounding, FE_UPWARD);
    assert_false(sigismember(&after, SIGUSR1));
    for (int i = 1; i < 32; i++) assert_int_equal(sigismember(&before, i), sigismember(&after, i));
    cvp_pool_destroy(pool);
}

static void life(void **state)
{
    (void)state;
    uint64_t live = cvp_alloc_live();
    for (int i = 0; i < 200; i++) {
        struct cvp_pool *pool = cvp_pool_create(1 + i % 4);
        struct job job = {.items = 5};
        if (i % 3 != 0) assert_int_equal(cvp_pool_run(pool, 4, work, &job), 1);
        if (i % 20 == 1) sleep_us(500);
        cvp_pool_destroy(pool);
    }
    cvp_alloc_fail_at(1);
    assert_null(cvp_pool_create(2));
    cvp_alloc_fail_at(0);
    cvp_pool_destroy(NULL);
    assert_int_equal(cvp_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_all_work),
        cmocka_unit_test(uses_every_thread),
        cmocka_unit_test(more_lanes_than_threads),
        cmocka_unit_test(wakes_sleepers),
        cmocka_unit_test(busy_runs_nothing),
        cmocka_unit_test(many_host_threads),
        cmocka_unit_test(refused_threads_are_fewer),
        cmocka_unit_test(workers_are_undisturbed),
        cmocka_unit_test(life),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

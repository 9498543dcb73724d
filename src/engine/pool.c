/* The pool: one job at a time, joined on work and never on a sleeping thread.
 *
 * `claim` holds the job's number and, below it, how many of its lanes no thread has taken. A worker
 * takes a lane by compare-exchange of that word, so one that comes late, even a whole job late,
 * takes nothing. The caller works on lane 0, then takes all lanes that are left away by setting the
 * count to 0, and waits only for those that were taken. Waking a sleeper can cost more than a whole
 * job. */
#include "src/engine/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#include "src/common/alloc.h"
#include "src/common/clock.h"
#include "src/common/cpu.h"
#include "src/common/status.h"
#include "src/engine/fork.h"
#include "src/engine/thread.h"

#define SPIN_MS     0.2   /* a worker that finds no job for this long sleeps */
#define SPIN_PAUSES 64    /* between two looks at the clock: about a microsecond */
#define JOIN_SPINS  10000 /* looks at the last lane before the caller offers its processor */

#define CLAIM_BITS        16
#define CLAIM_LANES(word) ((word) & ((1u << CLAIM_BITS) - 1))
#define CLAIM_JOB(word)   ((word) >> CLAIM_BITS)
_Static_assert(CVP_MAX_THREADS < 1 << CLAIM_BITS, "the lanes fit below the job's number");

struct cvp_pool {
    /* Written by whoever holds busy, before claim is; read by those who took a lane. */
    void (*body)(void *arg, int lane);
    void *arg;

    /* The gaps keep what the workers watch and what they write in cache lines of their own. */
    char gap1[64];
    _Atomic uint64_t claim;
    char gap2[64];
    atomic_int ended; /* lanes of this job that were taken and have ended */
    char gap3[64];
    atomic_int caller_at; /* processor of the last caller; -1: unknown */
    atomic_int busy;      /* 1 while a thread runs a job */
    atomic_int sleeping;  /* workers that wait for wake, or are about to */
    atomic_int quit;
    atomic_int forks;     /* forks between the pool's birth and this process */
    pthread_mutex_t lock; /* guards the step from spinning to sleeping */
    pthread_cond_t wake;

    int threads; /* at most, with the caller */
    int crowded; /* more threads than processors: spinning takes from others */
    int workers; /* started; guarded by busy */
    int refused; /* the system gave no more; guarded by busy */
    struct cvp_fork_hook hook;
    pthread_t thread[]; /* of the workers */
};

static inline void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int has_lane(struct cvp_pool *pool, uint64_t last_job, uint64_t *word)
{
    *word = atomic_load(&pool->claim);
    return CLAIM_LANES(*word) > 0 && CLAIM_JOB(*word) != last_job;
}

/* A worker that was woken often begins on the caller's own processor, where its spinning would keep
 * the caller from running for all of its time. */
static int is_in_the_way(struct cvp_pool *pool)
{
    int caller_at = atomic_load_explicit(&pool->caller_at, memory_order_relaxed);
    return caller_at >= 0 && caller_at == cvp_cpu_current();
}

static int spin_for_lane(struct cvp_pool *pool, uint64_t last_job, uint64_t *word)
{
    double end = cvp_now_ms() + SPIN_MS;
    do {
        for (int i = 0; i < SPIN_PAUSES; i++) {
            if (has_lane(pool, last_job, word)) return 1;
            pause_cpu();
        }
        if (atomic_load_explicit(&pool->quit, memory_order_relaxed)) return 0;
        if (pool->crowded || is_in_the_way(pool)) sched_yield();
    } while (cvp_now_ms() < end);
    return 0;
}

/* Waits for a job other than the last one. 0: the pool is being destroyed. */
static int wait_for_lane(struct cvp_pool *pool, uint64_t last_job, uint64_t *word)
{
    if (spin_for_lane(pool, last_job, word)) return 1;
    pthread_mutex_lock(&pool->lock);
    /* The caller writes claim, then reads sleeping; here it is the other way round. Both are
     * sequentially consistent, so one of the two sees the other. */
    atomic_fetch_add(&pool->sleeping, 1);
    int found;
    while (!(found = has_lane(pool, last_job, word)) && !atomic_load(&pool->quit)) {
        pthread_cond_wait(&pool->wake, &pool->lock);
    }
    atomic_fetch_sub(&pool->sleeping, 1);
    pthread_mutex_unlock(&pool->lock);
    return found;
}

static void *worker(void *arg)
{
    struct cvp_pool *pool = arg;
    cvp_thread_defaults();
    int forks = atomic_load(&pool->forks);
    uint64_t word, last_job = 0;
    while (wait_for_lane(pool, last_job, &word)) {
        if (!atomic_compare_exchange_strong(&pool->claim, &word, word - 1)) continue;
        last_job = CLAIM_JOB(word);
        pool->body(pool->arg, (int)CLAIM_LANES(word));
        /* The body forked, and this is the child: it has no pool that waits for this thread. */
        if (atomic_load(&pool->forks) != forks) break;
        atomic_fetch_add(&pool->ended, 1);
    }
    return NULL;
}

/* In a forked child: no threads, no job. They are made again by the next loop. */
static void forget_threads(struct cvp_fork_hook *hook)
{
    struct cvp_pool *pool = (struct cvp_pool *)((char *)hook - offsetof(struct cvp_pool, hook));
    uint64_t next_job = CLAIM_JOB(atomic_load(&pool->claim)) + 1;
    atomic_store(&pool->claim, next_job << CLAIM_BITS);
    atomic_store(&pool->ended, 0);
    atomic_store(&pool->sleeping, 0);
    atomic_fetch_add(&pool->forks, 1);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pool->workers = pool->refused = 0;
    atomic_store(&pool->busy, 0);
}

struct cvp_pool *cvp_pool_create(int threads)
{
    size_t bytes = sizeof(struct cvp_pool) + (size_t)threads * sizeof(pthread_t);
    struct cvp_pool *pool = cvp_calloc(1, bytes);
    if (pool == NULL) return NULL;
    pool->threads = threads;
    pool->crowded = threads > cvp_cpu()->processors;
    atomic_init(&pool->claim, (uint64_t)1 << CLAIM_BITS);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pool->hook.child = forget_threads;
    if (cvp_fork_watch(&pool->hook) != CONVOP_OK) {
        cvp_free(pool);
        return NULL;
    }
    return pool;
}

void cvp_pool_destroy(struct cvp_pool *pool)
{
    if (pool == NULL) return;
    cvp_fork_unwatch(&pool->hook);
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->quit, 1);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->workers; i++) pthread_join(pool->thread[i], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    cvp_free(pool);
}

int cvp_pool_threads(const struct cvp_pool *pool)
{
    return pool->threads;
}

static void start_workers(struct cvp_pool *pool, int wanted)
{
    while (pool->workers < wanted && !pool->refused) {
        if (cvp_thread_start(&pool->thread[pool->workers], worker, pool)) {
            pool->workers++;
        } else {
            pool->refused = 1;
        }
    }
}

static void wake_workers(struct cvp_pool *pool, int wanted)
{
    int sleeping = atomic_load(&pool->sleeping);
    if (sleeping == 0) return;
    pthread_mutex_lock(&pool->lock);
    if (wanted >= sleeping) {
        pthread_cond_broadcast(&pool->wake);
    } else {
        for (int i = 0; i < wanted; i++) pthread_cond_signal(&pool->wake);
    }
    pthread_mutex_unlock(&pool->lock);
}

/* Runs the job with `others` lanes for the workers. */
static void run_job(struct cvp_pool *pool, int others, void (*body)(void *arg, int lane), void *arg)
{
    int forks = atomic_load(&pool->forks);
    pool->body = body;
    atomic_store_explicit(&pool->caller_at, cvp_cpu_current(), memory_order_relaxed);
    pool->arg = arg;
    atomic_store_explicit(&pool->ended, 0, memory_order_relaxed);
    uint64_t job = CLAIM_JOB(atomic_load(&pool->claim)) + 1;
    atomic_store(&pool->claim, job << CLAIM_BITS | (uint64_t)others);
    wake_workers(pool, others);
    body(arg, 0);
    uint64_t left = atomic_exchange(&pool->claim, job << CLAIM_BITS);
    int taken = others - (int)CLAIM_LANES(left);
    /* In a child that body forked nobody will end them. */
    for (int spins = 0; atomic_load(&pool->ended) < taken && atomic_load(&pool->forks) == forks;) {
        if (spins < JOIN_SPINS) {
            spins++;
            pause_cpu();
        } else {
            sched_yield();
        }
    }
}

int cvp_pool_run(struct cvp_pool *pool, int lanes, void (*body)(void *arg, int lane), void *arg)
{
    if (atomic_exchange(&pool->busy, 1) != 0) return 0;
    int others = (lanes < pool->threads ? lanes : pool->threads) - 1;
    start_workers(pool, others);
    if (others > pool->workers) others = pool->workers;
    if (others > 0) {
        run_job(pool, others, body, arg);
    } else {
        body(arg, 0);
    }
    atomic_store(&pool->busy, 0);
    return 1;
}

/* The pool of buffers: alignment, reuse, trim, hooks, threads and fork. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/common/alloc.h"
#include "tests/support/child.h"

#define HUGE_PAGE ((size_t)2 << 20)

static size_t used(void)
{
    size_t u, k;
    cvp_pool_usage(&u, &k);
    return u;
}

static size_t kept(void)
{
    size_t u, k;
    cvp_pool_usage(&u, &k);
    return k;
}

static void every_size_is_aligned_and_wastes_little(void **state)
{
    (void)state;
    const size_t sizes[] = {0,       1,       63,      64,      65,      511,
                            512,     513,     576,     577,     1023,    1024,
                            1025,    4096,    4097,    100000,  1 << 20, 2097151,
                            2097152, 2097153, 2359296, 2359297, 5000000, 16777216};
    convop_trim();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t bytes = sizes[i], before = used();
        unsigned char *memory = cvp_buffer_alloc(NULL, bytes);
        assert_non_null(memory);
        size_t capacity = used() - before;
        assert_int_equal((uintptr_t)memory % CVP_BUFFER_ALIGN, 0);
        if (bytes >= HUGE_PAGE) assert_int_equal((uintptr_t)memory % HUGE_PAGE, 0);
        assert_true(capacity >= bytes && capacity % CVP_BUFFER_ALIGN == 0);
        assert_true(capacity <= (bytes <= 512 ? bytes + 64 : bytes + bytes / 8));
        memset(memory, 0xa5, bytes);
        cvp_buffer_free(NULL, memory, bytes);
        assert_int_equal(used(), before);
    }
    convop_trim();
}

static void too_large_is_null(void **state)
{
    (void)state;
    uint64_t live = cvp_alloc_live();
    size_t before = used();
    assert_null(cvp_buffer_alloc(NULL, SIZE_MAX));
    assert_null(cvp_buffer_alloc(NULL, (size_t)1 << 62));
    assert_null(cvp_buffer_alloc(NULL, ((size_t)1 << 47) + 1));
    assert_null(cvp_buffer_alloc(NULL, (size_t)1 << 47)); /* a class, but no such address space */
    assert_int_equal(used(), before);
    assert_int_equal(cvp_alloc_live(), live);
}

static void freed_is_reused_newest_first(void **state)
{
    (void)state;
    const size_t sizes[] = {1000, 3000000};
    for (int i = 0; i < 2; i++) {
        size_t bytes = sizes[i];
        convop_trim();
        void *a = cvp_buffer_alloc(NULL, bytes), *b = cvp_buffer_alloc(NULL, bytes);
        void *other = cvp_buffer_alloc(NULL, 200);
        cvp_buffer_free(NULL, a, bytes);
        cvp_buffer_free(NULL, b, bytes);
        cvp_buffer_free(NULL, other, 200);
        /* Another size of the same class. */
        assert_ptr_equal(cvp_buffer_alloc(NULL, bytes - 1), b);
        assert_ptr_equal(cvp_buffer_alloc(NULL, bytes), a);
        assert_ptr_equal(cvp_buffer_alloc(NULL, 200), other);
        assert_int_equal(kept(), 0);
        cvp_buffer_free(NULL, a, bytes);
        cvp_buffer_free(NULL, b, bytes - 1);
        cvp_buffer_free(NULL, other, 200);
    }
    convop_trim();
}

static void trim_gives_back_what_is_kept(void **state)
{
    (void)state;
    convop_trim();
    void *a = cvp_buffer_alloc(NULL, 64), *b = cvp_buffer_alloc(NULL, HUGE_PAGE);
    cvp_buffer_free(NULL, a, 64);
    assert_int_equal(kept(), 64);
    cvp_buffer_free(NULL, b, HUGE_PAGE);
    assert_int_equal(kept(), 64 + HUGE_PAGE);
    assert_int_equal(convop_trim(), 64 + HUGE_PAGE);
    assert_int_equal(kept(), 0);
    assert_int_equal(convop_trim(), 0);
}

static void kept_is_bounded(void **state)
{
    (void)state;
    /* Untouched pages cost nothing, so buffers larger than the machine's memory can be had unless
     * the system counts what it has promised. */
    size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = memory / 16;
    void *buffers[8];
    convop_trim();
    int n = 0;
    while (n < 8 && (buffers[n] = cvp_buffer_alloc(NULL, bytes)) != NULL) n++;
    for (int i = 0; i < n; i++) cvp_buffer_free(NULL, buffers[i], bytes);
    assert_true(kept() <= memory / 4);
    convop_trim();
}

struct hook_log {
    size_t asked, alignment, released;
    char *block;
    int shift, refuse;
};

static void *hook_alloc(void *user, size_t bytes, size_t alignment)
{
    struct hook_log *log = user;
    log->asked = bytes;
    log->alignment = alignment;
    if (log->refuse) return NULL;
    log->block = aligned_alloc(alignment, 4096);
    return log->block + log->shift;
}

static void hook_release(void *user, void *memory, size_t bytes)
{
    struct hook_log *log = user;
    assert_ptr_equal(memory, log->block + log->shift);
    log->released = bytes;
    free(log->block);
}

static void hooks_are_called_with_the_same_size(void **state)
{
    (void)state;
    struct hook_log log = {0};
    const convop_allocator hooks = {hook_alloc, hook_release, &log};
    uint64_t live = cvp_alloc_live();
    size_t before = used();
    void *memory = cvp_buffer_alloc(&hooks, 100);
    assert_ptr_equal(memory, log.block);
    assert_int_equal(log.asked, 100);
    assert_int_equal(log.alignment, CVP_BUFFER_ALIGN);
    assert_int_equal(cvp_alloc_live(), live + 1);
    cvp_buffer_free(&hooks, memory, 100);
    assert_int_equal(log.released, 100);
    memory = cvp_buffer_alloc(&hooks, 0);
    cvp_buffer_free(&hooks, memory, 0);
    assert_int_equal(log.released, log.asked);
    assert_int_equal(used(), before);
    assert_int_equal(cvp_alloc_live(), live);
}

static void hooks_that_fail_give_null(void **state)
{
    (void)state;
    struct hook_log log = {.shift = 8};
    const convop_allocator hooks = {hook_alloc, hook_release, &log};
    uint64_t live = cvp_alloc_live();
    assert_null(cvp_buffer_alloc(&hooks, 100)); /* not aligned: given back at once */
    assert_int_equal(log.released, 100);
    log.refuse = 1;
    assert_null(cvp_buffer_alloc(&hooks, 100));
    assert_int_equal(cvp_alloc_live(), live);
    const convop_allocator none = {NULL, NULL, NULL};
    void *memory = cvp_buffer_alloc(&none, 100);
    assert_non_null(memory);
    cvp_buffer_free(&none, memory, 100);
}

static _Atomic int stop, passes;
static int trims = 1;
static pthread_barrier_t start;

/* Each buffer is filled with a number of its own, so that one handed out twice shows. */
static void *churn(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t *held[16] = {NULL};
    size_t sizes[16] = {0};
    uintptr_t wrong = 0;
    for (int i = 0; i < 20000 && !atomic_load(&stop); i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int at = (int)(seed >> 60);
        if (held[at] != NULL) {
            wrong += held[at][0] != (uint64_t)(uintptr_t)&held[at];
            cvp_buffer_free(NULL, held[at], sizes[at]);
        }
        sizes[at] = 64 + (seed >> 40) % 5000 + (i % 512 == 0 ? HUGE_PAGE : 0);
        held[at] = cvp_buffer_alloc(NULL, sizes[at]);
        if (held[at] != NULL) held[at][0] = (uint64_t)(uintptr_t)&held[at];
        if (trims && i % 1024 == 0) convop_trim();
    }
    for (int at = 0; at < 16; at++)
        if (held[at] != NULL) cvp_buffer_free(NULL, held[at], sizes[at]);
    return (void *)wrong;
}

static void *churn_together(void *arg)
{
    pthread_barrier_wait(&start);
    return churn(arg);
}

static void threads_never_share_a_buffer(void **state)
{
    (void)state;
    pthread_t threads[4];
    size_t before = used();
    assert_int_equal(pthread_barrier_init(&start, NULL, 4), 0);
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn_together, (void *)(i + 1)), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    pthread_barrier_destroy(&start);
    assert_int_equal(used(), before);
    convop_trim();
}

static void *churn_until_stopped(void *arg)
{
    for (; !atomic_load(&stop); atomic_fetch_add(&passes, 1)) churn(arg);
    return NULL;
}

/* With the thread sanitizer the threads first fill the pool, and then take all they need from it,
 * not from malloc. */
static void a_forked_child_can_allocate(void **state)
{
    (void)state;
    pthread_t threads[2];
    trims = !TEST_THREAD_SANITIZER;
    for (uintptr_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn_until_stopped, (void *)(i + 1)),
                         0);
    while (TEST_THREAD_SANITIZER && atomic_load(&passes) < 4) sched_yield();
    int failed = 0;
    for (int i = 0; i < 50 && !failed; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(20); /* a lock that nobody will release */
            void *memory = cvp_buffer_alloc(NULL, 1000);
            cvp_buffer_free(NULL, memory, 1000);
            convop_trim();
            _exit(memory == NULL);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        failed = status;
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    atomic_store(&stop, 0);
    assert_int_equal(failed, 0);
    convop_trim();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_is_aligned_and_wastes_little),
        cmocka_unit_test(too_large_is_null),
        cmocka_unit_test(freed_is_reused_newest_first),
        cmocka_unit_test(trim_gives_back_what_is_kept),
        cmocka_unit_test(kept_is_bounded),
        cmocka_unit_test(hooks_are_called_with_the_same_size),
        cmocka_unit_test(hooks_that_fail_give_null),
        cmocka_unit_test(threads_never_share_a_buffer),
        cmocka_unit_test(a_forked_child_can_allocate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

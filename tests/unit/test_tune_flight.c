/* Single flight: one thread of those that want a key is at it; keys do not wait for each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/support/child.h"
#include "tests/support/tune.h"

enum { THREADS = 16, ROUNDS = 200, KEYS = 3 };

static atomic_int at_it[KEYS], measured[KEYS];

static int without_a_file(void **state)
{
    (void)state;
    TUNE_CHECK(convop_set("cache_dir", "none") == CONVOP_OK);
    TUNE_CHECK(convop_tune_forget(NULL, NULL) == CONVOP_OK);
    return 0;
}

static void one_at_a_time(void **state)
{
    (void)state;
    struct tune_key a, b;
    tune_key(&a, 1);
    tune_key(&b, 2);
    assert_int_equal(cvp_tune_begin(&a.key, 0), 1);
    assert_int_equal(cvp_tune_begin(&a.key, 0), 0);
    assert_int_equal(cvp_tune_begin(&b.key, 1), 1);
    cvp_tune_end(&a.key);
    assert_int_equal(cvp_tune_begin(&a.key, 1), 1);
    cvp_tune_end(&b.key);
    cvp_tune_end(&a.key);
    cvp_tune_end(&a.key); /* is no flight's */
}

/* What a selection does: look up, else measure, else wait. Each key is measured once. */
static void *select_rows(void *arg)
{
    (void)arg;
    for (int n = 0; n < ROUNDS; n++) {
        int i = n % KEYS;
        struct tune_key k;
        tune_key(&k, i);
        while (!tune_get(i)) {
            if (!cvp_tune_begin(&k.key, 1)) continue;
            if (!tune_get(i)) {
                TUNE_CHECK(atomic_fetch_add(&at_it[i], 1) == 0);
                sched_yield();
                atomic_fetch_add(&measured[i], 1);
                TUNE_CHECK(tune_put(i) == CONVOP_OK);
                atomic_fetch_sub(&at_it[i], 1);
            }
            cvp_tune_end(&k.key);
        }
        TUNE_CHECK(tune_get(i) == 1);
    }
    return NULL;
}

static void many_threads_measure_once(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, select_rows, NULL), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < KEYS; i++) assert_int_equal(measured[i], 1);
}

static void *wait_for(void *arg)
{
    struct tune_key *k = arg;
    return cvp_tune_begin(&k->key, 1) ? k : NULL;
}

static int begins(void *arg)
{
    struct tune_key *k = arg;
    if (!cvp_tune_begin(&k->key, 1)) return 1;
    cvp_tune_end(&k->key);
    return tune_put(5) == CONVOP_OK && tune_get(5) == 1 ? 0 : 2;
}

/* A child has not the thread that is at it, nor those that wait. */
static void a_child_starts_with_none(void **state)
{
    (void)state;
    struct tune_key k;
    tune_key(&k, 4);
    assert_int_equal(cvp_tune_begin(&k.key, 1), 1);
    pthread_t waiter;
    assert_int_equal(pthread_create(&waiter, NULL, wait_for, &k), 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(test_reap(test_fork(begins, &k)), 0);
        sched_yield();
    }
    cvp_tune_end(&k.key);
    void *began;
    assert_int_equal(pthread_join(waiter, &began), 0);
    if (began) cvp_tune_end(&k.key); /* it came when all was over */
}

/* Without memory nobody waits for ever: the work may be done twice. */
static void without_memory(void **state)
{
    (void)state;
    struct tune_key k;
    tune_key(&k, 6);
    cvp_alloc_fail_at(1);
    assert_int_equal(cvp_tune_begin(&k.key, 1), 1);
    cvp_alloc_fail_at(0);
    assert_int_equal(cvp_tune_begin(&k.key, 1), 1);
    cvp_tune_end(&k.key);
    cvp_tune_end(&k.key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_at_a_time, without_a_file),
        cmocka_unit_test_setup(many_threads_measure_once, without_a_file),
        cmocka_unit_test_setup(a_child_starts_with_none, without_a_file),
        cmocka_unit_test_setup(without_memory, without_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The table of plans: what is found, what is given up, and when a plan ends. Hashes are injected,
 * so that keys meet where they should not matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "src/common/epoch.h"
#include "src/operator/convolution/convolution.h"
#include "src/operator/memo.h"
#include "tests/support/child.h"

/* A key of one word; op's plans need no end: all that these tests put there is zeros and a number
 * behind what the operator knows of. */
static struct cvp_memo_key key_of(uint64_t word, uint64_t hash)
{
    struct cvp_memo_key key;
    cvp_memo_key_begin(&key, &cvp_op_Convolution);
    cvp_memo_key_add(&key, word);
    key.hash = hash;
    return key;
}

#define MARK(entry) (*(uint64_t *)(void *)((entry)->plan + CVP_MEMO_PLAN_SIZE - 8))

static int keep(const struct cvp_memo_key *key)
{
    struct cvp_memo_entry *entry = cvp_memo_claim(key);
    if (!entry) return 0;
    MARK(entry) = key->words[0];
    cvp_memo_publish(entry);
    cvp_memo_release(entry);
    return 1;
}

/* 1 if it is there, and is what was put there for that key. */
static int is_there(const struct cvp_memo_key *key)
{
    const struct cvp_memo_entry *entry = cvp_memo_find(key);
    if (!entry) return 0;
    int good =
        *(const uint64_t *)(const void *)(entry->plan + CVP_MEMO_PLAN_SIZE - 8) == key->words[0];
    cvp_memo_release(entry);
    if (!good) fail_msg("the entry of another key was found");
    return 1;
}

static int purge_first(void **state)
{
    (void)state;
    cvp_memo_purge();
    return 0;
}

static void what_is_kept_is_found(void **state)
{
    (void)state;
    struct cvp_memo_key a = key_of(1, 100), b = key_of(2, 101);
    struct cvp_memo_counts before = cvp_memo_counts();
    assert_false(is_there(&a));
    assert_true(keep(&a));
    assert_true(is_there(&a));
    assert_false(is_there(&b));
    struct cvp_memo_counts after = cvp_memo_counts();
    assert_int_equal(after.hits - before.hits, 1);
    assert_int_equal(after.kept - before.kept, 1);
    assert_int_equal(after.entries, 1);
}

static void equal_hashes_are_told_apart(void **state)
{
    (void)state;
    struct cvp_memo_key a = key_of(1, 7), b = key_of(2, 7), c = key_of(1, 7), d = key_of(1, 7);
    cvp_memo_key_add(&c, 0); /* longer */
    d.op = &cvp_op__backward_Convolution;
    assert_true(keep(&a));
    assert_false(is_there(&b));
    assert_false(is_there(&c));
    assert_false(is_there(&d));
    assert_true(keep(&b));
    assert_true(keep(&c));
    assert_true(keep(&d));
    assert_true(is_there(&a));
    assert_true(is_there(&b));
    assert_true(is_there(&c));
    assert_true(is_there(&d));
}

static void a_full_window_gives_one_up(void **state)
{
    (void)state;
    struct cvp_memo_key keys[5];
    for (unsigned i = 0; i < 5; i++) {
        keys[i] = key_of(i, 7);
        assert_true(keep(&keys[i]));
    }
    assert_true(is_there(&keys[4]));
    int there = 0;
    for (int i = 0; i < 5; i++) there += is_there(&keys[i]);
    assert_int_equal(there, 4);
    assert_int_equal(cvp_memo_counts().entries, 4);
}

static void what_is_held_is_not_given_up(void **state)
{
    (void)state;
    struct cvp_memo_key keys[5];
    const struct cvp_memo_entry *held[4];
    for (unsigned i = 0; i < 5; i++) keys[i] = key_of(i, 7);
    for (int i = 0; i < 4; i++) {
        assert_true(keep(&keys[i]));
        held[i] = cvp_memo_find(&keys[i]);
        assert_non_null(held[i]);
    }
    assert_false(keep(&keys[4]));
    cvp_memo_release(held[2]);
    assert_true(keep(&keys[4]));
    assert_false(is_there(&keys[2]));
    for (int i = 0; i < 4; i++)
        if (i != 2) cvp_memo_release(held[i]);
    assert_true(is_there(&keys[0]) && is_there(&keys[4]));
}

static void what_is_old_is_not_found_and_goes_first(void **state)
{
    (void)state;
    struct cvp_memo_key old = key_of(0, 7), other = key_of(1, 7);
    assert_true(keep(&old));
    cvp_epoch_advance();
    assert_false(is_there(&old));
    for (int i = 0; i < 8; i++) assert_true(keep(&other));
    /* In the old one's place the first time, then in free ones: the old one was worth least. */
    assert_true(is_there(&other));
    assert_int_equal(cvp_memo_counts().entries, 4);
    cvp_memo_purge();
    assert_true(keep(&other));
    cvp_epoch_advance();
    assert_true(keep(&other));
    assert_int_equal(cvp_memo_counts().entries, 1);
}

static void a_claim_is_seen_when_it_is_published(void **state)
{
    (void)state;
    struct cvp_memo_key key = key_of(1, 7);
    struct cvp_memo_entry *entry = cvp_memo_claim(&key);
    assert_non_null(entry);
    assert_false(is_there(&key));
    cvp_memo_abandon(entry);
    assert_false(is_there(&key));
    assert_int_equal(cvp_memo_counts().entries, 0);
    assert_true(keep(&key));
    assert_true(is_there(&key));
}

static void a_purge_reaches_what_is_being_made_and_what_runs(void **state)
{
    (void)state;
    struct cvp_memo_key a = key_of(1, 7), b = key_of(2, 7);
    assert_true(keep(&b));
    const struct cvp_memo_entry *running = cvp_memo_find(&b);
    struct cvp_memo_entry *entry = cvp_memo_claim(&a);
    assert_non_null(entry);
    assert_non_null(running);
    cvp_memo_purge();
    MARK(entry) = 1;
    cvp_memo_publish(entry);
    assert_false(is_there(&a));
    assert_false(is_there(&b));
    cvp_memo_release(entry);
    cvp_memo_release(running);
    assert_int_equal(cvp_memo_counts().entries, 0);
    /* The places serve again, all of them. */
    for (unsigned i = 0; i < 4; i++) {
        struct cvp_memo_key key = key_of(i, 7);
        assert_true(keep(&key));
    }
    assert_int_equal(cvp_memo_counts().entries, 4);
}

static void what_does_not_fit_is_not_kept(void **state)
{
    (void)state;
    static convop_op stranger;
    struct cvp_memo_key key = key_of(1, 7);
    for (int i = 0; i < CVP_MEMO_KEY_WORDS; i++) cvp_memo_key_add(&key, 0);
    assert_true(key.is_bad);
    assert_false(keep(&key));
    assert_false(is_there(&key));
    stranger = cvp_op_Convolution;
    key = key_of(1, 7);
    key.op = &stranger;
    assert_false(keep(&key));
}

/* ---- threads and forks ---------------------------------------------------------------------- */

static atomic_int stop;

/* Few keys in one window, so that they are found, kept, thrown out and purged at the same time. A
 * plan's number lies in all of its bytes but where the operator looks. */
static void *find_and_keep(void *wrong_)
{
    atomic_int *wrong = wrong_;
    for (uint64_t i = 0; !atomic_load(&stop); i++) {
        struct cvp_memo_key key = key_of(i * i % 13, i % 3);
        const struct cvp_memo_entry *entry = cvp_memo_find(&key);
        if (!entry) {
            (void)keep(&key);
            continue;
        }
        if (*(const uint64_t *)(const void *)(entry->plan + CVP_MEMO_PLAN_SIZE - 8) != key.words[0])
            atomic_fetch_add(wrong, 1);
        cvp_memo_release(entry);
    }
    return NULL;
}

static void threads_find_what_they_asked_for(void **state)
{
    (void)state;
    pthread_t threads[8];
    atomic_int wrong = 0;
    atomic_store(&stop, 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, find_and_keep, &wrong), 0);
    for (int i = 0; i < 2000; i++) {
        if (i % 2) cvp_epoch_advance();
        cvp_memo_purge();
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    assert_int_equal(wrong, 0);
    cvp_memo_purge();
    assert_int_equal(cvp_memo_counts().entries, 0);
    /* No place is lost. */
    for (unsigned i = 0; i < 4; i++) {
        struct cvp_memo_key key = key_of(i, 0);
        assert_true(keep(&key));
    }
    assert_int_equal(cvp_memo_counts().entries, 4);
}

static int use_in_child(void *key)
{
    struct cvp_memo_key mine = key_of(99, 400);
    return !is_there(key) || !keep(&mine) || !is_there(&mine);
}

/* While other threads own and hold places: the child goes on with the rest. */
static void forks_go_on(void **state)
{
    (void)state;
    struct cvp_memo_key key = key_of(5, 300);
    pthread_t threads[4];
    atomic_int wrong = 0;
    assert_true(keep(&key));
    atomic_store(&stop, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, find_and_keep, &wrong), 0);
    for (int i = 0; i < 20; i++) assert_int_equal(test_reap(test_fork(use_in_child, &key)), 0);
    atomic_store(&stop, 1);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    assert_int_equal(wrong, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, purge_first)
    const struct CMUnitTest tests[] = {
        TEST(what_is_kept_is_found),
        TEST(equal_hashes_are_told_apart),
        TEST(a_full_window_gives_one_up),
        TEST(what_is_held_is_not_given_up),
        TEST(what_is_old_is_not_found_and_goes_first),
        TEST(a_claim_is_seen_when_it_is_published),
        TEST(a_purge_reaches_what_is_being_made_and_what_runs),
        TEST(what_does_not_fit_is_not_kept),
        TEST(threads_find_what_they_asked_for),
        TEST(forks_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

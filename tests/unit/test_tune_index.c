/* Records in memory: colliding hashes, the bound, the order of use. Both hash functions are wrapped
 * by the linker, so that they can be made to answer 0. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "src/operator/tuning/cache.h"
#include "tests/support/tune.h"

uint64_t __real_cvp_tune_key_hash(const struct cvp_tune_key *key);
uint64_t __real_cvp_tune_line_hash(const char *line);
uint64_t __wrap_cvp_tune_key_hash(const struct cvp_tune_key *key);
uint64_t __wrap_cvp_tune_line_hash(const char *line);

static int all_collide;

uint64_t __wrap_cvp_tune_key_hash(const struct cvp_tune_key *key)
{
    return all_collide ? 0 : __real_cvp_tune_key_hash(key);
}

uint64_t __wrap_cvp_tune_line_hash(const char *line)
{
    return all_collide ? 0 : __real_cvp_tune_line_hash(line);
}

static int without_a_file(void **state)
{
    (void)state;
    all_collide = 0;
    TUNE_CHECK(convop_set("cache_dir", "none") == CONVOP_OK);
    TUNE_CHECK(convop_tune_forget(NULL, NULL) == CONVOP_OK);
    return 0;
}

static void colliding_keys_stay_apart(void **state)
{
    (void)state;
    all_collide = 1;
    for (int i = 0; i < 40; i++) assert_int_equal(tune_put(i), CONVOP_OK);
    for (int i = 0; i < 40; i++) assert_int_equal(tune_get(i), 1);
    assert_int_equal(tune_get(40), 0);
    struct tune_key k;
    for (int i = 0; i < 40; i += 2) {
        tune_key(&k, i);
        cvp_tune_drop(&k.key);
    }
    for (int i = 0; i < 40; i++) assert_int_equal(tune_get(i), i % 2);
    assert_int_equal(tune_count(), 20);
    assert_int_equal(convop_tune_forget(NULL, NULL), CONVOP_OK);
}

/* Any part of a key makes another one. */
static void each_text_of_a_key_counts(void **state)
{
    (void)state;
    static const char *const texts[4][3] = {
        {"d", "s", "p"}, {"dd", "s", "p"}, {"d", "ss", "p"}, {"d", "s", "pp"}};
    for (int collide = 0; collide < 2; collide++) {
        all_collide = collide;
        struct cvp_tune_choice choice = {.impl = "a"};
        for (int i = 0; i < 4; i++) {
            choice.impl_version = i;
            struct cvp_tune_key key = {texts[i][0], texts[i][1], texts[i][2]};
            assert_int_equal(cvp_tune_store(&key, &choice), CONVOP_OK);
        }
        for (int i = 0; i < 4; i++) {
            struct cvp_tune_key key = {texts[i][0], texts[i][1], texts[i][2]};
            assert_int_equal(cvp_tune_lookup(&key, &choice), 1);
            assert_int_equal(choice.impl_version, i);
        }
        assert_int_equal(convop_tune_forget(NULL, NULL), CONVOP_OK);
    }
}

/* How many records a look-up compares at most: the longest chain. */
static size_t longest_chain(void)
{
    size_t longest = 0;
    for (size_t b = 0; b < cvp_tune_user.num_buckets; b++) {
        size_t length = 0;
        for (struct cvp_tune_record *r = cvp_tune_user.buckets[b]; r; r = r->next) length++;
        if (length > longest) longest = length;
    }
    return longest;
}

static void many_keys_are_bounded_and_found_at_once(void **state)
{
    (void)state;
    uint64_t before = cvp_alloc_live();
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(tune_put(i), CONVOP_OK);
        if (i >= 5000) assert_int_equal(tune_get(1000), 1); /* in use all the time */
        if (i % 1000 == 0) assert_true(cvp_tune_user.count <= CVP_TUNE_MAX_RECORDS);
    }
    assert_int_equal(cvp_tune_user.count, CVP_TUNE_MAX_RECORDS);
    assert_true(cvp_alloc_live() <= before + 3 * CVP_TUNE_MAX_RECORDS + 1);
    assert_true(longest_chain() <= 16);
    assert_int_equal(tune_get(99999), 1);
    assert_int_equal(tune_get(100000 - CVP_TUNE_MAX_RECORDS + 2), 1);
    assert_int_equal(tune_get(0), 0); /* the oldest has gone */
    assert_int_equal(tune_get(1000), 1);
    assert_int_equal(convop_tune_forget(NULL, NULL), CONVOP_OK);
    assert_int_equal(cvp_tune_user.count, 0);
    assert_true(cvp_alloc_live() <= before + 1); /* the buckets stay */
}

/* Whichever allocation fails, a record is stored whole or not at all, and nothing is lost. */
static void without_memory_nothing_is_half(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) assert_int_equal(tune_put(i), CONVOP_OK);
    convop_status status = CONVOP_E_NO_MEMORY;
    for (uint64_t n = 1; n < 50; n++) {
        cvp_alloc_fail_at(n);
        status = tune_put(1000 + (int)n);
        int failed = cvp_alloc_calls() >= n;
        cvp_alloc_fail_at(0);
        assert_true(status == CONVOP_OK || status == CONVOP_E_NO_MEMORY);
        assert_int_equal(tune_get(1000 + (int)n), status == CONVOP_OK);
        for (int i = 0; i < 20; i++) assert_int_equal(tune_get(i), 1);
        if (!failed) break;
    }
    assert_int_equal(status, CONVOP_OK);
    uint64_t live = cvp_alloc_live();
    for (uint64_t n = 1; n < 50; n++) {
        convop_tune_listing *listing = NULL;
        cvp_alloc_fail_at(n);
        status = convop_tune_list(NULL, &listing);
        cvp_alloc_fail_at(0);
        assert_true(status == CONVOP_OK ? listing != NULL : listing == NULL);
        convop_tune_listing_destroy(&listing);
        assert_int_equal(cvp_alloc_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(colliding_keys_stay_apart, without_a_file),
        cmocka_unit_test_setup(each_text_of_a_key_counts, without_a_file),
        cmocka_unit_test_setup(many_keys_are_bounded_and_found_at_once, without_a_file),
        cmocka_unit_test_setup(without_memory_nothing_is_half, without_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Many processes and threads at one file: nothing is lost, nothing is mixed, nobody hangs; one that
 * is killed loses at most what it was writing; whoever reads sees a whole file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <pthread.h>
#include <time.h>

#include "tests/support/child.h"
#include "tests/support/rng.h"
#include "tests/support/tune.h"

enum { PROCESSES = 8, THREADS = 8, OWN = 12, SHARED = 6 };

static int in_a_new_folder(void **state)
{
    (void)state;
    tune_make_folder();
    return 0;
}

/* In a child of its own, so that the parent's memory stays empty. */
static int use_folder(void)
{
    return convop_set("cache_dir", tune_folder) == CONVOP_OK;
}

/* ---- all at once ---------------------------------------------------------------------------- */

static int number_of(int process, int thread, int i)
{
    return SHARED + (process * THREADS + thread) * OWN + i;
}

struct place {
    int process, thread;
};

static void *store_all(void *arg)
{
    const struct place *at = arg;
    for (int i = 0; i < OWN; i++) {
        int mine = number_of(at->process, at->thread, i);
        TUNE_CHECK(tune_put(mine) == CONVOP_OK);
        TUNE_CHECK(tune_put(i % SHARED) == CONVOP_OK);
        TUNE_CHECK(tune_get(mine) == 1);
        TUNE_CHECK(tune_get(i % SHARED) == 1);
        TUNE_CHECK(tune_get((mine * 7) % 1000) >= 0);
    }
    return NULL;
}

static int store_from_threads(void *arg)
{
    pthread_t threads[THREADS];
    struct place places[THREADS];
    TUNE_CHECK(use_folder());
    for (int i = 0; i < THREADS; i++) {
        places[i] = (struct place){*(int *)arg, i};
        TUNE_CHECK(pthread_create(&threads[i], NULL, store_all, &places[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) TUNE_CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}

static int find_all(void *arg)
{
    (void)arg;
    TUNE_CHECK(use_folder());
    for (int i = 0; i < SHARED + PROCESSES * THREADS * OWN; i++) TUNE_CHECK(tune_get(i) == 1);
    convop_tune_counts counts = {.struct_size = sizeof counts};
    TUNE_CHECK(convop_tune_import(tune_file, &counts) == CONVOP_OK && counts.bad == 0);
    return 0;
}

static void eight_processes_of_eight_threads(void **state)
{
    (void)state;
    pid_t children[PROCESSES];
    int numbers[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        numbers[i] = i;
        children[i] = test_fork(store_from_threads, &numbers[i]);
    }
    for (int i = 0; i < PROCESSES; i++) assert_int_equal(test_reap(children[i]), 0);
    assert_int_equal(test_reap(test_fork(find_all, NULL)), 0);
}

/* ---- the others' records -------------------------------------------------------------------- */

static int store_seven(void *arg)
{
    (void)arg;
    TUNE_CHECK(use_folder() && tune_put(7) == CONVOP_OK);
    return 0;
}

static int see_the_others(void *arg)
{
    TUNE_CHECK(use_folder());
    TUNE_CHECK(tune_put(1) == CONVOP_OK);
    TUNE_CHECK(tune_get(7) == 0);
    TUNE_CHECK(test_reap(test_fork(store_seven, arg)) == 0);
    /* Not at once, but without being asked to: the file is looked at every tenth of a second. */
    const struct timespec pause = {0, 10000000};
    while (tune_get(7) == 0) nanosleep(&pause, NULL);
    TUNE_CHECK(tune_get(7) == 1 && tune_get(1) == 1);
    /* And that the file is gone. */
    TUNE_CHECK(unlink(tune_file) == 0);
    TUNE_CHECK(tune_count() == 0 && tune_get(1) == 0);
    return 0;
}

static void records_of_others_are_seen(void **state)
{
    (void)state;
    assert_int_equal(test_reap(test_fork(see_the_others, NULL)), 0);
}

/* ---- replacing ------------------------------------------------------------------------------ */

enum { KEPT = 20 };

/* Forgetting one record writes the file anew. */
static int replace_often(void *arg)
{
    TUNE_CHECK(use_folder());
    convop_tune_filter filter = CONVOP_TUNE_FILTER_INIT;
    filter.impl = "impl999";
    for (int i = 0; i < *(int *)arg; i++) {
        if (i % 10 == 0) TUNE_CHECK(tune_put(999) == CONVOP_OK);
        TUNE_CHECK(convop_tune_forget(&filter, NULL) == CONVOP_OK);
    }
    return 0;
}

static void a_reader_sees_whole_files(void **state)
{
    (void)state;
    assert_true(use_folder());
    for (int i = 0; i < KEPT; i++) assert_int_equal(tune_put(i), CONVOP_OK);
    int replacements = 1000, status, readings = 0;
    pid_t writer = test_fork(replace_often, &replacements);
    while (waitpid(writer, &status, WNOHANG) == 0) {
        size_t count = tune_count();
        assert_in_range(count, KEPT, KEPT + 1);
        for (int i = 0; i < KEPT; i++) assert_int_equal(tune_get(i), 1);
        readings++;
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(readings > 0);
    assert_int_equal(convop_set("cache_dir", "none"), CONVOP_OK);
}

/* Appends while another replaces: what was appended to the old file would be lost. */
static int append_and_check(void *arg)
{
    int base = *(int *)arg;
    TUNE_CHECK(use_folder());
    for (int i = 0; i < 200; i++) TUNE_CHECK(tune_put(base + i) == CONVOP_OK);
    return 0;
}

static int check_appended(void *arg)
{
    TUNE_CHECK(use_folder());
    for (int base = 1000; base < 3000; base += 1000)
        for (int i = 0; i < 200; i++) TUNE_CHECK(tune_get(base + i) == 1);
    (void)arg;
    return 0;
}

static void nothing_is_appended_to_a_replaced_file(void **state)
{
    (void)state;
    int bases[] = {1000, 2000}, replacements = 300;
    pid_t replacer = test_fork(replace_often, &replacements);
    pid_t first = test_fork(append_and_check, &bases[0]);
    pid_t second = test_fork(append_and_check, &bases[1]);
    assert_int_equal(test_reap(first), 0);
    assert_int_equal(test_reap(second), 0);
    assert_int_equal(test_reap(replacer), 0);
    assert_int_equal(test_reap(test_fork(check_appended, NULL)), 0);
}

/* ---- killing -------------------------------------------------------------------------------- */

/* Stores records, and tells the parent of each that is stored. Every key comes often enough for
 * the file to be compacted meanwhile. */
static int store_and_tell(void *arg)
{
    int pipe_end = *(int *)arg;
    TUNE_CHECK(use_folder());
    for (int i = 0;; i++) {
        TUNE_CHECK(tune_put(i % 40) == CONVOP_OK);
        unsigned char done = (unsigned char)(i % 40);
        if (write(pipe_end, &done, 1) != 1) return 0;
    }
}

static int check_told(void *arg)
{
    const char *told = arg;
    TUNE_CHECK(use_folder());
    for (int i = 0; i < 40; i++) {
        int got = tune_get(i);
        TUNE_CHECK(got >= 0 && (got == 1 || !told[i]));
    }
    TUNE_CHECK(tune_put(50) == CONVOP_OK && tune_get(50) == 1);
    return 0;
}

static void killed_at_any_moment(void **state)
{
    (void)state;
    struct rng rng = {test_seed(7)};
    fflush(stdout); /* or every child prints it again */
    char told[40] = {0};
    for (int i = 0; i < 200; i++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = test_fork(store_and_tell, &ends[1]);
        close(ends[1]);
        const struct timespec pause = {0, (long)(rng_next(&rng) % 8000000)};
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        assert_int_equal(test_reap(child), -SIGKILL);
        unsigned char done;
        while (read(ends[0], &done, 1) == 1) told[done] = 1;
        close(ends[0]);
        if (i % 10 == 9) assert_int_equal(test_reap(test_fork(check_told, told)), 0);
    }
    assert_int_equal(test_reap(test_fork(check_told, told)), 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, in_a_new_folder, tune_teardown)
    const struct CMUnitTest tests[] = {
        TEST(eight_processes_of_eight_threads),
        TEST(records_of_others_are_seen),
        TEST(a_reader_sees_whole_files),
        TEST(nothing_is_appended_to_a_replaced_file),
        TEST(killed_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

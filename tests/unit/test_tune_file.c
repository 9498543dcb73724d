/* The cache's file in good order: written, read, merged by hand, compacted, kept for others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <time.h>

#include "src/operator/tuning/cache.h"
#include "tests/support/tune.h"

/* As a new process would find it: nothing is in memory. */
static size_t start_anew(void)
{
    TUNE_CHECK(convop_set("cache_dir", "none") == CONVOP_OK);
    TUNE_CHECK(tune_count() == 0);
    TUNE_CHECK(convop_set("cache_dir", tune_folder) == CONVOP_OK);
    return tune_count();
}

static void records_outlive_the_process(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) assert_int_equal(tune_put(i), CONVOP_OK);
    assert_int_equal(tune_occurs(tune_file, "#convop-tuning\t1\t"), 1);
    assert_int_equal(tune_occurs(tune_file, "choice\t"), 10);
    assert_int_equal(start_anew(), 10);
    for (int i = 0; i < 10; i++) assert_int_equal(tune_get(i), 1);
    struct stat s;
    assert_int_equal(stat(tune_file, &s), 0);
    assert_int_equal(s.st_mode & 0111, 0);
}

static void the_folder_is_made_for_its_owner_alone(void **state)
{
    (void)state;
    char deep[400];
    struct stat s;
    snprintf(deep, sizeof deep, "%s/a/b", tune_folder);
    assert_int_equal(convop_set("cache_dir", deep), CONVOP_OK);
    assert_int_equal(tune_get(1), 0);
    assert_int_not_equal(stat(deep, &s), 0); /* a look-up makes nothing */
    assert_int_equal(tune_put(1), CONVOP_OK);
    assert_int_equal(stat(deep, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
}

static void a_plan_comes_back(void **state)
{
    (void)state;
    struct tune_key k;
    tune_key(&k, 1);
    char plan[3000];
    memset(plan, 'x', sizeof plan - 1);
    plan[sizeof plan - 1] = '\0';
    struct cvp_tune_choice choice = {.impl = "cudnn", .plan = plan}, found;
    assert_int_equal(cvp_tune_store(&k.key, &choice), CONVOP_OK);
    assert_int_equal(start_anew(), 1);
    assert_int_equal(cvp_tune_lookup(&k.key, &found), 1);
    assert_string_equal(found.plan, plan);
    cvp_free(found.plan);
}

/* "cat a b > c", twice even, and the same in the other order. */
static void files_are_merged_by_cat(void **state)
{
    (void)state;
    size_t first, second;
    assert_int_equal(tune_put(1), CONVOP_OK);
    assert_int_equal(tune_put(2), CONVOP_OK);
    char *a = tune_read(tune_file, &first);
    unlink(tune_file);
    assert_int_equal(tune_count(), 0);
    assert_int_equal(tune_put(2), CONVOP_OK);
    assert_int_equal(tune_put(3), CONVOP_OK);
    char *b = tune_read(tune_file, &second);
    for (int order = 0; order < 2; order++) {
        char *both = malloc(first + second);
        memcpy(both, order ? b : a, order ? second : first);
        memcpy(both + (order ? second : first), order ? a : b, order ? first : second);
        tune_write(tune_file, both, first + second);
        free(both);
        assert_int_equal(start_anew(), 3);
        for (int i = 1; i < 4; i++) assert_int_equal(tune_get(i), 1);
    }
    free(a);
    free(b);
}

/* Of a key the later time counts, wherever its line is. */
static void the_later_time_wins(void **state)
{
    (void)state;
    convop_tune_record r = {.device = "d", .software = "s", .problem = "p", .plan = ""};
    char all[4096];
    struct cvp_tune_key key = {"d", "s", "p"};
    struct cvp_tune_choice choice;
    for (int first_is_later = 0; first_is_later < 2; first_is_later++) {
        size_t done = 0;
        for (int i = 0; i < 2; i++) {
            char *line;
            size_t length;
            r.impl = i ? "second" : "first";
            r.when = i != first_is_later ? 200 : 100;
            assert_int_equal(cvp_tune_encode("test", &r, &line, &length), CONVOP_OK);
            memcpy(all + done, line, length);
            done += length;
            cvp_free(line);
        }
        tune_write(tune_file, all, done);
        start_anew();
        assert_int_equal(cvp_tune_lookup(&key, &choice), 1);
        assert_string_equal(choice.impl, first_is_later ? "first" : "second");
    }
    /* A clock that goes wrong does not bring the old one back. */
    r.when = (int64_t)time(NULL) + 1000000;
    char *future;
    size_t length;
    assert_int_equal(cvp_tune_encode("test", &r, &future, &length), CONVOP_OK);
    tune_write(tune_file, future, length);
    start_anew();
    assert_int_equal(cvp_tune_store(&key, &(struct cvp_tune_choice){.impl = "third"}), CONVOP_OK);
    start_anew();
    assert_int_equal(cvp_tune_lookup(&key, &choice), 1);
    assert_string_equal(choice.impl, "third");
    /* Nor is one that was dropped, as its row is not there: what replaces it is later. */
    tune_write(tune_file, future, length);
    start_anew();
    cvp_tune_drop(&key);
    assert_int_equal(cvp_tune_lookup(&key, &choice), 0);
    assert_int_equal(cvp_tune_store(&key, &(struct cvp_tune_choice){.impl = "fourth"}), CONVOP_OK);
    start_anew();
    assert_int_equal(cvp_tune_lookup(&key, &choice), 1);
    assert_string_equal(choice.impl, "fourth");
    cvp_free(future);
}

static const char foreign_lines[] = "# measured on the build machine\n"
                                    "plan\tof a later version\tfa738a3b75dc8941\n";

/* What is superseded goes, once it is more than half; everything else stays. */
static void half_of_the_file_is_never_dead(void **state)
{
    (void)state;
    tune_write(tune_file, foreign_lines, sizeof foreign_lines - 1);
    struct cvp_tune_key other = {"gpu=other", "convop=1", "p"},
                        older = {"cpu=Test", "convop=0", "p"};
    struct cvp_tune_choice choice = {.impl = "a"};
    assert_int_equal(cvp_tune_store(&other, &choice), CONVOP_OK);
    assert_int_equal(cvp_tune_store(&older, &choice), CONVOP_OK);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(tune_put(i % 7), CONVOP_OK);
        if (i % 100 == 0) assert_true(tune_occurs(tune_file, "\n") <= 64 + 2);
    }
    assert_int_equal(tune_occurs(tune_file, "# measured on the build machine\n"), 1);
    assert_int_equal(tune_occurs(tune_file, "plan\tof a later version\t"), 1);
    assert_int_equal(tune_occurs(tune_file, "#convop-tuning\t1\t"), 1);
    assert_int_equal(start_anew(), 9);
    for (int i = 0; i < 7; i++) assert_int_equal(tune_get(i), 1);
    assert_int_equal(cvp_tune_lookup(&other, &choice), 1);
    assert_int_equal(cvp_tune_lookup(&older, &choice), 1);
}

static void lines_that_end_in_a_return_count(void **state)
{
    (void)state;
    assert_int_equal(tune_put(1), CONVOP_OK);
    assert_int_equal(tune_put(2), CONVOP_OK);
    size_t length, done = 0;
    char *bytes = tune_read(tune_file, &length), *dos = malloc(2 * length);
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n') dos[done++] = '\r';
        dos[done++] = bytes[i];
    }
    tune_write(tune_file, dos, done);
    free(bytes);
    free(dos);
    assert_int_equal(start_anew(), 2);
    assert_int_equal(tune_get(1), 1);
    assert_int_equal(tune_get(2), 1);
}

/* Some editors put one in front of a file, and cat has it in the middle then. */
static void byte_order_marks_cost_nothing(void **state)
{
    (void)state;
    static const char mark[] = "\xef\xbb\xbf";
    assert_int_equal(tune_put(1), CONVOP_OK);
    size_t length;
    char *bytes = tune_read(tune_file, &length), *marked = malloc(2 * (length + 3));
    size_t head = (size_t)(strchr(bytes, '\n') + 1 - bytes), done = 0;
    for (int i = 0; i < 2; i++) { /* before a header, before a record */
        memcpy(marked + done, mark, 3);
        memcpy(marked + done + 3, bytes + i * head, length - (size_t)i * head);
        done += 3 + length - (size_t)i * head;
    }
    tune_write(tune_file, marked, done);
    free(bytes);
    free(marked);
    convop_tune_counts counts = {.struct_size = sizeof counts};
    assert_int_equal(convop_tune_import(tune_file, &counts), CONVOP_OK);
    assert_int_equal(counts.records, 2);
    assert_int_equal(counts.bad, 0);
    assert_int_equal(counts.format, 1);
    assert_int_equal(start_anew(), 1);
    assert_int_equal(tune_get(1), 1);
}

/* A file may have more records than memory keeps. Those are not new to it. */
static void importing_ones_own_file_adds_nothing(void **state)
{
    (void)state;
    enum { COUNT = CVP_TUNE_MAX_RECORDS + 10 };
    FILE *f = fopen(tune_file, "wb");
    assert_non_null(f);
    for (int i = 0; i < COUNT; i++) {
        struct tune_key k;
        tune_key(&k, i);
        convop_tune_record r = {.device = k.key.device,
                                .software = k.key.software,
                                .problem = k.problem,
                                .impl = "a",
                                .plan = ""};
        char *line;
        size_t length;
        assert_int_equal(cvp_tune_encode("test", &r, &line, &length), CONVOP_OK);
        assert_int_equal(fwrite(line, 1, length, f), length);
        cvp_free(line);
    }
    assert_int_equal(fclose(f), 0);
    assert_int_equal(start_anew(), CVP_TUNE_MAX_RECORDS);
    struct stat before, after;
    assert_int_equal(stat(tune_file, &before), 0);
    convop_tune_counts counts = {.struct_size = sizeof counts};
    assert_int_equal(convop_tune_import(tune_file, &counts), CONVOP_OK);
    assert_int_equal(counts.records, COUNT);
    assert_int_equal(stat(tune_file, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
}

/* One that is linked to stays where it is, and the link too. */
static void a_link_stays_a_link(void **state)
{
    (void)state;
    char target[400];
    struct stat s;
    snprintf(target, sizeof target, "%s/elsewhere", tune_folder);
    assert_int_equal(symlink("elsewhere", tune_file), 0);
    assert_int_equal(tune_put(1), CONVOP_OK);
    assert_int_equal(tune_put(2), CONVOP_OK);
    convop_tune_filter filter = CONVOP_TUNE_FILTER_INIT;
    filter.impl = "impl1";
    assert_int_equal(chmod(target, 0640), 0);
    assert_int_equal(convop_tune_forget(&filter, NULL), CONVOP_OK);
    assert_int_equal(lstat(tune_file, &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    assert_int_equal(stat(target, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0640);
    assert_int_equal(start_anew(), 1);
    assert_int_equal(tune_get(2), 1);
}

/* No time is asserted: it is printed for people. Of the thread, so that others' work counts little.
 */
static void ten_thousand_records_with_plans(void **state)
{
    (void)state;
    enum { COUNT = 10000, PLAN = 2000 };
    FILE *f = fopen(tune_file, "wb");
    assert_non_null(f);
    char plan[PLAN + 1], problem[64];
    memset(plan, 'p', PLAN);
    plan[PLAN] = '\0';
    for (int i = 0; i < COUNT; i++) {
        snprintf(problem, sizeof problem, "g1mb1ic%dih14oc64oh12kh3", i);
        convop_tune_record r = {.device = "gpu=NVIDIA H200;cc=9.0",
                                .software = "convop=1;cudnn=9.8",
                                .problem = problem,
                                .impl = "cudnn",
                                .ms = 0.1,
                                .plan = plan};
        char *line;
        size_t length;
        assert_int_equal(cvp_tune_encode("test", &r, &line, &length), CONVOP_OK);
        assert_int_equal(fwrite(line, 1, length, f), length);
        cvp_free(line);
    }
    assert_int_equal(fclose(f), 0);
    double best = 1e9;
    for (int i = 0; i < 20; i++) {
        struct timespec begin, end;
        struct cvp_tune_choice choice;
        struct cvp_tune_key key = {"gpu=NVIDIA H200;cc=9.0", "convop=1;cudnn=9.8",
                                   "g1mb1ic9999ih14oc64oh12kh3"};
        assert_int_equal(convop_set("cache_dir", "none"), CONVOP_OK);
        assert_int_equal(tune_count(), 0);
        cvp_pool_trim();
        assert_int_equal(convop_set("cache_dir", tune_folder), CONVOP_OK);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        assert_int_equal(cvp_tune_lookup(&key, &choice), 1);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        cvp_free(choice.plan);
        double ms = (double)(end.tv_sec - begin.tv_sec) * 1e3 +
                    (double)(end.tv_nsec - begin.tv_nsec) * 1e-6;
        if (ms < best) best = ms;
    }
    print_message("%d records with plans of %d bytes: loaded in %.2f ms of processor time\n", COUNT,
                  PLAN, best);
    assert_int_equal(tune_count(), COUNT);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, tune_setup, tune_teardown)
    const struct CMUnitTest tests[] = {
        TEST(records_outlive_the_process),
        TEST(the_folder_is_made_for_its_owner_alone),
        TEST(a_plan_comes_back),
        TEST(files_are_merged_by_cat),
        TEST(the_later_time_wins),
        TEST(half_of_the_file_is_never_dead),
        TEST(lines_that_end_in_a_return_count),
        TEST(byte_order_marks_cost_nothing),
        TEST(importing_ones_own_file_adds_nothing),
        TEST(a_link_stays_a_link),
        TEST(ten_thousand_records_with_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

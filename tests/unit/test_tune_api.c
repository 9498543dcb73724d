/* convop/tune.h: lists, filters, import, export, the system's file, a host that keeps records. The
 * linker puts functions of the test in the place of those that say where the system's file is and
 * what machine this is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "src/common/epoch.h"
#include "src/operator/tuning/place.h"
#include "src/operator/tuning/record.h"
#include "tests/support/child.h"
#include "tests/support/tune.h"

static char system_file[300];

const char *__wrap_cvp_tune_system_path(void);
void __wrap_cvp_tune_identity(char *lines, size_t size);

const char *__wrap_cvp_tune_system_path(void)
{
    return system_file;
}

void __wrap_cvp_tune_identity(char *lines, size_t size)
{
    snprintf(lines, size,
             "cpu=Test CPU;isa=avx2;threads=4\tconvop=1\n"
             "gpu=One\tconvop=1;driver=2\n"
             "gpu=Two\tconvop=1;driver=2\n");
}

static void put_with_time(const char *device, const char *software, const char *problem,
                          const char *impl, double ms)
{
    struct cvp_tune_key key = {device, software, problem};
    struct cvp_tune_choice choice = {.impl_version = 1, .ms = ms};
    snprintf(choice.impl, sizeof choice.impl, "%s", impl);
    TUNE_CHECK(cvp_tune_store(&key, &choice) == CONVOP_OK);
}

static void put(const char *device, const char *software, const char *problem, const char *impl)
{
    put_with_time(device, software, problem, impl, 1.5);
}

static size_t count_of(const convop_tune_filter *filter)
{
    convop_tune_listing *listing = NULL;
    assert_int_equal(convop_tune_list(filter, &listing), CONVOP_OK);
    size_t count = convop_tune_listing_count(listing);
    convop_tune_listing_destroy(&listing);
    return count;
}

static void a_list_is_sorted_and_lives_on(void **state)
{
    (void)state;
    put("d2", "s", "p", "a");
    put("d1", "s2", "p", "b");
    put("d1", "s1", "p2", "c");
    put("d1", "s1", "p", "d");
    convop_tune_listing *listing = NULL;
    assert_int_equal(convop_tune_list(NULL, &listing), CONVOP_OK);
    assert_int_equal(convop_tune_forget(NULL, NULL), CONVOP_OK);
    assert_int_equal(convop_tune_listing_count(listing), 4);
    static const char impls[] = "dcba";
    for (size_t i = 0; i < 4; i++) {
        const convop_tune_record *r = convop_tune_listing_at(listing, i);
        assert_int_equal(r->impl[0], impls[i]);
        assert_int_equal(r->struct_size, sizeof *r);
        assert_true(r->ms == 1.5 && r->when > 1700000000 && r->plan[0] == '\0');
    }
    assert_string_equal(convop_tune_listing_at(listing, 1)->problem, "p2");
    assert_null(convop_tune_listing_at(listing, 4));
    convop_tune_listing_destroy(&listing);
    convop_tune_listing_destroy(&listing);
    convop_tune_listing_destroy(NULL);
    assert_null(convop_tune_listing_at(NULL, 0));
    assert_int_equal(convop_tune_listing_count(NULL), 0);
    assert_int_equal(convop_tune_list(NULL, NULL), CONVOP_E_INVALID);
}

/* What no device of this machine uses with these versions; but a choice that this version made for
 * a device that is elsewhere is kept for it. */
static void what_is_foreign(void **state)
{
    (void)state;
    static const struct {
        const char *device, *software;
        double ms;
        int is_foreign;
    } all[] = {
        {"cpu=Test CPU;isa=avx2;threads=4", "convop=1", 1, 0},
        {"gpu=One", "convop=1;driver=2", 1, 0},
        {"gpu=Two", "convop=1;driver=2", 0, 0},
        {"gpu=Two", "convop=1;driver=1", 1, 1},
        {"gpu=Tw", "convop=1;driver=2", 1, 1},
        {"gpu=Two;cc=9", "convop=1;driver=2", 1, 1},
        {"gpu=Elsewhere", "convop=1;driver=3", 0, 0},
        {"gpu=Elsewhere", "convop=1;driver=4", 1, 1},
        {"gpu=Elsewhere", "convop=10;driver=3", 0, 1},
        {"gpu=Elsewhere", "convop=0;driver=3", 0, 1},
        {"gpu=Elsewhere", "convop=1", 0, 1},
    };
    enum { COUNT = sizeof all / sizeof all[0] };
    convop_tune_filter f = CONVOP_TUNE_FILTER_INIT;
    f.foreign = 1;
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(convop_tune_forget(NULL, NULL), CONVOP_OK);
        put_with_time(all[i].device, all[i].software, "p", "cudnn", all[i].ms);
        if (count_of(&f) != (size_t)all[i].is_foreign)
            fail_msg("%s, %s, %g", all[i].device, all[i].software, all[i].ms);
    }
}

static void filters_choose(void **state)
{
    (void)state;
    put("cpu=Test CPU;isa=avx2;threads=4", "convop=1", "mb1ic3", "gemm");
    put("cpu=Test CPU;isa=avx2;threads=4", "convop=0", "mb1ic3", "gemm");
    put("cpu=Other", "convop=1", "mb1ic3", "direct");
    put("cpu=Other", "convop=1", "mb2ic3", "depthwise");
    convop_tune_filter f = CONVOP_TUNE_FILTER_INIT;
    assert_int_equal(count_of(&f), 4);
    f.foreign = 1;
    assert_int_equal(count_of(&f), 3);
    f.problem = "mb1";
    assert_int_equal(count_of(&f), 2);
    f.foreign = 0;
    assert_int_equal(count_of(&f), 3);
    f.impl = "dir";
    assert_int_equal(count_of(&f), 1);
    f.device = "Test";
    assert_int_equal(count_of(&f), 0);
    f = (convop_tune_filter)CONVOP_TUNE_FILTER_INIT;
    f.before = 1000;
    assert_int_equal(count_of(&f), 0);
    f.before = INT64_MAX;
    f.software = "convop=0";
    assert_int_equal(count_of(&f), 1);
    size_t count = 0;
    uint64_t epoch = cvp_epoch();
    assert_int_equal(convop_tune_forget(&f, &count), CONVOP_OK);
    assert_true(cvp_epoch() > epoch);
    assert_int_equal(count, 1);
    assert_int_equal(count_of(NULL), 3);
    assert_int_equal(tune_occurs(tune_file, "choice\t"), 3);
    f.struct_size = 1;
    assert_int_equal(convop_tune_forget(&f, &count), CONVOP_E_INVALID);
    assert_int_equal(count_of(NULL), 3);
}

static void what_is_exported_is_imported(void **state)
{
    (void)state;
    char other[400];
    snprintf(other, sizeof other, "%s/other.tsv", tune_folder);
    for (int i = 9; i >= 0; i--) assert_int_equal(tune_put(i), CONVOP_OK);
    assert_int_equal(convop_tune_export(other), CONVOP_OK);
    char *first = tune_read(other, NULL);
    assert_int_equal(convop_tune_forget(NULL, NULL), CONVOP_OK);
    assert_int_equal(tune_get(3), 0);
    convop_tune_counts counts = {.struct_size = sizeof counts};
    uint64_t epoch = cvp_epoch();
    assert_int_equal(convop_tune_import(other, &counts), CONVOP_OK);
    assert_true(cvp_epoch() > epoch);
    assert_int_equal(counts.records, 10);
    assert_int_equal(counts.bad, 0);
    assert_int_equal(counts.format, 1);
    for (int i = 0; i < 10; i++) assert_int_equal(tune_get(i), 1);
    assert_int_equal(tune_occurs(tune_file, "choice\t"), 10);
    /* Once more: nothing is new. */
    assert_int_equal(convop_tune_import(other, NULL), CONVOP_OK);
    assert_int_equal(tune_occurs(tune_file, "choice\t"), 10);
    /* The same bytes again: a list that is checked in does not change by itself. */
    assert_int_equal(convop_tune_export(other), CONVOP_OK);
    char *second = tune_read(other, NULL);
    assert_string_equal(first, second);
    free(first);
    free(second);
}

static void import_keeps_the_later(void **state)
{
    (void)state;
    char other[400], all[2000];
    size_t done = 0;
    snprintf(other, sizeof other, "%s/other.tsv", tune_folder);
    put("d", "s", "ours is later", "ours");
    put("d", "s", "theirs is later", "ours");
    convop_tune_record r = {.device = "d", .software = "s", .impl = "theirs", .plan = ""};
    for (int i = 0; i < 2; i++) {
        char *line;
        size_t length;
        r.problem = i ? "theirs is later" : "ours is later";
        r.when = i ? INT64_C(9999999999) : 1;
        assert_int_equal(cvp_tune_encode("test", &r, &line, &length), CONVOP_OK);
        memcpy(all + done, line, length);
        done += length;
        cvp_free(line);
    }
    tune_write(other, all, done);
    convop_tune_counts counts = {.struct_size = sizeof counts};
    assert_int_equal(convop_tune_import(other, &counts), CONVOP_OK);
    assert_int_equal(counts.records, 2);
    assert_int_equal(counts.format, 0);
    convop_tune_listing *listing;
    assert_int_equal(convop_tune_list(NULL, &listing), CONVOP_OK);
    assert_string_equal(convop_tune_listing_at(listing, 0)->impl, "ours");
    assert_string_equal(convop_tune_listing_at(listing, 1)->impl, "theirs");
    convop_tune_listing_destroy(&listing);
    assert_int_equal(tune_occurs(tune_file, "choice\t"), 3);
}

static void paths_that_lead_nowhere(void **state)
{
    (void)state;
    assert_int_equal(convop_tune_import(NULL, NULL), CONVOP_E_INVALID);
    assert_int_equal(convop_tune_export(NULL), CONVOP_E_INVALID);
    assert_int_equal(convop_tune_import("/nowhere/at/all", NULL), CONVOP_E_NOT_FOUND);
    assert_int_equal(convop_tune_import("/", NULL), CONVOP_E_IO);
    assert_int_equal(convop_tune_export("/nowhere/at/all"), CONVOP_E_IO);
    assert_int_equal(convop_tune_export("/dev/null"), CONVOP_E_IO);
    assert_int_equal(convop_tune_export(tune_folder), CONVOP_E_IO);
    convop_tune_counts counts = {.struct_size = 3};
    assert_int_equal(convop_tune_import(tune_file, &counts), CONVOP_E_INVALID);
    char path[300], why[100];
    assert_int_equal(convop_tune_path(path, sizeof path, why, sizeof why), strlen(tune_file));
    assert_string_equal(path, tune_file);
    assert_string_equal(why, "");
    assert_int_equal(convop_tune_path(path, 5, NULL, 0), strlen(tune_file));
    assert_int_equal(strlen(path), 4);
}

/* ---- the system's file ---------------------------------------------------------------------- */

static int find_below(void *arg)
{
    (void)arg;
    TUNE_CHECK(tune_get(1) == 1 && tune_get(2) == 1 && tune_get(3) == 0 && tune_count() == 2);
    struct tune_key k;
    struct cvp_tune_choice choice = {.impl = "mine"};
    tune_key(&k, 1);
    TUNE_CHECK(cvp_tune_store(&k.key, &choice) == CONVOP_OK);
    TUNE_CHECK(tune_get(1) == -1 && tune_count() == 2); /* the user's hides it */
    size_t count;
    TUNE_CHECK(convop_tune_forget(NULL, &count) == CONVOP_OK && count == 2); /* soon, too */
    TUNE_CHECK(tune_get(1) == 1); /* and the system's is there again */
    cvp_tune_drop(&k.key);
    TUNE_CHECK(tune_get(1) == 0 && tune_get(2) == 1);
    return 0;
}

static void the_system_lies_below(void **state)
{
    (void)state;
    size_t length, now;
    assert_int_equal(tune_put(1), CONVOP_OK);
    assert_int_equal(tune_put(2), CONVOP_OK);
    snprintf(system_file, sizeof system_file, "%s/system.tsv", tune_folder);
    assert_int_equal(rename(tune_file, system_file), 0);
    char *before = tune_read(system_file, &length);
    /* A line of the user's that is malformed behind its key hides nothing of it. */
    static const char soon[] =
        "choice\tcpu=Test CPU;isa=avx2;threads=4\tconvop=1\tg1mb1ic2ih14oc64oh12kh3\timpl2\t2\t"
        "soon\t0.5\t128\t1796040000\t\t8d5d4facd6b0a94e\n";
    tune_write(tune_file, soon, sizeof soon - 1);
    /* A process that has read nothing yet: this one has. */
    char program[400];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(n > 0);
    program[n] = '\0';
    assert_int_equal(setenv("CONVOP_TEST_SYSTEM", system_file, 1), 0);
    assert_int_equal(setenv("CONVOP_CACHE_DIR", tune_folder, 1), 0);
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(unsetenv("CONVOP_TEST_SYSTEM"), 0);
    assert_int_equal(test_reap(child), 0);
    char *after = tune_read(system_file, &now);
    assert_int_equal(now, length);
    assert_memory_equal(before, after, length);
    free(before);
    free(after);
}

/* ---- a host that keeps records -------------------------------------------------------------- */

struct host {
    atomic_int lookups, stores, running, is_gone;
    char impl[64], stored[64], plan[64];
};

static int host_lookup(void *user, convop_tune_record *record)
{
    struct host *host = user;
    TUNE_CHECK(!atomic_load(&host->is_gone));
    TUNE_CHECK(record->device && record->software && record->problem);
    atomic_fetch_add(&host->lookups, 1);
    if (!host->impl[0]) return 0;
    record->impl = host->impl;
    record->impl_version = 7;
    record->ms = 0.25;
    record->plan = host->plan;
    return 1;
}

static void host_store(void *user, const convop_tune_record *record)
{
    struct host *host = user;
    TUNE_CHECK(!atomic_load(&host->is_gone));
    TUNE_CHECK(tune_get(1234) == 0); /* no lock is held, and it may ask */
    snprintf(host->stored, sizeof host->stored, "%s", record->impl);
    atomic_fetch_add(&host->stores, 1);
}

static void a_host_keeps_records(void **state)
{
    (void)state;
    struct host host = {.impl = ""};
    convop_tune_callbacks callbacks = {sizeof callbacks, host_lookup, host_store, &host};
    uint64_t epoch = cvp_epoch();
    assert_int_equal(convop_tune_set_callbacks(&callbacks), CONVOP_OK);
    assert_true(cvp_epoch() > epoch);
    assert_int_equal(tune_get(1), 0);
    assert_int_equal(tune_put(1), CONVOP_OK);
    assert_int_equal(host.stores, 1);
    assert_string_equal(host.stored, "impl1");
    assert_int_not_equal(access(tune_file, F_OK), 0); /* no file is written */
    assert_int_equal(tune_get(1), 1);
    /* What the host says comes first. */
    strcpy(host.impl, "of the host");
    strcpy(host.plan, "a plan");
    struct tune_key k;
    struct cvp_tune_choice choice;
    tune_key(&k, 1);
    assert_int_equal(cvp_tune_lookup(&k.key, &choice), 1);
    assert_string_equal(choice.impl, "of the host");
    assert_int_equal(choice.impl_version, 7);
    assert_string_equal(choice.plan, "a plan");
    cvp_free(choice.plan);
    assert_int_equal(convop_tune_set_callbacks(NULL), CONVOP_OK);
    int lookups = host.lookups;
    assert_int_equal(tune_get(1), 1);
    assert_int_equal(host.lookups, lookups);
    callbacks.struct_size = 2;
    assert_int_equal(convop_tune_set_callbacks(&callbacks), CONVOP_E_INVALID);
    callbacks = (convop_tune_callbacks){sizeof callbacks, NULL, NULL, NULL};
    assert_int_equal(convop_tune_set_callbacks(&callbacks), CONVOP_OK);
    assert_int_equal(tune_put(2), CONVOP_OK);
    assert_int_equal(tune_get(2), 1);
    assert_int_equal(convop_tune_set_callbacks(NULL), CONVOP_OK);
}

static atomic_int stop;

static void *look_up(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) (void)tune_get(1);
    return NULL;
}

/* When they are taken back, none runs any more. */
static void callbacks_end_when_they_are_taken_back(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    atomic_store(&stop, 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up, NULL), 0);
    for (int i = 0; i < 50; i++) {
        struct host *host = calloc(1, sizeof *host);
        convop_tune_callbacks callbacks = {sizeof callbacks, host_lookup, host_store, host};
        assert_int_equal(convop_tune_set_callbacks(&callbacks), CONVOP_OK);
        sched_yield();
        assert_int_equal(convop_tune_set_callbacks(NULL), CONVOP_OK);
        atomic_store(&host->is_gone, 1);
        free(host);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

int main(void)
{
    const char *below = getenv("CONVOP_TEST_SYSTEM");
    if (below) {
        snprintf(system_file, sizeof system_file, "%s", below);
        return find_below(NULL);
    }
#define TEST(function) cmocka_unit_test_setup_teardown(function, tune_setup, tune_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_list_is_sorted_and_lives_on),
        TEST(filters_choose),
        TEST(what_is_foreign),
        TEST(what_is_exported_is_imported),
        TEST(import_keeps_the_later),
        TEST(paths_that_lead_nowhere),
        TEST(the_system_lies_below),
        TEST(a_host_keeps_records),
        TEST(callbacks_end_when_they_are_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Writing record files: limits, full disks, and that the old file stays until the new one is whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "io/output.h"
#include "io/record_writer.h"
#include "tests/io/support.h"
#include "tests/support/child.h"
#include "tests/support/expect.h"

static void too_long_is_refused_unread(void **state)
{
    (void)state;
    const size_t limit = (size_t)1 << 29;
    void *pages = mmap(NULL, limit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(pages != MAP_FAILED);
    struct cvp_io_record_writer *w = NULL;
    expect_ok(cvp_io_record_create(test_path("l.rec"), NULL, &w));
    assert_int_equal(cvp_io_record_write(w, 9, pages, limit), CONVOP_E_INVALID);
    assert_true(test_mentions(convop_last_error(), "2^29"));
    assert_int_equal(cvp_io_record_written(w), 0);
    expect_ok(cvp_io_record_write(w, 9, "ok", 2)); /* it goes on */
    assert_int_equal(cvp_io_record_written(w), 12);
    expect_ok(cvp_io_record_commit(&w));
    munmap(pages, limit);
}

static int temporaries(void)
{
    const char *folder = test_path("");
    DIR *d = opendir(folder);
    struct dirent *e;
    int n = 0;
    while ((e = readdir(d)) != NULL) n += strstr(e->d_name, ".tmp") != NULL;
    closedir(d);
    return n;
}

static void full_disk(void **state)
{
    (void)state;
    static const char data[70000] = "x";
    struct cvp_io_record_writer *w = NULL;
    expect_ok(cvp_io_record_create("/dev/full", NULL, &w));
    convop_status status = CONVOP_OK;
    for (int i = 0; i < 40 && status == CONVOP_OK; i++)
        status = cvp_io_record_write(w, 0, data, sizeof data);
    assert_int_equal(status, CONVOP_E_IO);
    assert_non_null(strstr(convop_last_error(), "/dev/full"));
    assert_int_equal(cvp_io_record_write(w, 0, data, 1), CONVOP_E_IO);
    assert_int_equal(cvp_io_record_commit(&w), CONVOP_E_IO);
    assert_null(w);
    /* What fits into the buffer fails when it is committed. */
    expect_ok(cvp_io_record_create("/dev/full", NULL, &w));
    expect_ok(cvp_io_record_write(w, 0, data, 1));
    assert_int_equal(cvp_io_record_commit(&w), CONVOP_E_IO);
    /* The index fails, so the records stay what they were. */
    const char *path = test_path("old.rec");
    test_write(path, "old", 3);
    expect_ok(cvp_io_record_create(path, "/dev/full", &w));
    expect_ok(cvp_io_record_write(w, 0, data, 1));
    assert_int_equal(cvp_io_record_commit(&w), CONVOP_E_IO);
    struct cvp_io_record old = test_read(path);
    assert_int_equal(old.size, 3);
    cvp_io_record_free(&old);
    assert_int_equal(temporaries(), 0);
}

/* The disk fills up while a file is written that was there before: a limit stands for the disk. */
static int write_past_the_limit(void *arg)
{
    static const char data[70000] = "x";
    const struct rlimit limit = {sizeof data, sizeof data};
    struct cvp_io_record_writer *w = NULL;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    /* One record leaves the end for commit() to fail at; of more the second does. */
    for (int records = 1; records < 4; records++) {
        if (cvp_io_record_create(arg, NULL, &w) != CONVOP_OK) return 3;
        convop_status status = CONVOP_OK;
        for (int i = 0; i < records && status == CONVOP_OK; i++)
            status = cvp_io_record_write(w, 0, data, sizeof data);
        if (records > 1 && status != CONVOP_E_IO) return 4;
        if (cvp_io_record_commit(&w) != CONVOP_E_IO || w || temporaries() != 0) return 5;
        if (!strstr(convop_last_error(), arg)) return 6;
    }
    struct cvp_io_output *o = NULL; /* alone, as lists are written */
    if (cvp_io_output_create(arg, &o) != CONVOP_OK) return 7;
    for (size_t i = 0; i <= sizeof data; i++) cvp_io_output_write(o, data, 1);
    return cvp_io_output_commit(&o) == CONVOP_E_IO && !o && temporaries() == 0 ? 0 : 8;
}

static void disk_fills_up(void **state)
{
    (void)state;
    char path[160];
    snprintf(path, sizeof path, "%s", test_path("f.rec"));
    test_write(path, "old", 3);
    assert_int_equal(test_reap(test_fork(write_past_the_limit, path)), 0);
    struct cvp_io_record old = test_read(path);
    assert_int_equal(old.size, 3);
    cvp_io_record_free(&old);
}

static void old_file_stays_until_the_end(void **state)
{
    (void)state;
    const char *path = test_path("o.rec"), *link = test_path("o.link");
    test_write(path, "old", 3);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink(path, link), 0);
    struct cvp_io_record_writer *w = NULL;
    expect_ok(cvp_io_record_create(link, NULL, &w));
    expect_ok(cvp_io_record_write(w, 0, "new", 3));
    struct cvp_io_record file = test_read(path);
    assert_int_equal(file.size, 3);
    cvp_io_record_free(&file);
    cvp_io_record_discard(&w);
    assert_int_equal(temporaries(), 0);
    expect_ok(cvp_io_record_create(link, NULL, &w));
    expect_ok(cvp_io_record_write(w, 0, "new", 3));
    expect_ok(cvp_io_record_commit(&w));
    struct stat s;
    assert_true(lstat(link, &s) == 0 && S_ISLNK(s.st_mode));
    assert_true(stat(path, &s) == 0 && s.st_size == 12 && (s.st_mode & 0777) == 0640);
    assert_int_equal(temporaries(), 0);
    assert_int_equal(cvp_io_record_create(test_path("none/x.rec"), NULL, &w), CONVOP_E_IO);
    assert_int_equal(cvp_io_record_create(test_path(""), NULL, &w), CONVOP_E_IO);
}

static int write_for_ever(void *arg)
{
    static const char data[1000] = "x";
    struct cvp_io_record_writer *w = NULL;
    if (cvp_io_record_create(arg, NULL, &w) != CONVOP_OK) return 1;
    for (;;) {
        if (cvp_io_record_write(w, 0, data, sizeof data) != CONVOP_OK) return 2;
        if (cvp_io_record_written(w) > 4000000) pause();
    }
}

static void kill_while_writing(void **state)
{
    (void)state;
    char path[160];
    snprintf(path, sizeof path, "%s", test_path("k.rec"));
    test_write(path, "old", 3);
    const pid_t child = test_fork(write_for_ever, path);
    while (temporaries() == 0) usleep(1000);
    usleep(20000);
    kill(child, SIGKILL);
    assert_int_equal(test_reap(child), -SIGKILL);
    struct cvp_io_record file = test_read(path);
    assert_int_equal(file.size, 3);
    assert_memory_equal(file.data, "old", 3);
    cvp_io_record_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_long_is_refused_unread),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(disk_fills_up),
        cmocka_unit_test(old_file_stays_until_the_end),
        cmocka_unit_test(kill_while_writing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

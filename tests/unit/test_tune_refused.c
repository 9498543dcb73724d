/* What the system refuses: room, locks, folders. The cache then keeps records in memory, says so
 * once, and leaves the file as it was. System calls are wrapped by the linker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "convop/context.h"
#include "tests/support/child.h"
#include "tests/support/tune.h"

/* ---- the wrapped calls ---------------------------------------------------------------------- */

int __real_fcntl(int fd, int command, ...);
int __real_fcntl64(int fd, int command, ...);
int __real_fsync(int fd);
ssize_t __real_write(int fd, const void *bytes, size_t length);
ssize_t __real_writev(int fd, const struct iovec *parts, int count);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_fsync(int fd);
ssize_t __wrap_write(int fd, const void *bytes, size_t length);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count);

static int lock_error, sync_error;
static size_t room = SIZE_MAX; /* bytes that the disk still takes */

int __wrap_fcntl64(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (lock_error && command == F_OFD_SETLK) return errno = lock_error, -1;
    return __real_fcntl64(fd, command, argument);
}

int __wrap_fcntl(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (lock_error && command == F_OFD_SETLK) return errno = lock_error, -1;
    return __real_fcntl(fd, command, argument);
}

int __wrap_fsync(int fd)
{
    if (sync_error) return errno = sync_error, -1;
    return __real_fsync(fd);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t length)
{
    if (fd <= 2 || room == SIZE_MAX) return __real_write(fd, bytes, length);
    if (room == 0) return errno = ENOSPC, -1;
    if (length > room) length = room;
    room -= length;
    return __real_write(fd, bytes, length);
}

ssize_t __wrap_writev(int fd, const struct iovec *parts, int count)
{
    char all[8192];
    size_t length = 0;
    if (fd <= 2 || room == SIZE_MAX) return __real_writev(fd, parts, count);
    for (int i = 0; i < count; i++) {
        TUNE_CHECK(length + parts[i].iov_len <= sizeof all);
        memcpy(all + length, parts[i].iov_base, parts[i].iov_len);
        length += parts[i].iov_len;
    }
    return __wrap_write(fd, all, length);
}

/* ---- what is said --------------------------------------------------------------------------- */

static int lines_said;
static char last_line[1024];

static void listen(void *user, const char *line)
{
    (void)user;
    lines_said++;
    snprintf(last_line, sizeof last_line, "%s", line);
}

static int in_a_new_folder(void **state)
{
    (void)state;
    lock_error = sync_error = lines_said = 0;
    room = SIZE_MAX;
    tune_begin();
    convop_set_log_sink(listen, NULL);
    TUNE_CHECK(convop_set("verbose", "1") == CONVOP_OK);
    return 0;
}

static size_t start_anew(void)
{
    TUNE_CHECK(convop_set("cache_dir", "none") == CONVOP_OK);
    TUNE_CHECK(convop_tune_forget(NULL, NULL) == CONVOP_OK);
    TUNE_CHECK(convop_set("cache_dir", tune_folder) == CONVOP_OK);
    return tune_count();
}

static void is_unchanged(const char *before, size_t length)
{
    size_t now;
    char *after = tune_read(tune_file, &now);
    assert_int_equal(now, length);
    assert_memory_equal(after, before, length);
    free(after);
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* The disk is full after n bytes, for every n: the old file stays, to the byte. */
static void a_full_disk(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) assert_int_equal(tune_put(i), CONVOP_OK);
    size_t length;
    char *before = tune_read(tune_file, &length);
    for (size_t n = 0; n < 100; n++) {
        room = n;
        assert_int_equal(tune_put(3), CONVOP_OK);
        assert_int_equal(tune_get(3), 1);
        room = SIZE_MAX;
        is_unchanged(before, length);
    }
    assert_int_equal(lines_said, 1);
    assert_non_null(strstr(last_line, "cache,memory only,"));
    char why[256];
    assert_true(convop_tune_path(NULL, 0, why, sizeof why) > 0);
    /* Compaction too. */
    convop_tune_filter filter = CONVOP_TUNE_FILTER_INIT;
    filter.impl = "impl1";
    for (size_t n = 0; n < length / 2; n += 7) {
        room = n;
        assert_int_equal(convop_tune_forget(&filter, NULL), CONVOP_E_IO);
        room = SIZE_MAX;
        is_unchanged(before, length);
    }
    sync_error = EIO;
    assert_int_equal(convop_tune_forget(NULL, NULL), CONVOP_E_IO);
    sync_error = 0;
    is_unchanged(before, length);
    free(before);
    /* Room again: the record that came meanwhile is only this process's, the next is kept. */
    assert_int_equal(tune_put(4), CONVOP_OK);
    assert_int_equal(start_anew(), 4);
    assert_int_equal(tune_get(4), 1);
    char spare[400];
    snprintf(spare, sizeof spare, "%s.new", tune_file);
    assert_int_not_equal(access(spare, F_OK), 0);
}

/* SIGXFSZ would end the process: the write is not tried. */
static int store_beyond_the_limit(void *arg)
{
    (void)arg;
    TUNE_CHECK(tune_put(1) == CONVOP_OK);
    struct stat s;
    TUNE_CHECK(stat(tune_file, &s) == 0);
    struct rlimit limit = {(rlim_t)s.st_size + 10, (rlim_t)s.st_size + 10};
    TUNE_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    TUNE_CHECK(tune_put(2) == CONVOP_OK && tune_get(2) == 1);
    struct stat after;
    TUNE_CHECK(stat(tune_file, &after) == 0 && after.st_size == s.st_size);
    limit.rlim_cur = 10;
    TUNE_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    TUNE_CHECK(convop_tune_export(tune_file) == CONVOP_E_IO);
    TUNE_CHECK(stat(tune_file, &after) == 0 && after.st_size == s.st_size);
    return 0;
}

static void a_limit_on_file_sizes(void **state)
{
    (void)state;
    assert_int_equal(test_reap(test_fork(store_beyond_the_limit, NULL)), 0);
}

/* As some network file systems do. */
static void locks_are_refused(void **state)
{
    (void)state;
    static const int errors[] = {ENOLCK, ENOSYS, EOPNOTSUPP, EINVAL, EIO};
    for (int i = 0; i < 5; i++) {
        lock_error = errors[i];
        assert_int_equal(tune_put(i), CONVOP_OK);
    }
    for (int i = 0; i < 200; i++) assert_int_equal(tune_put(5), CONVOP_OK);
    assert_int_equal(lines_said, 0);
    assert_int_equal(tune_occurs(tune_file, "choice\t"), 205); /* no compaction without a lock */
    assert_int_equal(start_anew(), 6);
    lock_error = ENOLCK;
    convop_tune_filter filter = CONVOP_TUNE_FILTER_INIT;
    filter.impl = "impl1";
    assert_int_equal(convop_tune_forget(&filter, NULL), CONVOP_OK);
    assert_int_equal(start_anew(), 5);
}

/* Somebody who is stopped keeps the lock: we wait for a while, then append. */
static void a_lock_is_not_waited_for_without_end(void **state)
{
    (void)state;
    assert_int_equal(tune_put(1), CONVOP_OK);
    int fd = open(tune_file, O_RDWR);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert_int_equal(__real_fcntl(fd, F_OFD_SETLK, &whole), 0);
    alarm(60);
    assert_int_equal(tune_put(2), CONVOP_OK);
    alarm(0);
    close(fd);
    assert_int_equal(start_anew(), 2);
}

static int as_nobody(void *arg)
{
    (void)arg;
    TUNE_CHECK(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
    TUNE_CHECK(tune_get(1) == 1); /* a file that may only be read is used */
    TUNE_CHECK(tune_put(2) == CONVOP_OK && tune_get(2) == 1);
    TUNE_CHECK(tune_put(3) == CONVOP_OK && tune_get(3) == 1);
    TUNE_CHECK(lines_said == 1);
    char path[300], why[256];
    TUNE_CHECK(convop_tune_path(path, sizeof path, why, sizeof why) == strlen(tune_file));
    TUNE_CHECK(strcmp(path, tune_file) == 0 && strstr(why, strerror(EACCES)));
    TUNE_CHECK(convop_tune_forget(NULL, NULL) == CONVOP_E_IO);
    TUNE_CHECK(convop_tune_export(tune_file) == CONVOP_E_IO);
    return 0;
}

static void a_file_and_folder_that_may_only_be_read(void **state)
{
    (void)state;
    if (geteuid() != 0) skip();
    assert_int_equal(tune_put(1), CONVOP_OK);
    size_t length;
    char *before = tune_read(tune_file, &length);
    assert_int_equal(chmod(tune_file, 0444), 0);
    assert_int_equal(chmod(tune_folder, 0755), 0);
    assert_int_equal(convop_set("cache_dir", "none"), CONVOP_OK);
    assert_int_equal(tune_count(), 0);
    assert_int_equal(convop_set("cache_dir", tune_folder), CONVOP_OK);
    assert_int_equal(test_reap(test_fork(as_nobody, NULL)), 0);
    is_unchanged(before, length);
    free(before);
}

static void a_folder_that_cannot_be(void **state)
{
    (void)state;
    char below_a_file[400];
    tune_write(tune_file, "", 0);
    snprintf(below_a_file, sizeof below_a_file, "%s/folder", tune_file);
    const char *const folders[] = {below_a_file, "/proc/convop", "/proc/self/none/convop"};
    for (int i = 0; i < 3; i++) {
        lines_said = 0;
        assert_int_equal(convop_set("cache_dir", folders[i]), CONVOP_OK);
        assert_int_equal(tune_put(i), CONVOP_OK);
        assert_int_equal(tune_get(i), 1);
        assert_true(lines_said <= 1);
        char why[256];
        convop_tune_path(NULL, 0, why, sizeof why);
        assert_true(why[0] != '\0');
    }
}

/* Where the process stands nothing is ever written. */
struct surroundings {
    const char *home, *cache, *setting;
    const char *path; /* below tune_folder; NULL: none */
};

static int store_in(void *arg)
{
    const struct surroundings *s = arg;
    char home[300], cache[300], path[600], want[600] = "", why[256];
    TUNE_CHECK(chdir(tune_folder) == 0);
    snprintf(home, sizeof home, "%s%s", s->home && s->home[0] == '/' ? tune_folder : "",
             s->home ? s->home : "");
    snprintf(cache, sizeof cache, "%s%s", s->cache && s->cache[0] == '/' ? tune_folder : "",
             s->cache ? s->cache : "");
    TUNE_CHECK((s->home ? setenv("HOME", home, 1) : unsetenv("HOME")) == 0);
    TUNE_CHECK((s->cache ? setenv("XDG_CACHE_HOME", cache, 1) : unsetenv("XDG_CACHE_HOME")) == 0);
    TUNE_CHECK(convop_set("cache_dir", s->setting) == CONVOP_OK);
    TUNE_CHECK(tune_put(1) == CONVOP_OK && tune_get(1) == 1);
    if (s->path) snprintf(want, sizeof want, "%s/%s", tune_folder, s->path);
    TUNE_CHECK(convop_tune_path(path, sizeof path, why, sizeof why) == strlen(want));
    TUNE_CHECK(strcmp(path, want) == 0 && (why[0] == '\0') == (s->path != NULL));
    return s->path ? access(want, F_OK) : rmdir(tune_folder); /* which works if it is empty */
}

static void where_the_file_lies(void **state)
{
    (void)state;
    static const struct surroundings all[] = {
        {NULL, NULL, "", NULL},
        {"", "", "", NULL},
        {"home", "cache", "", NULL},
        {NULL, ".", "", NULL},
        {NULL, NULL, "tuning.tsv", NULL},
        {NULL, NULL, "./here", NULL},
        {"/", "/", "none", NULL},
        {"/.", NULL, "", "./.cache/convop/tuning.tsv"},
        {"/.", "relative", "", "./.cache/convop/tuning.tsv"},
        {"/.", "/cache", "", "cache/convop/tuning.tsv"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        tune_make_folder();
        assert_int_equal(test_reap(test_fork(store_in, (void *)(uintptr_t)&all[i])), 0);
        tune_remove_folder();
    }
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, in_a_new_folder, tune_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_full_disk),
        TEST(a_limit_on_file_sizes),
        TEST(locks_are_refused),
        TEST(a_lock_is_not_waited_for_without_end),
        TEST(a_file_and_folder_that_may_only_be_read),
        TEST(a_folder_that_cannot_be),
        TEST(where_the_file_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Files that nobody should have written: cut, altered, foreign, newer, huge, or no files at all.
 * They cost at most their own bad lines, and nothing is written over what is not ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "tests/support/tune.h"

enum { RECORDS = 4 };

static char *whole; /* a sound file of RECORDS records */
static size_t whole_length;

static int in_a_new_folder(void **state)
{
    (void)state;
    tune_begin();
    for (int i = 0; i < RECORDS; i++) TUNE_CHECK(tune_put(i) == CONVOP_OK);
    whole = tune_read(tune_file, &whole_length);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    free(whole);
    tune_remove_folder();
    return 0;
}

/* The file's bytes are these, and nothing is in memory. Returns how many records are known. */
static size_t start_with(const char *bytes, size_t length)
{
    TUNE_CHECK(convop_set("cache_dir", "none") == CONVOP_OK);
    TUNE_CHECK(tune_count() == 0);
    tune_write(tune_file, bytes, length);
    TUNE_CHECK(convop_set("cache_dir", tune_folder) == CONVOP_OK);
    return tune_count();
}

/* All that is found is right. Returns how many were. */
static int sound_records(void)
{
    int found = 0;
    for (int i = 0; i < RECORDS; i++) {
        int got = tune_get(i);
        TUNE_CHECK(got >= 0);
        found += got;
    }
    return found;
}

/* The records that are whole in the first n bytes; a last line may lack its newline. */
static int whole_lines(size_t n)
{
    int count = 0;
    const char *at = strchr(whole, '\n') + 1;
    while (at < whole + whole_length) {
        const char *end = strchr(at, '\n');
        count += end <= whole + n;
        at = end + 1;
    }
    return count;
}

static void cut_at_every_byte(void **state)
{
    (void)state;
    for (size_t n = 0; n < whole_length; n++) {
        assert_int_equal(start_with(whole, n), whole_lines(n));
        assert_int_equal(sound_records(), whole_lines(n));
        /* And what is added to the torn file is whole. */
        assert_int_equal(tune_put(RECORDS + 1), CONVOP_OK);
        assert_int_equal(convop_set("cache_dir", "none"), CONVOP_OK);
        assert_int_equal(tune_count(), 0);
        assert_int_equal(convop_set("cache_dir", tune_folder), CONVOP_OK);
        assert_int_equal(tune_get(RECORDS + 1), 1);
        assert_int_equal(sound_records(), whole_lines(n));
    }
}

/* A bit may make two lines of one, or one of two. */
static void any_bit_changed(void **state)
{
    (void)state;
    for (size_t bit = 0; bit < 8 * whole_length; bit++) {
        whole[bit / 8] ^= (char)(1 << bit % 8);
        size_t count = start_with(whole, whole_length);
        whole[bit / 8] ^= (char)(1 << bit % 8);
        int found = sound_records();
        assert_int_equal(found, count);
        assert_true(found >= RECORDS - 2);
        if (bit / 8 < (size_t)(strchr(whole, '\n') - whole)) assert_int_equal(found, RECORDS);
    }
}

/* Not used, and not a byte of it changed. */
static void is_left_alone(const char *bytes, size_t length)
{
    assert_int_equal(start_with(bytes, length), 0);
    assert_int_equal(sound_records(), 0);
    assert_int_equal(tune_put(1), CONVOP_OK);
    assert_int_equal(tune_get(1), 1);
    for (int i = 0; i < 100; i++) assert_int_equal(tune_put(i % 3), CONVOP_OK);
    char why[256];
    assert_int_equal(convop_tune_path(NULL, 0, why, sizeof why), strlen(tune_file));
    assert_true(why[0] != '\0');
    assert_int_equal(convop_tune_forget(NULL, NULL), CONVOP_E_IO);
    size_t now;
    char *after = tune_read(tune_file, &now);
    assert_int_equal(now, length);
    assert_memory_equal(after, bytes, length);
    free(after);
}

static void a_newer_format_is_left_alone(void **state)
{
    (void)state;
    static const char newer[] = "#convop-tuning\t999\ta9ab3ac22dd3cfa0\n";
    char *both = malloc(whole_length + sizeof newer);
    memcpy(both, newer, sizeof newer - 1);
    memcpy(both + sizeof newer - 1, whole, whole_length);
    is_left_alone(both, whole_length + sizeof newer - 1);
    /* With a byte order mark before its header. */
    char *marked = malloc(whole_length + sizeof newer + 3);
    memcpy(marked, "\xef\xbb\xbf", 3);
    memcpy(marked + 3, both, whole_length + sizeof newer - 1);
    is_left_alone(marked, whole_length + sizeof newer + 2);
    free(marked);
    /* A newer file that was put behind ours by cat. */
    memcpy(both, whole, whole_length);
    memcpy(both + whole_length, newer, sizeof newer - 1);
    is_left_alone(both, whole_length + sizeof newer - 1);
    free(both);
}

static void a_foreign_file_is_left_alone(void **state)
{
    (void)state;
    static const char prose[] = "Dear diary,\n\n# today I tuned a convolution.\n";
    is_left_alone(prose, sizeof prose - 1);
    char zeros[5000] = {0};
    is_left_alone(zeros, sizeof zeros);
    memset(zeros, '\n', sizeof zeros);
    is_left_alone(zeros, sizeof zeros);
}

/* Between sound lines: a count that is a lie, zeros, a long line, a line of another kind. */
static void bad_lines_cost_themselves(void **state)
{
    (void)state;
    enum { LONG = 3 << 20 };
    const char *second = strchr(whole, '\n') + 1;
    size_t head = (size_t)(second - whole), tail = whole_length - head;
    char *bytes = malloc(whole_length + LONG + 100);
    static const char lie[] = "entries=9223372036854775807\nchoice\t9223372036854775807\t\t\t\n\n";
    for (int kind = 0; kind < 3; kind++) {
        size_t middle = kind == 0 ? sizeof lie - 1 : kind == 1 ? 4097 : LONG;
        memcpy(bytes, whole, head);
        memset(bytes + head, kind == 1 ? '\0' : 'x', middle);
        if (kind == 0) memcpy(bytes + head, lie, middle);
        bytes[head + middle - 1] = '\n';
        memcpy(bytes + head + middle, second, tail);
        assert_int_equal(start_with(bytes, head + middle + tail), RECORDS);
        assert_int_equal(sound_records(), RECORDS);
        convop_tune_counts counts = {.struct_size = sizeof counts};
        assert_int_equal(convop_tune_import(tune_file, &counts), CONVOP_OK);
        assert_int_equal(counts.records, RECORDS);
        assert_int_equal(counts.bad, kind == 0 ? 2 : 1);
        assert_int_equal(counts.format, 1);
    }
    free(bytes);
}

/* A line whose checksum fits, and whose time does not parse, stands in the way of no record of its
 * key: not even of one without a date, before it or behind it. */
static void malformed_lines_hide_nothing(void **state)
{
    (void)state;
#define KEY "choice\tcpu=Test CPU;isa=avx2;threads=4\tconvop=1\tg1mb1ic2ih14oc64oh12kh3\timpl2\t2\t"
    static const char good[] = KEY "0.25\t0.5\t128\t0\t\tfc2aacf1e7a9d61d\n";
    static const char bad[] = KEY "soon\t0.5\t128\t1796040000\t\t8d5d4facd6b0a94e\n";
    char bytes[1000];
    for (int order = 0; order < 2; order++) {
        int n = snprintf(bytes, sizeof bytes, "%s%s", order ? bad : good, order ? good : bad);
        assert_int_equal(start_with(bytes, (size_t)n), 1);
        assert_int_equal(tune_get(2), 1);
        assert_int_equal(tune_put(2), CONVOP_OK);
        assert_int_equal(tune_get(2), 1);
    }
}

/* Nothing of it hangs, crashes, or is written to; records are kept in memory. */
static void what_is_no_file_is_not_used(void **state)
{
    (void)state;
    char target[400];
    snprintf(target, sizeof target, "%s/loop", tune_folder);
    for (int kind = 0; kind < 5; kind++) {
        assert_int_equal(convop_set("cache_dir", "none"), CONVOP_OK);
        assert_int_equal(convop_tune_forget(NULL, NULL), CONVOP_OK);
        assert_int_equal(remove(tune_file), 0);
        int made = kind == 0   ? mkfifo(tune_file, 0600)
                   : kind == 1 ? mkdir(tune_file, 0700)
                   : kind == 2 ? symlink("/dev/zero", tune_file)
                   : kind == 3 ? symlink("loop", tune_file) | symlink("tuning.tsv", target)
                               : truncate(tune_file, 0);
        if (kind == 4) { /* two terabytes of nothing */
            int fd = open(tune_file, O_RDWR | O_CREAT, 0600);
            made = ftruncate(fd, (off_t)2 << 40);
            close(fd);
        }
        if (made != 0) {
            print_message("kind %d: %s\n", kind, strerror(errno));
            tune_write(tune_file, "", 0);
            continue;
        }
        assert_int_equal(convop_set("cache_dir", tune_folder), CONVOP_OK);
        assert_int_equal(sound_records(), 0);
        assert_int_equal(tune_put(1), CONVOP_OK);
        assert_int_equal(tune_get(1), 1);
        convop_tune_counts counts = {.struct_size = sizeof counts};
        assert_int_equal(convop_tune_import(tune_file, &counts), CONVOP_E_IO);
        if (kind == 0 || kind == 1) assert_int_equal(convop_tune_export(tune_file), CONVOP_E_IO);
        char why[256];
        convop_tune_path(NULL, 0, why, sizeof why);
        assert_true(why[0] != '\0');
    }
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, in_a_new_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(cut_at_every_byte),
        TEST(any_bit_changed),
        TEST(a_newer_format_is_left_alone),
        TEST(a_foreign_file_is_left_alone),
        TEST(bad_lines_cost_themselves),
        TEST(malformed_lines_hide_nothing),
        TEST(what_is_no_file_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Index files and image lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <locale.h>

#include "io/lst.h"
#include "io/record_index.h"
#include "tests/io/support.h"
#include "tests/support/expect.h"

static convop_status load_index(const char *text, struct cvp_io_record_index *index)
{
    const char *path = test_path("i.idx");
    test_write(path, text, strlen(text));
    return cvp_io_index_load(path, index);
}

static void index_file(void **state)
{
    (void)state;
    struct cvp_io_record_index index;
    size_t entry = 9;
    expect_ok(load_index("5\t0\r\n\n2 \t 16\n18446744073709551615\t9223372036854775807", &index));
    assert_int_equal(index.count, 3);
    expect_ok(cvp_io_index_find(&index, 2, &entry));
    assert_int_equal(entry, 1);
    assert_int_equal(index.entries[1].offset, 16);
    expect_ok(cvp_io_index_find(&index, UINT64_MAX, &entry));
    assert_int_equal(entry, 2);
    assert_int_equal(cvp_io_index_find(&index, 3, &entry), CONVOP_E_NOT_FOUND);
    assert_int_equal(cvp_io_index_find(&index, 6, &entry), CONVOP_E_NOT_FOUND);
    cvp_io_index_free(&index);
    expect_ok(load_index("", &index));
    assert_int_equal(index.count, 0);
    assert_int_equal(cvp_io_index_find(&index, 0, &entry), CONVOP_E_NOT_FOUND);
    cvp_io_index_free(&index);
    assert_int_equal(cvp_io_index_load(test_path("none"), &index), CONVOP_E_IO);
    assert_int_equal(cvp_io_index_load(test_path(""), &index), CONVOP_E_IO);
}

static void index_file_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line;
    } wrong[] = {
        {"0\t0\n1 16\n", "line 2"},
        {"\n\n0\t\n", "line 3"},
        {"\t0\n", "line 1"},
        {"0\t0\t0\n", "line 1"},
        {"0\t0x10\n", "line 1"},
        {"0\t-1\n", "line 1"},
        {"0\t9223372036854775808\n", "line 1"},
        {"18446744073709551616\t0\n", "line 1"},
        {"0\t0\n1\t1\n2\t2\n1\t3\n0\t4\n", "line 4"},
        {"0\t0\n1\t+5\n", "line 2"},
    };
    struct cvp_io_record_index index = {7, NULL, NULL};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(load_index(wrong[i].text, &index), CONVOP_E_INVALID);
        if (!strstr(convop_last_error(), wrong[i].line)) fail_msg("%s", convop_last_error());
    }
    assert_int_equal(index.count, 7); /* left alone */
    const char *path = test_path("zero.idx");
    test_write(path, "0\0001\t0\n", 6);
    assert_int_equal(cvp_io_index_load(path, &index), CONVOP_E_INVALID);
}

static void list_file(void **state)
{
    (void)state;
    const double labels[] = {0, -1.5, 3e20, 0.1};
    const struct cvp_io_lst_entry entries[] = {
        {.index = 0, .path = "a b/c.jpg", .labels = labels, .num_labels = 1},
        {.index = 9, .path = "d.png", .labels = labels + 1, .num_labels = 3},
    };
    const char *path = test_path("l.lst");
    expect_ok(cvp_io_lst_write(path, entries, 2));
    struct cvp_io_record got = test_read(path);
    static const char wanted[] = "0\t0.000000\ta b/c.jpg\n"
                                 "9\t-1.500000\t300000000000000000000.000000\t0.100000\td.png\n";
    assert_int_equal(got.size, strlen(wanted));
    assert_memory_equal(got.data, wanted, got.size);
    cvp_io_record_free(&got);
    struct cvp_io_lst list;
    expect_ok(cvp_io_lst_load(path, &list));
    assert_int_equal(list.count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(list.entries[i].index == entries[i].index);
        assert_string_equal(list.entries[i].path, entries[i].path);
        assert_int_equal(list.entries[i].num_labels, entries[i].num_labels);
        for (size_t j = 0; j < entries[i].num_labels; j++)
            assert_true(list.entries[i].labels[j] == entries[i].labels[j]);
    }
    cvp_io_lst_free(&list);
}

static void list_file_faults(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"0\t1\n", "line 1"},     {"0\t1\tx\n\nx\t1\ty\n", "line 3"},
        {"0\tone\tx\n", "label"}, {"0\t1\t2x\tp\n", "label"},
        {"0\t1\t\n", "path"},     {"-1\t1\tp\n", "index"},
        {"0\t\tp\n", "label"},
    };
    struct cvp_io_lst list;
    const char *path = test_path("w.lst");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        test_write(path, wrong[i][0], strlen(wrong[i][0]));
        assert_int_equal(cvp_io_lst_load(path, &list), CONVOP_E_INVALID);
        if (!strstr(convop_last_error(), wrong[i][1])) fail_msg("%s", convop_last_error());
    }
    const double label = 0;
    const struct cvp_io_lst_entry tab = {.path = "a\tb", .labels = &label, .num_labels = 1};
    assert_int_equal(cvp_io_lst_write(path, &tab, 1), CONVOP_E_INVALID);
    struct cvp_io_record old = test_read(path);
    assert_int_equal(old.size, strlen(wrong[6][0])); /* what was there */
    cvp_io_record_free(&old);
}

int main(void)
{
    /* One in which the decimal sign is a comma, where there is one. */
    setlocale(LC_ALL, "de_DE.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_file),
        cmocka_unit_test(index_file_faults),
        cmocka_unit_test(list_file),
        cmocka_unit_test(list_file_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

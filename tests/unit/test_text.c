/* Bounded appending, dimensions, nearest names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "src/common/text.h"

static void add_fits_is_appended(void **state)
{
    (void)state;
    char buffer[16];
    struct cvp_text text = cvp_text_in(buffer, sizeof(buffer));
    assert_string_equal(buffer, "");
    cvp_text_add(&text, "a%d", 1);
    cvp_text_add(&text, "b%s", "2");
    assert_string_equal(buffer, "a1b2");
    assert_int_equal(text.need, 4);
}

static void add_too_long_is_cut_off_and_counted(void **state)
{
    (void)state;
    char buffer[5] = "....";
    struct cvp_text text = cvp_text_in(buffer, 4);
    cvp_text_add(&text, "ab");
    cvp_text_add(&text, "cdef");
    cvp_text_add(&text, "gh");
    assert_string_equal(buffer, "abc");
    assert_int_equal(text.need, 8);
    buffer[0] = 'z';
    text = cvp_text_in(buffer, 0);
    cvp_text_add(&text, "ab");
    assert_int_equal(text.need, 2);
    assert_int_equal(buffer[0], 'z');
}

static void put_appends_and_cuts_off_likewise(void **state)
{
    (void)state;
    char buffer[64];
    static const int64_t numbers[] = {0, 7, -1, 1234567890123, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        char want[64];
        snprintf(want, sizeof(want), "a%lld|", (long long)numbers[i]);
        struct cvp_text text = cvp_text_in(buffer, sizeof(buffer));
        cvp_text_put_number(&text, "a", numbers[i]);
        cvp_text_put(&text, "|");
        assert_string_equal(buffer, want);
        assert_int_equal(text.need, strlen(want));
    }
    struct cvp_text text = cvp_text_in(buffer, 4);
    memset(buffer + 4, 'x', 4);
    cvp_text_put_number(&text, "ab", 123);
    cvp_text_put(&text, "c");
    assert_string_equal(buffer, "ab1");
    assert_int_equal(text.need, 6);
    assert_int_equal(buffer[4], 'x');
    text = cvp_text_in(buffer, 0);
    cvp_text_put(&text, "abc");
    assert_int_equal(text.need, 3);
}

static void add_dims_writes_unknown_as_question_mark(void **state)
{
    (void)state;
    char buffer[64];
    const int64_t dim[] = {3, -1, INT64_MAX};
    struct cvp_text text = cvp_text_in(buffer, sizeof(buffer));
    cvp_text_add_dims(&text, 3, dim);
    assert_string_equal(buffer, "(3, ?, 9223372036854775807)");
    text = cvp_text_in(buffer, sizeof(buffer));
    cvp_text_add_dims(&text, 0, NULL);
    assert_string_equal(buffer, "()");
}

static void one_line_has_no_control_characters(void **state)
{
    (void)state;
    char text[] = "a\nb\r\tc\x7f\x01 \xc3\xa9";
    cvp_text_one_line(text);
    assert_string_equal(text, "a b  c   \xc3\xa9");
}

static void nearest_finds_slips(void **state)
{
    (void)state;
    const char *const names[] = {"num_filter", "num_group", "kernel", "pad", "stride"};
    assert_string_equal(cvp_nearest("num_filtr", names, 5), "num_filter");
    assert_string_equal(cvp_nearest("num_gorup", names, 5), "num_group");
    assert_string_equal(cvp_nearest("Kernel", names, 5), "kernel");
    assert_string_equal(cvp_nearest("kernels", names, 5), "kernel");
    assert_string_equal(cvp_nearest("pda", names, 5), "pad");
    /* Of two as near, the first. */
    const char *const equal[] = {"axis12", "axis1", "axis2"};
    assert_string_equal(cvp_nearest("axis3", equal, 3), "axis1");
}

static void nearest_far_is_null(void **state)
{
    (void)state;
    const char *const names[] = {"kernel", "pad"};
    char name[200];
    memset(name, 'k', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_null(cvp_nearest("workspace", names, 2));
    assert_null(cvp_nearest("", names, 2));
    assert_null(cvp_nearest("x", names, 2));
    assert_null(cvp_nearest(name, names, 2));
    assert_null(cvp_nearest("pad", names, 0));
    const char *const with_long[] = {name, "kernel"};
    assert_string_equal(cvp_nearest("kernl", with_long, 2), "kernel");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_fits_is_appended),
        cmocka_unit_test(add_too_long_is_cut_off_and_counted),
        cmocka_unit_test(put_appends_and_cuts_off_likewise),
        cmocka_unit_test(add_dims_writes_unknown_as_question_mark),
        cmocka_unit_test(one_line_has_no_control_characters),
        cmocka_unit_test(nearest_finds_slips),
        cmocka_unit_test(nearest_far_is_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

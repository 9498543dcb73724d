/* Status names, the error text of each thread, structs of callers that are older or newer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "src/common/status.h"

struct options {
    size_t struct_size;
    int64_t a, b;
};

struct newer_options {
    struct options known;
    int64_t c;
};

static void name_every_status_has_its_own(void **state)
{
    (void)state;
    assert_string_equal(convop_status_name(CONVOP_OK), "ok");
    assert_string_equal(convop_status_name(CONVOP_E_INVALID), "invalid argument");
    assert_string_equal(convop_status_name((convop_status)-1), "unknown status");
    assert_string_equal(convop_status_name((convop_status)10), "unknown status");
    for (int i = 0; i < 10; i++)
        for (int j = 0; j <= 10; j++)
            if (i != j)
                assert_string_not_equal(convop_status_name((convop_status)i),
                                        convop_status_name((convop_status)j));
}

static void fail_sets_text_and_returns_status(void **state)
{
    (void)state;
    assert_int_equal(convop_fail(CONVOP_E_IO, "file %s: %d", "x", 7), CONVOP_E_IO);
    assert_string_equal(convop_last_error(), "file x: 7");
    /* The text may be part of its own successor. */
    convop_fail(CONVOP_E_IO, "outer: %s", convop_last_error());
    assert_string_equal(convop_last_error(), "outer: file x: 7");
}

static void fail_long_text_is_cut_off(void **state)
{
    (void)state;
    char text[3000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    convop_fail(CONVOP_E_IO, "%s", text);
    assert_int_equal(strlen(convop_last_error()), 1023);
}

static void *other_thread(void *arg)
{
    int *was_empty = arg;
    *was_empty = convop_last_error()[0] == '\0';
    convop_fail(CONVOP_E_IO, "other");
    return NULL;
}

static void last_error_is_the_threads_own(void **state)
{
    (void)state;
    pthread_t thread;
    int was_empty = 0;
    convop_fail(CONVOP_E_IO, "mine");
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &was_empty), 0);
    pthread_join(thread, NULL);
    assert_true(was_empty);
    assert_string_equal(convop_last_error(), "mine");
}

static void read_struct_same_size_is_copied(void **state)
{
    (void)state;
    struct options to = {sizeof(to), 1, 2}, from = {sizeof(from), 3, 4};
    assert_int_equal(cvp_read_struct(&to, sizeof(to), &from, "options"), CONVOP_OK);
    assert_int_equal(to.a, 3);
    assert_int_equal(to.b, 4);
}

static void read_struct_smaller_keeps_defaults(void **state)
{
    (void)state;
    struct options to = {sizeof(to), 1, 2}, from = {offsetof(struct options, b), 3, 4};
    assert_int_equal(cvp_read_struct(&to, sizeof(to), &from, "options"), CONVOP_OK);
    assert_int_equal(to.struct_size, sizeof(to));
    assert_int_equal(to.a, 3);
    assert_int_equal(to.b, 2);
}

static void read_struct_larger_must_end_in_zeros(void **state)
{
    (void)state;
    struct options to = {sizeof(to), 1, 2};
    struct newer_options from = {{sizeof(from), 3, 4}, 0};
    assert_int_equal(cvp_read_struct(&to, sizeof(to), &from, "options"), CONVOP_OK);
    assert_int_equal(to.struct_size, sizeof(to));
    assert_int_equal(to.b, 4);
    from.c = INT64_C(1) << 56;
    from.known.b = 5;
    assert_int_equal(cvp_read_struct(&to, sizeof(to), &from, "options"), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "options"));
    assert_int_equal(to.b, 4);
}

static void read_struct_without_size_is_refused(void **state)
{
    (void)state;
    struct options to = {sizeof(to), 1, 2}, from = {0, 3, 4};
    assert_int_equal(cvp_read_struct(&to, sizeof(to), &from, "options"), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "struct_size"));
    from.struct_size = (size_t)1 << 40;
    assert_int_equal(cvp_read_struct(&to, sizeof(to), &from, "options"), CONVOP_E_INVALID);
    assert_int_equal(cvp_read_struct(&to, sizeof(to), NULL, "options"), CONVOP_E_INVALID);
    assert_int_equal(to.a, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name_every_status_has_its_own),
        cmocka_unit_test(fail_sets_text_and_returns_status),
        cmocka_unit_test(fail_long_text_is_cut_off),
        cmocka_unit_test(last_error_is_the_threads_own),
        cmocka_unit_test(read_struct_same_size_is_copied),
        cmocka_unit_test(read_struct_smaller_keeps_defaults),
        cmocka_unit_test(read_struct_larger_must_end_in_zeros),
        cmocka_unit_test(read_struct_without_size_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Objects: sizes of 0, overflow, failure injection and the count of what lives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <string.h>

#include "src/common/alloc.h"

static void every_kind_lives_until_it_is_freed(void **state)
{
    (void)state;
    uint64_t before = cvp_alloc_live();
    void *a = cvp_malloc(0), *b = cvp_calloc(0, 8), *c = cvp_realloc(NULL, 0);
    char *d = cvp_strdup("text");
    assert_true(a != NULL && b != NULL && c != NULL && d != NULL);
    assert_string_equal(d, "text");
    assert_int_equal(cvp_alloc_live(), before + 4);
    c = cvp_realloc(c, 100);
    assert_non_null(c);
    assert_int_equal(cvp_alloc_live(), before + 4);
    cvp_free(NULL);
    assert_int_equal(cvp_alloc_live(), before + 4);
    cvp_free(a);
    cvp_free(b);
    cvp_free(c);
    cvp_free(d);
    assert_int_equal(cvp_alloc_live(), before);
}

static void calloc_zeroes_and_refuses_overflow(void **state)
{
    (void)state;
    /* volatile: compilers warn about sizes that they can see to be too large. */
    volatile size_t huge = SIZE_MAX / 2;
    unsigned char *a = cvp_calloc(5, 8);
    assert_non_null(a);
    for (int i = 0; i < 40; i++) assert_int_equal(a[i], 0);
    cvp_free(a);
    assert_null(cvp_calloc(huge, 3));
}

static void the_nth_fails_once(void **state)
{
    (void)state;
    uint64_t before = cvp_alloc_live();
    char text[] = "kept";
    cvp_alloc_fail_at(2);
    char *a = cvp_strdup(text);
    assert_non_null(a);
    assert_null(cvp_realloc(a, 1000));
    assert_string_equal(a, text); /* a failed realloc leaves the old block */
    void *b = cvp_malloc(1);
    assert_non_null(b);
    assert_int_equal(cvp_alloc_calls(), 3);
    cvp_alloc_fail_at(1);
    assert_int_equal(cvp_alloc_calls(), 0);
    assert_null(cvp_strdup(text));
    cvp_alloc_fail_at(1);
    assert_null(cvp_calloc(1, 1));
    cvp_alloc_fail_at(1);
    assert_null(cvp_buffer_alloc(NULL, 100));
    cvp_alloc_fail_at(0);
    cvp_free(a);
    cvp_free(b);
    assert_int_equal(cvp_alloc_live(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_lives_until_it_is_freed),
        cmocka_unit_test(calloc_zeroes_and_refuses_overflow),
        cmocka_unit_test(the_nth_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

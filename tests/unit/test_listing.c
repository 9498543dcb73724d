/* The snapshot of operators: order, one a name, references, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/common/alloc.h"
#include "tests/support/expect.h"
#include "tests/support/sample_op.h"

static int index_of(const convop_op_listing *listing, const char *name)
{
    for (size_t i = 0; i < convop_op_listing_count(listing); i++)
        if (strcmp(convop_op_listing_at(listing, i)->name, name) == 0) return (int)i;
    return -1;
}

static void alphabetical_and_one_a_name(void **state)
{
    (void)state;
    convop_op low = sample_op("Zebra", 1), high = sample_op("Zebra", 2), a = sample_op("Ant", 1);
    convop_op_listing *before, *listing;
    expect_ok(convop_op_list(&before));
    assert_true(index_of(before, "Convolution") >= 0);
    expect_ok(convop_op_register(&low));
    expect_ok(convop_op_register(&high));
    expect_ok(convop_op_register(&a));
    expect_ok(convop_op_list(&listing));
    const size_t n = convop_op_listing_count(listing);
    assert_int_equal(n, convop_op_listing_count(before) + 2);
    for (size_t i = 1; i < n; i++)
        assert_true(strcmp(convop_op_listing_at(listing, i - 1)->name,
                           convop_op_listing_at(listing, i)->name) < 0);
    assert_ptr_equal(convop_op_listing_at(listing, (size_t)index_of(listing, "Zebra")), &high);
    assert_null(convop_op_listing_at(listing, n));
    assert_int_equal(index_of(before, "Zebra"), -1);
    convop_op_listing_destroy(&listing);
    convop_op_listing_destroy(&before);
    expect_ok(convop_op_unregister(&low, NULL, NULL));
    expect_ok(convop_op_unregister(&high, NULL, NULL));
    expect_ok(convop_op_unregister(&a, NULL, NULL));
}

static void count_release(void *user)
{
    ++*(int *)user;
}

static void holds_references(void **state)
{
    (void)state;
    convop_op op = sample_op("Sample", 1);
    int released = 0;
    convop_op_listing *listing;
    expect_ok(convop_op_register(&op));
    expect_ok(convop_op_list(&listing));
    expect_ok(convop_op_unregister(&op, count_release, &released));
    assert_int_equal(released, 0);
    assert_true(index_of(listing, "Sample") >= 0);
    convop_op_listing_destroy(&listing);
    assert_null(listing);
    assert_int_equal(released, 1);
}

static void nothing_and_null(void **state)
{
    (void)state;
    convop_op_listing *none = NULL;
    assert_int_equal(convop_op_listing_count(NULL), 0);
    assert_null(convop_op_listing_at(NULL, 0));
    convop_op_listing_destroy(NULL);
    convop_op_listing_destroy(&none);
    expect_text(CONVOP_E_INVALID, "convop_op_list: out is NULL", convop_op_list(NULL));
}

static void without_memory(void **state)
{
    (void)state;
    const uint64_t live = cvp_alloc_live();
    for (uint64_t n = 1;; n++) {
        convop_op_listing *listing = (convop_op_listing *)&listing;
        cvp_alloc_fail_at(n);
        const convop_status status = convop_op_list(&listing);
        const uint64_t calls = cvp_alloc_calls();
        cvp_alloc_fail_at(0);
        if (calls < n) {
            assert_int_equal(status, CONVOP_OK);
            convop_op_listing_destroy(&listing);
            break;
        }
        assert_int_equal(status, CONVOP_E_NO_MEMORY);
        assert_null(listing);
        assert_int_equal(cvp_alloc_live(), live);
    }
    assert_int_equal(cvp_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alphabetical_and_one_a_name),
        cmocka_unit_test(holds_references),
        cmocka_unit_test(nothing_and_null),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

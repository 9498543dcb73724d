/* convop_info: items, their end, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "convop/info.h"
#include "convop/settings.h"
#include "convop/version.h"
#include "tests/support/expect.h"

static int find(const char *name, convop_info_item *item)
{
    memset(item, 0, sizeof *item);
    item->struct_size = sizeof *item;
    for (size_t i = 0; convop_info(i, item) == CONVOP_OK; i++)
        if (strcmp(item->name, name) == 0) return 1;
    return 0;
}

static void every_item_says_something(void **state)
{
    (void)state;
    convop_info_item item = {.struct_size = sizeof item};
    size_t n = 0;
    for (; convop_info(n, &item) == CONVOP_OK; n++) {
        assert_true(item.name[0] != 0);
        assert_true(item.value[0] != 0);
        assert_true(item.struct_size == sizeof item);
        assert_non_null(memchr(item.value, 0, sizeof item.value));
        assert_non_null(memchr(item.why, 0, sizeof item.why));
    }
    assert_true(n >= 10);
    assert_int_equal(convop_info(n, &item), CONVOP_E_NOT_FOUND);
    assert_int_equal(convop_info((size_t)-1, &item), CONVOP_E_NOT_FOUND);
}

static void values_are_those_of_the_library(void **state)
{
    (void)state;
    convop_info_item item;
    /* First of all: the library is looked for once, by whatever item needs it. */
    expect_ok(convop_set("openblas_library", "none"));
    expect_ok(convop_set("cuda_library", "none"));
    assert_true(find("openblas", &item));
    assert_non_null(strstr(item.value, "none"));
    expect_ok(convop_set("openblas_library", NULL));
    assert_true(find("version", &item));
    assert_string_equal(item.value, convop_version_string());
    static const char *const off[] = {"cuda driver", "gpu"};
    for (int i = 0; i < 2; i++) {
        assert_true(find(off[i], &item));
        assert_string_equal(item.value, "none");
        assert_string_equal(item.why, "the setting cuda_library is \"none\"");
    }
    expect_ok(convop_set("cuda_library", NULL));
    expect_ok(convop_set("isa", "baseline"));
    assert_true(find("instruction set", &item));
    assert_string_equal(item.value, "baseline");
    expect_ok(convop_set("isa", NULL));
}

static void failure_leaves_the_item_alone(void **state)
{
    (void)state;
    convop_info_item item, before;
    memset(&item, 0x5a, sizeof item);
    item.struct_size = sizeof item - 1;
    before = item;
    assert_int_equal(convop_info(0, &item), CONVOP_E_INVALID);
    assert_memory_equal(&item, &before, sizeof item);
    item.struct_size = before.struct_size = sizeof item;
    assert_int_equal(convop_info(1000, &item), CONVOP_E_NOT_FOUND);
    assert_memory_equal(&item, &before, sizeof item);
    expect_text(CONVOP_E_INVALID, "convop_info: item is NULL", convop_info(0, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_library),
        cmocka_unit_test(every_item_says_something),
        cmocka_unit_test(failure_leaves_the_item_alone),
    };
    return cmocka_run_group_tests_name("info", tests, NULL, NULL);
}

/* Attributes: levels, one type a key, attached to a name, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/common/alloc.h"
#include "tests/support/expect.h"
#include "tests/support/sample_op.h"

static const convop_attr own[] = {{sizeof(convop_attr), "color", "text", "own"}};

static convop_attr text_attr(const char *key, const char *value)
{
    return (convop_attr){sizeof(convop_attr), key, "text", value};
}

static convop_op colored(const char *name, int level)
{
    convop_op op = sample_op(name, level);
    op.attrs = own;
    op.num_attrs = 1;
    return op;
}

static const char *color_of(const convop_op *op)
{
    const void *value;
    return convop_op_attr(op, "color", "text", &value) == CONVOP_OK ? value : "none";
}

static void highest_level_counts(void **state)
{
    (void)state;
    convop_op op = colored("Sample", 10);
    expect_ok(convop_op_register(&op));
    assert_string_equal(color_of(&op), "own");
    convop_attr low = text_attr("color", "low"), high = text_attr("color", "high");
    expect_ok(convop_attr_register("Sample", &low, 9));
    assert_string_equal(color_of(&op), "own");
    expect_ok(convop_attr_register("Sample", &high, 11));
    assert_string_equal(color_of(&op), "high");
    expect_text(CONVOP_E_STATE,
                "convop_attr_register: \"Sample\": attribute \"color\" is taken at level 11; a "
                "higher level overrides it",
                convop_attr_register("Sample", &low, 11));
    expect_text(CONVOP_E_STATE,
                "convop_attr_register: \"Sample\": attribute \"color\" is taken at level 10; a "
                "higher level overrides it",
                convop_attr_register("Sample", &low, 10));
    expect_ok(convop_attr_unregister("Sample", "color", 11));
    assert_string_equal(color_of(&op), "own");
    expect_text(CONVOP_E_NOT_FOUND,
                "convop_attr_unregister: nothing was registered for \"Sample\" as \"color\" at "
                "level 10",
                convop_attr_unregister("Sample", "color", 10));
    expect_ok(convop_attr_unregister("Sample", "color", 9));
    expect_ok(convop_op_unregister(&op, NULL, NULL));
}

static void attached_to_the_name(void **state)
{
    (void)state;
    convop_op first = sample_op("Sample", 5), second = colored("Sample", 20);
    convop_attr attr = text_attr("color", "attached");
    expect_ok(convop_op_register(&first));
    char key[] = "color";
    attr.key = key;
    expect_ok(convop_attr_register("Sample", &attr, 15));
    key[0] = '?'; /* the registry has its own copy of the key */
    assert_string_equal(color_of(&first), "attached");
    expect_ok(convop_op_register(&second));
    assert_string_equal(color_of(&second), "own");
    assert_string_equal(color_of(&first), "attached");
    convop_op clash = colored("Sample", 15);
    expect_text(CONVOP_E_STATE,
                "Sample: attribute \"color\" is taken at level 15; a higher level overrides it",
                convop_op_register(&clash));
    expect_ok(convop_op_unregister(&first, NULL, NULL));
    expect_ok(convop_op_unregister(&second, NULL, NULL));
    expect_ok(convop_attr_unregister("Sample", "color", 15));
}

static void one_type_a_key(void **state)
{
    (void)state;
    convop_op op = colored("Sample", 10), other = sample_op("Other", 1);
    expect_ok(convop_op_register(&op));
    expect_ok(convop_op_register(&other));
    const convop_attr wrong = {sizeof wrong, "color", "rgb", "red"};
    expect_text(CONVOP_E_INVALID,
                "convop_attr_register: \"Other\": attribute \"color\" has type \"rgb\", but Sample "
                "has it with type \"text\"",
                convop_attr_register("Other", &wrong, 1));
    convop_op third = sample_op("Third", 1);
    third.attrs = &wrong;
    third.num_attrs = 1;
    expect_text(CONVOP_E_INVALID,
                "Third: attribute \"color\" has type \"rgb\", but Sample has it with type \"text\"",
                convop_op_register(&third));
    const void *value = &op;
    expect_text(CONVOP_E_INVALID,
                "Sample: attribute \"color\" has type \"text\", asked for as \"rgb\"",
                convop_op_attr(&op, "color", "rgb", &value));
    assert_null(value);
    expect_ok(convop_op_unregister(&op, NULL, NULL));
    /* Now the key is free, and the other type may have it; then it refuses the first one. */
    expect_ok(convop_attr_register("Other", &wrong, 1));
    expect_text(CONVOP_E_INVALID,
                "Sample: attribute \"color\" has type \"text\", but Other has it with type \"rgb\"",
                convop_op_register(&op));
    expect_text(CONVOP_E_INVALID,
                "Other: attribute \"color\" has type \"rgb\", asked for as \"text\"",
                convop_op_attr(&other, "color", "text", &value));
    expect_ok(convop_attr_unregister("Other", "color", 1));
    expect_ok(convop_op_unregister(&other, NULL, NULL));
}

static void builtin_has_its_gradient(void **state)
{
    (void)state;
    const convop_op *conv;
    const void *value;
    expect_ok(convop_op_find("Convolution", &conv));
    expect_ok(convop_op_attr(conv, "gradient", "convop_gradient", &value));
    const convop_gradient *gradient = value;
    assert_string_equal(gradient->op, "_backward_Convolution");
    const convop_gradient other = {sizeof other, "Mine", gradient->inputs, 3, gradient->of, 3};
    const convop_attr mine = {sizeof mine, "gradient", "convop_gradient", &other};
    expect_ok(convop_attr_register("Convolution", &mine, 11));
    expect_ok(convop_op_attr(conv, "gradient", "convop_gradient", &value));
    assert_ptr_equal(value, &other);
    expect_ok(convop_attr_unregister("Convolution", "gradient", 11));
    convop_op_release(&conv);
}

static void refusals(void **state)
{
    (void)state;
    convop_op op = sample_op("Sample", 1);
    const void *value;
    convop_attr attr = text_attr("color", "red");
    expect_text(CONVOP_E_NOT_FOUND,
                "convop_attr_register: \"Sample\": there is no operator of this name",
                convop_attr_register("Sample", &attr, 1));
    expect_text(CONVOP_E_INVALID, "convop_attr_register: level is 0, allowed is 1..2147483647",
                convop_attr_register("Sample", &attr, 0));
    expect_text(CONVOP_E_INVALID, "convop_attr_register: op_name is NULL",
                convop_attr_register(NULL, &attr, 1));
    expect_text(CONVOP_E_INVALID, "convop_attr_register: attr is NULL",
                convop_attr_register("Sample", NULL, 1));
    attr.value = NULL;
    expect_text(CONVOP_E_INVALID, "Sample: the value of attribute \"color\" is NULL or empty",
                convop_attr_register("Sample", &attr, 1));
    attr.struct_size = offsetof(convop_attr, type);
    attr.value = "red";
    expect_text(CONVOP_E_INVALID, "Sample: the type of attribute \"color\" is NULL or empty",
                convop_attr_register("Sample", &attr, 1));
    expect_text(CONVOP_E_INVALID, "convop_attr_unregister: op_name is NULL",
                convop_attr_unregister(NULL, "color", 1));
    expect_text(CONVOP_E_INVALID, "convop_attr_unregister: key is NULL",
                convop_attr_unregister("Sample", NULL, 1));
    expect_text(CONVOP_E_NOT_FOUND, "Sample: has no attribute \"color\"",
                convop_op_attr(&op, "color", "text", &value));
    expect_text(CONVOP_E_INVALID, "convop_op_attr: op is NULL",
                convop_op_attr(NULL, "color", "text", &value));
    expect_text(CONVOP_E_INVALID, "convop_op_attr: key is NULL",
                convop_op_attr(&op, NULL, "text", &value));
    expect_text(CONVOP_E_INVALID, "convop_op_attr: type is NULL",
                convop_op_attr(&op, "color", NULL, &value));
    expect_text(CONVOP_E_INVALID, "convop_op_attr: value is NULL",
                convop_op_attr(&op, "color", "text", NULL));
}

static void without_memory(void **state)
{
    (void)state;
    convop_op op = sample_op("Sample", 1);
    convop_attr attr = text_attr("color", "red");
    const uint64_t before = cvp_alloc_live();
    expect_ok(convop_op_register(&op));
    const uint64_t live = cvp_alloc_live();
    cvp_alloc_fail_at(1);
    expect_text(CONVOP_E_NO_MEMORY, "convop_attr_register: no memory for \"color\"",
                convop_attr_register("Sample", &attr, 1));
    cvp_alloc_fail_at(0);
    assert_int_equal(cvp_alloc_live(), live);
    assert_string_equal(color_of(&op), "none");
    expect_ok(convop_attr_register("Sample", &attr, 1));
    assert_int_equal(convop_attr_register("Sample", &attr, 1), CONVOP_E_STATE);
    assert_int_equal(cvp_alloc_live(), live + 1);
    expect_ok(convop_attr_unregister("Sample", "color", 1));
    expect_ok(convop_op_unregister(&op, NULL, NULL));
    assert_int_equal(cvp_alloc_live(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(highest_level_counts),
        cmocka_unit_test(attached_to_the_name),
        cmocka_unit_test(one_type_a_key),
        cmocka_unit_test(builtin_has_its_gradient),
        cmocka_unit_test(refusals),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Half-filled descriptors are refused when they are registered, with the member named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "tests/support/expect.h"
#include "tests/support/sample_op.h"

/* Registers the sample with one member spoiled. */
#define expect_spoiled(sentence, change)                                                           \
    do {                                                                                           \
        convop_op op = sample_op("Sample", 1);                                                     \
        change;                                                                                    \
        expect_text(CONVOP_E_INVALID, sentence, convop_op_register(&op));                          \
    } while (0)

static void half_filled_descriptors(void **state)
{
    (void)state;
    static const convop_arg unnamed[] = {{"src", NULL}, {"", NULL}};
    static const convop_arg twice[] = {{"src", NULL}, {"src", NULL}};
    static const convop_attr attrs[] = {{sizeof(convop_attr), "k", "t", "v"},
                                        {sizeof(convop_attr), "k", "t", "v"}};
    static const convop_attr no_type[] = {{sizeof(convop_attr), "k", NULL, "v"}};
    static const convop_attr no_key[] = {{sizeof(convop_attr), NULL, "t", "v"}};
    static const convop_attr no_value[] = {{sizeof(convop_attr), "k", "t", NULL}};
    static const convop_attr no_size[] = {{0, "k", "t", "v"}};
    expect_text(CONVOP_E_INVALID, "convop_op_register: op is NULL", convop_op_register(NULL));
    expect_spoiled("convop_op_register: the descriptor's name is NULL or empty", op.name = NULL);
    expect_spoiled("convop_op_register: the descriptor's name is NULL or empty", op.name = "");
    expect_spoiled("Sample: the descriptor's level is 0, needed is >= 1", op.level = 0);
    expect_spoiled("Sample: the descriptor's infer_shape is NULL", op.infer_shape = NULL);
    expect_spoiled("Sample: the descriptor's plan is NULL", op.plan = NULL);
    expect_spoiled("Sample: the descriptor's run is NULL", op.run = NULL);
    expect_spoiled("Sample: the descriptor's inputs is NULL", op.inputs = NULL);
    expect_spoiled("Sample: the descriptor's outputs is NULL", op.outputs = NULL);
    expect_spoiled("Sample: the descriptor's inputs[1].name is NULL or empty", op.inputs = unnamed);
    expect_spoiled("Sample: the descriptor's inputs[0] and inputs[1] are both named \"src\"",
                   op.inputs = twice);
    expect_spoiled("Sample: the descriptor's max_inputs is -1, needed is >= 0", op.max_inputs = -1);
    expect_spoiled("Sample: the descriptor's max_outputs is 0, needed is >= 1", op.max_outputs = 0);
    expect_spoiled("Sample: the descriptor's params_size is 0, needed is 8 for struct_size",
                   op.params_size = 0);
    expect_spoiled("Sample: the descriptor's fields is NULL", op.fields = NULL);
    expect_spoiled("Sample: the descriptor's attrs is NULL", op.num_attrs = 1);
    expect_spoiled("Sample: the descriptor's attrs have \"k\" twice",
                   (op.attrs = attrs, op.num_attrs = 2));
    expect_spoiled("Sample: the type of attribute \"k\" is NULL or empty",
                   (op.attrs = no_type, op.num_attrs = 1));
    expect_spoiled("Sample: the value of attribute \"k\" is NULL or empty",
                   (op.attrs = no_value, op.num_attrs = 1));
    expect_spoiled("Sample: an attribute's key is NULL or empty",
                   (op.attrs = no_key, op.num_attrs = 1));
    char text[160];
    snprintf(text, sizeof text, "Sample: an attribute's struct_size is 0, needed is %zu",
             sizeof(convop_attr));
    expect_spoiled(text, (op.attrs = no_size, op.num_attrs = 1));
    snprintf(text, sizeof text,
             "convop_op_register: the descriptor's struct_size is 16, needed is %zu",
             sizeof(convop_op));
    expect_spoiled(text, op.struct_size = 16);
    snprintf(text, sizeof text,
             "Sample: the descriptor's struct_size is 1000000, allowed is "
             "%zu..4096",
             sizeof(convop_op));
    expect_spoiled(text, op.struct_size = 1000000);
}

/* Registers the sample with its first field spoiled. */
#define expect_spoiled_field(sentence, change)                                                     \
    do {                                                                                           \
        convop_op op = sample_op("Sample", 1);                                                     \
        convop_field f = sample_fields[COUNT];                                                     \
        op.fields = &f;                                                                            \
        op.num_fields = 1;                                                                         \
        change;                                                                                    \
        expect_text(CONVOP_E_INVALID, sentence, convop_op_register(&op));                          \
    } while (0)

static void half_filled_fields(void **state)
{
    (void)state;
    const char *place =
        "Sample: the descriptor's fields[0] (count): offset is not a place for it in the struct";
    expect_spoiled_field("Sample: the descriptor's fields[0].name is NULL or empty", f.name = NULL);
    expect_spoiled_field("Sample: the descriptor's fields[0] (__x__): name has the form __name__, "
                         "which is ignored in parameters",
                         f.name = "__x__");
    expect_spoiled_field(
        "Sample: the descriptor's fields[0] (count): kind is none of convop_field_kind",
        f.kind = (convop_field_kind)0);
    expect_spoiled_field(
        "Sample: the descriptor's fields[0] (count): kind is none of convop_field_kind",
        f.kind = (convop_field_kind)7);
    expect_spoiled_field(place, f.offset = 0);
    expect_spoiled_field(place, f.offset = 12);
    expect_spoiled_field(place, f.offset = sizeof(struct sample_params) - 4);
    expect_spoiled_field(place, f.offset = SIZE_MAX - 7);
    expect_spoiled_field("Sample: the descriptor's fields[0] (count): twin_offset is not a place "
                         "for it in the struct",
                         f.twin_offset = sizeof(struct sample_params));
    expect_spoiled_field("Sample: the descriptor's fields[0] (count): min is not below or at max",
                         f.min = NAN);
    expect_spoiled_field("Sample: the descriptor's fields[0] (count): values is NULL or empty",
                         f.kind = CONVOP_FIELD_ENUM);
    expect_spoiled_field("Sample: parameter count=\"x\": is no decimal integer",
                         f.default_text = "x");
    expect_spoiled_field("Sample: parameter count=\"-1\": is -1, allowed is 0..9223372036854775807",
                         f.default_text = "-1");
    char text[160];
    snprintf(text, sizeof text,
             "Sample: the descriptor's fields[0].struct_size is 8, needed is %zu",
             sizeof(convop_field));
    expect_spoiled_field(text, f.struct_size = 8);

    convop_op op = sample_op("Sample", 1);
    convop_field twice[2] = {sample_fields[COUNT], sample_fields[COUNT]};
    op.fields = twice;
    op.num_fields = 2;
    expect_text(CONVOP_E_INVALID,
                "Sample: the descriptor's fields[0] and fields[1] are both named \"count\"",
                convop_op_register(&op));
}

/* A program built with a later convop: a larger descriptor that asks for nothing new. */
static void larger_descriptors(void **state)
{
    (void)state;
    struct {
        convop_op op;
        size_t later;
    } larger = {sample_op("Sample", 1), 0};
    larger.op.struct_size = sizeof larger;
    expect_ok(convop_op_register(&larger.op));
    expect_ok(convop_op_unregister(&larger.op, NULL, NULL));
    larger.later = 1;
    char text[160];
    snprintf(text, sizeof text,
             "Sample: the descriptor's byte %zu is set, this convop knows %zu bytes",
             sizeof(convop_op), sizeof(convop_op));
    expect_text(CONVOP_E_INVALID, text, convop_op_register(&larger.op));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_filled_descriptors),
        cmocka_unit_test(half_filled_fields),
        cmocka_unit_test(larger_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

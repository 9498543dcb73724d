/* The handlers for XLA without XLA: frames as an older, a newer or a careless caller would make
 * them. What a handler answers goes through the frame's own table of functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "adapters/jax/call_frame.h"

XLA_FFI_Error *convop_jax_conv_forward(XLA_FFI_CallFrame *frame);
XLA_FFI_Error *convop_jax_conv_backward_weights(XLA_FFI_CallFrame *frame);

/* XLA's errors are opaque; here one is this. */
static struct {
    char message[512];
    XLA_FFI_Error_Code code;
} last;

static XLA_FFI_Error *create_error(XLA_FFI_Error_Create_Args *args)
{
    assert_int_equal(args->struct_size, XLA_FFI_Error_Create_Args_STRUCT_SIZE);
    snprintf(last.message, sizeof last.message, "%s", args->message);
    last.code = args->errc;
    return (XLA_FFI_Error *)&last;
}

/* A frame of a 2x2 kernel over 3x3, and all that it points to. */
struct call {
    float x[9], w[4], y[4];
    int64_t x_dims[4], w_dims[4], y_dims[4], pad[2];
    XLA_FFI_Buffer buffers[3];
    XLA_FFI_ArgType arg_types[2];
    XLA_FFI_RetType ret_types[1];
    void *args[2], *rets[1];
    XLA_FFI_Array array;
    XLA_FFI_ByteSpan name;
    XLA_FFI_ByteSpan *names[1];
    XLA_FFI_AttrType attr_types[1];
    void *attrs[1];
    XLA_FFI_Api api;
    XLA_FFI_CallFrame frame;
};

static int setup(void **state)
{
    static struct call c;
    c = (struct call){.x = {1, 2, 3, 4, 5, 6, 7, 8, 9},
                      .w = {1, 0, 0, 1},
                      .x_dims = {1, 1, 3, 3},
                      .w_dims = {1, 1, 2, 2},
                      .y_dims = {1, 1, 2, 2},
                      .arg_types = {XLA_FFI_ArgType_BUFFER, XLA_FFI_ArgType_BUFFER},
                      .ret_types = {XLA_FFI_RetType_BUFFER},
                      .array = {XLA_FFI_DataType_S64, 2, c.pad},
                      .name = {"pad_begin", 9},
                      .attr_types = {XLA_FFI_AttrType_ARRAY}};
    void *data[3] = {c.x, c.w, c.y};
    int64_t *dims[3] = {c.x_dims, c.w_dims, c.y_dims};
    for (int i = 0; i < 3; i++)
        c.buffers[i] = (XLA_FFI_Buffer){
            XLA_FFI_Buffer_STRUCT_SIZE, NULL, XLA_FFI_DataType_F32, data[i], 4, dims[i]};
    c.args[0] = &c.buffers[0];
    c.args[1] = &c.buffers[1];
    c.rets[0] = &c.buffers[2];
    c.names[0] = &c.name;
    c.attrs[0] = &c.array;
    c.api.XLA_FFI_Error_Create = create_error;
    c.frame = (XLA_FFI_CallFrame){
        .struct_size = XLA_FFI_CallFrame_STRUCT_SIZE,
        .api = &c.api,
        .stage = XLA_FFI_ExecutionStage_EXECUTE,
        .args = {XLA_FFI_Args_STRUCT_SIZE, NULL, 2, c.arg_types, c.args},
        .rets = {XLA_FFI_Rets_STRUCT_SIZE, NULL, 1, c.ret_types, c.rets},
        .attrs = {XLA_FFI_Attrs_STRUCT_SIZE, NULL, 1, c.attr_types, c.names, c.attrs}};
    memset(&last, 0, sizeof last);
    *state = &c;
    return 0;
}

static void assert_refused(struct call *c, XLA_FFI_Error_Code code, const char *text)
{
    static const float untouched[4] = {0};
    XLA_FFI_Error *error = convop_jax_conv_forward(&c->frame);
    if (!error || last.code != code || !strstr(last.message, text))
        fail_msg("answered code %d, \"%s\"; expected code %d, \"%s\"", (int)last.code, last.message,
                 (int)code, text);
    assert_memory_equal(c->y, untouched, sizeof untouched);
}

static void computes(void **state)
{
    struct call *c = *state;
    const float expected[4] = {6, 8, 12, 14};
    assert_null(convop_jax_conv_forward(&c->frame));
    assert_memory_equal(c->y, expected, sizeof expected);
}

/* A newer XLA's structs are larger; what we know lies where it lay. */
static void takes_larger_structs(void **state)
{
    struct call *c = *state;
    c->frame.struct_size += 64;
    for (int i = 0; i < 3; i++) c->buffers[i].struct_size += 64;
    assert_null(convop_jax_conv_forward(&c->frame));
    assert_true(c->y[3] == 14);
}

static void refuses_smaller_structs(void **state)
{
    struct call *c = *state;
    c->buffers[1].struct_size -= 8;
    assert_refused(c, XLA_FFI_Error_Code_INVALID_ARGUMENT, "argument 1 is not a buffer");
    setup(state);
    c->frame.struct_size -= 8;
    assert_refused(c, XLA_FFI_Error_Code_INVALID_ARGUMENT, "a call frame of");
}

static void refuses_what_is_no_convolution(void **state)
{
    struct call *c = *state;
    const XLA_FFI_Error_Code invalid = XLA_FFI_Error_Code_INVALID_ARGUMENT;
    c->frame.args.size = 1;
    assert_refused(c, invalid, "1 arguments and 1 results");
    setup(state);
    c->arg_types[0] = 2;
    assert_refused(c, invalid, "argument 0 is not a buffer");
    setup(state);
    c->buffers[2].rank = 9;
    assert_refused(c, invalid, "result 0 has 9 dimensions");
    setup(state);
    c->buffers[1].rank = 2;
    assert_refused(c, invalid, "weights has 2 dimensions");
    setup(state);
    c->buffers[0].dtype = XLA_FFI_DataType_C64;
    assert_refused(c, invalid, "argument 0 has XLA's dtype 15");
    setup(state);
    c->buffers[0].data = NULL;
    assert_refused(c, invalid, "Convolution: ");
}

static void refuses_unknown_attributes(void **state)
{
    struct call *c = *state;
    const XLA_FFI_Error_Code invalid = XLA_FFI_Error_Code_INVALID_ARGUMENT;
    c->name = (XLA_FFI_ByteSpan){"pad_beginning", 13};
    assert_refused(c, invalid, "the attribute pad_beginning is unknown");
    setup(state);
    c->array.dtype = XLA_FFI_DataType_S32;
    assert_refused(c, invalid, "the attribute pad_begin is no text, int64");
    setup(state);
    c->attr_types[0] = XLA_FFI_AttrType_DICTIONARY;
    assert_refused(c, invalid, "the attribute pad_begin is no text, int64");
    setup(state);
    c->array.size = 9;
    assert_refused(c, invalid, "pad_begin has 9 entries");
    setup(state);
    c->pad[0] = -1;
    assert_refused(c, invalid, "Convolution: ");
}

static void answers_questions_without_computing(void **state)
{
    struct call *c = *state;
    XLA_FFI_Metadata metadata = {.struct_size = sizeof metadata, .state_type_id = {7}};
    XLA_FFI_Metadata_Extension extension = {
        {XLA_FFI_Metadata_Extension_STRUCT_SIZE, XLA_FFI_Extension_Metadata, NULL}, &metadata};
    c->frame.extension_start = &extension.extension_base;
    assert_null(convop_jax_conv_backward_weights(&c->frame));
    assert_int_equal(metadata.api_version.major_version, XLA_FFI_API_MAJOR);
    assert_int_equal(metadata.api_version.minor_version, XLA_FFI_API_MINOR);
    assert_int_equal(metadata.traits, 0);
    assert_int_equal(metadata.state_type_id.type_id, 0);

    /* An older XLA knows no state_type_id. */
    metadata.struct_size = offsetof(XLA_FFI_Metadata, state_type_id);
    metadata.state_type_id.type_id = 7;
    assert_null(convop_jax_conv_forward(&c->frame));
    assert_int_equal(metadata.state_type_id.type_id, 7);

    c->frame.extension_start = NULL;
    c->frame.stage = XLA_FFI_ExecutionStage_PREPARE;
    assert_null(convop_jax_conv_forward(&c->frame));
    assert_true(c->y[3] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(computes, setup),
        cmocka_unit_test_setup(takes_larger_structs, setup),
        cmocka_unit_test_setup(refuses_smaller_structs, setup),
        cmocka_unit_test_setup(refuses_what_is_no_convolution, setup),
        cmocka_unit_test_setup(refuses_unknown_attributes, setup),
        cmocka_unit_test_setup(answers_questions_without_computing, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Reads an XLA FFI call frame. Structs of XLA begin with their size: one that is smaller than the
 * header's comes from an older XLA and lacks what we would read. */
#include "adapters/jax/call_frame.h"

#include "adapters/conv_attrs.h"
#include "convop/registry.h"

int frame_is_query(XLA_FFI_CallFrame *frame)
{
    for (XLA_FFI_Extension_Base *e = frame->extension_start; e; e = e->next) {
        if (e->type != XLA_FFI_Extension_Metadata) continue;
        XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)(void *)e)->metadata;
        metadata->api_version.major_version = XLA_FFI_API_MAJOR;
        metadata->api_version.minor_version = XLA_FFI_API_MINOR;
        metadata->traits = 0;
        if (metadata->struct_size >= sizeof *metadata) metadata->state_type_id.type_id = 0;
        return 1;
    }
    return frame->stage != XLA_FFI_ExecutionStage_EXECUTE;
}

convop_status frame_check(const XLA_FFI_CallFrame *frame, int min_args, int max_args, int min_rets,
                          int max_rets)
{
    if (frame->struct_size < XLA_FFI_CallFrame_STRUCT_SIZE)
        return convop_fail(CONVOP_E_INVALID,
                           "convop for JAX: a call frame of %zu bytes, this needs %zu of XLA FFI "
                           "%d.%d",
                           frame->struct_size, (size_t)XLA_FFI_CallFrame_STRUCT_SIZE,
                           XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR);
    if (frame->args.size < min_args || frame->args.size > max_args || frame->rets.size < min_rets ||
        frame->rets.size > max_rets)
        return convop_fail(CONVOP_E_INVALID,
                           "convop for JAX: %lld arguments and %lld results, expected %d to %d and "
                           "%d to %d",
                           (long long)frame->args.size, (long long)frame->rets.size, min_args,
                           max_args, min_rets, max_rets);
    return CONVOP_OK;
}

static int dtype_of(XLA_FFI_DataType from, DLDataType *to)
{
    static const struct {
        XLA_FFI_DataType from;
        DLDataType to;
    } dtypes[] = {{XLA_FFI_DataType_F32, {kDLFloat, 32, 1}},
                  {XLA_FFI_DataType_F64, {kDLFloat, 64, 1}},
                  {XLA_FFI_DataType_F16, {kDLFloat, 16, 1}},
                  {XLA_FFI_DataType_BF16, {kDLBfloat, 16, 1}}};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (dtypes[i].from != from) continue;
        *to = dtypes[i].to;
        return 1;
    }
    return 0;
}

/* XLA's buffers are row-major and without gaps, in the order of their dimensions. */
static convop_status view_of(const char *what, int index, int is_buffer, const void *item,
                             DLTensor *view)
{
    const XLA_FFI_Buffer *buffer = item;
    if (!is_buffer || buffer->struct_size < XLA_FFI_Buffer_STRUCT_SIZE)
        return convop_fail(CONVOP_E_INVALID, "convop for JAX: %s %d is not a buffer", what, index);
    if (buffer->rank > CONVOP_MAX_DIMS)
        return convop_fail(CONVOP_E_INVALID,
                           "convop for JAX: %s %d has %lld dimensions, allowed are %d", what, index,
                           (long long)buffer->rank, CONVOP_MAX_DIMS);
    *view = (DLTensor){.data = buffer->data,
                       .device = {kDLCPU, 0},
                       .ndim = (int32_t)buffer->rank,
                       .shape = buffer->dims};
    if (!dtype_of(buffer->dtype, &view->dtype))
        return convop_fail(CONVOP_E_INVALID,
                           "convop for JAX: %s %d has XLA's dtype %d, allowed are float16, "
                           "bfloat16, float32, float64",
                           what, index, (int)buffer->dtype);
    return CONVOP_OK;
}

convop_status frame_arg(const XLA_FFI_CallFrame *frame, int index, DLTensor *view)
{
    return view_of("argument", index, frame->args.types[index] == XLA_FFI_ArgType_BUFFER,
                   frame->args.args[index], view);
}

convop_status frame_ret(const XLA_FFI_CallFrame *frame, int index, DLTensor *view)
{
    return view_of("result", index, frame->rets.types[index] == XLA_FFI_RetType_BUFFER,
                   frame->rets.rets[index], view);
}

static convop_status set_attr(const XLA_FFI_Attrs *attrs, int64_t index, convop_conv_params *params)
{
    const XLA_FFI_ByteSpan *name = attrs->names[index];
    struct conv_attr attr = {.name = name->ptr, .name_size = name->len};
    const void *value = attrs->attrs[index];
    switch (attrs->types[index]) {
    case XLA_FFI_AttrType_STRING:
        attr.text = ((const XLA_FFI_ByteSpan *)value)->ptr;
        attr.text_size = ((const XLA_FFI_ByteSpan *)value)->len;
        return conv_attrs_set(params, &attr);
    case XLA_FFI_AttrType_SCALAR:
        if (((const XLA_FFI_Scalar *)value)->dtype != XLA_FFI_DataType_S64) break;
        attr.integers = ((const XLA_FFI_Scalar *)value)->value;
        attr.num_integers = 1;
        return conv_attrs_set(params, &attr);
    case XLA_FFI_AttrType_ARRAY:
        if (((const XLA_FFI_Array *)value)->dtype != XLA_FFI_DataType_S64) break;
        attr.integers = ((const XLA_FFI_Array *)value)->data;
        attr.num_integers = ((const XLA_FFI_Array *)value)->size;
        return conv_attrs_set(params, &attr);
    default: break;
    }
    return convop_fail(CONVOP_E_INVALID,
                       "convop for JAX: the attribute %.*s is no text, int64 or array of int64",
                       (int)name->len, name->ptr);
}

convop_status frame_params(const XLA_FFI_CallFrame *frame, const DLTensor *weights, int has_bias,
                           convop_conv_params *params)
{
    *params = (convop_conv_params)CONVOP_CONV_PARAMS_INIT;
    for (int64_t i = 0; i < frame->attrs.size; i++) {
        convop_status status = set_attr(&frame->attrs, i, params);
        if (status != CONVOP_OK) return status;
    }
    return conv_attrs_complete(params, weights, has_bias);
}

XLA_FFI_Error *frame_error(const XLA_FFI_CallFrame *frame, convop_status status)
{
    static const XLA_FFI_Error_Code codes[] = {
        [CONVOP_E_INVALID] = XLA_FFI_Error_Code_INVALID_ARGUMENT,
        [CONVOP_E_UNSUPPORTED] = XLA_FFI_Error_Code_UNIMPLEMENTED,
        [CONVOP_E_NO_MEMORY] = XLA_FFI_Error_Code_RESOURCE_EXHAUSTED,
        [CONVOP_E_DEVICE] = XLA_FFI_Error_Code_UNAVAILABLE,
        [CONVOP_E_IO] = XLA_FFI_Error_Code_DATA_LOSS,
        [CONVOP_E_NOT_FOUND] = XLA_FFI_Error_Code_NOT_FOUND,
        [CONVOP_E_STATE] = XLA_FFI_Error_Code_FAILED_PRECONDITION,
        [CONVOP_E_CANCELLED] = XLA_FFI_Error_Code_CANCELLED,
        [CONVOP_E_INTERNAL] = XLA_FFI_Error_Code_INTERNAL};
    if (status == CONVOP_OK) return NULL;
    int known = status > 0 && (size_t)status < sizeof codes / sizeof codes[0];
    XLA_FFI_Error_Create_Args args = {.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE,
                                      .message = convop_last_error(),
                                      .errc = known ? codes[status] : XLA_FFI_Error_Code_UNKNOWN};
    return frame->api->XLA_FFI_Error_Create(&args);
}

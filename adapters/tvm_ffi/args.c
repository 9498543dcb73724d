/* Reads the packed arguments of a TVM FFI call. Layouts of its objects: each begins with a
 * TVMFFIObject, and what the comments of c_api.h name follows. */
#include "adapters/tvm_ffi/args.h"

#include <string.h>

#include "adapters/conv_attrs.h"
#include "convop/registry.h"

static const void *body_of(const TVMFFIAny *any)
{
    return (const char *)any->v_obj + sizeof(TVMFFIObject);
}

convop_status args_tensors(const char *function, const TVMFFIAny *args, int32_t num_args,
                           int num_tensors, const char *const *names, unsigned optional,
                           DLTensor **tensors)
{
    if (num_args < num_tensors)
        return convop_fail(CONVOP_E_INVALID, "%s: %d arguments, the first %d are tensors", function,
                           (int)num_args, num_tensors);
    for (int i = 0; i < num_tensors; i++) {
        tensors[i] = NULL;
        if (args[i].type_index == kTVMFFINone && optional >> i & 1) continue;
        if (args[i].type_index == kTVMFFIDLTensorPtr)
            tensors[i] = args[i].v_ptr;
        else if (args[i].type_index == kTVMFFITensor)
            tensors[i] = (DLTensor *)(void *)((char *)args[i].v_obj + sizeof(TVMFFIObject));
        else
            return convop_fail(CONVOP_E_INVALID, "%s: %s is no tensor", function, names[i]);
    }
    return CONVOP_OK;
}

/* 1 and the text, or 0. */
static int text_of(const TVMFFIAny *any, const char **text, size_t *size)
{
    if (any->type_index == kTVMFFIRawStr) {
        *text = any->v_c_str;
        *size = strlen(any->v_c_str);
    } else if (any->type_index == kTVMFFISmallStr) {
        *text = any->v_bytes;
        *size = any->small_str_len;
    } else if (any->type_index == kTVMFFIStr) {
        *text = ((const TVMFFIByteArray *)body_of(any))->data;
        *size = ((const TVMFFIByteArray *)body_of(any))->size;
    } else {
        return 0;
    }
    return 1;
}

/* 1 and the integers, or 0. */
static int integers_of(const TVMFFIAny *any, int64_t room[CONVOP_MAX_DIMS], struct conv_attr *attr)
{
    if (any->type_index == kTVMFFIInt) {
        attr->integers = &any->v_int64;
        attr->num_integers = 1;
        return 1;
    }
    if (any->type_index == kTVMFFIShape) {
        const TVMFFIShapeCell *shape = body_of(any);
        attr->integers = shape->size ? shape->data : room;
        attr->num_integers = shape->size;
        return 1;
    }
    if (any->type_index != kTVMFFIArray && any->type_index != kTVMFFIList) return 0;
    const TVMFFISeqCell *cells = body_of(any);
    const TVMFFIAny *items = cells->data;
    if (cells->size > CONVOP_MAX_DIMS) return 0;
    for (int64_t i = 0; i < cells->size; i++) {
        if (items[i].type_index != kTVMFFIInt) return 0;
        room[i] = items[i].v_int64;
    }
    attr->integers = room;
    attr->num_integers = (size_t)cells->size;
    return 1;
}

convop_status args_params(const TVMFFIAny *args, int32_t num_args, const DLTensor *weights,
                          int has_bias, convop_conv_params *params)
{
    *params = (convop_conv_params)CONVOP_CONV_PARAMS_INIT;
    for (int32_t i = 0; i < num_args; i += 2) {
        struct conv_attr attr = {0};
        int64_t room[CONVOP_MAX_DIMS];
        if (!text_of(&args[i], &attr.name, &attr.name_size))
            return convop_fail(
                CONVOP_E_INVALID,
                "Convolution: behind the tensors, argument %d is no text: pairs of a "
                "name and a value are expected",
                (int)i);
        if (i + 1 == num_args || (!integers_of(&args[i + 1], room, &attr) &&
                                  !text_of(&args[i + 1], &attr.text, &attr.text_size)))
            return convop_fail(
                CONVOP_E_INVALID,
                "Convolution: the attribute %.*s has no value that is an integer, up "
                "to %d integers or a text",
                (int)(attr.name_size < 32 ? attr.name_size : 32), attr.name, CONVOP_MAX_DIMS);
        convop_status status = conv_attrs_set(params, &attr);
        if (status != CONVOP_OK) return status;
    }
    return conv_attrs_complete(params, weights, has_bias);
}

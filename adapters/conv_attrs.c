/* Named attributes to convop_conv_params, for the adapters of hosts that pass them one by one. */
#include "adapters/conv_attrs.h"

#include <string.h>

#include "convop/registry.h"

/* Indexed by enum convop_layout. */
static const char *const layout_names[] = {"", "NCW", "NWC", "NCHW", "NHWC", "NCDHW", "NDHWC"};

static int is(const struct conv_attr *attr, const char *name)
{
    return strlen(name) == attr->name_size && memcmp(name, attr->name, attr->name_size) == 0;
}

static convop_status set_layout(convop_conv_params *params, const struct conv_attr *attr)
{
    for (int i = 0; i < (int)(sizeof layout_names / sizeof layout_names[0]); i++) {
        if (strlen(layout_names[i]) != attr->text_size ||
            memcmp(layout_names[i], attr->text, attr->text_size) != 0)
            continue;
        params->layout = i;
        return CONVOP_OK;
    }
    return convop_fail(CONVOP_E_INVALID,
                       "Convolution: layout=%.*s, allowed are NCW, NWC, NCHW, NHWC, NCDHW, NDHWC",
                       (int)(attr->text_size < 32 ? attr->text_size : 32), attr->text);
}

static convop_status set_tuple(convop_tuple *tuple, const struct conv_attr *attr)
{
    if (attr->num_integers > CONVOP_MAX_DIMS)
        return convop_fail(CONVOP_E_INVALID, "Convolution: %.*s has %zu entries, allowed are %d",
                           (int)attr->name_size, attr->name, attr->num_integers, CONVOP_MAX_DIMS);
    tuple->len = (int)attr->num_integers;
    for (int i = 0; i < tuple->len; i++) tuple->at[i] = attr->integers[i];
    return CONVOP_OK;
}

convop_status conv_attrs_set(convop_conv_params *params, const struct conv_attr *attr)
{
    if (is(attr, "layout") && !attr->integers) return set_layout(params, attr);
    if (is(attr, "num_group") && attr->integers && attr->num_integers == 1) {
        params->num_group = attr->integers[0];
        return CONVOP_OK;
    }
    if (is(attr, "pad") && attr->integers) {
        convop_status status = set_tuple(&params->pad_begin, attr);
        params->pad_end = params->pad_begin;
        return status;
    }

    static const struct {
        const char *name;
        size_t offset;
    } tuples[] = {{"stride", offsetof(convop_conv_params, stride)},
                  {"dilate", offsetof(convop_conv_params, dilate)},
                  {"pad_begin", offsetof(convop_conv_params, pad_begin)},
                  {"pad_end", offsetof(convop_conv_params, pad_end)}};
    for (size_t i = 0; i < sizeof tuples / sizeof tuples[0]; i++)
        if (is(attr, tuples[i].name) && attr->integers)
            return set_tuple((convop_tuple *)(void *)((char *)params + tuples[i].offset), attr);
    return convop_fail(
        CONVOP_E_INVALID,
        "Convolution: the attribute %.*s is unknown or of another kind; there are "
        "stride, dilate, pad, pad_begin, pad_end (integers), num_group (an integer), "
        "layout (a text)",
        (int)(attr->name_size < 32 ? attr->name_size : 32), attr->name);
}

convop_status conv_attrs_complete(convop_conv_params *params, const DLTensor *weights, int has_bias)
{
    int axes = weights->ndim - 2;
    if (axes < 1 || axes > 3)
        return convop_fail(CONVOP_E_INVALID,
                           "Convolution: weights has %d dimensions, allowed are 3 to 5",
                           weights->ndim);
    /* Layouts with the channels last have even numbers; their weights are oc, kh, kw, ic. */
    int channels_last = params->layout != CONVOP_LAYOUT_DEFAULT && params->layout % 2 == 0;
    params->kernel.len = axes;
    for (int i = 0; i < axes; i++)
        params->kernel.at[i] = weights->shape[i + (channels_last ? 1 : 2)];
    params->num_filter = weights->shape[0];
    params->no_bias = !has_bias;
    return CONVOP_OK;
}

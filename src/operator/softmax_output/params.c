/* SoftmaxOutput's parameters, shapes and axes. */
#include <float.h>
#include <stddef.h>

#include "src/common/size.h"
#include "src/common/status.h"
#include "src/operator/common.h"
#include "src/operator/softmax_output/softmax_output.h"

static const convop_enum_value normalization_values[] = {
    {"null", SOFTMAX_NULL},
    {"batch", SOFTMAX_BATCH},
    {"valid", SOFTMAX_VALID},
    {NULL, 0},
};

#define FIELD(field_kind, member)                                                                  \
    .struct_size = sizeof(convop_field), .name = #member, .kind = CONVOP_FIELD_##field_kind,       \
    .offset = offsetof(struct softmax_params, member)
#define REAL(member) FIELD(FLOAT, member), .min = -DBL_MAX, .max = DBL_MAX

const convop_field cvp_softmax_fields[] = {
    {REAL(grad_scale), .default_text = "1", .doc = "The gradient is multiplied by it."},
    {REAL(ignore_label), .default_text = "-1",
     .doc = "With use_ignore, the label of what gets no gradient."},
    {FIELD(BOOL, multi_output), .default_text = "False",
     .doc = "A softmax over axis 1 at each position of the axes behind it."},
    {FIELD(BOOL, use_ignore), .default_text = "False",
     .doc = "Give no gradient where the label is ignore_label."},
    {FIELD(BOOL, preserve_shape), .default_text = "False",
     .doc = "A softmax over the last axis, instead of all axes but the first."},
    {FIELD(ENUM, normalization), .values = normalization_values, .default_text = "null",
     .doc = "The gradient is divided by: null 1, batch the number of labels (with multi_output: of "
            "images), valid the number of labels that are not ignored; but for valid, also by the "
            "positions of multi_output."},
    {FIELD(BOOL, out_grad), .default_text = "False",
     .doc = "Multiply by the gradient by dst, which is otherwise ignored."},
    {FIELD(FLOAT, smooth_alpha), .min = 0, .max = 1, .default_text = "0",
     .doc = "This much of the label's probability is spread evenly over the other classes."},
};

_Static_assert(sizeof cvp_softmax_fields / sizeof cvp_softmax_fields[0] == SOFTMAX_NUM_FIELDS,
               "SOFTMAX_NUM_FIELDS");

convop_status cvp_softmax_check(const void *params)
{
    const struct softmax_params *p = params;
    if (p->multi_output && p->preserve_shape)
        return convop_fail(CONVOP_E_INVALID,
                           "SoftmaxOutput: multi_output=1 and preserve_shape=1 exclude each other");
    return CONVOP_OK;
}

/* Labels are as many as softmaxes: one a row, or the axes of data but the one of the classes. */
static convop_status infer_label(const char *op, const struct softmax_params *p, convop_shape *data,
                                 const char *label_name, convop_shape *label)
{
    if (!p->multi_output && !p->preserve_shape) {
        convop_shape want = cvp_shape_unknown(1);
        if (data->ndim != -1) want.dim[0] = data->dim[0];
        CVP_RETURN_IF_ERROR(cvp_shape_merge(op, label_name, label, &want, "one label a row"));
        if (data->ndim != -1) data->dim[0] = label->dim[0];
        return CONVOP_OK;
    }
    if (data->ndim == -1) {
        if (label->ndim < 1 || label->ndim == CONVOP_MAX_DIMS) return CONVOP_OK;
        *data = cvp_shape_unknown(label->ndim + 1);
    }
    int classes = p->multi_output ? 1 : data->ndim - 1;
    convop_shape want = cvp_shape_unknown(data->ndim - 1);
    for (int i = 0; i < want.ndim; i++) want.dim[i] = data->dim[i + (i >= classes)];
    CVP_RETURN_IF_ERROR(
        cvp_shape_merge(op, label_name, label, &want, "that of src without the axis of classes"));
    for (int i = 0; i < want.ndim; i++) data->dim[i + (i >= classes)] = label->dim[i];
    return CONVOP_OK;
}

static convop_status check_sizes(const char *op, const char *name, const convop_shape *data)
{
    int64_t elements = 1;
    if (data->ndim != -1 && data->ndim < 2)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %s has shape %s, it must have 2 dimensions or more", op, name,
                           cvp_shape_text(data).at);
    for (int i = 0; i < data->ndim; i++) {
        if (data->dim[i] == 0 && i > 0)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has shape %s: dimension %d is 0, only the batch may be", op,
                               name, cvp_shape_text(data).at, i);
        if (data->dim[i] > 0 && !cvp_mul_i64(elements, data->dim[i], &elements))
            return convop_fail(CONVOP_E_INVALID, "%s: %s has shape %s: its size overflows 64 bits",
                               op, name, cvp_shape_text(data).at);
    }
    return CONVOP_OK;
}

convop_status cvp_softmax_infer(const char *op, const struct softmax_params *p, int n,
                                const convop_arg *const *args, convop_shape *const *data,
                                const char *label_name, convop_shape *label)
{
    CVP_RETURN_IF_ERROR(cvp_shape_equal(op, n, args, data));
    CVP_RETURN_IF_ERROR(check_sizes(op, args[0]->name, data[0]));
    CVP_RETURN_IF_ERROR(infer_label(op, p, data[0], label_name, label));
    for (int i = 1; i < n; i++) *data[i] = *data[0];
    return check_sizes(op, args[0]->name, data[0]);
}

struct softmax_axes cvp_softmax_axes(const struct softmax_params *p, const DLTensor *data)
{
    int n = data->ndim, begin = p->preserve_shape ? n - 1 : 1, end = p->multi_output ? 2 : n;
    return (struct softmax_axes){cvp_group_of(data, 0, begin), cvp_group_of(data, begin, end),
                                 cvp_group_of(data, end, n)};
}

struct softmax_axes cvp_softmax_label_axes(const struct softmax_params *p, const DLTensor *label)
{
    int n = label->ndim, begin = p->multi_output ? 1 : n;
    return (struct softmax_axes){cvp_group_of(label, 0, begin), cvp_group_of(label, 0, 0),
                                 cvp_group_of(label, begin, n)};
}

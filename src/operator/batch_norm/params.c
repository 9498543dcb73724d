/* BatchNorm's parameters, names and defaults of MXNet's operator, and its shapes. */
#include "src/common/status.h"
#include "src/operator/batch_norm/batch_norm.h"
#include "src/operator/common.h"

#define FIELD(field_kind, member)                                                                  \
    .struct_size = sizeof(convop_field), .name = #member, .kind = CONVOP_FIELD_##field_kind,       \
    .offset = offsetof(struct bn_params, member)

/* The defaults are MXNet's to the last bit: it wrote them as float32 constants, 0.001 and 0.9. In
 * float64 the difference shows. */
const convop_field cvp_bn_fields[BN_FIELDS] = {
    {FIELD(FLOAT, eps), .min = 0, .max = 1e300, .default_text = "0.0010000000474974513",
     .doc = "Added to the variance before its root is taken."},
    {FIELD(FLOAT, momentum), .min = 0, .max = 1, .default_text = "0.8999999761581421",
     .doc = "What a running statistic keeps of itself when training."},
    {FIELD(BOOL, fix_gamma), .default_text = "True",
     .doc = "gamma counts as 1, whatever is in it, and its gradient is 0."},
    {FIELD(BOOL, use_global_stats), .default_text = "False",
     .doc = "Use the running statistics when training too."},
    {FIELD(BOOL, output_mean_var), .default_text = "False",
     .doc = "A graph shows mean and inv_std too."},
    {FIELD(INT, axis), .min = -CONVOP_MAX_DIMS, .max = CONVOP_MAX_DIMS - 1, .default_text = "1",
     .doc = "The axis of the channels; from the end where it is negative."},
    {FIELD(BOOL, cudnn_off), .default_text = "False", .doc = "Do not use cuDNN."},
};

convop_status cvp_bn_infer(const char *op, const struct bn_params *p, int full, int vectors,
                           const convop_arg *const *names, convop_shape *const *shapes)
{
    CVP_RETURN_IF_ERROR(cvp_shape_equal(op, full, names, shapes));
    convop_shape *src = shapes[0];
    int axis = cvp_bn_axis(p, src->ndim);
    if (src->ndim != -1 && (axis < 0 || axis >= src->ndim))
        return convop_fail(
            CONVOP_E_INVALID, "%s: axis=%lld is none of %s with shape %s, allowed is %d..%d", op,
            (long long)p->axis, names[0]->name, cvp_shape_text(src).at, -src->ndim, src->ndim - 1);
    convop_shape vector = cvp_shape_unknown(1);
    if (src->ndim != -1) vector.dim[0] = src->dim[axis];
    for (int i = full; i < full + vectors; i++) {
        CVP_RETURN_IF_ERROR(
            cvp_shape_merge(op, names[i]->name, shapes[i], &vector, "one value a channel"));
        vector = *shapes[i];
    }
    for (int i = full; i < full + vectors; i++) *shapes[i] = vector;
    for (int i = 0; i < full && src->ndim != -1; i++) shapes[i]->dim[axis] = vector.dim[0];
    return CONVOP_OK;
}

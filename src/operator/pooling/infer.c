/* Shape inference of Pooling, and the problem that follows from shapes. */
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/operator/common.h"
#include "src/operator/pooling/pooling.h"

/* Spatial axes as the parameters say; 0 if they leave it to the tensors. */
static int axes_of(const struct pool_params *p)
{
    return p->layout ? (p->layout + 1) / 2 : p->kernel.len;
}

static convop_status set_rank(const char *op, const struct pool_params *p, const char *name,
                              convop_shape *s, const char *other_name, const convop_shape *other)
{
    int axes = axes_of(p);
    int want = axes ? axes + 2 : other->ndim != -1 ? other->ndim : s->ndim;
    if (want == -1) return CONVOP_OK;
    if (s->ndim == -1) *s = cvp_shape_unknown(want);
    if (s->ndim == want && want >= 3 && want <= 2 + POOL_MAX_AXES) return CONVOP_OK;
    if (axes)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %s has %d dimensions, shape %s; %d spatial axes want %d", op, name,
                           s->ndim, cvp_shape_text(s).at, axes, want);
    if (s->ndim != want)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %s has %d dimensions, shape %s; %s has %d: they must be as many",
                           op, name, s->ndim, cvp_shape_text(s).at, other_name, want);
    return convop_fail(CONVOP_E_INVALID, "%s: %s has %d dimensions, shape %s; allowed is 3 to %d",
                       op, name, s->ndim, cvp_shape_text(s).at, 2 + POOL_MAX_AXES);
}

static convop_status check_sizes(const char *op, const char *name, const convop_shape *s)
{
    int64_t bytes = 8; /* of the largest element */
    for (int i = 0; i < s->ndim; i++) {
        if (s->dim[i] == 0 && i > 0)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has shape %s: dimension %d is 0, only the batch may be", op,
                               name, cvp_shape_text(s).at, i);
        if (s->dim[i] > 0 && !cvp_mul_i64(bytes, s->dim[i], &bytes))
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has shape %s: its size in bytes overflows 64 bits", op, name,
                               cvp_shape_text(s).at);
    }
    return CONVOP_OK;
}

static struct pool_axis axis_of(const struct pool_params *p, int axis, int64_t in, int64_t out)
{
    if (p->global_pool) return (struct pool_axis){in, out, in, 1, 0};
    return (struct pool_axis){.in = in,
                              .out = out,
                              .kernel = p->kernel.at[axis],
                              .stride = p->stride.len ? p->stride.at[axis] : 1,
                              .pad = p->pad.len ? p->pad.at[axis] : 0};
}

/* One spatial axis, both ways. *in or *out may be -1. */
static convop_status infer_axis(const char *op, const struct pool_params *p, int axis, int64_t *in,
                                const char *dst_name, int64_t *out)
{
    if (p->global_pool) {
        *out = 1;
        return CONVOP_OK;
    }
    struct pool_axis a = axis_of(p, axis, *in, *out);
    int64_t padded, size;
    if (*in == -1) {
        if (*out < 1 || a.stride != 1) return CONVOP_OK;
        if (!cvp_add_i64(*out - 1, a.kernel, &size) || size - 2 * a.pad < 1)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has size %lld in axis %d, which no src has with kernel %lld "
                               "and pad %lld",
                               op, dst_name, (long long)*out, axis, (long long)a.kernel,
                               (long long)a.pad);
        *in = size - 2 * a.pad;
        return CONVOP_OK;
    }
    if (!cvp_add_i64(*in, 2 * a.pad, &padded) || padded < a.kernel)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: kernel %lld of axis %d does not fit into the %lld elements of src "
                           "with pad %lld at both sides",
                           op, (long long)a.kernel, axis, (long long)*in, (long long)a.pad);
    size = padded - a.kernel;
    *out = (p->convention == POOL_FULL ? cvp_ceil_div(size, a.stride) : size / a.stride) + 1;
    return CONVOP_OK;
}

convop_status cvp_pool_infer(const char *op, const struct pool_params *p, convop_shape *src,
                             const char *dst_name, convop_shape *dst)
{
    CVP_RETURN_IF_ERROR(set_rank(op, p, "src", src, dst_name, dst));
    CVP_RETURN_IF_ERROR(set_rank(op, p, dst_name, dst, "src", src));
    if (src->ndim == -1) return CONVOP_OK;
    CVP_RETURN_IF_ERROR(check_sizes(op, "src", src));
    CVP_RETURN_IF_ERROR(check_sizes(op, dst_name, dst));
    int last = cvp_pool_is_channels_last(p), channels = last ? src->ndim - 1 : 1;
    convop_shape from = *dst, to = *src;
    for (int i = 0; i < src->ndim - 2; i++) {
        int d = i + (last ? 1 : 2);
        from.dim[d] = src->dim[d];
        to.dim[d] = dst->dim[d];
        CVP_RETURN_IF_ERROR(infer_axis(op, p, i, &from.dim[d], dst_name, &to.dim[d]));
    }
    from.dim[0] = dst->dim[0];
    from.dim[channels] = dst->dim[channels];
    CVP_RETURN_IF_ERROR(cvp_shape_merge(op, dst_name, dst, &to,
                                        "the batch and channels of src, and the sizes that follow "
                                        "from src, kernel, stride, pad and pooling_convention"));
    CVP_RETURN_IF_ERROR(
        cvp_shape_merge(op, "src", src, &from, "the batch, channels and sizes that follow"));
    CVP_RETURN_IF_ERROR(check_sizes(op, "src", src));
    return check_sizes(op, dst_name, dst);
}

struct pool_strides cvp_pool_strides(const struct pool_params *p, const DLTensor *t)
{
    int64_t strides[CONVOP_MAX_DIMS];
    cvp_tensor_strides(t, strides);
    int last = cvp_pool_is_channels_last(p), axes = t->ndim - 2;
    struct pool_strides r = {.n = strides[0], .c = strides[last ? t->ndim - 1 : 1]};
    for (int i = 0; i < axes; i++) r.at[POOL_MAX_AXES - axes + i] = strides[i + (last ? 1 : 2)];
    return r;
}

void cvp_pool_problem_init(struct pool_problem *problem, const struct pool_params *p,
                           const DLTensor *src, const DLTensor *dst)
{
    int last = cvp_pool_is_channels_last(p), axes = src->ndim - 2;
    *problem = (struct pool_problem){.type = (enum pool_type)p->type,
                                     .count_include_pad = p->count_include_pad,
                                     .mb = src->shape[0],
                                     .c = src->shape[last ? src->ndim - 1 : 1],
                                     .src = cvp_pool_strides(p, src),
                                     .dst = cvp_pool_strides(p, dst)};
    for (int i = 0; i < POOL_MAX_AXES; i++)
        problem->axis[i] = (struct pool_axis){.in = 1, .out = 1, .kernel = 1, .stride = 1};
    for (int i = 0; i < axes; i++) {
        int d = i + (last ? 1 : 2);
        problem->axis[POOL_MAX_AXES - axes + i] = axis_of(p, i, src->shape[d], dst->shape[d]);
    }
}

/* Shape inference of Convolution. Axes are those of the layout; rules are checked before anything
 * is divided or multiplied by what they guard. */
#include "src/operator/convolution/infer.h"

#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/text.h"
#include "src/operator/convolution/params.h"

/* The largest element: bounds byte counts before the dtype is known. */
#define MAX_ELEMENT_SIZE 8

struct text_of {
    char at[160];
};

static struct text_of dims(const convop_shape *s)
{
    struct text_of r;
    struct cvp_text t = cvp_text_in(r.at, sizeof r.at);
    cvp_text_add_dims(&t, s->ndim, s->dim);
    return r;
}

static struct text_of tuple(const int64_t *at, int len)
{
    struct text_of r;
    struct cvp_text t = cvp_text_in(r.at, sizeof r.at);
    cvp_text_add_dims(&t, len, at);
    return r;
}

static convop_shape unknown_shape(int ndim)
{
    convop_shape s = {.ndim = ndim};
    for (int i = 0; i < ndim; i++) s.dim[i] = -1;
    return s;
}

/* Gives a shape of unknown rank the rank that it must have. */
static convop_status set_rank(const char *op, const char *name, convop_shape *s, int ndim,
                              const char *layout, int axes)
{
    if (s->ndim == -1) *s = unknown_shape(ndim);
    if (s->ndim == ndim) return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID,
                       "%s: %s has %d dimensions, shape %s; layout %s with a kernel of %d "
                       "entries wants %d",
                       op, name, s->ndim, dims(s).at, layout, axes, ndim);
}

/* Puts `want` (-1 where unknown) into *s; known sizes must agree. */
static convop_status merge(const char *op, const char *name, convop_shape *s,
                           const convop_shape *want, const char *rule)
{
    convop_shape r = *s;
    for (int i = 0; i < want->ndim; i++) {
        if (want->dim[i] == -1) continue;
        if (r.dim[i] == -1) r.dim[i] = want->dim[i];
        if (r.dim[i] != want->dim[i])
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has shape %s, but its shape must be %s: %s", op, name,
                               dims(s).at, dims(want).at, rule);
    }
    *s = r;
    return CONVOP_OK;
}

convop_status cvp_conv_merge(const char *op, const char *name_a, convop_shape *a,
                             const char *name_b, convop_shape *b)
{
    if (a->ndim == -1) *a = *b;
    if (b->ndim == -1) *b = *a;
    for (int i = 0; a->ndim == b->ndim && i < a->ndim; i++) {
        if (a->dim[i] == -1) a->dim[i] = b->dim[i];
        if (b->dim[i] == -1) b->dim[i] = a->dim[i];
    }
    int equal = a->ndim == b->ndim;
    for (int i = 0; equal && i < a->ndim; i++) equal = a->dim[i] == b->dim[i];
    if (equal) return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID, "%s: %s has shape %s, %s has shape %s: they must be equal",
                       op, name_a, dims(a).at, name_b, dims(b).at);
}

/* Sizes of 0 are refused but for the batch, and byte counts beyond 64 bits. */
static convop_status check_sizes(const char *op, const char *name, const convop_shape *s)
{
    int64_t bytes = MAX_ELEMENT_SIZE;
    for (int i = 0; i < s->ndim; i++) {
        if (s->dim[i] == -1) continue;
        if (s->dim[i] == 0 && i > 0)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has shape %s: dimension %d is 0, only the batch may be", op,
                               name, dims(s).at, i);
        if (s->dim[i] > 0 && !cvp_mul_i64(bytes, s->dim[i], &bytes))
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has shape %s: its size in bytes overflows 64 bits", op, name,
                               dims(s).at);
    }
    return CONVOP_OK;
}

/* Channels of src and weights from each other. *c is -1 if unknown. */
static convop_status infer_channels(const struct conv_names *n, const convop_conv_params *p,
                                    const convop_shape *src, const convop_shape *weights,
                                    int c_axis, int64_t *c)
{
    int64_t have = src->dim[c_axis], group = weights->dim[c_axis];
    *c = have;
    if (have != -1) {
        if (have % p->num_group != 0)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has shape %s with %lld channels, which is not a "
                               "multiple of num_group=%lld",
                               n->op, n->src, dims(src).at, (long long)have,
                               (long long)p->num_group);
        return CONVOP_OK;
    }
    if (group != -1 && !cvp_mul_i64(group, p->num_group, c))
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %s has shape %s: its channels times num_group=%lld "
                           "overflow 64 bits",
                           n->op, n->weights, dims(weights).at, (long long)p->num_group);
    return CONVOP_OK;
}

/* One spatial axis, both ways. *in or *out may be -1. */
static convop_status infer_axis(const struct conv_names *n, const convop_conv_params *p,
                                const struct conv_resolved *r, int axis, const convop_shape *src,
                                int64_t *in, int64_t *out)
{
    int64_t reach = cvp_conv_reach(p->kernel.at[axis], r->dilate[axis]), pads;
    if (!cvp_add_i64(r->pad_begin[axis], r->pad_end[axis], &pads))
        return convop_fail(CONVOP_E_INVALID, "%s: pad of axis %d, %lld + %lld, overflows", n->op,
                           axis, (long long)r->pad_begin[axis], (long long)r->pad_end[axis]);
    if (*in == -1) {
        if (*out > 0 && r->stride[axis] == 1) {
            int64_t size;
            if (!cvp_add_i64(*out - 1, reach, &size) || size - pads < 1)
                return convop_fail(CONVOP_E_INVALID,
                                   "%s: %s has size %lld in axis %d, which no %s has with "
                                   "kernel %lld, dilate %lld and pad %lld + %lld",
                                   n->op, n->dst, (long long)*out, axis, n->src,
                                   (long long)p->kernel.at[axis], (long long)r->dilate[axis],
                                   (long long)r->pad_begin[axis], (long long)r->pad_end[axis]);
            *in = size - pads;
        }
        return CONVOP_OK;
    }
    int64_t padded;
    if (!cvp_add_i64(*in, pads, &padded))
        return convop_fail(CONVOP_E_INVALID,
                           "%s: the padded size of %s in axis %d overflows: size %lld, pad "
                           "%lld + %lld",
                           n->op, n->src, axis, (long long)*in, (long long)r->pad_begin[axis],
                           (long long)r->pad_end[axis]);
    if (reach > padded)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: kernel %s with dilate %s reaches over %lld elements in axis "
                           "%d, more than the %lld of %s %s with pad %lld + %lld",
                           n->op, tuple(p->kernel.at, p->kernel.len).at,
                           tuple(r->dilate, p->kernel.len).at, (long long)reach, axis,
                           (long long)padded, n->src, dims(src).at, (long long)r->pad_begin[axis],
                           (long long)r->pad_end[axis]);
    *out = (padded - reach) / r->stride[axis] + 1;
    return CONVOP_OK;
}

convop_status cvp_conv_infer(const convop_conv_params *p, const struct conv_shapes *s)
{
    const struct conv_names *n = &s->names;
    const char *op = n->op;
    struct conv_resolved r = cvp_conv_params_resolve(p);
    const char *layout = cvp_conv_layout_name(r.layout);
    int axes = p->kernel.len, ndim = axes + 2;
    int c_axis = r.channels_last ? ndim - 1 : 1, spatial = r.channels_last ? 1 : 2;

    CVP_RETURN_IF_ERROR(set_rank(op, n->src, s->src, ndim, layout, axes));
    CVP_RETURN_IF_ERROR(set_rank(op, n->weights, s->weights, ndim, layout, axes));
    CVP_RETURN_IF_ERROR(set_rank(op, n->dst, s->dst, ndim, layout, axes));
    CVP_RETURN_IF_ERROR(check_sizes(op, n->src, s->src));

    int64_t c;
    CVP_RETURN_IF_ERROR(infer_channels(n, p, s->src, s->weights, c_axis, &c));
    convop_shape weights = unknown_shape(ndim);
    weights.dim[0] = p->num_filter;
    weights.dim[c_axis] = c == -1 ? -1 : c / p->num_group;
    for (int i = 0; i < axes; i++) weights.dim[spatial + i] = p->kernel.at[i];
    CVP_RETURN_IF_ERROR(merge(op, n->weights, s->weights, &weights,
                              "num_filter, the channels of src over num_group, and kernel"));
    CVP_RETURN_IF_ERROR(check_sizes(op, n->weights, s->weights));

    if (s->bias) {
        convop_shape bias = {.ndim = 1, .dim = {p->num_filter}};
        if (s->bias->ndim == -1) *s->bias = bias;
        if (s->bias->ndim != 1)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has shape %s, but its shape must be %s: num_filter", op,
                               n->bias, dims(s->bias).at, dims(&bias).at);
        CVP_RETURN_IF_ERROR(merge(op, n->bias, s->bias, &bias, "num_filter"));
    }

    convop_shape src = unknown_shape(ndim), dst = unknown_shape(ndim);
    src.dim[0] = dst.dim[0] = s->src->dim[0] != -1 ? s->src->dim[0] : s->dst->dim[0];
    src.dim[c_axis] = c;
    dst.dim[c_axis] = p->num_filter;
    for (int i = 0; i < axes; i++) {
        src.dim[spatial + i] = s->src->dim[spatial + i];
        dst.dim[spatial + i] = s->dst->dim[spatial + i];
        CVP_RETURN_IF_ERROR(
            infer_axis(n, p, &r, i, s->src, &src.dim[spatial + i], &dst.dim[spatial + i]));
    }
    CVP_RETURN_IF_ERROR(
        merge(op, n->src, s->src, &src, "the batch, channels and sizes that follow"));
    CVP_RETURN_IF_ERROR(merge(op, n->dst, s->dst, &dst,
                              "the batch of src, num_filter, and the sizes that follow from src, "
                              "kernel, stride, dilate and pad"));
    CVP_RETURN_IF_ERROR(check_sizes(op, n->src, s->src));
    return check_sizes(op, n->dst, s->dst);
}

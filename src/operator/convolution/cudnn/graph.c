/* The graph of a convolution: tensors by their strides, so that every layout is one case; bias,
 * residual and activation as operations that cuDNN fuses; an output that is added to by beta, or,
 * where something follows the sum, as one more addend. */
#include "src/operator/convolution/cudnn/graph.h"

#include "src/common/size.h"

/* Axes of a tensor as cuDNN counts them: n, c, then the spatial ones, of which 1-D has two as well.
 */
#define MOST_AXES 5

/* Unique ids of tensors that only the graph knows begin here. */
#define FIRST_VIRTUAL 100

struct shape {
    int64_t size[MOST_AXES], stride[MOST_AXES];
};

/* The stride of an axis of size 1 says nothing, but cuDNN tells layouts by it: it gets the one that
 * the layout would give it. Axes come as n c d h w. */
static void set_idle_strides(struct shape *s, int channels_last)
{
    static const int order[2][MOST_AXES] = {{4, 3, 2, 1, 0}, {1, 4, 3, 2, 0}};
    int64_t next = 1;
    for (int i = 0; i < MOST_AXES; i++) {
        const int axis = order[channels_last][i];
        if (s->size[axis] == 1) s->stride[axis] = next;
        int64_t end;
        next = cvp_mul_i64(s->stride[axis], s->size[axis], &end) ? end : s->stride[axis];
    }
}

static void *tensor(struct cvp_backend *b, const convop_conv_problem *p, int64_t uid,
                    const int64_t size[MOST_AXES], const convop_conv_strides *t, int is_virtual)
{
    static const unsigned types[] = {[CVP_STORED_F32] = CVP_CUDNN_DATA_FLOAT,
                                     [CVP_STORED_F64] = CVP_CUDNN_DATA_DOUBLE,
                                     [CVP_STORED_F16] = CVP_CUDNN_DATA_HALF,
                                     [CVP_STORED_BF16] = CVP_CUDNN_DATA_BFLOAT16};
    const unsigned stored = types[cvp_conv_stored_type(p)];
    const unsigned computed = p->dtype.bits == 64 ? CVP_CUDNN_DATA_DOUBLE : CVP_CUDNN_DATA_FLOAT;
    const int64_t alignment = CONV_CUDNN_ALIGNMENT;
    struct shape s = {{size[0], size[1], size[2], size[3], size[4]},
                      {t->n, t->c, t->d, t->h, t->w}};
    set_idle_strides(&s, p->channels_last);
    int axes = MOST_AXES;
    if (p->axes < 3) {
        axes--;
        for (int i = 2; i < axes; i++) s.size[i] = s.size[i + 1], s.stride[i] = s.stride[i + 1];
    }
    void *d = cvp_backend_make(b, CVP_CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_TENSOR_UNIQUE_ID, CVP_CUDNN_TYPE_INT64, 1, &uid);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_TENSOR_DATA_TYPE, CVP_CUDNN_TYPE_DATA_TYPE, 1,
                    is_virtual ? &computed : &stored);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CVP_CUDNN_TYPE_INT64, 1,
                    &alignment);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_TENSOR_DIMENSIONS, CVP_CUDNN_TYPE_INT64, axes, s.size);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_TENSOR_STRIDES, CVP_CUDNN_TYPE_INT64, axes, s.stride);
    if (is_virtual) {
        const char yes = 1;
        cvp_backend_set(b, d, CVP_CUDNN_ATTR_TENSOR_IS_VIRTUAL, CVP_CUDNN_TYPE_BOOLEAN, 1, &yes);
    }
    cvp_backend_finalize(b, d, "a tensor");
    return d;
}

/* The padding behind the last element that a window reads. Windows may also leave a rest unread. */
static int64_t padding_behind(int64_t in, int64_t out, int64_t kernel, int64_t stride,
                              int64_t dilation, int64_t before)
{
    return cvp_max_i64(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - in - before);
}

static void *convolution(struct cvp_backend *b, const convop_conv_problem *p)
{
    const unsigned computed = p->dtype.bits == 64 ? CVP_CUDNN_DATA_DOUBLE : CVP_CUDNN_DATA_FLOAT;
    const unsigned mode = CVP_CUDNN_CROSS_CORRELATION;
    const int skip = p->axes < 3, n = 3 - skip;
    const int64_t spatial = n, strides[] = {p->sd, p->sh, p->sw},
                  dilations[] = {p->dd, p->dh, p->dw}, before[] = {p->pd, p->ph, p->pw},
                  behind[] = {padding_behind(p->id, p->od, p->kd, p->sd, p->dd, p->pd),
                              padding_behind(p->ih, p->oh, p->kh, p->sh, p->dh, p->ph),
                              padding_behind(p->iw, p->ow, p->kw, p->sw, p->dw, p->pw)};
    const struct {
        unsigned name;
        const int64_t *values;
    } of_axes[] = {
        {CVP_CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides},
        {CVP_CUDNN_ATTR_CONVOLUTION_DILATIONS, dilations},
        {CVP_CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, before},
        {CVP_CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, behind},
    };
    void *d = cvp_backend_make(b, CVP_CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CVP_CUDNN_TYPE_INT64, 1,
                    &spatial);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CVP_CUDNN_TYPE_DATA_TYPE, 1,
                    &computed);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_CONVOLUTION_CONV_MODE, CVP_CUDNN_TYPE_CONVOLUTION_MODE, 1,
                    &mode);
    for (size_t i = 0; i < sizeof of_axes / sizeof of_axes[0]; i++)
        cvp_backend_set(b, d, of_axes[i].name, CVP_CUDNN_TYPE_INT64, n, of_axes[i].values + skip);
    cvp_backend_finalize(b, d, "a convolution");
    return d;
}

/* The attributes of the operation of each direction. */
struct names {
    unsigned operation, convolution, src, weights, dst, alpha, beta;
};

static const struct names names_of[] = {
    [CONVOP_FWD] = {CVP_CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                    CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                    CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                    CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                    CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                    CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                    CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    [CONVOP_BWD_D] = {CVP_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    [CONVOP_BWD_W] = {CVP_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

static void *multiply(struct cvp_backend *b, const convop_conv_problem *p, void *src, void *weights,
                      void *dst, int adds)
{
    const struct names *names = &names_of[p->direction];
    const int is_double = p->dtype.bits == 64;
    const float factors[] = {1, (float)adds};
    const double double_factors[] = {1, adds};
    void *conv = convolution(b, p);
    void *d = cvp_backend_make(b, names->operation);
    cvp_backend_link(b, d, names->convolution, conv);
    cvp_backend_link(b, d, names->src, src);
    cvp_backend_link(b, d, names->weights, weights);
    cvp_backend_link(b, d, names->dst, dst);
    for (int i = 0; i < 2; i++)
        cvp_backend_set(b, d, i ? names->beta : names->alpha,
                        is_double ? CVP_CUDNN_TYPE_DOUBLE : CVP_CUDNN_TYPE_FLOAT, 1,
                        is_double ? (const void *)&double_factors[i] : &factors[i]);
    cvp_backend_finalize(b, d, "an operation");
    return d;
}

/* to = one + other, element by element, where other may have one element along an axis; or, with
 * other NULL, the activation of one. */
static void *pointwise(struct cvp_backend *b, const convop_conv_problem *p, void *one, void *other,
                       void *to)
{
    const unsigned mode = other ? CVP_CUDNN_POINTWISE_ADD : CVP_CUDNN_POINTWISE_RELU_FWD;
    const int is_double = p->dtype.bits == 64;
    const unsigned computed = is_double ? CVP_CUDNN_DATA_DOUBLE : CVP_CUDNN_DATA_FLOAT;
    const float most = 6;
    const double most_double = 6;
    void *kind = cvp_backend_make(b, CVP_CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    cvp_backend_set(b, kind, CVP_CUDNN_ATTR_POINTWISE_MODE, CVP_CUDNN_TYPE_POINTWISE_MODE, 1,
                    &mode);
    cvp_backend_set(b, kind, CVP_CUDNN_ATTR_POINTWISE_MATH_PREC, CVP_CUDNN_TYPE_DATA_TYPE, 1,
                    &computed);
    if (!other && p->activation == CONVOP_ACTIVATION_RELU6)
        cvp_backend_set(b, kind, CVP_CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP,
                        is_double ? CVP_CUDNN_TYPE_DOUBLE : CVP_CUDNN_TYPE_FLOAT, 1,
                        is_double ? (const void *)&most_double : &most);
    cvp_backend_finalize(b, kind, "an element-wise operation");
    void *d = cvp_backend_make(b, CVP_CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    cvp_backend_link(b, d, CVP_CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind);
    cvp_backend_link(b, d, CVP_CUDNN_ATTR_OPERATION_POINTWISE_XDESC, one);
    if (other) cvp_backend_link(b, d, CVP_CUDNN_ATTR_OPERATION_POINTWISE_BDESC, other);
    cvp_backend_link(b, d, CVP_CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
    cvp_backend_finalize(b, d, "an operation");
    return d;
}

/* What follows the sum, in cuDNN's order: what is added, then the activation as a NULL. */
#define MOST_STEPS 4

static int steps_of(struct cvp_backend *b, const convop_conv_problem *p, const int64_t dst_size[],
                    void *steps[MOST_STEPS])
{
    const int64_t bias_size[] = {1, p->oc, 1, 1, 1};
    const convop_conv_strides bias_strides = {.c = p->bias_stride};
    int n = 0;
    const int alone = !p->bias && !p->residual && p->activation == CONVOP_ACTIVATION_NONE;
    if (alone) return 0;
    if (p->add) steps[n++] = tensor(b, p, CONV_UID_OLD, dst_size, &p->dst, 0);
    if (p->residual)
        steps[n++] = tensor(b, p, CONV_UID_RESIDUAL, dst_size, &p->residual_strides, 0);
    if (p->bias) steps[n++] = tensor(b, p, CONV_UID_BIAS, bias_size, &bias_strides, 0);
    if (p->activation != CONVOP_ACTIVATION_NONE) steps[n++] = NULL;
    return n;
}

void *cvp_conv_cudnn_graph(struct cvp_backend *b, const convop_conv_problem *p)
{
    const int64_t src_size[] = {p->mb, p->ic, p->id, p->ih, p->iw};
    const int64_t dst_size[] = {p->mb, p->oc, p->od, p->oh, p->ow};
    const int64_t weights_size[] = {p->oc, p->ic / p->g, p->kd, p->kh, p->kw};
    void *operations[1 + MOST_STEPS], *steps[MOST_STEPS];
    void *src = tensor(b, p, CONV_UID_SRC, src_size, &p->src, 0);
    void *weights = tensor(b, p, CONV_UID_WEIGHTS, weights_size, &p->weights, 0);
    void *dst = tensor(b, p, CONV_UID_DST, dst_size, &p->dst, 0);
    const int n = steps_of(b, p, dst_size, steps);
    void *product = n ? tensor(b, p, FIRST_VIRTUAL, dst_size, &p->dst, 1) : dst;
    operations[0] = multiply(b, p, src, weights, product, n ? 0 : p->add);
    for (int i = 0; i < n; i++) {
        void *to = i == n - 1 ? dst : tensor(b, p, FIRST_VIRTUAL + i + 1, dst_size, &p->dst, 1);
        operations[i + 1] = pointwise(b, p, product, steps[i], to);
        product = to;
    }
    void *graph = cvp_backend_make(b, CVP_CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    cvp_backend_set(b, graph, CVP_CUDNN_ATTR_OPERATIONGRAPH_OPS, CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR,
                    1 + n, operations);
    cvp_backend_finalize(b, graph, "a graph");
    return graph;
}

/* The graph that descriptors describe, and its text: numbers with commas between. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "tests/standin/cudnn.h"

/* src, weights, dst, the convolution, alpha, beta. */
static const struct {
    unsigned kind, names[6];
} convolutions[] = {
    {CVP_CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     {CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA}},
    {CVP_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     {CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA}},
    {CVP_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     {CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}},
};

static int read_axes(const struct descriptor *d, unsigned name, int64_t *to, int64_t most,
                     int64_t *count)
{
    const struct attribute *a = d ? standin_attribute(d, name) : NULL;
    if (!a || a->type != CVP_CUDNN_TYPE_INT64 || a->count < 1 || a->count > most) return 0;
    memcpy(to, a->values, (size_t)a->count * sizeof *to);
    *count = a->count;
    return 1;
}

/* The number of a tensor in the graph, which it is added to; -1: it does not fit. */
static int64_t add_tensor(struct graph *g, const struct descriptor *d)
{
    struct graph_tensor t = {0};
    int64_t axes;
    if (!d || !read_axes(d, CVP_CUDNN_ATTR_TENSOR_DIMENSIONS, t.size, MOST_AXES, &t.axes) ||
        !read_axes(d, CVP_CUDNN_ATTR_TENSOR_STRIDES, t.stride, MOST_AXES, &axes) || axes != t.axes)
        return -1;
    t.uid = standin_int(d, CVP_CUDNN_ATTR_TENSOR_UNIQUE_ID, -1);
    t.type = standin_int(d, CVP_CUDNN_ATTR_TENSOR_DATA_TYPE, -1);
    t.is_virtual = standin_int(d, CVP_CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0);
    t.alignment = standin_int(d, CVP_CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1);
    for (int64_t i = 0; i < g->num_tensors; i++)
        if (g->tensors[i].uid == t.uid) return memcmp(&g->tensors[i], &t, sizeof t) ? -1 : i;
    if (g->num_tensors == MOST_TENSORS) return -1;
    g->tensors[g->num_tensors] = t;
    return g->num_tensors++;
}

static int read_convolution(struct graph *g, struct graph_op *op, const struct descriptor *d,
                            const unsigned names[6])
{
    const struct descriptor *c = standin_child(d, names[3], 0);
    int64_t same;
    for (int i = 0; i < 3; i++)
        if ((op->tensors[i] = add_tensor(g, standin_child(d, names[i], 0))) < 0) return 0;
    op->alpha = standin_number(d, names[4], 1);
    op->beta = standin_number(d, names[5], 0);
    return read_axes(c, CVP_CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, op->pad, 3, &op->axes) &&
           read_axes(c, CVP_CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, op->step, 3, &same) &&
           read_axes(c, CVP_CUDNN_ATTR_CONVOLUTION_DILATIONS, op->dilation, 3, &same) &&
           standin_int(c, CVP_CUDNN_ATTR_CONVOLUTION_CONV_MODE, 0) == CVP_CUDNN_CROSS_CORRELATION;
}

static int read_pointwise(struct graph *g, struct graph_op *op, const struct descriptor *d)
{
    const struct descriptor *p =
        standin_child(d, CVP_CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 0);
    const struct descriptor *b = standin_child(d, CVP_CUDNN_ATTR_OPERATION_POINTWISE_BDESC, 0);
    if (!p) return 0;
    op->mode = standin_int(p, CVP_CUDNN_ATTR_POINTWISE_MODE, -1);
    op->low = standin_number(p, CVP_CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0);
    op->high = standin_number(p, CVP_CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, 1e300);
    op->tensors[0] = add_tensor(g, standin_child(d, CVP_CUDNN_ATTR_OPERATION_POINTWISE_XDESC, 0));
    op->tensors[1] = b ? add_tensor(g, b) : -1;
    op->tensors[2] = add_tensor(g, standin_child(d, CVP_CUDNN_ATTR_OPERATION_POINTWISE_YDESC, 0));
    const int adds = op->mode == CVP_CUDNN_POINTWISE_ADD;
    return op->tensors[0] >= 0 && op->tensors[2] >= 0 && adds == (op->tensors[1] >= 0) &&
           (adds || op->mode == CVP_CUDNN_POINTWISE_RELU_FWD);
}

int standin_graph_read(struct graph *g, const struct descriptor *operations)
{
    memset(g, 0, sizeof *g);
    const struct attribute *all = standin_attribute(operations, CVP_CUDNN_ATTR_OPERATIONGRAPH_OPS);
    if (!all || all->count > MOST_OPS) return 0;
    for (int64_t i = 0; i < all->count; i++) {
        const struct descriptor *d =
            standin_child(operations, CVP_CUDNN_ATTR_OPERATIONGRAPH_OPS, i);
        struct graph_op *op = &g->ops[g->num_ops++];
        op->kind = d->type;
        int read =
            d->type == CVP_CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR && read_pointwise(g, op, d);
        for (size_t k = 0; k < sizeof convolutions / sizeof convolutions[0]; k++)
            if (convolutions[k].kind == d->type)
                read = read_convolution(g, op, d, convolutions[k].names);
        if (!read) return 0;
    }
    return 1;
}

int64_t standin_graph_output(const struct graph_op *op)
{
    if (op->kind == CVP_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR)
        return op->tensors[0];
    if (op->kind == CVP_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR)
        return op->tensors[1];
    return op->tensors[2];
}

/* ---- text ------------------------------------------------------------------------------------ */

#define INTS_OF_TENSOR (sizeof(struct graph_tensor) / sizeof(int64_t))
#define INTS_OF_OP     (offsetof(struct graph_op, alpha) / sizeof(int64_t))
_Static_assert(offsetof(struct graph_op, alpha) + 4 * sizeof(double) == sizeof(struct graph_op),
               "integers, then four factors");

static void put(char text[GRAPH_TEXT], const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    if (vsnprintf(text + used, GRAPH_TEXT - used, format, args) >= (int)(GRAPH_TEXT - used))
        abort();
    va_end(args);
}

void standin_graph_write(const struct graph *g, char text[GRAPH_TEXT])
{
    text[0] = '\0';
    put(text, "%" PRId64 ",%" PRId64, g->num_tensors, g->num_ops);
    for (int64_t i = 0; i < g->num_tensors; i++)
        for (size_t k = 0; k < INTS_OF_TENSOR; k++)
            put(text, ",%" PRId64, ((const int64_t *)&g->tensors[i])[k]);
    for (int64_t i = 0; i < g->num_ops; i++) {
        for (size_t k = 0; k < INTS_OF_OP; k++)
            put(text, ",%" PRId64, ((const int64_t *)&g->ops[i])[k]);
        for (int k = 0; k < 4; k++) put(text, ",%.17g", (&g->ops[i].alpha)[k]);
    }
}

/* The next number of the text; 0: it ends. */
static int take(const char **at, double *value)
{
    char *end;
    *value = strtod(*at, &end);
    if (end == *at) return 0;
    *at = *end == ',' ? end + 1 : end;
    return 1;
}

static int take_ints(const char **at, int64_t *to, size_t count)
{
    double value;
    for (size_t i = 0; i < count; i++) {
        if (!take(at, &value)) return 0;
        to[i] = (int64_t)value;
    }
    return 1;
}

int standin_graph_parse(struct graph *g, const char *text)
{
    memset(g, 0, sizeof *g);
    if (!take_ints(&text, &g->num_tensors, 1) || !take_ints(&text, &g->num_ops, 1)) return 0;
    if (g->num_tensors < 1 || g->num_tensors > MOST_TENSORS || g->num_ops < 1 ||
        g->num_ops > MOST_OPS)
        return 0;
    for (int64_t i = 0; i < g->num_tensors; i++)
        if (!take_ints(&text, (int64_t *)&g->tensors[i], INTS_OF_TENSOR)) return 0;
    for (int64_t i = 0; i < g->num_ops; i++) {
        if (!take_ints(&text, (int64_t *)&g->ops[i], INTS_OF_OP)) return 0;
        for (int k = 0; k < 4; k++)
            if (!take(&text, &(&g->ops[i].alpha)[k])) return 0;
    }
    return 1;
}

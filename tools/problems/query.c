/* From a descriptor to the library's structs. */
#include "tools/problems/query.h"

static void set_params(const struct descriptor *d, enum direction direction, enum tag tag,
                       convop_conv_params *params)
{
    const convop_conv_params defaults = CONVOP_CONV_PARAMS_INIT;
    *params = defaults;
    convop_tuple *const tuples[] = {&params->kernel, &params->stride, &params->dilate,
                                    &params->pad_begin, &params->pad_end};
    for (int t = 0; t < 5; t++) tuples[t]->len = d->ndim;
    for (int i = 0; i < d->ndim; i++) {
        const struct axis *a = &d->axis[3 - d->ndim + i];
        params->kernel.at[i] = a->k;
        params->stride.at[i] = a->s;
        params->dilate.at[i] = a->d + 1; /* convop counts from 1 */
        params->pad_begin.at[i] = a->p;
        params->pad_end.at[i] = a->pe;
    }
    params->num_filter = d->oc;
    params->num_group = d->g;
    params->no_bias = !direction_has_bias(direction);
    params->layout = CONVOP_LAYOUT_NCW + 2 * (d->ndim - 1) + (tag == NHWC);
}

static void describe(DLTensor *t, int64_t *shape, int64_t a, int64_t b, const int64_t *sizes, int n,
                     enum type type, enum tag tag)
{
    shape[0] = a;
    shape[tag == NHWC ? n + 1 : 1] = b;
    for (int i = 0; i < n; i++) shape[i + (tag == NHWC ? 1 : 2)] = sizes[i];
    *t =
        (DLTensor){.device = {kDLCPU, 0}, .ndim = n + 2, .dtype = type_dtype(type), .shape = shape};
}

void query_make(const struct descriptor *d, const struct post_ops *post_ops,
                enum direction direction, enum type type, enum tag tag, struct query *q)
{
    int64_t i[3], o[3], k[3];
    for (int a = 0; a < d->ndim; a++) {
        const struct axis *axis = &d->axis[3 - d->ndim + a];
        i[a] = axis->i;
        o[a] = axis->o;
        k[a] = axis->k;
    }
    set_params(d, direction, tag, &q->params);
    q->params.activation = post_ops->activation;
    q->params.residual = post_ops->addend == ADD_TENSOR;
    describe(&q->src, q->shapes[0], d->mb, d->ic, i, d->ndim, type, tag);
    describe(&q->weights, q->shapes[1], d->oc, d->ic / d->g, k, d->ndim, type, tag);
    describe(&q->dst, q->shapes[2], d->mb, d->oc, o, d->ndim, type, tag);
}

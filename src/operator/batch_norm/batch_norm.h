/* What the files of BatchNorm and its gradient share: parameters, shapes, vectors over channels. */
#ifndef CVP_BATCH_NORM_H
#define CVP_BATCH_NORM_H

#include "convop/registry.h"
#include "src/common/tensor.h"

struct bn_params {
    size_t struct_size;
    double eps, momentum;
    int64_t axis;
    int fix_gamma, use_global_stats, output_mean_var, cudnn_off;
};

#define BN_FIELDS 7
extern const convop_field cvp_bn_fields[BN_FIELDS];

/* Makes the `full` shapes equal, the `vectors` one-dimensional, and these as long as the axis.
 * names[i] names shape i, the full ones first. */
convop_status cvp_bn_infer(const char *op, const struct bn_params *p, int full, int vectors,
                           const convop_arg *const *names, convop_shape *const *shapes);

/* The axis of the channels, counted from the front. */
static inline int cvp_bn_axis(const struct bn_params *p, int ndim)
{
    return (int)(p->axis < 0 ? p->axis + ndim : p->axis);
}

/* 1 if statistics of the batch are used, and computed forward. */
static inline int cvp_bn_trains(const convop_op_args *args)
{
    const struct bn_params *p = args->params;
    return args->is_train && !p->use_global_stats;
}

/* One value a channel, of either type. */
struct bn_vector {
    void *data;
    int64_t step;
    int is_double;
    convop_request request;
};

/* t may be NULL where the request is. */
static inline struct bn_vector cvp_bn_vector(const DLTensor *t, convop_request request)
{
    struct bn_vector v = {.request = request};
    if (request == CONVOP_REQ_NULL) return v;
    v.data = cvp_tensor_data(t);
    v.is_double = t->dtype.bits == 64;
    cvp_tensor_strides(t, &v.step);
    return v;
}

static inline double cvp_bn_get(const struct bn_vector *v, int64_t c)
{
    return v->is_double ? ((const double *)v->data)[c * v->step]
                        : (double)((const float *)v->data)[c * v->step];
}

/* As the request says. */
static inline void cvp_bn_put(const struct bn_vector *v, int64_t c, double value)
{
    if (v->request == CONVOP_REQ_NULL) return;
    if (v->request == CONVOP_REQ_ADD) value += cvp_bn_get(v, c);
    if (v->is_double)
        ((double *)v->data)[c * v->step] = value;
    else
        ((float *)v->data)[c * v->step] = (float)value;
}

#endif

/* The operator _fold_BatchNorm: weights and bias of a convolution that computes the BatchNorm
 * behind it too, as it is in evaluation. In float64, rounded once:
 *
 *     scale = gamma / sqrt(moving_var + eps)
 *     folded weights[o] = weights[o] * scale[o]
 *     folded bias[o] = beta[o] + (bias[o] - moving_mean[o]) * scale[o] */
#include <math.h>

#include "src/common/status.h"
#include "src/operator/batch_norm/batch_norm.h"
#include "src/operator/common.h"

enum { WEIGHTS, GAMMA, BETA, MEAN, VARIANCE, BIAS, NUM_INPUTS };
enum { FOLDED_WEIGHTS, FOLDED_BIAS, NUM_OUTPUTS };

struct fold_params {
    size_t struct_size;
    double eps;
    int fix_gamma, no_bias;
};

#define FIELD(field_kind, member)                                                                  \
    .struct_size = sizeof(convop_field), .name = #member, .kind = CONVOP_FIELD_##field_kind,       \
    .offset = offsetof(struct fold_params, member)

static const convop_field fields[] = {
    {FIELD(FLOAT, eps), .min = 0, .max = 1e300, .doc = "BatchNorm's."},
    {FIELD(BOOL, fix_gamma), .doc = "BatchNorm's: gamma counts as 1."},
    {FIELD(BOOL, no_bias), .doc = "Convolution's."},
};

static const convop_arg inputs[] = {
    [WEIGHTS] = {"weights", "Convolution's; the output channels come first."},
    [GAMMA] = {"gamma", "BatchNorm's."},
    [BETA] = {"beta", "BatchNorm's."},
    [MEAN] = {"moving_mean", "BatchNorm's."},
    [VARIANCE] = {"moving_var", "BatchNorm's."},
    [BIAS] = {"bias", "Convolution's; absent with no_bias."},
};
static const convop_arg outputs[] = {
    [FOLDED_WEIGHTS] = {"folded_weights", "Of weights' shape."},
    [FOLDED_BIAS] = {"folded_bias", "One value for each output channel."},
};

static int num_inputs(const void *params)
{
    return ((const struct fold_params *)params)->no_bias ? NUM_INPUTS - 1 : NUM_INPUTS;
}

static convop_status infer_shape(const void *params, int n_in, convop_shape *in, int n_out,
                                 convop_shape *out)
{
    (void)params, (void)n_out;
    CVP_RETURN_IF_ERROR(
        cvp_shape_equal("_fold_BatchNorm", 2,
                        (const convop_arg *const[]){&inputs[WEIGHTS], &outputs[FOLDED_WEIGHTS]},
                        (convop_shape *const[]){&in[WEIGHTS], &out[FOLDED_WEIGHTS]}));
    convop_shape vector = cvp_shape_unknown(1);
    if (in[WEIGHTS].ndim > 0) vector.dim[0] = in[WEIGHTS].dim[0];
    for (int i = GAMMA; i < n_in; i++)
        CVP_RETURN_IF_ERROR(cvp_shape_merge("_fold_BatchNorm", inputs[i].name, &in[i], &vector,
                                            "one value for each output channel"));
    return cvp_shape_merge("_fold_BatchNorm", outputs[FOLDED_BIAS].name, &out[FOLDED_BIAS], &vector,
                           "one value for each output channel");
}

static convop_status plan(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    (void)plan, (void)workspace_bytes;
    const DLTensor *weights = args->inputs[WEIGHTS];
    if (args->requests[FOLDED_WEIGHTS] != CONVOP_REQ_WRITE ||
        args->requests[FOLDED_BIAS] != CONVOP_REQ_WRITE)
        return convop_fail(CONVOP_E_UNSUPPORTED,
                           "_fold_BatchNorm: an output has a request other than write, which is "
                           "the only one that it takes");
    if (weights->ndim < 1 || !cvp_tensor_is_compact(weights) ||
        !cvp_tensor_is_compact(args->outputs[FOLDED_WEIGHTS]))
        return convop_fail(CONVOP_E_UNSUPPORTED,
                           "_fold_BatchNorm: weights or folded_weights have no axis or have gaps, "
                           "it takes compact ones");
    return cvp_require_float("_fold_BatchNorm", weights->dtype);
}

static void scale_filter(const DLTensor *from, const DLTensor *to, int64_t filter, int64_t size,
                         double scale)
{
    const char *x = cvp_tensor_data(from);
    char *y = cvp_tensor_data(to);
    for (int64_t i = filter * size; i < (filter + 1) * size; i++)
        if (from->dtype.bits == 64)
            ((double *)(void *)y)[i] = ((const double *)(const void *)x)[i] * scale;
        else
            ((float *)(void *)y)[i] = (float)((double)((const float *)(const void *)x)[i] * scale);
}

static convop_status run(const convop_op_args *args, const void *plan, void *workspace)
{
    (void)plan, (void)workspace;
    const struct fold_params *p = args->params;
    const DLTensor *weights = args->inputs[WEIGHTS];
    const int64_t filters = weights->shape[0];
    const int64_t size = filters ? cvp_tensor_elements(weights) / filters : 0;
    struct bn_vector in[NUM_INPUTS];
    for (int i = GAMMA; i < args->num_inputs; i++)
        in[i] = cvp_bn_vector(args->inputs[i], CONVOP_REQ_WRITE);
    struct bn_vector bias = cvp_bn_vector(args->outputs[FOLDED_BIAS], CONVOP_REQ_WRITE);
    for (int64_t o = 0; o < filters; o++) {
        const double gamma = p->fix_gamma ? 1 : cvp_bn_get(&in[GAMMA], o);
        const double scale = gamma / sqrt(cvp_bn_get(&in[VARIANCE], o) + p->eps);
        const double shift = p->no_bias ? 0 : cvp_bn_get(&in[BIAS], o);
        scale_filter(weights, args->outputs[FOLDED_WEIGHTS], o, size, scale);
        cvp_bn_put(&bias, o, cvp_bn_get(&in[BETA], o) + (shift - cvp_bn_get(&in[MEAN], o)) * scale);
    }
    return CONVOP_OK;
}

CONVOP_OP(_fold_BatchNorm) = {
    .struct_size = sizeof(convop_op),
    .name = "_fold_BatchNorm",
    .doc = "Weights and bias of a convolution that computes the BatchNorm behind it too, in "
           "evaluation. float32 and float64.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct fold_params),
    .fields = fields,
    .num_fields = 3,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = NUM_INPUTS,
    .max_outputs = NUM_OUTPUTS,
    .num_inputs = num_inputs,
    .infer_shape = infer_shape,
    .plan = plan,
    .run = run,
};

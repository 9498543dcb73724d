/* The operator BatchNorm. Source: Ioffe and Szegedy, "Batch Normalization", 2015, algorithms 1 and
 * 2; parameters and names are MXNet's.
 *
 * Running statistics are updated here, with the biased variance of the batch. MXNet's CPU operator
 * updates them in its backward pass; after a forward and a backward pass they are the same. It also
 * writes 1 into gamma with fix_gamma; here gamma, which has a gradient and so is no running state,
 * is left as it is and counts as 1. */
#include "src/operator/batch_norm/batch_norm.h"

#include <math.h>

#include "src/common/status.h"
#include "src/operator/batch_norm/plain.h"
#include "src/operator/batch_norm/sweep.h"
#include "src/operator/common.h"

enum { SRC, GAMMA, BETA, MOVING_MEAN, MOVING_VAR, NUM_INPUTS };
enum { DST, MEAN, INV_STD, NUM_OUTPUTS };

static const convop_arg inputs[] = {
    [SRC] = {"src", "Any shape that has the axis."},
    [GAMMA] = {"gamma", "Scale of each channel; not read with fix_gamma."},
    [BETA] = {"beta", "Shift of each channel."},
    [MOVING_MEAN] = {"moving_mean", "Running mean; updated when training."},
    [MOVING_VAR] = {"moving_var", "Running variance; updated when training."},
};
static const convop_arg outputs[] = {
    [DST] = {"dst", "The result, of src's shape."},
    [MEAN] = {"mean", "The mean that was subtracted, of each channel."},
    [INV_STD] = {"inv_std", "1 / sqrt(variance + eps) of each channel."},
};

static convop_status infer_shape(const void *params, int num_inputs, convop_shape *in,
                                 int num_outputs, convop_shape *out)
{
    (void)num_inputs, (void)num_outputs;
    const convop_arg *const names[] = {&inputs[SRC],   &outputs[DST],        &inputs[GAMMA],
                                       &inputs[BETA],  &inputs[MOVING_MEAN], &inputs[MOVING_VAR],
                                       &outputs[MEAN], &outputs[INV_STD]};
    convop_shape *const shapes[] = {&in[SRC],         &out[DST],       &in[GAMMA], &in[BETA],
                                    &in[MOVING_MEAN], &in[MOVING_VAR], &out[MEAN], &out[INV_STD]};
    return cvp_bn_infer("BatchNorm", params, 2, 6, names, shapes);
}

static convop_status plan(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    const DLTensor *tensors[] = {args->inputs[SRC], args->outputs[DST]};
    CVP_RETURN_IF_ERROR(cvp_require_float("BatchNorm", tensors[0]->dtype));
    int num = args->requests[DST] == CONVOP_REQ_NULL ? 1 : 2;
    return cvp_bn_plan_init(plan, args, num, tensors, workspace_bytes);
}

struct forward {
    const convop_op_args *args;
    const struct bn_params *p;
    const struct bn_plan *plan;
    int trains;
    struct bn_vector gamma, beta, moving_mean, moving_var, mean, inv_std;
};

/* What becomes of a channel's mean and sum of squares: coefficients, outputs, running statistics.
 */
static void finish_channel(const struct forward *f, int64_t c, const double m[2], double *coef)
{
    const struct bn_params *p = f->p;
    double mean = cvp_bn_get(&f->moving_mean, c), var = cvp_bn_get(&f->moving_var, c);
    if (f->trains) {
        /* Of an empty batch nothing is known; it teaches nothing. */
        double old_mean = mean, old_var = var, n = (double)f->plan->count;
        mean = m[0];
        var = n > 0 ? m[1] / n : 0;
        if (n > 0) {
            cvp_bn_put(&f->moving_mean, c, old_mean * p->momentum + mean * (1 - p->momentum));
            cvp_bn_put(&f->moving_var, c, old_var * p->momentum + var * (1 - p->momentum));
        }
    }
    double inv_std = 1 / sqrt(var + p->eps), gamma = p->fix_gamma ? 1 : cvp_bn_get(&f->gamma, c);
    cvp_bn_put(&f->mean, c, mean);
    cvp_bn_put(&f->inv_std, c, inv_std);
    /* The mean is subtracted as the type has it; what that lacks is in the shift. */
    double rounded = f->plan->is_double ? mean : (double)(float)mean;
    coef[BN_MEAN] = rounded;
    coef[BN_SCALE] = gamma * inv_std;
    coef[BN_SHIFT] = cvp_bn_get(&f->beta, c) + (rounded - mean) * coef[BN_SCALE];
}

static void run_plain(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct forward *f = arg;
    const convop_op_args *args = f->args;
    int axis = cvp_bn_axis(f->p, args->inputs[SRC]->ndim);
    for (int64_t c = begin; c < end; c++) {
        struct bn_channel src, dst;
        double m[2] = {0, 0}, coef[BN_COEFS];
        cvp_bn_channel_init(&src, args->inputs[SRC], axis, c);
        if (f->trains && f->plan->count > 0) cvp_bn_plain_moments(&src.tensor, m);
        finish_channel(f, c, m, coef);
        if (args->requests[DST] == CONVOP_REQ_NULL) continue;
        cvp_bn_channel_init(&dst, args->outputs[DST], axis, c);
        cvp_bn_plain_scale(&dst.tensor, &src.tensor, coef, args->requests[DST] == CONVOP_REQ_ADD);
    }
}

static void run_kernels(const struct forward *f, void *workspace)
{
    const convop_op_args *args = f->args;
    struct bn_sweep s = {.plan = f->plan,
                         .context = args->context,
                         .workspace = workspace,
                         .x = cvp_tensor_data(args->inputs[SRC]),
                         .add = args->requests[DST] == CONVOP_REQ_ADD};
    if (f->trains) cvp_bn_sweep_moments(&s);
    for (int64_t c = 0; c < f->plan->channels; c++) {
        double m[2] = {0, 0};
        for (int i = 0; i < 2 && f->trains; i++) m[i] = cvp_bn_sum(&s, i, c);
        finish_channel(f, c, m, cvp_bn_coef(&s) + c * BN_COEFS);
    }
    if (args->requests[DST] == CONVOP_REQ_NULL) return;
    s.out = cvp_tensor_data(args->outputs[DST]);
    cvp_bn_sweep_scale(&s);
}

static convop_status run(const convop_op_args *args, const void *plan_, void *workspace)
{
    const struct bn_plan *plan = plan_;
    const DLTensor *const *in = args->inputs;
    struct forward f = {.args = args,
                        .p = args->params,
                        .plan = plan,
                        .trains = cvp_bn_trains(args),
                        .gamma = cvp_bn_vector(in[GAMMA], CONVOP_REQ_WRITE),
                        .beta = cvp_bn_vector(in[BETA], CONVOP_REQ_WRITE),
                        .moving_mean = cvp_bn_vector(in[MOVING_MEAN], CONVOP_REQ_WRITE),
                        .moving_var = cvp_bn_vector(in[MOVING_VAR], CONVOP_REQ_WRITE),
                        .mean = cvp_bn_vector(args->outputs[MEAN], args->requests[MEAN]),
                        .inv_std = cvp_bn_vector(args->outputs[INV_STD], args->requests[INV_STD])};
    if (plan->kernels)
        run_kernels(&f, workspace);
    else
        cvp_parallel_elements(args->context, plan->elements, plan->channels, run_plain, &f);
    return CONVOP_OK;
}

static int num_visible(const void *params)
{
    const struct bn_params *p = params;
    return p->output_mean_var ? NUM_OUTPUTS : 1;
}

static const convop_gradient_input gradient_inputs[] = {{CONVOP_GRADIENT_BY_OUTPUT, DST},
                                                        {CONVOP_GRADIENT_INPUT, SRC},
                                                        {CONVOP_GRADIENT_INPUT, GAMMA},
                                                        {CONVOP_GRADIENT_OUTPUT, MEAN},
                                                        {CONVOP_GRADIENT_OUTPUT, INV_STD}};
static const int gradient_of[] = {SRC, GAMMA, BETA};
static const convop_gradient gradient = {
    sizeof gradient, "_backward_BatchNorm", gradient_inputs, 5, gradient_of, 3};
static const convop_visible visible = {sizeof visible, num_visible};
static const convop_attr attrs[] = {
    {sizeof(convop_attr), "gradient", "convop_gradient", &gradient},
    {sizeof(convop_attr), "visible", "convop_visible", &visible},
};
static const convop_inplace inplace[] = {{SRC, DST}};

CONVOP_OP(BatchNorm) = {
    .struct_size = sizeof(convop_op),
    .name = "BatchNorm",
    .doc = "dst = (src - mean) / sqrt(variance + eps) * gamma + beta, for each channel. When "
           "training, mean and variance are the batch's and the running ones are updated: running "
           "* momentum + batch * (1 - momentum), in the forward pass, with the biased variance. "
           "Else they are the running ones. An empty batch changes nothing. float32 and float64.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct bn_params),
    .fields = cvp_bn_fields,
    .num_fields = BN_FIELDS,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = NUM_INPUTS,
    .max_outputs = NUM_OUTPUTS,
    .infer_shape = infer_shape,
    .plan_size = sizeof(struct bn_plan),
    .plan = plan,
    .run = run,
    .attrs = attrs,
    .num_attrs = 2,
    .mutated_inputs = 1u << MOVING_MEAN | 1u << MOVING_VAR,
    .inplace = inplace,
    .num_inplace = 1,
};

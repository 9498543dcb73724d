/* The operator _backward_BatchNorm. Source of the formulas: Ioffe and Szegedy, "Batch
 * Normalization", 2015, section 3. */
#include "src/common/status.h"
#include "src/operator/batch_norm/batch_norm.h"
#include "src/operator/batch_norm/plain.h"
#include "src/operator/batch_norm/sweep.h"
#include "src/operator/common.h"

enum { DIFF_DST, SRC, GAMMA, MEAN, INV_STD, NUM_INPUTS };
enum { DIFF_SRC, DIFF_GAMMA, DIFF_BETA, NUM_OUTPUTS };

static const convop_arg inputs[] = {
    [DIFF_DST] = {"diff_dst", "The gradient by dst."}, [SRC] = {"src", "As given to BatchNorm."},
    [GAMMA] = {"gamma", "As given to BatchNorm."},     [MEAN] = {"mean", "As BatchNorm gave it."},
    [INV_STD] = {"inv_std", "As BatchNorm gave it."},
};
static const convop_arg outputs[] = {
    [DIFF_SRC] = {"diff_src", "The gradient by src."},
    [DIFF_GAMMA] = {"diff_gamma", "The gradient by gamma; 0 with fix_gamma."},
    [DIFF_BETA] = {"diff_beta", "The gradient by beta."},
};

static convop_status infer_shape(const void *params, int num_inputs, convop_shape *in,
                                 int num_outputs, convop_shape *out)
{
    (void)num_inputs, (void)num_outputs;
    const convop_arg *const names[] = {&inputs[SRC],         &inputs[DIFF_DST],  &outputs[DIFF_SRC],
                                       &inputs[GAMMA],       &inputs[MEAN],      &inputs[INV_STD],
                                       &outputs[DIFF_GAMMA], &outputs[DIFF_BETA]};
    convop_shape *const shapes[] = {&in[SRC],  &in[DIFF_DST], &out[DIFF_SRC],   &in[GAMMA],
                                    &in[MEAN], &in[INV_STD],  &out[DIFF_GAMMA], &out[DIFF_BETA]};
    return cvp_bn_infer("_backward_BatchNorm", params, 3, 5, names, shapes);
}

static convop_status plan(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    const DLTensor *tensors[] = {args->inputs[DIFF_DST], args->inputs[SRC],
                                 args->outputs[DIFF_SRC]};
    CVP_RETURN_IF_ERROR(cvp_require_float("_backward_BatchNorm", tensors[0]->dtype));
    int num = args->requests[DIFF_SRC] == CONVOP_REQ_NULL ? 2 : 3;
    return cvp_bn_plan_init(plan, args, num, tensors, workspace_bytes);
}

struct backward {
    const convop_op_args *args;
    const struct bn_params *p;
    const struct bn_plan *plan;
    int trains;
    int sums; /* they are needed */
    struct bn_vector gamma, mean, inv_std, diff_gamma, diff_beta;
};

/* With x^ = (x - mean) * inv_std and n elements a channel: dbeta = sum dy, dgamma = sum dy * x^,
 * dx = gamma * inv_std * (dy - dbeta / n - x^ * dgamma / n); the last two terms are those through
 * the statistics of the batch. s: the sums of dy and of dy * (x - mean). */
static void finish_channel(const struct backward *b, int64_t c, const double s[2], double *coef)
{
    double inv_std = cvp_bn_get(&b->inv_std, c), n = (double)b->plan->count;
    double by_dy = inv_std * (b->p->fix_gamma ? 1 : cvp_bn_get(&b->gamma, c));
    cvp_bn_put(&b->diff_gamma, c, b->p->fix_gamma ? 0 : s[1] * inv_std);
    cvp_bn_put(&b->diff_beta, c, s[0]);
    coef[BN_BY_DY] = by_dy;
    coef[BN_BY_X] = b->trains && n > 0 ? -by_dy * inv_std * inv_std * s[1] / n : 0;
    coef[BN_DIFF_SHIFT] = b->trains && n > 0 ? -by_dy * s[0] / n : 0;
}

static void run_plain(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct backward *b = arg;
    const convop_op_args *args = b->args;
    int axis = cvp_bn_axis(b->p, args->inputs[SRC]->ndim);
    for (int64_t c = begin; c < end; c++) {
        struct bn_channel src, diff_dst, diff_src;
        double s[2] = {0, 0}, coef[BN_COEFS];
        coef[BN_DIFF_MEAN] = cvp_bn_get(&b->mean, c);
        cvp_bn_channel_init(&src, args->inputs[SRC], axis, c);
        cvp_bn_channel_init(&diff_dst, args->inputs[DIFF_DST], axis, c);
        if (b->sums) cvp_bn_plain_products(&diff_dst.tensor, &src.tensor, coef[BN_DIFF_MEAN], s);
        finish_channel(b, c, s, coef);
        if (args->requests[DIFF_SRC] == CONVOP_REQ_NULL) continue;
        cvp_bn_channel_init(&diff_src, args->outputs[DIFF_SRC], axis, c);
        cvp_bn_plain_diff(&diff_src.tensor, &diff_dst.tensor, b->trains ? &src.tensor : NULL, coef,
                          args->requests[DIFF_SRC] == CONVOP_REQ_ADD);
    }
}

static void run_kernels(const struct backward *b, void *workspace)
{
    const convop_op_args *args = b->args;
    struct bn_sweep s = {.plan = b->plan,
                         .context = args->context,
                         .workspace = workspace,
                         .x = cvp_tensor_data(args->inputs[SRC]),
                         .dy = cvp_tensor_data(args->inputs[DIFF_DST]),
                         .add = args->requests[DIFF_SRC] == CONVOP_REQ_ADD};
    double *coef = cvp_bn_coef(&s);
    for (int64_t c = 0; c < b->plan->channels; c++)
        coef[c * BN_COEFS + BN_DIFF_MEAN] = cvp_bn_get(&b->mean, c);
    if (b->sums) cvp_bn_sweep_products(&s);
    for (int64_t c = 0; c < b->plan->channels; c++) {
        double sums[2] = {0, 0};
        for (int i = 0; i < 2 && b->sums; i++) sums[i] = cvp_bn_sum(&s, i, c);
        finish_channel(b, c, sums, coef + c * BN_COEFS);
    }
    if (args->requests[DIFF_SRC] == CONVOP_REQ_NULL) return;
    s.out = cvp_tensor_data(args->outputs[DIFF_SRC]);
    if (!b->trains) s.x = NULL;
    cvp_bn_sweep_diff(&s);
}

static convop_status run(const convop_op_args *args, const void *plan_, void *workspace)
{
    const struct bn_plan *plan = plan_;
    const DLTensor *const *in = args->inputs;
    const convop_request *requests = args->requests;
    struct backward b = {.args = args,
                         .p = args->params,
                         .plan = plan,
                         .trains = cvp_bn_trains(args),
                         .gamma = cvp_bn_vector(in[GAMMA], CONVOP_REQ_WRITE),
                         .mean = cvp_bn_vector(in[MEAN], CONVOP_REQ_WRITE),
                         .inv_std = cvp_bn_vector(in[INV_STD], CONVOP_REQ_WRITE),
                         .diff_gamma =
                             cvp_bn_vector(args->outputs[DIFF_GAMMA], requests[DIFF_GAMMA]),
                         .diff_beta = cvp_bn_vector(args->outputs[DIFF_BETA], requests[DIFF_BETA])};
    b.sums = (b.trains && requests[DIFF_SRC] != CONVOP_REQ_NULL) ||
             (!b.p->fix_gamma && requests[DIFF_GAMMA] != CONVOP_REQ_NULL) ||
             requests[DIFF_BETA] != CONVOP_REQ_NULL;
    if (plan->kernels)
        run_kernels(&b, workspace);
    else
        cvp_parallel_elements(args->context, plan->elements, plan->channels, run_plain, &b);
    return CONVOP_OK;
}

static const convop_inplace inplace[] = {{DIFF_DST, DIFF_SRC}};

CONVOP_OP(_backward_BatchNorm) = {
    .struct_size = sizeof(convop_op),
    .name = "_backward_BatchNorm",
    .doc = "Gradients of BatchNorm by src, gamma and beta. When training, those through the "
           "statistics of the batch are in them; else mean and inv_std count as constants.",
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
    .inplace = inplace,
    .num_inplace = 1,
};

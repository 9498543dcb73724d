/* The operator Convolution: decides and checks; the rows compute. */
#include "src/operator/convolution/convolution.h"

#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/operator/call.h"
#include "src/operator/convolution/infer.h"
#include "src/operator/convolution/params.h"
#include "src/operator/convolution/plan.h"
#include "src/operator/device.h"

enum { SRC, WEIGHTS, BIAS, NUM_INPUTS };

static const convop_arg inputs[] = {
    [SRC] = {"src", "The images: {mb, ic, ih, iw} or as layout says."},
    [WEIGHTS] = {"weights", "The filters: {oc, ic / num_group, kh, kw} or as layout says."},
    [BIAS] = {"bias", "One value for each output channel: {oc}; absent with no_bias."},
};

static const convop_arg outputs[] = {
    {"dst", "The result: {mb, oc, oh, ow} or as layout says."},
};

static int num_inputs(const void *params)
{
    const convop_conv_params *p = params;
    return p->no_bias ? NUM_INPUTS - 1 : NUM_INPUTS;
}

const struct conv_names cvp_conv_forward_names = {"Convolution", "src", "weights", "bias",
                                                  "dst (output)"};

static convop_status infer_shape(const void *params, int n_in, convop_shape *in, int n_out,
                                 convop_shape *out)
{
    (void)n_out;
    return cvp_conv_infer(params, &(struct conv_shapes){.src = &in[SRC],
                                                        .weights = &in[WEIGHTS],
                                                        .bias = n_in > BIAS ? &in[BIAS] : NULL,
                                                        .dst = &out[0],
                                                        .names = cvp_conv_forward_names});
}

convop_shape cvp_conv_shape_of(const DLTensor *t)
{
    convop_shape s;
    DLDataType dtype;
    cvp_shape_of(t, &s, &dtype);
    return s;
}

static convop_status plan(const convop_op_args *args, void *plan_, size_t *workspace_bytes)
{
    struct conv_plan *plan = plan_;
    *workspace_bytes = 0;
    if (args->requests[0] == CONVOP_REQ_NULL) return CONVOP_OK;
    const DLTensor *src = args->inputs[SRC], *dst = args->outputs[0];
    convop_shape src_shape = cvp_conv_shape_of(src), dst_shape = cvp_conv_shape_of(dst);
    struct conv_tensors t = {.src = src,
                             .weights = args->inputs[WEIGHTS],
                             .bias = args->num_inputs > BIAS ? args->inputs[BIAS] : NULL,
                             .dst = dst};
    convop_conv_problem p;
    struct conv_terms terms = {.constants = args->constants >> WEIGHTS & 1};
    CVP_RETURN_IF_ERROR(cvp_conv_mode(args->params, &terms.mode));
    CVP_RETURN_IF_ERROR(cvp_conv_problem_init(
        &p, args->params, CONVOP_FWD, src->dtype, &src_shape, &dst_shape, &t, args->context,
        cvp_conv_workspace_limit(args->params, terms.mode, args->workspace_limit)));
    p.add = args->requests[0] == CONVOP_REQ_ADD;
    if (p.mb == 0) return CONVOP_OK;
    CVP_RETURN_IF_ERROR(cvp_conv_plan_init(plan, &p, &terms, args->context));
    *workspace_bytes = plan->bytes;
    if (!terms.constants) return CONVOP_OK;
    convop_status status = cvp_conv_plan_prepare(plan, cvp_tensor_data(args->inputs[WEIGHTS]));
    if (status != CONVOP_OK) cvp_conv_plan_end(plan);
    return status;
}

static void end(void *plan)
{
    cvp_conv_plan_end(plan);
}

static convop_status run(const convop_op_args *args, const void *plan_, void *workspace)
{
    const struct conv_plan *plan = plan_;
    if (!plan->impl) return CONVOP_OK; /* nothing is asked for, or the batch is empty */
    convop_conv_operands t = {
        .src = cvp_tensor_data(args->inputs[SRC]),
        .weights = cvp_tensor_data(args->inputs[WEIGHTS]),
        .bias = args->num_inputs > BIAS ? cvp_tensor_data(args->inputs[BIAS]) : NULL,
        .out = cvp_tensor_data(args->outputs[0]),
        .stream = args->stream,
    };
    return cvp_conv_plan_run(plan, &t, args->context, workspace);
}

static const convop_gradient_input gradient_inputs[] = {
    {CONVOP_GRADIENT_BY_OUTPUT, 0},
    {CONVOP_GRADIENT_INPUT, SRC},
    {CONVOP_GRADIENT_INPUT, WEIGHTS},
};
static const int gradient_of[] = {SRC, WEIGHTS, BIAS};
static const convop_gradient gradient = {
    sizeof gradient, "_backward_Convolution", gradient_inputs, 3, gradient_of, 3};
static const convop_attr attrs[] = {
    {sizeof(convop_attr), "gradient", "convop_gradient", &gradient},
    {sizeof(convop_attr), "lines", "char", &cvp_own_lines},
    {sizeof(convop_attr), "gpu", "char", &cvp_runs_on_gpu},
};

CONVOP_OP(Convolution) = {
    .struct_size = sizeof(convop_op),
    .name = "Convolution",
    .doc =
        "Convolution in one, two or three dimensions, with groups, strides, dilation and padding.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(convop_conv_params),
    .fields = cvp_conv_fields,
    .num_fields = CONV_NUM_FIELDS,
    .check = cvp_conv_params_check,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = NUM_INPUTS,
    .max_outputs = 1,
    .num_inputs = num_inputs,
    .infer_shape = infer_shape,
    .plan_size = sizeof(struct conv_plan),
    .plan = plan,
    .run = run,
    .end = end,
    .attrs = attrs,
    .num_attrs = 3,
};

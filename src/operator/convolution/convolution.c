/* The operator Convolution, as it is described to the registry. */
#include "src/operator/call.h"
#include "src/operator/convolution/forward.h"
#include "src/operator/convolution/params.h"
#include "src/operator/convolution/plan.h"
#include "src/operator/device.h"

enum { SRC, WEIGHTS, BIAS, NUM_INPUTS };

static const convop_arg inputs[] = {CONV_SRC_ARG, CONV_WEIGHTS_ARG, CONV_BIAS_ARG};
static const convop_arg outputs[] = {CONV_DST_ARG};

static int num_inputs(const void *params)
{
    return cvp_conv_forward_inputs(params, 0);
}

static convop_status infer_shape(const void *params, int n_in, convop_shape *in, int n_out,
                                 convop_shape *out)
{
    (void)n_out;
    return cvp_conv_forward_infer("Convolution", params, 0, n_in, in, out);
}

static convop_status plan(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    return cvp_conv_forward_plan(args, 0, plan, workspace_bytes);
}

static convop_status run(const convop_op_args *args, const void *plan, void *workspace)
{
    return cvp_conv_forward_run(args, 0, plan, workspace);
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
    .check = cvp_conv_params_check_plain,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = NUM_INPUTS,
    .max_outputs = 1,
    .num_inputs = num_inputs,
    .infer_shape = infer_shape,
    .plan_size = sizeof(struct conv_plan),
    .plan = plan,
    .run = run,
    .end = cvp_conv_forward_end,
    .attrs = attrs,
    .num_attrs = 3,
};

/* The operators FusedConvolution and FusedConvolutionAdd: Convolution, and what follows it in a
 * network for inference, in one pass over dst. */
#include "src/operator/call.h"
#include "src/operator/convolution/forward.h"
#include "src/operator/convolution/params.h"
#include "src/operator/convolution/plan.h"
#include "src/operator/device.h"

static const convop_arg outputs[] = {CONV_DST_ARG};
static const convop_attr attrs[] = {
    {sizeof(convop_attr), "lines", "char", &cvp_own_lines},
    {sizeof(convop_attr), "gpu", "char", &cvp_runs_on_gpu},
};

static int num_inputs(const void *params)
{
    return cvp_conv_forward_inputs(params, 0);
}

static convop_status infer_shape(const void *params, int n_in, convop_shape *in, int n_out,
                                 convop_shape *out)
{
    (void)n_out;
    return cvp_conv_forward_infer("FusedConvolution", params, 0, n_in, in, out);
}

static convop_status plan(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    return cvp_conv_forward_plan(args, 0, plan, workspace_bytes);
}

static convop_status run(const convop_op_args *args, const void *plan, void *workspace)
{
    return cvp_conv_forward_run(args, 0, plan, workspace);
}

static int num_inputs_add(const void *params)
{
    return cvp_conv_forward_inputs(params, 1);
}

static convop_status infer_shape_add(const void *params, int n_in, convop_shape *in, int n_out,
                                     convop_shape *out)
{
    (void)n_out;
    return cvp_conv_forward_infer("FusedConvolutionAdd", params, 1, n_in, in, out);
}

static convop_status plan_add(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    return cvp_conv_forward_plan(args, 1, plan, workspace_bytes);
}

static convop_status run_add(const convop_op_args *args, const void *plan, void *workspace)
{
    return cvp_conv_forward_run(args, 1, plan, workspace);
}

#define FUSED                                                                                      \
    .struct_size = sizeof(convop_op), .level = CONVOP_LEVEL_BUILTIN,                               \
    .params_size = sizeof(convop_conv_params), .fields = cvp_conv_fields,                          \
    .num_fields = CONV_NUM_FUSED_FIELDS, .check = cvp_conv_params_check, .outputs = outputs,       \
    .max_outputs = 1, .plan_size = sizeof(struct conv_plan), .end = cvp_conv_forward_end,          \
    .attrs = attrs, .num_attrs = 2

CONVOP_OP(FusedConvolution) = {
    FUSED,
    .name = "FusedConvolution",
    .doc = "For inference: activation(Convolution).",
    .inputs = (const convop_arg[]){CONV_SRC_ARG, CONV_WEIGHTS_ARG, CONV_BIAS_ARG},
    .max_inputs = 3,
    .num_inputs = num_inputs,
    .infer_shape = infer_shape,
    .plan = plan,
    .run = run,
};

static const convop_inplace inplace[] = {{1, 0}};

CONVOP_OP(FusedConvolutionAdd) = {
    FUSED,
    .name = "FusedConvolutionAdd",
    .doc = "For inference: activation(Convolution + residual). Written over its residual, sums may "
           "be rounded in another order.",
    .inputs = (const convop_arg[]){CONV_SRC_ARG,
                                   {"residual", "Of dst's shape."},
                                   CONV_WEIGHTS_ARG,
                                   CONV_BIAS_ARG},
    .max_inputs = 4,
    .num_inputs = num_inputs_add,
    .infer_shape = infer_shape_add,
    .plan = plan_add,
    .run = run_add,
    .inplace = inplace,
    .num_inplace = 1,
};

/* The operator _backward_Activation: the gradient, from the output of Activation alone, so that
 * its input need not be kept. */
#include "src/common/status.h"
#include "src/operator/activation/activation.h"

enum { DIFF_DST, DST, NUM_INPUTS };
enum { DIFF_SRC };

static const convop_arg inputs[] = {
    [DIFF_DST] = {"diff_dst", "The gradient by dst."},
    [DST] = {"dst", "As Activation computed it."},
};
static const convop_arg outputs[] = {{"diff_src", "The gradient by src."}};

static convop_status infer_shape(const void *params, int num_inputs, convop_shape *in,
                                 int num_outputs, convop_shape *out)
{
    (void)params, (void)num_inputs, (void)num_outputs;
    return cvp_shape_equal("_backward_Activation", 3,
                           (const convop_arg *const[]){&inputs[DST], &inputs[DIFF_DST], outputs},
                           (convop_shape *const[]){&in[DST], &in[DIFF_DST], out});
}

static convop_status plan(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    (void)plan, (void)workspace_bytes;
    return cvp_require_float("_backward_Activation", args->inputs[DIFF_DST]->dtype);
}

static convop_status run(const convop_op_args *args, const void *plan, void *workspace)
{
    (void)plan, (void)workspace;
    const struct activation_params *p = args->params;
    convop_request request = args->requests[DIFF_SRC];
    if (request == CONVOP_REQ_NULL) return CONVOP_OK;
    const DLTensor *tensors[] = {args->outputs[DIFF_SRC], args->inputs[DIFF_DST],
                                 args->inputs[DST]};
    cvp_elementwise(args->context, 3, tensors,
                    cvp_activation_backward[tensors[0]->dtype.bits == 64][p->act_type], &request);
    return CONVOP_OK;
}

static const convop_inplace inplace[] = {{DIFF_DST, DIFF_SRC}};

CONVOP_OP(_backward_Activation) = {
    .struct_size = sizeof(convop_op),
    .name = "_backward_Activation",
    .doc = "The gradient of Activation by its input. With relu it is that by the output where the "
           "output is above 0, NaN where the output is NaN, else 0.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct activation_params),
    .fields = cvp_activation_fields,
    .num_fields = 1,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = NUM_INPUTS,
    .max_outputs = 1,
    .infer_shape = infer_shape,
    .plan = plan,
    .run = run,
    .inplace = inplace,
    .num_inplace = 1,
};

/* The operator _backward_elemwise_add: a sum hands its gradient to both of its terms. */
#include "src/common/status.h"
#include "src/operator/elementwise/lines.h"

enum { DIFF_DST };
enum { DIFF_LHS, DIFF_RHS, NUM_OUTPUTS };

static const convop_arg inputs[] = {{"diff_dst", "The gradient by dst."}};
static const convop_arg outputs[] = {
    [DIFF_LHS] = {"diff_lhs", "The gradient by lhs."},
    [DIFF_RHS] = {"diff_rhs", "The gradient by rhs."},
};

static convop_status infer_shape(const void *params, int num_inputs, convop_shape *in,
                                 int num_outputs, convop_shape *out)
{
    (void)params, (void)num_inputs, (void)num_outputs;
    return cvp_shape_equal(
        "_backward_elemwise_add", 3,
        (const convop_arg *const[]){inputs, &outputs[DIFF_LHS], &outputs[DIFF_RHS]},
        (convop_shape *const[]){in, &out[DIFF_LHS], &out[DIFF_RHS]});
}

static convop_status plan(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    (void)plan, (void)workspace_bytes;
    return cvp_require_float("_backward_elemwise_add", args->inputs[DIFF_DST]->dtype);
}

static convop_status run(const convop_op_args *args, const void *plan, void *workspace)
{
    (void)plan, (void)workspace;
    for (int i = 0; i < NUM_OUTPUTS; i++)
        if (args->requests[i] != CONVOP_REQ_NULL)
            cvp_lines_copy(args->context, args->outputs[i], args->inputs[DIFF_DST],
                           args->requests[i]);
    return CONVOP_OK;
}

static const convop_inplace inplace[] = {{DIFF_DST, DIFF_LHS}, {DIFF_DST, DIFF_RHS}};

CONVOP_OP(_backward_elemwise_add) = {
    .struct_size = sizeof(convop_op),
    .name = "_backward_elemwise_add",
    .doc = "The gradients of elemwise_add: both are the gradient by its output.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct cvp_no_params),
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = 1,
    .max_outputs = NUM_OUTPUTS,
    .infer_shape = infer_shape,
    .plan = plan,
    .run = run,
    .inplace = inplace,
    .num_inplace = 2,
};

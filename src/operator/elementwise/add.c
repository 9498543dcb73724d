/* The operator elemwise_add and its gradient: dst = lhs + rhs. Names of operators and inputs are
 * MXNet's. */
#include "src/common/status.h"
#include "src/operator/elementwise/lines.h"

enum { LHS, RHS, NUM_INPUTS };
enum { DST };

static const convop_arg inputs[] = {
    [LHS] = {"lhs", "Any shape."},
    [RHS] = {"rhs", "Of lhs's shape."},
};
static const convop_arg outputs[] = {{"dst", "Of lhs's shape."}};

static convop_status infer_shape(const void *params, int num_inputs, convop_shape *in,
                                 int num_outputs, convop_shape *out)
{
    (void)params, (void)num_inputs, (void)num_outputs;
    return cvp_shape_equal("elemwise_add", 3,
                           (const convop_arg *const[]){&inputs[LHS], &inputs[RHS], outputs},
                           (convop_shape *const[]){&in[LHS], &in[RHS], out});
}

static convop_status plan(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    (void)plan, (void)workspace_bytes;
    return cvp_require_float("elemwise_add", args->inputs[LHS]->dtype);
}

static convop_status run(const convop_op_args *args, const void *plan, void *workspace)
{
    (void)plan, (void)workspace;
    if (args->requests[DST] == CONVOP_REQ_NULL) return CONVOP_OK;
    cvp_lines_sum(args->context, args->outputs[DST], args->inputs[LHS], args->inputs[RHS],
                  args->requests[DST]);
    return CONVOP_OK;
}

static const convop_gradient_input gradient_inputs[] = {{CONVOP_GRADIENT_BY_OUTPUT, DST}};
static const int gradient_of[] = {LHS, RHS};
static const convop_gradient gradient = {
    sizeof gradient, "_backward_elemwise_add", gradient_inputs, 1, gradient_of, 2};
static const convop_attr attrs[] = {
    {sizeof(convop_attr), "gradient", "convop_gradient", &gradient},
};
static const convop_inplace inplace[] = {{LHS, DST}, {RHS, DST}};

CONVOP_OP(elemwise_add) = {
    .struct_size = sizeof(convop_op),
    .name = "elemwise_add",
    .doc = "dst = lhs + rhs, element by element. float32 and float64.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct cvp_no_params),
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = NUM_INPUTS,
    .max_outputs = 1,
    .infer_shape = infer_shape,
    .plan = plan,
    .run = run,
    .attrs = attrs,
    .num_attrs = 1,
    .inplace = inplace,
    .num_inplace = 2,
};

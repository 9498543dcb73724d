/* The operator Flatten and its gradient: the same elements with another shape, as a copy. */
#include "src/operator/flatten/flatten.h"

#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/operator/common.h"
#include "src/operator/elementwise/lines.h"

static const convop_arg inputs[] = {{"src", "(n, ...)."}};
static const convop_arg outputs[] = {{"dst", "(n, the product of the other sizes)."}};
static const convop_arg backward_inputs[] = {{"diff_dst", "The gradient by dst."}};
static const convop_arg backward_outputs[] = {{"diff_src", "The gradient by src."}};

static convop_status infer_shape(const void *params, int num_inputs, convop_shape *in,
                                 int num_outputs, convop_shape *out)
{
    (void)params, (void)num_inputs, (void)num_outputs;
    return cvp_flatten_infer("Flatten", "src", in, "dst", out);
}

static convop_status backward_infer_shape(const void *params, int num_inputs, convop_shape *in,
                                          int num_outputs, convop_shape *out)
{
    (void)params, (void)num_inputs, (void)num_outputs;
    return cvp_flatten_infer("_backward_Flatten", "diff_src", out, "diff_dst", in);
}

static convop_status plan(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    (void)plan, (void)workspace_bytes;
    return cvp_require_float("Flatten", args->inputs[0]->dtype);
}

static convop_status backward_plan(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    (void)plan, (void)workspace_bytes;
    return cvp_require_float("_backward_Flatten", args->inputs[0]->dtype);
}

/* Both are copies from the input to the output; the one of rank 2 is seen with the other's shape.
 */
static convop_status run(const convop_op_args *args, const void *plan, void *workspace)
{
    (void)plan, (void)workspace;
    const DLTensor *in = args->inputs[0], *out = args->outputs[0];
    if (args->requests[0] == CONVOP_REQ_NULL || cvp_tensor_elements(in) == 0) return CONVOP_OK;
    int64_t strides[CONVOP_MAX_DIMS];
    DLTensor view = cvp_flatten_view(out, in, strides);
    cvp_lines_copy(args->context, &view, in, args->requests[0]);
    return CONVOP_OK;
}

static convop_status backward_run(const convop_op_args *args, const void *plan, void *workspace)
{
    (void)plan, (void)workspace;
    const DLTensor *in = args->inputs[0], *out = args->outputs[0];
    if (args->requests[0] == CONVOP_REQ_NULL || cvp_tensor_elements(in) == 0) return CONVOP_OK;
    int64_t strides[CONVOP_MAX_DIMS];
    DLTensor view = cvp_flatten_view(in, out, strides);
    cvp_lines_copy(args->context, out, &view, args->requests[0]);
    return CONVOP_OK;
}

static const convop_gradient_input gradient_inputs[] = {{CONVOP_GRADIENT_BY_OUTPUT, 0}};
static const int gradient_of[] = {0};
static const convop_gradient gradient = {
    sizeof gradient, "_backward_Flatten", gradient_inputs, 1, gradient_of, 1};
static const convop_attr attrs[] = {
    {sizeof(convop_attr), "gradient", "convop_gradient", &gradient},
};
static const convop_inplace inplace[] = {{0, 0}};

CONVOP_OP(Flatten) = {
    .struct_size = sizeof(convop_op),
    .name = "Flatten",
    .doc = "All dimensions but the first as one; the elements keep their order. float32 and "
           "float64.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct cvp_no_params),
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = 1,
    .max_outputs = 1,
    .infer_shape = infer_shape,
    .plan = plan,
    .run = run,
    .attrs = attrs,
    .num_attrs = 1,
    .inplace = inplace,
    .num_inplace = 1,
};

CONVOP_OP(_backward_Flatten) = {
    .struct_size = sizeof(convop_op),
    .name = "_backward_Flatten",
    .doc = "The gradient of Flatten: the gradient by its output in the shape of its input, which "
           "the output here says.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct cvp_no_params),
    .inputs = backward_inputs,
    .outputs = backward_outputs,
    .max_inputs = 1,
    .max_outputs = 1,
    .infer_shape = backward_infer_shape,
    .plan = backward_plan,
    .run = backward_run,
    .inplace = inplace,
    .num_inplace = 1,
};

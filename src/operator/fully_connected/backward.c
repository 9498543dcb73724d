/* The operator _backward_FullyConnected: the gradients of FullyConnected,
 *
 *     diff_src = diff_dst x weights          diff_weights = transposed diff_dst x src
 *     diff_bias = the sum of diff_dst's rows */
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/operator/common.h"
#include "src/operator/fully_connected/fully_connected.h"
#include "src/operator/fully_connected/product.h"

enum { DIFF_DST, SRC, WEIGHTS, NUM_INPUTS };
enum { DIFF_SRC, DIFF_WEIGHTS, DIFF_BIAS, NUM_OUTPUTS };

static const convop_arg inputs[] = {
    [DIFF_DST] = {"diff_dst", "The gradient by dst, of dst's shape."},
    [SRC] = {"src", "As given to FullyConnected."},
    [WEIGHTS] = {"weights", "As given to FullyConnected."},
};

static const convop_arg outputs[] = {
    [DIFF_SRC] = {"diff_src", "The gradient by src."},
    [DIFF_WEIGHTS] = {"diff_weights", "The gradient by weights."},
    [DIFF_BIAS] = {"diff_bias", "The gradient by bias; absent with no_bias."},
};

/* The two products run one after the other and share the workspace. */
struct backward_plan {
    struct fc_product diff_src, diff_weights;
};

static int num_outputs(const void *params)
{
    const struct fc_params *p = params;
    return p->no_bias ? NUM_OUTPUTS - 1 : NUM_OUTPUTS;
}

static const char op_name[] = "_backward_FullyConnected";

static convop_status infer_shape(const void *params, int n_in, convop_shape *in, int n_out,
                                 convop_shape *out)
{
    (void)n_in;
    const convop_arg *src_args[] = {&inputs[SRC], &outputs[DIFF_SRC]};
    const convop_arg *weight_args[] = {&inputs[WEIGHTS], &outputs[DIFF_WEIGHTS]};
    convop_shape *src[] = {&in[SRC], &out[DIFF_SRC]};
    convop_shape *weights[] = {&in[WEIGHTS], &out[DIFF_WEIGHTS]};
    CVP_RETURN_IF_ERROR(cvp_shape_equal(op_name, 2, src_args, src));
    CVP_RETURN_IF_ERROR(cvp_shape_equal(op_name, 2, weight_args, weights));
    CVP_RETURN_IF_ERROR(cvp_fc_infer(
        params,
        &(struct fc_shapes){.src = &in[SRC],
                            .weights = &in[WEIGHTS],
                            .bias = n_out > DIFF_BIAS ? &out[DIFF_BIAS] : NULL,
                            .dst = &in[DIFF_DST],
                            .names = {op_name, "src", "weights", "diff_bias", "diff_dst"}}));
    out[DIFF_SRC] = in[SRC];
    out[DIFF_WEIGHTS] = in[WEIGHTS];
    return CONVOP_OK;
}

static int wants(const convop_op_args *args, int output)
{
    return output < args->num_outputs && args->requests[output] != CONVOP_REQ_NULL;
}

static convop_status plan(const convop_op_args *args, void *plan_, size_t *workspace_bytes)
{
    struct backward_plan *plan = plan_;
    const struct fc_params *p = args->params;
    const DLTensor *src = args->inputs[SRC], *weights = args->inputs[WEIGHTS];
    const DLTensor *diff_dst = args->inputs[DIFF_DST];
    int split = cvp_fc_split(p, src->ndim);
    struct fc_matrix diff = cvp_fc_matrix(diff_dst, diff_dst->ndim - 1);
    *workspace_bytes = 0;
    CVP_RETURN_IF_ERROR(cvp_require_float(op_name, src->dtype));
    if (wants(args, DIFF_SRC))
        CVP_RETURN_IF_ERROR(cvp_fc_product_init(&plan->diff_src, diff, cvp_fc_matrix(weights, 1),
                                                cvp_fc_matrix(args->outputs[DIFF_SRC], split), NULL,
                                                args, src->dtype,
                                                args->requests[DIFF_SRC] == CONVOP_REQ_ADD));
    if (wants(args, DIFF_WEIGHTS))
        CVP_RETURN_IF_ERROR(cvp_fc_product_init(
            &plan->diff_weights, cvp_fc_transposed(diff), cvp_fc_matrix(src, split),
            cvp_fc_matrix(args->outputs[DIFF_WEIGHTS], 1), NULL, args, src->dtype,
            args->requests[DIFF_WEIGHTS] == CONVOP_REQ_ADD));
    *workspace_bytes = plan->diff_src.bytes > plan->diff_weights.bytes ? plan->diff_src.bytes
                                                                       : plan->diff_weights.bytes;
    return CONVOP_OK;
}

/* Columns of diff_dst that are summed together; sums are in double, over the rows in their order.
 */
#define LANES 64

struct sum_job {
    struct fc_matrix diff_dst;
    const void *from;
    void *to;
    int64_t to_stride;
    int add;
};

#define T          float
#define NAME(name) name##_f32
#include "src/operator/fully_connected/bias_loops.h"
#undef T
#undef NAME
#define T          double
#define NAME(name) name##_f64
#include "src/operator/fully_connected/bias_loops.h"
#undef T
#undef NAME

static void sum_rows(const convop_op_args *args)
{
    const DLTensor *diff_dst = args->inputs[DIFF_DST], *diff_bias = args->outputs[DIFF_BIAS];
    struct sum_job job = {.diff_dst = cvp_fc_matrix(diff_dst, diff_dst->ndim - 1),
                          .from = cvp_tensor_data(diff_dst),
                          .to = cvp_tensor_data(diff_bias),
                          .add = args->requests[DIFF_BIAS] == CONVOP_REQ_ADD};
    cvp_tensor_strides(diff_bias, &job.to_stride);
    cvp_parallel_elements(args->context, cvp_tensor_elements(diff_dst),
                          cvp_ceil_div(job.diff_dst.columns.size, LANES),
                          diff_dst->dtype.bits == 64 ? sum_f64 : sum_f32, &job);
}

static convop_status run(const convop_op_args *args, const void *plan_, void *workspace)
{
    const struct backward_plan *plan = plan_;
    const void *diff_dst = cvp_tensor_data(args->inputs[DIFF_DST]);
    if (wants(args, DIFF_SRC))
        cvp_fc_product_run(&plan->diff_src, diff_dst, cvp_tensor_data(args->inputs[WEIGHTS]), NULL,
                           cvp_tensor_data(args->outputs[DIFF_SRC]), args->context, workspace);
    if (wants(args, DIFF_WEIGHTS))
        cvp_fc_product_run(&plan->diff_weights, diff_dst, cvp_tensor_data(args->inputs[SRC]), NULL,
                           cvp_tensor_data(args->outputs[DIFF_WEIGHTS]), args->context, workspace);
    if (wants(args, DIFF_BIAS)) sum_rows(args);
    return CONVOP_OK;
}

CONVOP_OP(_backward_FullyConnected) = {
    .struct_size = sizeof(convop_op),
    .name = "_backward_FullyConnected",
    .doc = "Gradients of FullyConnected by its inputs, from the gradient by its output.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct fc_params),
    .fields = cvp_fc_fields,
    .num_fields = FC_NUM_FIELDS,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = NUM_INPUTS,
    .max_outputs = NUM_OUTPUTS,
    .num_outputs = num_outputs,
    .infer_shape = infer_shape,
    .plan_size = sizeof(struct backward_plan),
    .plan = plan,
    .run = run,
};

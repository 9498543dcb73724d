/* The operator _backward_Convolution: the gradients of Convolution, each a direction of its own
 * with its own plan. Inference needs no graph. */
#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/operator/call.h"
#include "src/operator/convolution/convolution.h"
#include "src/operator/convolution/infer.h"
#include "src/operator/convolution/params.h"
#include "src/operator/convolution/plan.h"
#include "src/operator/copy.h"
#include "src/operator/device.h"

enum { DIFF_DST, SRC, WEIGHTS, NUM_INPUTS };
enum { DIFF_SRC, DIFF_WEIGHTS, DIFF_BIAS, NUM_OUTPUTS };

static const convop_arg inputs[] = {
    [DIFF_DST] = {"diff_dst", "The gradient by dst, of dst's shape."},
    [SRC] = {"src", "As given to Convolution; read for diff_weights."},
    [WEIGHTS] = {"weights", "As given to Convolution; read for diff_src."},
};

static const convop_arg outputs[] = {
    [DIFF_SRC] = {"diff_src", "The gradient by src."},
    [DIFF_WEIGHTS] = {"diff_weights", "The gradient by weights."},
    [DIFF_BIAS] = {"diff_bias", "The gradient by bias; absent with no_bias."},
};

static const convop_conv_direction direction_of[] = {
    [DIFF_SRC] = CONVOP_BWD_D, [DIFF_WEIGHTS] = CONVOP_BWD_W, [DIFF_BIAS] = CONVOP_BWD_B};

/* The plans of the gradients that are asked for; they run one after the other and share the
 * workspace. impl NULL: nothing to do. */
struct backward_plan {
    struct conv_plan of[NUM_OUTPUTS];
    int clear[NUM_OUTPUTS]; /* the batch is empty: that gradient is 0 */
};

static int num_outputs(const void *params)
{
    const convop_conv_params *p = params;
    return p->no_bias ? NUM_OUTPUTS - 1 : NUM_OUTPUTS;
}

static const struct conv_names names = {"_backward_Convolution", "src", "weights", "diff_bias",
                                        "diff_dst"};

static convop_status infer_shape(const void *params, int n_in, convop_shape *in, int n_out,
                                 convop_shape *out)
{
    (void)n_in;
    CVP_RETURN_IF_ERROR(cvp_conv_merge(names.op, "src", &in[SRC], "diff_src", &out[DIFF_SRC]));
    CVP_RETURN_IF_ERROR(
        cvp_conv_merge(names.op, "weights", &in[WEIGHTS], "diff_weights", &out[DIFF_WEIGHTS]));
    CVP_RETURN_IF_ERROR(cvp_conv_infer(
        params, &(struct conv_shapes){.src = &in[SRC],
                                      .weights = &in[WEIGHTS],
                                      .bias = n_out > DIFF_BIAS ? &out[DIFF_BIAS] : NULL,
                                      .dst = &in[DIFF_DST],
                                      .names = names}));
    out[DIFF_SRC] = in[SRC];
    out[DIFF_WEIGHTS] = in[WEIGHTS];
    return CONVOP_OK;
}

/* The shape of src: from what is there, else by inference, which must give all of it. */
static convop_status src_shape_of(const convop_op_args *args, convop_shape *src)
{
    const DLTensor *given = args->inputs[SRC] ? args->inputs[SRC] : args->outputs[DIFF_SRC];
    if (given) {
        *src = cvp_conv_shape_of(given);
        return CONVOP_OK;
    }
    /* Only the bias gradient is asked for: src plays no part but for the batch. */
    *src = cvp_conv_shape_of(args->inputs[DIFF_DST]);
    return CONVOP_OK;
}

static convop_status check_inputs(const convop_op_args *args)
{
    if (args->requests[DIFF_WEIGHTS] != CONVOP_REQ_NULL && !args->inputs[SRC])
        return convop_fail(CONVOP_E_INVALID,
                           "_backward_Convolution: src is NULL, diff_weights needs it");
    if (args->requests[DIFF_SRC] != CONVOP_REQ_NULL && !args->inputs[WEIGHTS])
        return convop_fail(CONVOP_E_INVALID,
                           "_backward_Convolution: weights is NULL, diff_src needs it");
    return CONVOP_OK;
}

static void end(void *plan_)
{
    struct backward_plan *plan = plan_;
    for (int i = 0; i < NUM_OUTPUTS; i++) cvp_conv_plan_end(&plan->of[i]);
}

static convop_status plan_gradients(const convop_op_args *args, struct backward_plan *plan,
                                    size_t *workspace_bytes)
{
    const DLTensor *diff_dst = args->inputs[DIFF_DST];
    *workspace_bytes = 0;
    CVP_RETURN_IF_ERROR(check_inputs(args));
    convop_shape src_shape, dst_shape = cvp_conv_shape_of(diff_dst);
    CVP_RETURN_IF_ERROR(src_shape_of(args, &src_shape));
    struct conv_terms terms = {.stream = args->stream};
    CVP_RETURN_IF_ERROR(cvp_conv_mode(args->params, &terms.mode));
    size_t limit = cvp_conv_workspace_limit(args->params, terms.mode, args->workspace_limit);

    for (int i = 0; i < args->num_outputs; i++) {
        if (args->requests[i] == CONVOP_REQ_NULL) continue;
        struct conv_tensors t = {.src = i == DIFF_SRC       ? args->outputs[i]
                                        : i == DIFF_WEIGHTS ? args->inputs[SRC]
                                                            : NULL,
                                 .weights = i == DIFF_WEIGHTS ? args->outputs[i]
                                            : i == DIFF_SRC   ? args->inputs[WEIGHTS]
                                                              : NULL,
                                 .bias = i == DIFF_BIAS ? args->outputs[i] : NULL,
                                 .dst = diff_dst};
        convop_conv_problem p;
        CVP_RETURN_IF_ERROR(cvp_conv_problem_init(&p, args->params, direction_of[i],
                                                  diff_dst->dtype, &src_shape, &dst_shape, &t,
                                                  args->context, limit));
        p.add = args->requests[i] == CONVOP_REQ_ADD;
        if (p.mb == 0) {
            plan->clear[i] = i != DIFF_SRC && !p.add;
            continue;
        }
        CVP_RETURN_IF_ERROR(cvp_conv_plan_init(&plan->of[i], &p, &terms, args->context));
        if (plan->of[i].bytes > *workspace_bytes) *workspace_bytes = plan->of[i].bytes;
    }
    return CONVOP_OK;
}

static convop_status plan(const convop_op_args *args, void *plan_, size_t *workspace_bytes)
{
    convop_status status = plan_gradients(args, plan_, workspace_bytes);
    if (status != CONVOP_OK) end(plan_);
    return status;
}

static convop_status clear_on_gpu(const convop_op_args *args, const DLTensor *t)
{
    struct cvp_gpu_scope scope;
    const char *why;
    if (!cvp_tensor_is_compact(t))
        return convop_fail(
            CONVOP_E_UNSUPPORTED,
            "_backward_Convolution: the batch is empty, and on a GPU a gradient with "
            "gaps is not cleared");
    CVP_RETURN_IF_ERROR(
        cvp_gpu_enter(cvp_gpu_get(t->device.device_id, &why), args->stream, &scope));
    unsigned result = scope.driver->fill_bytes((uintptr_t)cvp_tensor_data(t), 0,
                                               cvp_tensor_bytes(t), scope.stream);
    convop_status status = cvp_driver_status(scope.driver, result, "clearing a gradient");
    cvp_gpu_leave(&scope);
    return status;
}

/* Zero for any dtype, spread over the tensor by strides of 0. */
static convop_status clear(const convop_op_args *args, const DLTensor *t)
{
    static const uint64_t zero = 0;
    static const int64_t no_strides[CONVOP_MAX_DIMS] = {0};
    int64_t strides[CONVOP_MAX_DIMS];
    cvp_tensor_strides(t, strides);
    if (cvp_is_on_gpu(t)) return clear_on_gpu(args, t);
    cvp_copy_strided(args->context, t->ndim, t->shape, cvp_tensor_data(t), strides, t->dtype, &zero,
                     no_strides, t->dtype);
    return CONVOP_OK;
}

static convop_status run(const convop_op_args *args, const void *plan_, void *workspace)
{
    const struct backward_plan *plan = plan_;
    for (int i = 0; i < args->num_outputs; i++) {
        if (plan->clear[i]) CVP_RETURN_IF_ERROR(clear(args, args->outputs[i]));
        if (!plan->of[i].impl) continue;
        convop_conv_operands t = {
            .dst = cvp_tensor_data(args->inputs[DIFF_DST]),
            .src = i == DIFF_WEIGHTS ? cvp_tensor_data(args->inputs[SRC]) : NULL,
            .weights = i == DIFF_SRC ? cvp_tensor_data(args->inputs[WEIGHTS]) : NULL,
            .out = cvp_tensor_data(args->outputs[i]),
            .stream = args->stream,
        };
        CVP_RETURN_IF_ERROR(cvp_conv_plan_run(&plan->of[i], &t, args->context, workspace));
    }
    return CONVOP_OK;
}

static const convop_attr attrs[] = {
    {sizeof(convop_attr), "lines", "char", &cvp_own_lines},
    {sizeof(convop_attr), "gpu", "char", &cvp_runs_on_gpu},
};

CONVOP_OP(_backward_Convolution) = {
    .struct_size = sizeof(convop_op),
    .name = "_backward_Convolution",
    .doc = "Gradients of Convolution by its inputs, from the gradient by its output.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(convop_conv_params),
    .fields = cvp_conv_fields,
    .num_fields = CONV_NUM_FIELDS,
    .check = cvp_conv_params_check_plain,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = NUM_INPUTS,
    .max_outputs = NUM_OUTPUTS,
    .num_outputs = num_outputs,
    .infer_shape = infer_shape,
    .plan_size = sizeof(struct backward_plan),
    .plan = plan,
    .run = run,
    .end = end,
    .attrs = attrs,
    .num_attrs = 2,
};

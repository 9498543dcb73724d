/* The operator _backward_Pooling: the gradient of Pooling by src.
 *
 * That of a maximum goes to the first element in row-major order of the window that equals it; a
 * NaN equals a NaN here. One task is an image's channel, or some of its channels side by side, so
 * that no two tasks add to the same element and each adds window after window. */
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/operator/common.h"
#include "src/operator/pooling/lines.h"

enum { DIFF_DST, SRC, DST, NUM_INPUTS };

static const convop_arg inputs[] = {
    [DIFF_DST] = {"diff_dst", "The gradient by dst, of dst's shape."},
    [SRC] = {"src", "As given to Pooling; read for maxima."},
    [DST] = {"dst", "As Pooling gave it; read for maxima."},
};

static const convop_arg outputs[] = {
    {"diff_src", "The gradient by src."},
};

static const char op_name[] = "_backward_Pooling";

static convop_status infer_shape(const void *params, int n_in, convop_shape *in, int n_out,
                                 convop_shape *out)
{
    (void)n_in, (void)n_out;
    const convop_arg *src_args[] = {&inputs[SRC], &outputs[0]};
    const convop_arg *dst_args[] = {&inputs[DIFF_DST], &inputs[DST]};
    convop_shape *src[] = {&in[SRC], &out[0]}, *dst[] = {&in[DIFF_DST], &in[DST]};
    CVP_RETURN_IF_ERROR(cvp_shape_equal(op_name, 2, src_args, src));
    CVP_RETURN_IF_ERROR(cvp_shape_equal(op_name, 2, dst_args, dst));
    CVP_RETURN_IF_ERROR(cvp_pool_infer(op_name, params, &in[SRC], "diff_dst", &in[DIFF_DST]));
    out[0] = in[SRC];
    in[DST] = in[DIFF_DST];
    return CONVOP_OK;
}

struct backward_plan {
    struct pool_problem p; /* of src and dst */
    struct pool_strides diff_src, diff_dst;
};

static convop_status plan(const convop_op_args *args, void *plan_, size_t *workspace_bytes)
{
    struct backward_plan *plan = plan_;
    *workspace_bytes = 0;
    CVP_RETURN_IF_ERROR(cvp_require_float(op_name, args->inputs[SRC]->dtype));
    if (args->requests[0] == CONVOP_REQ_NULL) return CONVOP_OK;
    cvp_pool_problem_init(&plan->p, args->params, args->inputs[SRC], args->inputs[DST]);
    plan->diff_src = cvp_pool_strides(args->params, args->outputs[0]);
    plan->diff_dst = cvp_pool_strides(args->params, args->inputs[DIFF_DST]);
    return CONVOP_OK;
}

struct job {
    const struct pool_problem *p;
    const struct pool_strides *diff_src_at, *diff_dst_at;
    const void *src, *dst, *diff_dst;
    void *diff_src;
    int64_t tasks_per_image;
    int by_channels, add;
};

#define T          float
#define NAME(name) name##_f32
#include "src/operator/pooling/backward_loops.h"
#undef T
#undef NAME
#define T          double
#define NAME(name) name##_f64
#include "src/operator/pooling/backward_loops.h"
#undef T
#undef NAME

static convop_status run(const convop_op_args *args, const void *plan_, void *workspace)
{
    (void)workspace;
    if (args->requests[0] == CONVOP_REQ_NULL) return CONVOP_OK;
    const struct backward_plan *plan = plan_;
    const struct pool_problem *p = &plan->p;
    struct job job = {.p = p,
                      .diff_src_at = &plan->diff_src,
                      .diff_dst_at = &plan->diff_dst,
                      .src = cvp_tensor_data(args->inputs[SRC]),
                      .dst = cvp_tensor_data(args->inputs[DST]),
                      .diff_dst = cvp_tensor_data(args->inputs[DIFF_DST]),
                      .diff_src = cvp_tensor_data(args->outputs[0]),
                      .by_channels = cvp_pool_by_channels(p),
                      .add = args->requests[0] == CONVOP_REQ_ADD};
    job.tasks_per_image = job.by_channels ? cvp_pool_blocks(p) : p->c;
    cvp_parallel_elements(args->context, cvp_tensor_elements(args->inputs[SRC]),
                          p->mb * job.tasks_per_image,
                          args->inputs[SRC]->dtype.bits == 64 ? tasks_f64 : tasks_f32, &job);
    return CONVOP_OK;
}

CONVOP_OP(_backward_Pooling) = {
    .struct_size = sizeof(convop_op),
    .name = "_backward_Pooling",
    .doc = "Gradient of Pooling by its input, from the gradient by its output.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct pool_params),
    .fields = cvp_pool_fields,
    .num_fields = POOL_NUM_FIELDS,
    .check = cvp_pool_check,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = NUM_INPUTS,
    .max_outputs = 1,
    .infer_shape = infer_shape,
    .plan_size = sizeof(struct backward_plan),
    .plan = plan,
    .run = run,
};

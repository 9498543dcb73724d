/* The operator SoftmaxOutput: a softmax whose gradient is that of the cross-entropy with a label.
 * The label is not read by it, but by its gradient. */
#include "src/operator/softmax_output/softmax_output.h"

#include <math.h>

#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/operator/common.h"

enum { SRC, LABEL, NUM_INPUTS };

static const convop_arg inputs[] = {
    [SRC] = {"src", "A score for each class: {n, classes}; {n, classes, d1, ...} with "
                    "multi_output; {n, d1, ..., classes} with preserve_shape."},
    [LABEL] = {"label", "The right class, from 0, for the gradient: {n} or {n, d1, ...}."},
};

static const convop_arg outputs[] = {
    {"dst", "Probabilities, of src's shape."},
};

static convop_status infer_shape(const void *params, int n_in, convop_shape *in, int n_out,
                                 convop_shape *out)
{
    (void)n_in, (void)n_out;
    const convop_arg *args[] = {&inputs[SRC], &outputs[0]};
    convop_shape *data[] = {&in[SRC], &out[0]};
    return cvp_softmax_infer("SoftmaxOutput", params, 2, args, data, "label", &in[LABEL]);
}

static convop_status plan(const convop_op_args *args, void *plan_, size_t *workspace_bytes)
{
    (void)plan_;
    *workspace_bytes = 0;
    return cvp_require_float("SoftmaxOutput", args->inputs[SRC]->dtype);
}

/* Positions that go through the classes together, as they lie side by side in memory. */
#define LANES 64

struct job {
    struct softmax_axes src_axes, dst_axes;
    const void *src;
    void *dst;
    int64_t blocks; /* of positions, in a row */
    int add;
};

#define T          float
#define EXP        expf
#define NAME(name) name##_f32
#include "src/operator/softmax_output/softmax_loops.h"
#undef T
#undef EXP
#undef NAME
#define T          double
#define EXP        exp
#define NAME(name) name##_f64
#include "src/operator/softmax_output/softmax_loops.h"
#undef T
#undef EXP
#undef NAME

static convop_status run(const convop_op_args *args, const void *plan_, void *workspace)
{
    (void)plan_, (void)workspace;
    if (args->requests[0] == CONVOP_REQ_NULL) return CONVOP_OK;
    const DLTensor *src = args->inputs[SRC], *dst = args->outputs[0];
    struct job job = {.src_axes = cvp_softmax_axes(args->params, src),
                      .dst_axes = cvp_softmax_axes(args->params, dst),
                      .src = cvp_tensor_data(src),
                      .dst = cvp_tensor_data(dst),
                      .add = args->requests[0] == CONVOP_REQ_ADD};
    job.blocks = cvp_ceil_div(job.src_axes.positions.size, LANES);
    cvp_parallel_elements(args->context, cvp_tensor_elements(src),
                          job.src_axes.rows.size * job.blocks,
                          src->dtype.bits == 64 ? softmax_f64 : softmax_f32, &job);
    return CONVOP_OK;
}

/* The gradient by dst comes last, so that the list ends before it without out_grad. */
static const convop_gradient_input gradient_inputs[] = {
    {CONVOP_GRADIENT_OUTPUT, 0},
    {CONVOP_GRADIENT_INPUT, LABEL},
    {CONVOP_GRADIENT_BY_OUTPUT, 0},
};
static const int gradient_of[] = {SRC};
static const convop_gradient gradient = {
    sizeof gradient, "_backward_SoftmaxOutput", gradient_inputs, 3, gradient_of, 1};
static const convop_attr attrs[] = {
    {sizeof(convop_attr), "gradient", "convop_gradient", &gradient},
};
static const convop_inplace inplace[] = {{SRC, 0}};

CONVOP_OP(SoftmaxOutput) = {
    .struct_size = sizeof(convop_op),
    .name = "SoftmaxOutput",
    .doc = "Softmax; its gradient is that of the cross-entropy with a label.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct softmax_params),
    .fields = cvp_softmax_fields,
    .num_fields = SOFTMAX_NUM_FIELDS,
    .check = cvp_softmax_check,
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
    .num_inplace = 1,
};

/* The operator _backward_SoftmaxOutput: the gradient of the cross-entropy by the scores,
 *
 *     diff_src = scale * (dst - target), target 1 - smooth_alpha at the label's class and
 *     smooth_alpha / (classes - 1) at the others,
 *
 * times diff_dst with out_grad. Labels are checked before anything is written. */
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/operator/common.h"
#include "src/operator/softmax_output/softmax_output.h"

enum { DST, LABEL, DIFF_DST, MAX_INPUTS };

static const convop_arg inputs[] = {
    [DST] = {"dst", "As SoftmaxOutput gave it."},
    [LABEL] = {"label", "As given to SoftmaxOutput; fractions are cut off."},
    [DIFF_DST] = {"diff_dst", "The gradient by dst; absent without out_grad."},
};

static const convop_arg outputs[] = {
    {"diff_src", "The gradient by src."},
};

static int num_inputs(const void *params)
{
    const struct softmax_params *p = params;
    return p->out_grad ? MAX_INPUTS : MAX_INPUTS - 1;
}

static convop_status infer_shape(const void *params, int n_in, convop_shape *in, int n_out,
                                 convop_shape *out)
{
    (void)n_out;
    const convop_arg *args[] = {&inputs[DST], &outputs[0], &inputs[DIFF_DST]};
    convop_shape *data[] = {&in[DST], &out[0], n_in > DIFF_DST ? &in[DIFF_DST] : NULL};
    return cvp_softmax_infer("_backward_SoftmaxOutput", params, n_in > DIFF_DST ? 3 : 2, args, data,
                             "label", &in[LABEL]);
}

static convop_status plan(const convop_op_args *args, void *plan_, size_t *workspace_bytes)
{
    (void)plan_;
    *workspace_bytes = 0;
    return cvp_require_float("_backward_SoftmaxOutput", args->inputs[DST]->dtype);
}

struct job {
    const struct softmax_params *params;
    struct softmax_axes dst_axes, label_axes, diff_dst_axes, diff_src_axes;
    const void *dst, *label, *diff_dst; /* diff_dst NULL without out_grad */
    void *diff_src;
    double scale;
    int is_wide, add;
    int by_row; /* there is one position, so loops run along the classes */
};

static double label_at(const struct job *job, int64_t row, int64_t position)
{
    int64_t at = cvp_group_at(&job->label_axes.rows, row) +
                 cvp_group_at(&job->label_axes.positions, position);
    return job->is_wide ? ((const double *)job->label)[at]
                        : (double)((const float *)job->label)[at];
}

static int is_ignored(const struct softmax_params *p, double label)
{
    return p->use_ignore && label == p->ignore_label;
}

/* Refuses what is no class, a NaN too, and counts what is not ignored. */
static convop_status check_labels(const struct job *job, int64_t *valid)
{
    int64_t rows = job->label_axes.rows.size, positions = job->label_axes.positions.size;
    int64_t classes = job->dst_axes.classes.size;
    *valid = 0;
    for (int64_t i = 0; i < rows * positions; i++) {
        double label = label_at(job, i / positions, i % positions);
        if (is_ignored(job->params, label)) continue;
        if (!(label >= 0 && label < (double)classes))
            return convop_fail(CONVOP_E_INVALID,
                               "_backward_SoftmaxOutput: label[%lld] is %g, allowed is 0..%lld",
                               (long long)i, label, (long long)(classes - 1));
        ++*valid;
    }
    return CONVOP_OK;
}

static double scale_of(const struct job *job, int64_t valid)
{
    const struct softmax_params *p = job->params;
    int64_t positions = job->label_axes.positions.size, rows = job->label_axes.rows.size;
    double by = 1;
    switch ((enum softmax_normalization)p->normalization) {
    case SOFTMAX_NULL: by = (double)positions; break;
    case SOFTMAX_BATCH: by = (double)positions * (double)rows; break;
    case SOFTMAX_VALID: by = (double)cvp_max_i64(valid, 1); break;
    }
    return p->grad_scale / by;
}

#define T          float
#define NAME(name) name##_f32
#include "src/operator/softmax_output/backward_loops.h"
#undef T
#undef NAME
#define T          double
#define NAME(name) name##_f64
#include "src/operator/softmax_output/backward_loops.h"
#undef T
#undef NAME

static convop_status run(const convop_op_args *args, const void *plan_, void *workspace)
{
    (void)plan_, (void)workspace;
    if (args->requests[0] == CONVOP_REQ_NULL) return CONVOP_OK;
    const struct softmax_params *p = args->params;
    const DLTensor *dst = args->inputs[DST], *label = args->inputs[LABEL];
    struct job job = {.params = p,
                      .dst_axes = cvp_softmax_axes(p, dst),
                      .label_axes = cvp_softmax_label_axes(p, label),
                      .diff_src_axes = cvp_softmax_axes(p, args->outputs[0]),
                      .dst = cvp_tensor_data(dst),
                      .label = cvp_tensor_data(label),
                      .diff_src = cvp_tensor_data(args->outputs[0]),
                      .is_wide = dst->dtype.bits == 64,
                      .add = args->requests[0] == CONVOP_REQ_ADD};
    if (p->out_grad) {
        job.diff_dst_axes = cvp_softmax_axes(p, args->inputs[DIFF_DST]);
        job.diff_dst = cvp_tensor_data(args->inputs[DIFF_DST]);
    }
    int64_t valid;
    CVP_RETURN_IF_ERROR(check_labels(&job, &valid));
    job.scale = scale_of(&job, valid);
    job.by_row = job.dst_axes.positions.size == 1;
    cvp_parallel_elements(args->context, cvp_tensor_elements(dst),
                          job.dst_axes.rows.size * (job.by_row ? 1 : job.dst_axes.classes.size),
                          job.is_wide ? gradient_f64 : gradient_f32, &job);
    return CONVOP_OK;
}

static const convop_inplace inplace[] = {{DST, 0}};

CONVOP_OP(_backward_SoftmaxOutput) = {
    .struct_size = sizeof(convop_op),
    .name = "_backward_SoftmaxOutput",
    .doc = "Gradient of SoftmaxOutput by src: that of the cross-entropy with the label.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct softmax_params),
    .fields = cvp_softmax_fields,
    .num_fields = SOFTMAX_NUM_FIELDS,
    .check = cvp_softmax_check,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = MAX_INPUTS,
    .max_outputs = 1,
    .num_inputs = num_inputs,
    .infer_shape = infer_shape,
    .plan = plan,
    .run = run,
    .inplace = inplace,
    .num_inplace = 1,
};

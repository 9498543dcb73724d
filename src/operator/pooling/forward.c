/* The operator Pooling: maximum, average or sum of each window.
 *
 * A NaN in a window is its maximum. The maximum of a window that lies outside of the image, which
 * pooling_convention=full can bring about, is the lowest finite number, its average and sum are 0;
 * so it is in MXNet. */
#include <float.h>
#include <math.h>

#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/operator/common.h"
#include "src/operator/pooling/lines.h"

static const convop_arg inputs[] = {
    {"src", "The images: {mb, c, h, w} or as layout says."},
};

static const convop_arg outputs[] = {
    {"dst", "A value for each window: {mb, c, oh, ow} or as layout says."},
};

static convop_status infer_shape(const void *params, int n_in, convop_shape *in, int n_out,
                                 convop_shape *out)
{
    (void)n_in, (void)n_out;
    return cvp_pool_infer("Pooling", params, &in[0], "dst (output)", &out[0]);
}

static convop_status plan(const convop_op_args *args, void *plan_, size_t *workspace_bytes)
{
    *workspace_bytes = 0;
    CVP_RETURN_IF_ERROR(cvp_require_float("Pooling", args->inputs[0]->dtype));
    if (args->requests[0] != CONVOP_REQ_NULL)
        cvp_pool_problem_init(plan_, args->params, args->inputs[0], args->outputs[0]);
    return CONVOP_OK;
}

struct job {
    const struct pool_problem *p;
    const void *src;
    void *dst;
    int64_t blocks;
    int by_channels, add;
};

/* The i-th line, in the order in which src lies in memory. */
static struct pool_line line_at(const struct job *job, int64_t i)
{
    const struct pool_problem *p = job->p;
    struct pool_line l;
    int64_t first = i % job->blocks * POOL_LANES;
    i /= job->blocks;
    l.lanes = (int)cvp_min_i64(POOL_LANES, (job->by_channels ? p->c : p->axis[2].out) - first);
    l.o[2] = first;
    if (job->by_channels) {
        l.o[2] = i % p->axis[2].out;
        i /= p->axis[2].out;
    }
    l.o[1] = i % p->axis[1].out;
    i /= p->axis[1].out;
    l.o[0] = i % p->axis[0].out;
    i /= p->axis[0].out;
    l.c = job->by_channels ? first : i % p->c;
    l.n = job->by_channels ? i : i / p->c;
    return l;
}

#define T          float
#define LOWEST     (-FLT_MAX)
#define NAME(name) name##_f32
#include "src/operator/pooling/forward_loops.h"
#undef T
#undef LOWEST
#undef NAME
#define T          double
#define LOWEST     (-DBL_MAX)
#define NAME(name) name##_f64
#include "src/operator/pooling/forward_loops.h"
#undef T
#undef LOWEST
#undef NAME

static convop_status run(const convop_op_args *args, const void *plan_, void *workspace)
{
    (void)workspace;
    if (args->requests[0] == CONVOP_REQ_NULL) return CONVOP_OK;
    const struct pool_problem *p = plan_;
    struct job job = {.p = p,
                      .src = cvp_tensor_data(args->inputs[0]),
                      .dst = cvp_tensor_data(args->outputs[0]),
                      .blocks = cvp_pool_blocks(p),
                      .by_channels = cvp_pool_by_channels(p),
                      .add = args->requests[0] == CONVOP_REQ_ADD};
    int64_t lines = p->mb * p->axis[0].out * p->axis[1].out * job.blocks *
                    (job.by_channels ? p->axis[2].out : p->c);
    cvp_parallel_elements(args->context, cvp_tensor_elements(args->inputs[0]), lines,
                          args->inputs[0]->dtype.bits == 64 ? lines_f64 : lines_f32, &job);
    return CONVOP_OK;
}

static const convop_gradient_input gradient_inputs[] = {
    {CONVOP_GRADIENT_BY_OUTPUT, 0},
    {CONVOP_GRADIENT_INPUT, 0},
    {CONVOP_GRADIENT_OUTPUT, 0},
};
static const int gradient_of[] = {0};
static const convop_gradient gradient = {
    sizeof gradient, "_backward_Pooling", gradient_inputs, 3, gradient_of, 1};
static const convop_attr attrs[] = {
    {sizeof(convop_attr), "gradient", "convop_gradient", &gradient},
};

CONVOP_OP(Pooling) = {
    .struct_size = sizeof(convop_op),
    .name = "Pooling",
    .doc = "Maximum, average or sum of windows in one, two or three dimensions.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct pool_params),
    .fields = cvp_pool_fields,
    .num_fields = POOL_NUM_FIELDS,
    .check = cvp_pool_check,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = 1,
    .max_outputs = 1,
    .infer_shape = infer_shape,
    .plan_size = sizeof(struct pool_problem),
    .plan = plan,
    .run = run,
    .attrs = attrs,
    .num_attrs = 1,
};

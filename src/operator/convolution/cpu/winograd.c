/* The row `winograd`, forward and backward by data: what is computed in which order, on which lane.
 *
 * One task is a block. Where blocks are few for the threads, each step is done for all blocks
 * before the next, in finer tasks: vectors of channels, points, vectors again. Where a call has to
 * transform many weights for few tiles, a task is a panel of them. In each way an output is the
 * same sum in the same order. */
#include "src/operator/convolution/cpu/winograd.h"

#include "src/common/size.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/bias.h"

struct job {
    const struct winograd *w;
    const float *in, *weights, *panels, *bias;
    float *out;
    char *shared, *lanes;
};

/* A block's inputs and sums: a lane's own, or one of all. */
struct buffers {
    float *lines, *in, *sums;
};

static struct buffers buffers_of(const struct job *job, int lane, int64_t block)
{
    const struct winograd *w = job->w;
    char *own = job->lanes + (size_t)lane * w->lane_bytes;
    const size_t sums = w->is_by_panel ? 0 : w->out_bytes;
    char *in = w->shared_bytes > 0 ? job->shared + (size_t)block * (w->in_bytes + sums)
                                   : own + w->line_bytes;
    return (struct buffers){(void *)own, (void *)in, (void *)(in + w->in_bytes)};
}

static const float *panels_of(const struct job *job, int64_t block)
{
    return job->panels +
           cvp_conv_winograd_group(job->w, block) * WINOGRAD_POINTS * job->w->weight_point;
}

static void run_blocks(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    const struct winograd *w = job->w;
    for (int64_t i = begin; i < end; i++) {
        const struct buffers s = buffers_of(job, lane, i);
        cvp_conv_winograd_transform_in(w, i, 0, w->in_vectors, job->in, s.lines, s.in);
        cvp_conv_winograd_multiply(w, i, 0, WINOGRAD_POINTS, w->panels,
                                   w->out_vectors * w->kernels->lanes, s.in, panels_of(job, i),
                                   s.sums);
        cvp_conv_winograd_transform_out(w, i, 0, w->out_vectors, s.sums, job->bias, s.lines,
                                        job->out);
    }
}

/* The steps apart: items are vectors of channels, or points, of blocks. */
static void transform_in(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    for (int64_t i = begin; i < end; i++) {
        const int64_t v = i % job->w->in_vectors, block = i / job->w->in_vectors;
        const struct buffers s = buffers_of(job, lane, block);
        cvp_conv_winograd_transform_in(job->w, block, v, v + 1, job->in, s.lines, s.in);
    }
}

static void multiply(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    for (int64_t i = begin; i < end; i++) {
        const int64_t q = i % WINOGRAD_POINTS, block = i / WINOGRAD_POINTS;
        const struct buffers s = buffers_of(job, lane, block);
        cvp_conv_winograd_multiply(job->w, block, q, q + 1, job->w->panels,
                                   job->w->out_vectors * job->w->kernels->lanes, s.in,
                                   panels_of(job, block), s.sums);
    }
}

static void transform_out(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    for (int64_t i = begin; i < end; i++) {
        const int64_t v = i % job->w->out_vectors, block = i / job->w->out_vectors;
        const struct buffers s = buffers_of(job, lane, block);
        cvp_conv_winograd_transform_out(job->w, block, v, v + 1,
                                        s.sums + v * job->w->kernels->lanes, job->bias, s.lines,
                                        job->out);
    }
}

/* Items are panels of weights, for all blocks of their group, whose inputs are there. */
static void run_panels(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    const struct winograd *w = job->w;
    const int64_t blocks = w->row_blocks * w->w_blocks, vectors = w->columns / w->kernels->lanes;
    float *lines = (void *)(job->lanes + (size_t)lane * w->lane_bytes);
    float *panel = (void *)((char *)lines + w->line_bytes);
    float *sums = (void *)((char *)panel + w->panel_bytes);
    for (int64_t i = begin; i < end; i++) {
        const int64_t g = i / w->panels, j = i % w->panels, v = j * vectors;
        const int64_t end_v = cvp_min_i64(v + vectors, w->out_vectors);
        cvp_conv_winograd_transform_panel(w, job->weights, g, j, panel);
        for (int64_t b = g * blocks; b < (g + 1) * blocks; b++) {
            const float *in = (void *)(job->shared + (size_t)b * w->in_bytes);
            cvp_conv_winograd_multiply(w, b, 0, WINOGRAD_POINTS, 1, (end_v - v) * w->kernels->lanes,
                                       in, panel, sums);
            cvp_conv_winograd_transform_out(w, b, v, end_v, sums, job->bias, lines, job->out);
        }
    }
}

static int cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE])
{
    if (!cvp_conv_is_plain(p, why)) return 0;
    struct winograd *w = cut;
    *w = cvp_conv_winograd_plan(p, why);
    return w->lanes > 0;
}

static size_t workspace(const convop_conv_problem *p)
{
    const struct winograd *w = p->cut;
    return w->weight_bytes + w->bias_bytes + w->shared_bytes + (size_t)w->lanes * w->lane_bytes;
}

static size_t packed_bytes(const convop_conv_problem *p)
{
    const struct winograd *w = p->cut;
    return w->weight_bytes;
}

static void pack(const convop_conv_problem *p, const void *weights, void *packed,
                 const convop_context *context)
{
    const struct winograd *w = p->cut;
    cvp_conv_winograd_transform_weights(w, weights, packed, context);
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *workspace_)
{
    const struct winograd *w = p->cut;
    char *bias = (char *)workspace_ + w->weight_bytes;
    struct job job = {.w = w,
                      .in = p->direction == CONVOP_FWD ? t->src : t->dst,
                      .weights = t->weights,
                      .panels = t->packed ? t->packed : workspace_,
                      .bias = cvp_conv_bias_compact(p, t->bias, bias, context),
                      .out = t->out,
                      .shared = bias + w->bias_bytes,
                      .lanes = bias + w->bias_bytes + w->shared_bytes};
    if (w->is_by_panel) {
        cvp_parallel_on(context, w->lanes, w->blocks * w->in_vectors, transform_in, &job);
        cvp_parallel_on(context, w->lanes, p->g * w->panels, run_panels, &job);
        return CONVOP_OK;
    }
    if (!t->packed) cvp_conv_winograd_transform_weights(w, t->weights, workspace_, context);
    if (!w->is_shared) {
        cvp_parallel_on(context, w->lanes, w->blocks, run_blocks, &job);
        return CONVOP_OK;
    }
    cvp_parallel_on(context, w->lanes, w->blocks * w->in_vectors, transform_in, &job);
    cvp_parallel_on(context, w->lanes, w->blocks * WINOGRAD_POINTS, multiply, &job);
    cvp_parallel_on(context, w->lanes, w->blocks * w->out_vectors, transform_out, &job);
    return CONVOP_OK;
}

#define WINOGRAD(row, dir)                                                                         \
    extern const convop_conv_impl row;                                                             \
    const convop_conv_impl row = {                                                                 \
        .struct_size = sizeof(convop_conv_impl),                                                   \
        .name = "winograd",                                                                        \
        .direction = dir,                                                                          \
        .version = 2,                                                                              \
        .level = CONVOP_LEVEL_BUILTIN,                                                             \
        .cut = cut,                                                                                \
        .cut_size = CONV_CUT_SIZE(struct winograd),                                                \
        .workspace = workspace,                                                                    \
        .packed_bytes = packed_bytes,                                                              \
        .pack = pack,                                                                              \
        .run = run,                                                                                \
        .estimate = cvp_conv_winograd_estimate,                                                    \
        .error_bound = WINOGRAD_ERROR_BOUND,                                                       \
    }

WINOGRAD(cvp_conv_winograd_fwd, CONVOP_FWD);
WINOGRAD(cvp_conv_winograd_bwd_d, CONVOP_BWD_D);

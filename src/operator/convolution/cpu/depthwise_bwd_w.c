/* The row `depthwise`, backward by weights. Rows of dst are cut into parts, each of which sums into
 * its own place in the workspace, in double; a second loop adds the parts in their order. The cut
 * follows from the problem, so that the bits depend on no thread. */
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/depthwise.h"

/* Tasks below which rows are cut, and the pixels that a part is worth. */
#define ENOUGH_TASKS 32
#define PART_PIXELS  1024

/* Channels of a task in NC* at most. */
#define FIRST_CHANNELS 32

struct cut {
    int64_t rows, groups, group_channels, parts;
};

static struct cut cut_for(const convop_conv_problem *p)
{
    struct cut c = {.rows = p->mb * p->od * p->oh};
    c.group_channels = CVP_DW_GROUP;
    if (!p->channels_last)
        c.group_channels = cvp_max_i64(1, cvp_min_i64(p->oc / ENOUGH_TASKS, FIRST_CHANNELS));
    c.groups = cvp_ceil_div(p->oc, c.group_channels);
    int64_t parts = cvp_ceil_div(ENOUGH_TASKS, c.groups);
    int64_t worth = cvp_ceil_div(c.rows * p->ow, PART_PIXELS);
    c.parts = cvp_max_i64(1, cvp_min_i64(cvp_min_i64(parts, worth), c.rows));
    return c;
}

static size_t workspace(const convop_conv_problem *p)
{
    size_t bytes;
    if (!cvp_mul_size((size_t)(p->oc * cvp_conv_taps(p)), sizeof(double), &bytes) ||
        !cvp_mul_size(bytes, (size_t)cut_for(p).parts, &bytes) ||
        bytes > SIZE_MAX - CVP_BUFFER_ALIGN)
        return SIZE_MAX;
    return cvp_round_up(bytes, CVP_BUFFER_ALIGN);
}

static int applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    return cvp_dw_takes(p, why) && cvp_dw_fits(p, workspace(p), why);
}

struct job {
    struct cvp_dw_filter filter;
    const struct cvp_dw_kernels *kernels;
    struct cut cut;
    double *sums; /* of each part: oc x taps, in N*C taps x oc */
    void *out;
};

/* Task = (group of channels, part), the part the fastest. */
static void sum_parts(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    const convop_conv_problem *p = job->filter.p;
    const struct cut *cut = &job->cut;
    int64_t taps = cvp_conv_taps(p);
    for (int64_t task = begin; task < end; task++) {
        int64_t part = task % cut->parts, c0 = task / cut->parts * cut->group_channels;
        int64_t c1 = cvp_min_i64(c0 + cut->group_channels, p->oc);
        /* Without a product of both, which could overflow. */
        int64_t share = cut->rows / cut->parts, more = cut->rows % cut->parts;
        int64_t r0 = part * share + cvp_min_i64(part, more), r1 = r0 + share + (part < more);
        double *sums = job->sums + part * p->oc * taps;
        if (p->channels_last) {
            for (int64_t k = 0; k < taps; k++)
                memset(sums + k * p->oc + c0, 0, (size_t)(c1 - c0) * sizeof *sums);
            job->kernels->filter_last(&job->filter, c0, c1, r0, r1, sums);
        } else {
            memset(sums + c0 * taps, 0, (size_t)((c1 - c0) * taps) * sizeof *sums);
            job->kernels->filter_first(&job->filter, c0, c1, r0, r1, sums);
        }
    }
}

/* Weights of channels [begin, end). */
static void add_parts(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    const convop_conv_problem *p = job->filter.p;
    int64_t taps = cvp_conv_taps(p), size = p->oc * taps;
    int64_t c_step = p->channels_last ? 1 : taps, k_step = p->channels_last ? p->oc : 1;
    for (int64_t k = 0; k < taps; k++)
        for (int64_t c = begin; c < end; c++) {
            double sum = 0;
            for (int64_t part = 0; part < job->cut.parts; part++)
                sum += job->sums[part * size + c * c_step + k * k_step];
            job->kernels->put(job->out, c * taps + k, sum, p->add);
        }
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *scratch)
{
    struct job job = {.kernels = cvp_dw_kernels(p), .cut = cut_for(p), .sums = scratch};
    job.out = t->out;
    job.filter = (struct cvp_dw_filter){.p = p,
                                        .src = t->src,
                                        .dst = t->dst,
                                        .multiplier = p->oc / p->ic,
                                        .d = cvp_dw_forward_axis(p, 0),
                                        .h = cvp_dw_forward_axis(p, 1),
                                        .w = cvp_dw_forward_axis(p, 2)};
    cvp_parallel(context, job.cut.groups * job.cut.parts, sum_parts, &job);
    cvp_parallel(context, p->oc, add_parts, &job);
    return CONVOP_OK;
}

static double estimate(const convop_conv_problem *p)
{
    struct cut c = cut_for(p);
    return cvp_dw_filter_estimate(p, (double)c.groups, (double)c.parts);
}

extern const convop_conv_impl cvp_conv_depthwise_bwd_w;
const convop_conv_impl cvp_conv_depthwise_bwd_w = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "depthwise",
    .direction = CONVOP_BWD_W,
    .version = 2,
    .level = CONVOP_LEVEL_BUILTIN,
    .applicable = applicable,
    .workspace = workspace,
    .run = run,
    .estimate = estimate,
};

/* The row `split`, backward by weights: products whose depth is the pixels, by tiles of bfloat16.
 *
 * Of a block of pixels one tensor is laid out as planes, the other as pairs (split_filter_stage.c);
 * each tap and 32 by 32 channels are then one product over all of them. Blocks follow each other,
 * and their sums are added in diff_weights. Lanes share the making and the products of a block, so
 * that nobody's sums are added twice. */
#include "src/operator/convolution/cpu/split_filter.h"
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"

static int cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE])
{
    if (!cvp_conv_is_plain(p, why)) return 0;
    struct split_filter *f = cut;
    *f = cvp_conv_split_filter_plan(p, why);
    return f->lanes > 0;
}

static size_t workspace(const convop_conv_problem *p)
{
    const struct split_filter *f = p->cut;
    return f->plane_bytes + f->pair_bytes + (size_t)f->lanes * f->lane_bytes;
}

static void run_planes(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
    cvp_conv_split_planes(arg, begin, end);
    cvp_stage_leave(outer);
}

static void run_pairs(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct split_filter_job *job = arg;
    const int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
    cvp_conv_split_pairs(job, job->lanes + (size_t)lane * job->f->lane_bytes, begin, end);
    cvp_stage_leave(outer);
}

static void run_products(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct split_filter_job *job = arg;
    const int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    job->f->kernels->begin();
    cvp_conv_split_filter_multiply(job, begin, end);
    job->f->kernels->end();
    cvp_stage_leave(outer);
}

static void set_planes(struct split_filter_job *job)
{
    const int64_t plane = cvp_conv_split_filter_plane(job->layout.pixels);
    if (job->f->is_tiled) {
        job->a = (struct split_operand){SPLIT_LINE, SPLIT_BYTES, 2 * SPLIT_BYTES, SPLIT_PAIRS};
        job->panel = job->steps * SPLIT_PAIRS;
    } else {
        job->a = (struct split_operand){plane, SPLIT_SIDE * plane,
                                        job->f->rows * SPLIT_PANEL * plane, SPLIT_LINE};
        job->panel = SPLIT_PANEL * plane;
    }
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *workspace)
{
    const struct split_filter *f = p->cut;
    struct split_filter_job job = {.f = f,
                                   .src = t->src,
                                   .dst = t->dst,
                                   .out = t->out,
                                   .planes = workspace,
                                   .pairs = (char *)workspace + f->plane_bytes,
                                   .lanes = (char *)workspace + f->plane_bytes + f->pair_bytes,
                                   .layout = cvp_conv_split_grid(&f->walk)};
    for (int64_t i = 0; i < p->g * f->blocks; i++) {
        job.g = i / f->blocks;
        job.b = cvp_conv_split_block(&f->block, &f->walk, f->mb, i % f->blocks);
        job.add = p->add || i % f->blocks > 0;
        cvp_conv_split_grid_size(&job.layout, &job.b);
        job.steps = cvp_ceil_div(job.layout.sums, SPLIT_DEPTH);
        set_planes(&job);
        cvp_parallel_on(context, f->lanes, cvp_conv_split_plane_parts(&job), run_planes, &job);
        cvp_parallel_on(context, f->lanes, cvp_conv_split_pair_parts(&job), run_pairs, &job);
        cvp_parallel_on(context, f->lanes, f->rows * f->columns * f->taps, run_products, &job);
    }
    return CONVOP_OK;
}

extern const convop_conv_impl cvp_conv_split_bwd_w;
const convop_conv_impl cvp_conv_split_bwd_w = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "split",
    .direction = CONVOP_BWD_W,
    .version = 1,
    .level = CONVOP_LEVEL_BUILTIN,
    .cut = cut,
    .cut_size = CONV_CUT_SIZE(struct split_filter),
    .workspace = workspace,
    .run = run,
    .estimate = cvp_conv_split_filter_estimate,
    .error_bound = SPLIT_ERROR_BOUND,
};

/* The row `split`, backward by weights: products whose depth is the pixels, by tiles of bfloat16.
 *
 * Of a block of pixels one tensor is laid out as planes, the other as pairs (split_filter_stage.c);
 * each tap and 32 by 32 channels are then one product over all of them. Blocks follow each other,
 * and their sums are added in diff_weights.
 *
 * Many blocks are cut into chunks with sums of their own, which are added at last: each lane takes
 * whole chunks, so that none reads what another has laid out, which takes longer than to lay it
 * out. Where there are too few of them, lanes share the making and the products of a block. */
#include "src/operator/convolution/cpu/split_filter.h"

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/pixel_chunks.h"

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
    return cvp_conv_split_filter_shared(f) + (size_t)f->lanes * f->lane_bytes;
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
    cvp_conv_split_pairs(job, job->turned + (size_t)lane * job->f->lane_bytes, begin, end);
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
        job->a = SPLIT_PACKED_A;
        job->panel = job->steps * SPLIT_STEP;
    } else {
        job->a = (struct split_operand){plane, SPLIT_SIDE * plane,
                                        job->f->rows * SPLIT_PANEL * plane, SPLIT_LINE};
        job->panel = SPLIT_PANEL * plane;
    }
}

/* Chunk i of those of all groups, without its block. */
static void set_chunk(struct split_filter_job *job, int64_t i)
{
    const struct split_filter *f = job->f;
    const int64_t chunk = i % f->chunks;
    job->g = i / f->chunks;
    job->first = f->blocks * chunk / f->chunks;
    job->last = f->blocks * (chunk + 1) / f->chunks;
    if (chunk > 0) job->out = (float *)(job->sums + (size_t)(chunk - 1) * f->sum_bytes);
}

static void set_block(struct split_filter_job *job, int64_t i)
{
    const struct split_filter *f = job->f;
    job->b = cvp_conv_split_block(&f->block, &f->walk, f->mb, i);
    job->add = i > job->first || (i == 0 && f->p->add);
    cvp_conv_split_grid_size(&job->layout, &job->b);
    job->steps = cvp_ceil_div(job->layout.sums, SPLIT_DEPTH);
    set_planes(job);
}

static int64_t count_products(const struct split_filter *f)
{
    return f->rows * f->columns * f->taps;
}

static void run_chunks(void *arg, int lane, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        struct split_filter_job job = *(const struct split_filter_job *)arg;
        const size_t own = (size_t)lane * job.f->lane_bytes;
        job.planes += own;
        job.pairs += own;
        set_chunk(&job, i);
        for (int64_t block = job.first; block < job.last; block++) {
            set_block(&job, block);
            run_planes(&job, lane, 0, cvp_conv_split_plane_parts(&job));
            run_pairs(&job, lane, 0, cvp_conv_split_pair_parts(&job));
            run_products(&job, lane, 0, count_products(job.f));
        }
    }
}

static void share_chunk(const struct split_filter_job *all, int64_t i,
                        const convop_context *context)
{
    struct split_filter_job job = *all;
    const struct split_filter *f = job.f;
    set_chunk(&job, i);
    for (int64_t block = job.first; block < job.last; block++) {
        set_block(&job, block);
        cvp_parallel_on(context, f->lanes, cvp_conv_split_plane_parts(&job), run_planes, &job);
        cvp_parallel_on(context, f->lanes, cvp_conv_split_pair_parts(&job), run_pairs, &job);
        cvp_parallel_on(context, f->lanes, count_products(f), run_products, &job);
    }
}

/* Filters to which the sums of further chunks are added, in their order. */
static void add_chunks(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct split_filter_job *job = arg;
    const struct split_filter *f = job->f;
    const int64_t filter = f->p->ic / f->p->g * f->taps;
    for (int64_t i = begin; i < end; i++)
        cvp_conv_add_chunks(f->p, job->out + i * filter, job->sums, f->sum_bytes, f->chunks - 1,
                            i * filter, filter);
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *workspace)
{
    const struct split_filter *f = p->cut;
    char *grids = (char *)workspace + (size_t)(f->chunks - 1) * f->sum_bytes;
    struct split_filter_job job = {.f = f,
                                   .src = t->src,
                                   .dst = t->dst,
                                   .out = t->out,
                                   .sums = workspace,
                                   .planes = grids,
                                   .pairs = grids + f->plane_bytes,
                                   .turned = grids + f->plane_bytes + f->pair_bytes,
                                   .layout = cvp_conv_split_grid(&f->walk)};
    if (f->is_apart)
        cvp_parallel_on(context, f->lanes, p->g * f->chunks, run_chunks, &job);
    else
        for (int64_t i = 0; i < p->g * f->chunks; i++) share_chunk(&job, i, context);
    if (f->chunks > 1) cvp_parallel_on(context, f->lanes, p->oc, add_chunks, &job);
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

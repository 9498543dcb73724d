/* The row `split`, forward and backward by data: implicit matrix products by tiles of bfloat16.
 *
 * The terms of a block of the image are laid out as a grid (split.h), those of the weights are
 * packed by panels of 32 output channels. Each panel then passes over the grid by 32 pixels. Of
 * many blocks each lane takes its own; of few the lanes share a block's grid, and then its panels
 * and pixels. */
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/bias.h"
#include "src/operator/convolution/cpu/finish.h"
#include "src/operator/convolution/cpu/split_walk.h"

static int cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE])
{
    if (!cvp_conv_is_plain(p, why)) return 0;
    struct split_walk *k = cut;
    *k = cvp_conv_split_walk_plan(p, why);
    return k->lanes > 0;
}

static size_t workspace(const convop_conv_problem *p)
{
    const struct split_walk *k = p->cut;
    return cvp_conv_split_shared(k) + (size_t)k->lanes * k->lane_bytes;
}

static size_t packed_bytes(const convop_conv_problem *p)
{
    const struct split_walk *k = p->cut;
    return k->weight_bytes;
}

static void pack(const convop_conv_problem *p, const void *weights, void *packed,
                 const convop_context *context)
{
    const struct split_walk *k = p->cut;
    cvp_conv_split_weights(k, weights, packed, context);
}

/* The blocks of a walk, those of one group after those of the other. */
struct walk {
    struct split_job job;
    const struct split_walk *k;
    const float *weights;
    char *lanes;
    struct stencil s;
};

static void set_block(struct split_job *job, const struct walk *w, int64_t i)
{
    const struct split_walk *k = w->k;
    const int64_t blocks = cvp_conv_split_blocks(&k->block, &w->s, k->mb);
    *job = w->job;
    job->k = k;
    job->g = i / blocks;
    job->b = cvp_conv_split_block(&k->block, &w->s, k->mb, i % blocks);
    job->packed += job->g * k->panels * job->walk_taps * k->steps * SPLIT_STEP;
    cvp_conv_split_grid_size(&job->layout, &job->b);
    job->plane = cvp_conv_split_plane(&job->layout);
}

static void run_blocks(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct walk *w = arg;
    w->k->kernels->begin();
    for (int64_t i = begin; i < end; i++) {
        struct split_job job;
        set_block(&job, w, i);
        job.grid = w->lanes + (size_t)lane * w->k->lane_bytes;
        int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
        cvp_conv_split_stage(&job, 0, cvp_conv_split_parts(&job));
        cvp_stage_leave(outer);
        outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
        cvp_conv_split_multiply(&job, 0, cvp_ceil_div(w->k->panels, w->k->group));
        cvp_stage_leave(outer);
    }
    w->k->kernels->end();
}

static void run_stage(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
    cvp_conv_split_stage(arg, begin, end);
    cvp_stage_leave(outer);
}

static void run_panels(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct split_job *job = arg;
    const int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    job->k->kernels->begin();
    cvp_conv_split_multiply(job, begin, end);
    job->k->kernels->end();
    cvp_stage_leave(outer);
}

/* A block whose weights are packed on the way. */
struct packing_block {
    const struct walk *w;
    struct split_job job;
};

static void pack_and_run_panels(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct packing_block *b = arg;
    const struct walk *w = b->w;
    char *packed = w->lanes + (size_t)lane * w->k->lane_bytes;
    w->k->kernels->begin();
    for (int64_t i = begin; i < end; i++) {
        int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
        cvp_conv_split_panel(w->k, &w->s, w->weights, b->job.g, i, packed);
        cvp_stage_leave(outer);
        outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
        cvp_conv_split_multiply_panel(&b->job, i, packed);
        cvp_stage_leave(outer);
    }
    w->k->kernels->end();
}

static void run_walk(struct walk *w, const convop_context *context)
{
    const struct split_walk *k = w->k;
    const int64_t blocks = k->p->g * cvp_conv_split_blocks(&k->block, &w->s, k->mb);
    if (k->is_by_block) {
        cvp_parallel_on(context, k->lanes, blocks, run_blocks, w);
        return;
    }
    for (int64_t i = 0; i < blocks; i++) {
        struct packing_block b = {.w = w};
        set_block(&b.job, w, i);
        cvp_parallel_on(context, k->lanes, cvp_conv_split_parts(&b.job), run_stage, &b.job);
        if (k->is_by_panel)
            cvp_parallel_on(context, k->lanes, k->panels, pack_and_run_panels, &b);
        else
            cvp_parallel_on(context, k->lanes, cvp_ceil_div(k->panels, k->group) * k->shares,
                            run_panels, &b.job);
    }
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *workspace)
{
    const struct split_walk *k = p->cut;
    char *bias = (char *)workspace + (k->is_by_panel ? 0 : k->weight_bytes);
    struct walk w = {.k = k,
                     .weights = t->weights,
                     .lanes = (char *)workspace + cvp_conv_split_shared(k),
                     .job = {.packed = t->packed ? t->packed : workspace,
                             .in = p->direction == CONVOP_FWD ? t->src : t->dst,
                             .bias = cvp_conv_bias_compact(p, t->bias, bias, context),
                             .residual = p->residual ? t->residual : NULL,
                             .out = t->out,
                             .grid = bias + k->bias_bytes}};
    if (!t->packed && !k->is_by_panel) cvp_conv_split_weights(k, t->weights, workspace, context);
    for (int64_t phase = 0; phase < k->phases; phase++) {
        w.s = cvp_conv_split_stencil(k, phase);
        w.job.layout = cvp_conv_split_grid(&w.s);
        w.job.walk_taps = cvp_conv_stencil_taps(&w.s);
        w.job.out_step = w.s.w.out_step;
        w.job.out_row = w.s.h.out_step * k->ends.out.w;
        w.job.out_depth = w.s.d.out_step * k->ends.out.h * k->ends.out.w;
        w.job.out_first =
            (w.s.d.out_first * k->ends.out.h + w.s.h.out_first) * k->ends.out.w + w.s.w.out_first;
        run_walk(&w, context);
        w.job.packed += cvp_conv_split_weight_bytes(k, &w.s);
    }
    return CONVOP_OK;
}

#define SPLIT(row, dir)                                                                            \
    extern const convop_conv_impl row;                                                             \
    const convop_conv_impl row = {                                                                 \
        .struct_size = sizeof(convop_conv_impl),                                                   \
        .name = "split",                                                                           \
        .direction = dir,                                                                          \
        .version = 1,                                                                              \
        .level = CONVOP_LEVEL_BUILTIN,                                                             \
        .cut = cut,                                                                                \
        .cut_size = CONV_CUT_SIZE(struct split_walk),                                              \
        .workspace = workspace,                                                                    \
        .packed_bytes = packed_bytes,                                                              \
        .pack = pack,                                                                              \
        .run = run,                                                                                \
        .estimate = cvp_conv_split_walk_estimate,                                                  \
        .fuses = cvp_conv_fuses_all,                                                               \
        .error_bound = SPLIT_ERROR_BOUND,                                                          \
    }

SPLIT(cvp_conv_split_fwd, CONVOP_FWD);
SPLIT(cvp_conv_split_bwd_d, CONVOP_BWD_D);

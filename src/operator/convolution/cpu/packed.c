/* The row `packed`, forward and backward by data: implicit matrix products of panels.
 *
 * What a block of pixels reads is packed into panels of a tile's pixels, whatever rows and images
 * they are of, so that short rows, strides and dilation cost no more than others. Then each panel
 * of output channels takes a chunk of its weights at a time, packed before or now, and multiplies
 * it by all tiles of the block; meanwhile the weights of the next chunk are fetched. So weights are
 * read once a block, and what is read again lies near: with a deep window, of which a block's
 * pixels do not fit the second-level cache, several panels take a chunk before the next one.
 *
 * Of many pixels each lane takes blocks of its own: what one lane packs another gets slowly. Of few
 * the lanes share a block's tiles, and then its panels.
 *
 * Where much of what a window reads is padding, as if it is dilated far, its walk is cut into zones
 * of pixels, each of which reads some of the taps, and no padding. */
#include "src/operator/convolution/cpu/packed.h"

#include "src/common/size.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/bias.h"
#include "src/operator/convolution/cpu/finish.h"

static int cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE])
{
    if (!cvp_conv_is_plain(p, why)) return 0;
    struct packed *k = cut;
    *k = cvp_conv_packed_plan(p);
    if (k->phases > CVP_PACKED_MAX_PHASES)
        return cvp_conv_refuse(why, "the strides' product is %lld, it takes up to %d",
                               (long long)k->phases, CVP_PACKED_MAX_PHASES);
    if (!p->channels_last && k->taps > k->phases * CVP_PACKED_MAX_TAPS)
        return cvp_conv_refuse(why, "the window has %lld places, it takes up to %d",
                               (long long)k->taps, CVP_PACKED_MAX_TAPS);
    return cvp_conv_has_lanes(p, k->lanes, why);
}

static size_t workspace(const convop_conv_problem *p)
{
    const struct packed *k = p->cut;
    return cvp_conv_packed_shared(k) + (size_t)k->lanes * k->lane_bytes;
}

static size_t packed_bytes(const convop_conv_problem *p)
{
    const struct packed *k = p->cut;
    return k->weight_bytes;
}

static void pack(const convop_conv_problem *p, const void *weights, void *packed,
                 const convop_context *context)
{
    const struct packed *k = p->cut;
    cvp_conv_packed_all_weights(k, weights, packed, context);
}

/* Block i of a walk's blocks, those of one group after those of the other. */
static struct packed_job block_of(const struct packed_job *walk, int64_t i)
{
    const struct packed *k = walk->k;
    const struct stencil *s = &walk->b.s;
    const int64_t pixels = k->p->mb * s->d.count * s->h.count * s->w.count;
    const int64_t blocks = cvp_ceil_div(pixels, k->block);
    struct packed_job job = *walk;
    job.b = cvp_conv_packed_block(k, s, i / blocks);
    job.b.m0 = i % blocks * k->block;
    job.b.m1 = cvp_min_i64(job.b.m0 + k->block, pixels);
    return job;
}

static void run_blocks(void *arg, int lane, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        const struct packed_job job = block_of(arg, i);
        cvp_conv_packed_multiply_alone(&job, lane);
    }
}

/* All pixels of a walk, of which `packed`, if it is there, are the phase's weights. */
static void run_walk(struct packed_job *job, const struct stencil *s, const convop_context *context)
{
    const struct packed *k = job->k;
    const int64_t pixels = k->p->mb * s->d.count * s->h.count * s->w.count;
    const int64_t blocks = k->p->g * cvp_ceil_div(pixels, k->block);
    job->b = cvp_conv_packed_block(k, s, 0);
    if (k->is_by_block) {
        cvp_parallel_on(context, k->lanes, blocks, run_blocks, job);
        return;
    }
    for (int64_t i = 0; i < blocks; i++) {
        const struct packed_job block = block_of(job, i);
        cvp_conv_packed_multiply(&block, context);
    }
}

static void run_zones(const struct packed_job *job, const struct stencil *all,
                      const convop_context *context)
{
    struct stencil s;
    int64_t at[3] = {0};
    while (cvp_conv_stencil_next_zone(all, job->k->zones, at, &s)) {
        const struct packed zone = cvp_conv_packed_zone(job->k, &s);
        struct packed_job own = *job;
        own.k = &zone;
        run_walk(&own, &s, context);
    }
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *workspace)
{
    const struct packed *k = p->cut;
    const int forward = p->direction == CONVOP_FWD;
    struct packed_job job = {.k = k,
                             .in = forward ? t->src : t->dst,
                             .weights = t->weights,
                             .bias = cvp_conv_bias_compact(p, t->bias, workspace, context),
                             .residual = p->residual ? t->residual : NULL,
                             .packed = t->packed,
                             .out = t->out};
    char *own = (char *)workspace + k->bias_bytes; /* its own packed weights */
    job.lanes = (char *)workspace + cvp_conv_packed_shared(k);
    job.pixels = job.lanes - k->pixel_bytes;
    if (k->packs_all && !t->packed) {
        cvp_conv_packed_all_weights(k, t->weights, own, context);
        job.packed = own;
    }
    for (int64_t phase = 0; phase < k->phases; phase++) {
        const struct stencil s = cvp_conv_stencil(p, phase, 0);
        if (k->is_zoned)
            run_zones(&job, &s, context);
        else
            run_walk(&job, &s, context);
        if (job.packed) job.packed += p->g * k->panels * job.b.panel * k->columns * k->size;
    }
    return CONVOP_OK;
}

#define PACKED(row, dir)                                                                           \
    extern const convop_conv_impl row;                                                             \
    const convop_conv_impl row = {                                                                 \
        .struct_size = sizeof(convop_conv_impl),                                                   \
        .name = "packed",                                                                          \
        .direction = dir,                                                                          \
        .version = 4,                                                                              \
        .level = CONVOP_LEVEL_BUILTIN,                                                             \
        .cut = cut,                                                                                \
        .cut_size = CONV_CUT_SIZE(struct packed),                                                  \
        .workspace = workspace,                                                                    \
        .packed_bytes = packed_bytes,                                                              \
        .pack = pack,                                                                              \
        .run = run,                                                                                \
        .estimate = cvp_conv_packed_estimate,                                                      \
        .fuses = cvp_conv_fuses_all,                                                               \
    }

PACKED(cvp_conv_packed_fwd, CONVOP_FWD);
PACKED(cvp_conv_packed_bwd_d, CONVOP_BWD_D);

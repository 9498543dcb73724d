/* The row `implicit` for NC*, forward and backward by data: output channels times vectors of
 * pixels.
 *
 * The rows of the image that a task reads are staged: with zeros around, and the places that a
 * stride steps over apart, so that each tap of each channel is a plane of which vectors are read at
 * a fixed offset. A pointwise convolution reads the planes of the image themselves. Then
 *
 *     with many output channels, pixels are gathered into panels: a strip has as many as a tile is
 *     wide, whatever rows they are of, and all output channels read them from the first-level cache
 *
 *     with few, tiles read the planes, or what is staged. The rows of a task, with what is between
 *     them, are one long row where that wastes fewer lanes than the ends of short rows do.
 *
 * One task is a block of rows of one group of one image (in one phase of the stride, see
 * stencil.h). Channels are taken in chunks, whose sums are added in order. */
#include "src/operator/convolution/cpu/implicit_first.h"

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/implicit.h"

/* No tap reaches the phase: zeros, where nothing is added to. */
static void clear(const struct implicit_first_job *job, const struct implicit_first_block *b)
{
    const struct implicit_first *f = job->f;
    static const char zeros[CVP_TILE_BYTES];
    const int64_t width = b->w1 - b->w0;
    if (f->p->add) return;
    for (int64_t th = b->h0; th < b->h1; th++)
        for (int64_t at = 0; at < width; at += f->columns)
            for (int64_t i = b->tile0; i < b->tile1; i++)
                cvp_conv_implicit_first_put(
                    job, b,
                    &(struct implicit_first_strip){th, at, (int)cvp_min_i64(f->columns, width - at),
                                                   0},
                    i * f->height, (int)cvp_min_i64(f->height, f->ends.out.c - i * f->height),
                    zeros, f->columns, 0, 0);
}

static void compute(const struct implicit_first_job *job, const struct implicit_first_block *b)
{
    const struct implicit_first *f = job->f;
    if (implicit_first_taps(b) == 0) {
        clear(job, b);
        return;
    }
    cvp_conv_implicit_first_fill_table(f, b);
    for (int64_t c0 = 0; c0 < f->ends.in.c; c0 += f->chunk) {
        const int64_t c1 = cvp_min_i64(c0 + f->chunk, f->ends.in.c);
        if (!f->is_plane) {
            int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
            cvp_conv_implicit_first_stage(f, b, job->in, c0, c1);
            cvp_stage_leave(outer);
        }
        cvp_conv_implicit_first_multiply(job, b, c0, c1);
    }
}

static void run_tasks(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct implicit_first_job *job = arg;
    const struct implicit_first *f = job->f;
    char *own = job->lanes + (size_t)lane * f->lane_bytes;
    for (int64_t i = begin; i < end; i++) {
        struct implicit_first_block b = {.table = (int64_t *)(void *)own};
        b.runs = (struct cvp_tile_run *)(void *)(own + f->table_bytes);
        b.sums = own + f->table_bytes + f->run_bytes;
        b.panels = b.sums + f->sum_bytes;
        /* Apart by a vector, as rows are written past their end. */
        b.panel = f->chunk * cvp_conv_taps(f->p) * f->columns + f->kernels->lanes;
        b.staged = b.panels + f->panel_bytes;
        int64_t rest = i;
        b.tile0 = cvp_conv_implicit_next(&rest, f->tile_blocks) * f->tile_block;
        b.tile1 = cvp_min_i64(b.tile0 + f->tile_block, f->tiles);
        b.w0 = cvp_conv_implicit_next(&rest, f->w_blocks) * f->width;
        b.h0 = cvp_conv_implicit_next(&rest, f->h_blocks) * f->rows;
        b.td = cvp_conv_implicit_next(&rest, f->d_count);
        b.g = cvp_conv_implicit_next(&rest, f->p->g);
        b.n = cvp_conv_implicit_next(&rest, f->p->mb);
        b.phase = rest;
        b.s = cvp_conv_stencil(f->p, b.phase, f->is_plane);
        b.h1 = cvp_min_i64(b.h0 + f->rows, b.s.h.count);
        b.w1 = cvp_min_i64(b.w0 + f->width, b.s.w.count);
        /* Some phases have fewer. */
        if (b.td < b.s.d.count && b.h0 < b.h1 && b.w0 < b.w1) compute(job, &b);
    }
    if (f->streams) cvp_tile_end_stream();
}

/* ---- the row ------------------------------------------------------------------------------- */

int cvp_conv_implicit_first_cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE])
{
    struct implicit_first *f = cut;
    *f = cvp_conv_implicit_first_plan(p);
    if (f->phases <= CVP_IMPLICIT_MAX_PHASES) return cvp_conv_has_lanes(p, f->lanes, why);
    return cvp_conv_refuse(why, "the strides' product is %lld, it takes up to %d",
                           (long long)f->phases, CVP_IMPLICIT_MAX_PHASES);
}

/* Of a call's own packed weights, and its bias. */
static size_t own_bytes(const struct implicit_first *f)
{
    return f->bias_bytes + (f->is_raw ? 0 : f->weight_bytes);
}

size_t cvp_conv_implicit_first_workspace(const convop_conv_problem *p)
{
    const struct implicit_first *f = p->cut;
    return own_bytes(f) + (size_t)f->lanes * f->lane_bytes;
}

size_t cvp_conv_implicit_first_packed_bytes(const convop_conv_problem *p)
{
    const struct implicit_first *f = p->cut;
    return f->weight_bytes;
}

void cvp_conv_implicit_first_pack(const convop_conv_problem *p, const void *weights, void *packed,
                                  const convop_context *context)
{
    const struct implicit_first *f = p->cut;
    cvp_conv_implicit_first_pack_weights(f, weights, packed, context);
}

convop_status cvp_conv_implicit_first_run(const convop_conv_problem *p,
                                          const convop_conv_operands *t,
                                          const convop_context *context, void *workspace)
{
    const struct implicit_first *f = p->cut;
    const int forward = p->direction == CONVOP_FWD;
    struct implicit_first_job job = {.f = f,
                                     .t = t,
                                     .in = forward ? t->src : t->dst,
                                     .packed = t->packed,
                                     .bias = t->bias,
                                     .bias_step = p->bias_stride,
                                     .out = t->out,
                                     .residual = p->residual ? t->residual : NULL,
                                     .lanes = (char *)workspace + own_bytes(f)};
    if (t->bias && f->converts) {
        f->stored->load(workspace, t->bias, p->bias_stride, p->oc);
        job.bias = workspace;
        job.bias_step = 1;
    }
    if (!t->packed && !f->is_raw) {
        char *packed = (char *)workspace + f->bias_bytes;
        cvp_conv_implicit_first_pack_weights(f, t->weights, packed, context);
        job.packed = packed;
    }
    cvp_parallel_on(context, f->lanes, f->tasks, run_tasks, &job);
    return CONVOP_OK;
}

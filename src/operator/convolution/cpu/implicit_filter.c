/* The row `implicit`, backward by weights: sums over pixels of what lies where it lies.
 *
 *     N*C  diff_weights[o][tap][c] += diff_dst[pixel][o] * src[pixel at tap][c]: output channels
 *          are broadcast, input channels are vectors
 *     NC*  the transposed sum: the planes of src are broadcast, and diff_dst is turned into panels
 *          of output channels side by side
 *
 * A run is a row of pixels. One task is a block of output channels and of input channels of one
 * group, for some taps; it walks all images itself, in chunks that stay in a cache, so that the
 * order of its sums depends on no thread. */
#include "src/operator/convolution/cpu/implicit_filter.h"

#include <string.h>

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/implicit.h"
#include "src/operator/convolution/cpu/window.h"

int64_t cvp_conv_implicit_filter_runs(const struct implicit_filter *f,
                                      const struct implicit_filter_part *k, int64_t tap,
                                      struct implicit_filter_operand dst,
                                      struct implicit_filter_operand src, int src_is_a)
{
    const convop_conv_problem *p = f->p;
    const int64_t w_at = tap % p->kw * p->dw - p->pw, h_at = tap / p->kw % p->kh * p->dh - p->ph;
    const int64_t d_at = tap / p->kw / p->kh * p->dd - p->pd;
    const int64_t step = f->step * src.pixel;
    int64_t w0, w1, n = 0;
    window_inside(w_at, p->sw, p->iw, p->ow, &w0, &w1);
    if (w0 >= w1) return 0;
    for (int64_t r = k->r0; r < k->r1; r++) {
        const int64_t d = r / p->oh * p->sd + d_at, h = r % p->oh * p->sh + h_at;
        if (!inside(d, p->id) || !inside(h, p->ih)) continue;
        const char *y = dst.at + ((r - k->r0) * p->ow + w0) * dst.pixel * f->size;
        const char *x =
            src.at + ((d * p->ih + h) * p->iw + w0 * p->sw + w_at) * src.pixel * f->size;
        struct cvp_tile_run run = {.a = src_is_a ? x : y, .b = src_is_a ? y : x, .n = w1 - w0};
        if (n > 0) {
            struct cvp_tile_run *last = &k->runs[n - 1];
            const int64_t a = (src_is_a ? step : dst.pixel) * last->n * f->size;
            const int64_t b = (src_is_a ? dst.pixel : step) * last->n * f->size;
            if ((const char *)last->a + a == run.a && (const char *)last->b + b == run.b) {
                last->n += run.n;
                continue;
            }
        }
        k->runs[n++] = run;
    }
    return n;
}

static void run_tasks(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct implicit_filter_job *job = arg;
    const struct implicit_filter *f = job->f;
    const convop_conv_problem *p = f->p;
    const int64_t rows = p->od * p->oh;
    char *own = job->lanes + (size_t)lane * f->lane_bytes;
    for (int64_t i = begin; i < end; i++) {
        struct implicit_filter_part k = {.panel = own, .staged = own + f->panel_bytes};
        k.sums = k.staged + f->staged_bytes;
        k.runs = (struct cvp_tile_run *)(void *)(k.sums + f->sum_bytes);
        int64_t rest = i;
        k.t0 = cvp_conv_implicit_next(&rest, f->tap_blocks) * f->tap_block;
        k.c0 = cvp_conv_implicit_next(&rest, f->in_blocks) * f->in_block;
        k.o0 = cvp_conv_implicit_next(&rest, f->out_blocks) * f->out_block;
        k.g = rest;
        k.t1 = cvp_min_i64(k.t0 + f->tap_block, f->taps);
        k.c1 = cvp_min_i64(k.c0 + f->in_block, f->icg);
        k.o1 = cvp_min_i64(k.o0 + f->out_block, f->ocg);
        memset(k.sums, 0, f->sum_bytes);
        for (k.n = 0; k.n < p->mb; k.n++)
            for (k.r0 = 0; k.r0 < rows; k.r0 += f->chunk) {
                k.r1 = cvp_min_i64(k.r0 + f->chunk, rows);
                int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
                (p->channels_last ? cvp_conv_implicit_filter_add_last
                                  : cvp_conv_implicit_filter_add_first)(job, &k);
                cvp_stage_leave(outer);
            }
        if (!p->channels_last)
            cvp_conv_implicit_filter_put_first(job, &k);
        else if (f->converts)
            cvp_conv_implicit_filter_put_last(job, &k);
    }
}

static int cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE])
{
    /* Rows of several depths are not staged. */
    const int is_flat = p->od == 1 && p->kd == 1;
    struct implicit_filter *f = cut;
    if (!(is_flat ? cvp_conv_is_dense(p, why) : cvp_conv_is_plain(p, why))) return 0;
    *f = cvp_conv_implicit_filter_plan(p);
    return cvp_conv_has_lanes(p, f->lanes, why);
}

static size_t workspace(const convop_conv_problem *p)
{
    const struct implicit_filter *f = p->cut;
    return (size_t)f->lanes * f->lane_bytes;
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *scratch)
{
    const struct implicit_filter *f = p->cut;
    struct implicit_filter_job job = {f, t->src, t->dst, t->out, scratch};
    cvp_parallel_on(context, f->lanes, f->tasks, run_tasks, &job);
    return CONVOP_OK;
}

extern const convop_conv_impl cvp_conv_implicit_bwd_w;
const convop_conv_impl cvp_conv_implicit_bwd_w = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "implicit",
    .direction = CONVOP_BWD_W,
    .version = 3,
    .level = CONVOP_LEVEL_BUILTIN,
    .cut = cut,
    .cut_size = CONV_CUT_SIZE(struct implicit_filter),
    .workspace = workspace,
    .run = run,
    .estimate = cvp_conv_implicit_filter_estimate,
};

/* Operands of the row `implicit`, backward by weights, whose elements are converted: what a chunk
 * of rows reads, as numbers. Of one depth: applicable sees to that. */
#include <string.h>

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/operator/convolution/cpu/implicit_filter.h"
#include "src/operator/convolution/cpu/window.h"

/* Channels [begin, end) of `pixels` pixels, each `pitch` numbers further than the one before; lanes
 * past the end are 0. */
static void stage_pixels(const struct implicit_filter *f, char *to, int64_t pitch, const char *from,
                         int64_t all, int64_t begin, int64_t end, int64_t pixels)
{
    const int64_t n = end - begin, rest = pitch - n;
    from += begin * f->stored->size;
    if (n == all && rest == 0) {
        f->stored->load(to, from, 1, pixels * n);
        return;
    }
    for (int64_t i = 0; i < pixels; i++, from += all * f->stored->size, to += pitch * f->size) {
        f->stored->load(to, from, 1, n);
        memset(to + n * f->size, 0, (size_t)(rest * f->size));
    }
}

/* Both operands of a chunk, converted. */
static struct implicit_filter_operands stage(const struct implicit_filter_job *job,
                                             const struct implicit_filter_part *k)
{
    const struct implicit_filter *f = job->f;
    const convop_conv_problem *p = f->p;
    const int64_t stored = f->stored->size, d = -p->pd;
    /* From what the first tap of the first row reads to what the last of the last one does. */
    const int64_t h0 = cvp_max_i64(0, k->r0 * p->sh - p->ph);
    const int64_t h1 = cvp_min_i64(p->ih, (k->r1 - 1) * p->sh - p->ph + (p->kh - 1) * p->dh + 1);
    const int64_t rows = inside(d, p->id) ? cvp_max_i64(0, h1 - h0) : 0;
    const int64_t before = (d * p->ih + h0) * p->iw, plane = cvp_conv_src_pixels(p);
    const int64_t c0 = k->g * f->icg + k->c0, o0 = k->g * f->ocg + k->o0;
    struct implicit_filter_operands r = {.plane = rows * p->iw};
    int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
    if (p->channels_last) {
        const int64_t first = k->n * cvp_conv_dst_pixels(p) + k->r0 * p->ow;
        r.dst = (struct implicit_filter_operand){k->panel, f->out_block};
        r.src = (struct implicit_filter_operand){k->staged - before * f->in_pitch * f->size,
                                                 f->in_pitch};
        stage_pixels(f, k->panel, f->out_block, job->diff_dst + first * p->oc * stored, p->oc, o0,
                     o0 + k->o1 - k->o0, (k->r1 - k->r0) * p->ow);
        stage_pixels(f, k->staged, f->in_pitch, job->src + (k->n * plane + before) * p->ic * stored,
                     p->ic, c0, c0 + k->c1 - k->c0, r.plane);
    } else {
        const char *from = job->src + ((k->n * p->ic + c0) * plane + before) * stored;
        r.src = (struct implicit_filter_operand){k->staged - before * f->size, 1};
        for (int64_t c = 0; c < k->c1 - k->c0; c++)
            f->stored->load(k->staged + c * r.plane * f->size, from + c * plane * stored, 1,
                            r.plane);
    }
    cvp_stage_leave(outer);
    return r;
}

struct implicit_filter_operands
cvp_conv_implicit_filter_operands(const struct implicit_filter_job *job,
                                  const struct implicit_filter_part *k)
{
    const struct implicit_filter *f = job->f;
    const convop_conv_problem *p = f->p;
    if (f->converts) return stage(job, k);
    const int64_t plane = cvp_conv_src_pixels(p), c0 = k->g * f->icg + k->c0;
    if (!p->channels_last)
        return (struct implicit_filter_operands){
            .src = {job->src + (k->n * p->ic + c0) * plane * f->size, 1}, .plane = plane};
    const int64_t first = k->n * cvp_conv_dst_pixels(p) + k->r0 * p->ow;
    return (struct implicit_filter_operands){
        .dst = {job->diff_dst + (first * p->oc + k->g * f->ocg + k->o0) * f->size, p->oc},
        .src = {job->src + (k->n * plane * p->ic + c0) * f->size, p->ic}};
}

/* Transforming the weights of the row `winograd`. */
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/winograd.h"
#include "src/operator/gemm/gemm_kernels.h"

#define TAPS 9

/* Input channels that are turned at a time, at most: their taps stay in the first-level cache. */
#define CHANNELS 16

/* Elements of a panel's row, of any instruction set. */
#define MOST_COLUMNS 32

struct filters {
    const struct winograd *w;
    const float *weights;
    float *panels;
};

/* Forward their taps make whole squares of any vector; backward there is nothing to turn, or no
 * more than a filter. */
static int64_t channels(const struct winograd *w)
{
    return w->p->direction == CONVOP_FWD ? CHANNELS : CHANNELS / 2;
}

/* Taps of up to CHANNELS input channels for a panel's output channels: element (tap, i, o) at
 * tap * *tap_at + i * *channel_at + o. */
static void gather(const struct filters *k, int64_t g, int64_t out, int64_t in, int64_t n,
                   float *taps, int64_t *tap_at, int64_t *channel_at)
{
    const struct winograd *w = k->w;
    const convop_conv_problem *p = w->p;
    const convop_conv_strides *at = &p->weights;
    const int64_t columns = w->columns, ocg = p->oc / p->g, tap = p->channels_last ? at->w : 1;
    const int valid = (int)cvp_min_i64(columns, w->ends.out.c - out);
    cvp_gemm_pack *pack = cvp_gemm_kernels(CVP_F32, (enum cvp_isa)p->isa)->pack_b;
    const int forward = p->direction == CONVOP_FWD;
    const int64_t out_at = forward ? at->n : at->c, in_at = forward ? at->c : at->n;
    const float *from = k->weights + g * ocg * at->n + out * out_at + in * in_at;
    *tap_at = p->channels_last ? n * columns : columns;
    *channel_at = p->channels_last ? columns : TAPS * columns;
    if (!p->channels_last && in_at == TAPS) /* they follow each other */
        pack(taps, (int)columns, valid, n * TAPS, from, out_at, tap);
    else if (!p->channels_last)
        for (int64_t i = 0; i < n; i++)
            pack(taps + i * *channel_at, (int)columns, valid, TAPS, from + i * in_at, out_at, tap);
    else
        for (int64_t t = 0; t < TAPS; t++)
            pack(taps + t * *tap_at, (int)columns, valid, n, from + t * tap, out_at, in_at);
}

/* Up to CHANNELS input channels from `in` on, for panel j of a group: those of point q go to to + q
 * * weight_point. */
static void transform_part(const struct filters *k, int64_t g, int64_t j, int64_t in, float *to)
{
    const struct winograd *w = k->w;
    _Alignas(64) float taps[TAPS * CHANNELS * MOST_COLUMNS + CVP_GEMM_PACK_SLACK / sizeof(float)];
    const int64_t n = cvp_min_i64(channels(w), w->ends.in.c - in);
    int64_t tap_at, channel_at;
    gather(k, g, j * w->columns, in, n, taps, &tap_at, &channel_at);
    /* Backward the window is rotated: its last tap comes first. */
    const int64_t first = w->p->direction == CONVOP_FWD ? 0 : (TAPS - 1) * tap_at;
    for (int64_t i = 0; i < n; i++)
        w->kernels->filters(to + i * w->columns, w->weight_point, taps + first + i * channel_at,
                            first ? -tap_at : tap_at, (int)w->columns);
}

static void transform(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct filters *k = arg;
    const struct winograd *w = k->w;
    const int64_t step = channels(w), parts = cvp_ceil_div(w->ends.in.c, step);
    for (int64_t item = begin; item < end; item++) {
        const int64_t g = item / parts / w->panels, j = item / parts % w->panels;
        const int64_t in = item % parts * step;
        transform_part(k, g, j, in,
                       k->panels + g * WINOGRAD_POINTS * w->weight_point +
                           (j * w->ends.in.c + in) * w->columns);
    }
}

void cvp_conv_winograd_transform_panel(const struct winograd *w, const float *weights, int64_t g,
                                       int64_t j, float *panel)
{
    const struct filters k = {w, weights, panel};
    int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
    for (int64_t in = 0; in < w->ends.in.c; in += channels(w))
        transform_part(&k, g, j, in, panel + in * w->columns);
    cvp_stage_leave(outer);
}

void cvp_conv_winograd_transform_weights(const struct winograd *w, const float *weights,
                                         float *panels, const convop_context *context)
{
    struct filters k = {w, weights, panels};
    int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
    cvp_parallel(context, w->p->g * w->panels * cvp_ceil_div(w->ends.in.c, channels(w)), transform,
                 &k);
    cvp_stage_leave(outer);
}

/* Panels of weights for the row `packed`: for each element of the depth, the output channels of a
 * panel side by side. */
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/packed.h"

int64_t cvp_conv_packed_place(const struct packed *k, const struct packed_block *b, int64_t p)
{
    const int64_t c = k->ends.in.c;
    return k->is_zoned ? cvp_conv_stencil_place(k->p, &b->s, p / c) * c + p % c : p;
}

const char *cvp_conv_packed_weights_at(const struct packed *k, const struct packed_block *b,
                                       const char *weights, int64_t c, int64_t p)
{
    const convop_conv_problem *q = k->p;
    const int64_t icg = q->ic / q->g, ocg = q->oc / q->g, taps = b->depth / k->ends.in.c;
    const int64_t i = k->is_by_tap ? p % k->ends.in.c : p / taps;
    const int64_t place =
        cvp_conv_stencil_place(k->p, &b->s, k->is_by_tap ? p / k->ends.in.c : p % taps);
    const int forward = q->direction == CONVOP_FWD;
    const int64_t o = b->g * ocg + (forward ? c : i), in = forward ? i : c;
    return weights + (q->channels_last ? (o * k->taps + place) * icg + in
                                       : (o * icg + in) * k->taps + place) *
                         k->size;
}

void cvp_conv_packed_weights(const struct packed *k, const struct packed_block *b,
                             const char *weights, int64_t c, int64_t p0, int64_t p1, void *panel)
{
    const convop_conv_problem *q = k->p;
    const int forward = q->direction == CONVOP_FWD;
    const int valid = (int)cvp_min_i64(k->columns, k->ends.out.c - c);
    const int64_t filter = k->taps * (q->ic / q->g), taps = b->depth / k->ends.in.c;
    /* What lies evenly: the channels of a tap; NC* forward all, backward the taps of a channel
     * (all, or those of a row), or the channels, where there is one tap. */
    const int is_one = k->taps == 1;
    int64_t unit = p1 - p0, across = filter, along = 1;
    if (k->is_by_tap) {
        const int64_t step =
            q->channels_last ? 1 : k->taps; /* from one input channel to the next */
        unit = k->ends.in.c;
        across = forward ? filter : step;
        along = forward ? step : filter;
    } else if (!forward) {
        unit = is_one ? p1 - p0 : taps == k->taps ? taps : b->s.w.taps;
        across = k->taps;
        along = is_one ? filter : taps == k->taps ? 1 : b->s.w.k_step;
    }
    char *to = panel;
    while (p0 < p1) {
        const int64_t n = cvp_min_i64(p1 - p0, unit - (k->is_by_tap ? p0 % unit : 0));
        k->packers->pack_b(to, (int)k->columns, valid, n,
                           cvp_conv_packed_weights_at(k, b, weights, c, p0), across, along);
        to += n * k->columns * k->size;
        p0 += n;
    }
}

struct packing {
    const struct packed *k;
    const char *weights;
    char *packed;
};

static void pack_panels(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct packing *job = arg;
    const struct packed *k = job->k;
    for (int64_t i = begin; i < end; i++) {
        char *to = job->packed;
        for (int64_t phase = 0; phase < k->phases; phase++) {
            const struct stencil s = cvp_conv_stencil(k->p, phase, 0);
            const struct packed_block b = cvp_conv_packed_block(k, &s, i / k->panels);
            const int64_t panel = b.panel * k->columns * k->size;
            cvp_conv_packed_weights(k, &b, job->weights, i % k->panels * k->columns, 0, b.depth,
                                    to + i * panel);
            to += k->p->g * k->panels * panel;
        }
    }
}

void cvp_conv_packed_all_weights(const struct packed *k, const void *weights, void *packed,
                                 const convop_context *context)
{
    struct packing job = {k, weights, packed};
    int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
    cvp_parallel(context, k->p->g * k->panels, pack_panels, &job);
    cvp_stage_leave(outer);
}

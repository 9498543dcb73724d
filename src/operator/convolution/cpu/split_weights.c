/* Weights for the row `split`: for each panel of 32 output channels and each step, its terms by two
 * tiles. N*C: pairs of input channels by output channels, as b; NC*: output channels by input
 * channels, as a. */
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/split_walk.h"

/* Where the filters of a tap lie: element (o, i) of the convolution's output and input channels at
 * at + o * across + i * along. */
struct filters {
    const float *at;
    int64_t across, along;
};

static struct filters filters_of(const struct split_walk *k, const float *weights, int64_t g,
                                 int64_t place)
{
    const convop_conv_problem *p = k->p;
    const int64_t icg = p->ic / p->g, ocg = p->oc / p->g, filter = icg * k->taps;
    weights += g * ocg * filter;
    if (p->channels_last) return (struct filters){weights + place * icg, filter, 1};
    return (struct filters){weights + place, filter, k->taps};
}

/* A step's filters: output channels from c on by input channels from i on, of the walk; how many of
 * each are there. The walk's input channels are the filters' backward. */
struct step {
    const struct split_walk *k;
    const struct filters *f;
    int64_t c, i, outs, ins;
};

static const float *row_of(const struct step *s, int64_t c)
{
    return s->f->at + (s->c + c) * s->f->across + s->i * s->f->along;
}

static const float *pair_of(const struct step *s, int64_t i)
{
    return s->f->at + (s->i + i) * s->f->across + s->c * s->f->along;
}

/* Forward: rows of output channels, each of 32 input channels, of tile j. */
static void pack_rows(const struct step *s, int64_t j, char *to, int64_t term)
{
    for (int64_t c = j * SPLIT_SIDE; c < (j + 1) * SPLIT_SIDE; c++, to += SPLIT_LINE) {
        const float *from = c < s->outs ? row_of(s, c) : NULL;
        if (from && s->f->along == 1) __builtin_prefetch(from + 2 * SPLIT_DEPTH);
        s->k->kernels->rows(to, 0, term, from, s->f->along, from ? s->ins : SPLIT_DEPTH);
    }
}

/* Backward: pairs of input channels, each of output channels [c, c + n). */
static void pack_pairs(const struct step *s, int64_t c, int64_t n, char *to, int64_t row,
                       int64_t term)
{
    const int64_t there = cvp_max_i64(0, cvp_min_i64(n, s->outs - c));
    const int64_t along = s->f->along;
    for (int64_t i = 0; i < SPLIT_DEPTH; i += 2, to += row) {
        const float *even = i < s->ins ? pair_of(s, i) + c * along : NULL;
        const float *odd = i + 1 < s->ins ? pair_of(s, i + 1) + c * along : NULL;
        if (there < n) s->k->kernels->pairs(to, term, NULL, NULL, 1, n);
        if (odd && along == 1) {
            const float *next = odd + (SPLIT_DEPTH - 1) * s->f->across;
            __builtin_prefetch(next);
            __builtin_prefetch(next + SPLIT_SIDE);
            __builtin_prefetch(next + s->f->across);
            __builtin_prefetch(next + s->f->across + SPLIT_SIDE);
        }
        s->k->kernels->pairs(to, term, even, odd, along, there);
    }
}

static void pack_step(const struct step *s, char *to)
{
    _Alignas(64) char turned[SPLIT_TERMS * SPLIT_BYTES];
    const struct split_operand *w = &s->k->weights;
    const int forward = s->k->p->direction == CONVOP_FWD, last = s->k->p->channels_last;
    if (!forward && last) {
        pack_pairs(s, 0, SPLIT_PANEL, to, w->row, w->term);
        return;
    }
    for (int64_t j = 0; j < 2; j++, to += w->tile) {
        if (forward && !last) {
            pack_rows(s, j, to, w->term);
            continue;
        }
        if (forward)
            pack_rows(s, j, turned, SPLIT_BYTES);
        else
            pack_pairs(s, j * SPLIT_SIDE, SPLIT_SIDE, turned, SPLIT_LINE, SPLIT_BYTES);
        for (int t = 0; t < SPLIT_TERMS; t++)
            s->k->kernels->turn(to + t * w->term, w->row, turned + t * SPLIT_BYTES, SPLIT_LINE);
    }
}

void cvp_conv_split_panel(const struct split_walk *k, const struct stencil *s, const void *weights,
                          int64_t g, int64_t panel, char *packed)
{
    const int64_t taps = cvp_conv_stencil_taps(s);
    for (int64_t t = 0; t < taps; t++) {
        const struct filters f = filters_of(k, weights, g, cvp_conv_stencil_place(k->p, s, t));
        struct step step = {k, &f, panel * SPLIT_PANEL, 0, 0, 0};
        step.outs = cvp_min_i64(SPLIT_PANEL, k->ends.out.c - step.c);
        for (int64_t i = 0; i < k->steps; i++, packed += SPLIT_STEP) {
            step.i = i * SPLIT_DEPTH;
            step.ins = cvp_min_i64(SPLIT_DEPTH, k->ends.in.c - step.i);
            pack_step(&step, packed);
        }
    }
}

struct packing {
    const struct split_walk *k;
    const float *weights;
    char *packed;
};

static void pack_panels(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct packing *job = arg;
    const struct split_walk *k = job->k;
    for (int64_t i = begin; i < end; i++) {
        char *to = job->packed;
        for (int64_t phase = 0; phase < k->phases; phase++) {
            const struct stencil s = cvp_conv_split_stencil(k, phase);
            const int64_t bytes = cvp_conv_split_weight_bytes(k, &s);
            cvp_conv_split_panel(k, &s, job->weights, i / k->panels, i % k->panels,
                                 to + i * (bytes / (k->p->g * k->panels)));
            to += bytes;
        }
    }
}

void cvp_conv_split_weights(const struct split_walk *k, const void *weights, void *packed,
                            const convop_context *context)
{
    struct packing job = {k, weights, packed};
    const int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
    cvp_parallel(context, k->p->g * k->panels, pack_panels, &job);
    cvp_stage_leave(outer);
}

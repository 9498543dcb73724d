/* A window walked over an image, in one axis: where each tap of each output reads. Forward and
 * backward by data are the same walk:
 *
 *     forward          dst[y] reads src[y * s + k * d - p]
 *     backward, data   diff_src[x] reads diff_dst[(x + p - k * d) / s], where that is an integer
 *
 * The second falls into phases, x = r + s * t for r < s: in each of them the taps that count are
 * every (s / gcd(s, d))-th one, and their offsets are even steps too. So nothing is multiplied by
 * the zeros that a stride would put between the elements of diff_dst. */
#ifndef CVP_CONV_STENCIL_H
#define CVP_CONV_STENCIL_H

#include "src/operator/convolution/problem.h"

/* Output t, 0 <= t < count, lies at out_first + t * out_step; its tap j, 0 <= j < taps, is the
 * window's k_first + j * k_step and reads in[t * in_step + at_first + j * at_step]. */
struct stencil_axis {
    int64_t count, out_first, out_step;
    int64_t in_size, in_step;
    int64_t taps, k_first, k_step, at_first, at_step;
};

struct stencil {
    struct stencil_axis d, h, w;
};

/* Axis 0 depth, 1 height, 2 width, of the walk forward or of phase r of the walk back; how many
 * phases that has. Steps that are not taken, of a single output or tap, may be of any size in the
 * problem; here they are 1. */
struct stencil_axis cvp_conv_forward_axis(const convop_conv_problem *p, int axis);
struct stencil_axis cvp_conv_backward_axis(const convop_conv_problem *p, int axis, int64_t r);
int64_t cvp_conv_backward_phases(const convop_conv_problem *p, int axis);

/* Phases of a direction; 1 for CONVOP_FWD. */
int64_t cvp_conv_phases(const convop_conv_problem *p);

/* The walk of one phase. With `merge`, axes in which every output reads the input of its own place
 * are merged into w, so that a pointwise convolution has one long row. */
struct stencil cvp_conv_stencil(const convop_conv_problem *p, int64_t phase, int merge);

/* The window's place of a walk's tap (jd * h.taps + jh) * w.taps + jw. */
static inline int64_t cvp_conv_stencil_place(const convop_conv_problem *p, const struct stencil *s,
                                             int64_t tap)
{
    const int64_t jw = tap % s->w.taps, jh = tap / s->w.taps % s->h.taps;
    const int64_t jd = tap / s->w.taps / s->h.taps;
    const int64_t kd = s->d.k_first + jd * s->d.k_step, kh = s->h.k_first + jh * s->h.k_step;
    return (kd * p->kh + kh) * p->kw + s->w.k_first + jw * s->w.k_step;
}

static inline int64_t cvp_conv_stencil_taps(const struct stencil *s)
{
    return s->d.taps * s->h.taps * s->w.taps;
}

/* The axes of a walk that fall into zones. */
struct stencil_zones {
    int d, h, w;
};

/* The next zone of a walk: outputs that in these axes all read the same taps inside of the image,
 * and these taps alone, so that no padding is read. `at` is where it begins, at first {0, 0, 0}; it
 * becomes the beginning of the one after it. 0: there are no more. */
int cvp_conv_stencil_next_zone(const struct stencil *s, struct stencil_zones axes, int64_t at[3],
                               struct stencil *zone);

/* 1 if at least a quarter of what the axis reads with its few taps is padding. */
int cvp_conv_stencil_is_sparse(const struct stencil_axis *a);

/* The least and the largest input that the axis reads, in or out of the image. */
static inline int64_t stencil_low(const struct stencil_axis *a)
{
    return a->at_first + (a->at_step < 0 ? (a->taps - 1) * a->at_step : 0);
}
static inline int64_t stencil_high(const struct stencil_axis *a)
{
    return (a->count - 1) * a->in_step + a->at_first +
           (a->at_step > 0 ? (a->taps - 1) * a->at_step : 0);
}

/* 1 if it reads past an end of the image. */
static inline int stencil_leaves_image(const struct stencil_axis *a)
{
    return a->taps > 0 && (stencil_low(a) < 0 || stencil_high(a) >= a->in_size);
}

/* How far `count` outputs reach, from the first element that they read to the last. */
static inline int64_t stencil_reach(const struct stencil_axis *a, int64_t count)
{
    const int64_t step = a->at_step < 0 ? -a->at_step : a->at_step;
    return (count - 1) * a->in_step + (a->taps > 0 ? a->taps - 1 : 0) * step + 1;
}

#endif

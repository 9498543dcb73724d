/* Walks of a window, in both directions; see stencil.h. */
#include "src/operator/convolution/cpu/stencil.h"

#include "src/common/size.h"
#include "src/operator/convolution/cpu/window.h"

/* An axis of the problem: input, output, kernel, stride, dilation, padding. */
struct sizes {
    int64_t i, o, k, s, d, p;
};

static struct sizes sizes_of(const convop_conv_problem *p, int axis)
{
    switch (axis) {
    case 0: return (struct sizes){p->id, p->od, p->kd, p->sd, p->dd, p->pd};
    case 1: return (struct sizes){p->ih, p->oh, p->kh, p->sh, p->dh, p->ph};
    default: return (struct sizes){p->iw, p->ow, p->kw, p->sw, p->dw, p->pw};
    }
}

struct stencil_axis cvp_conv_forward_axis(const convop_conv_problem *p, int axis)
{
    const struct sizes z = sizes_of(p, axis);
    return (struct stencil_axis){.count = z.o,
                                 .out_step = 1,
                                 .in_size = z.i,
                                 .in_step = z.o > 1 ? z.s : 1,
                                 .taps = z.k,
                                 .k_step = 1,
                                 .at_first = -z.p,
                                 .at_step = z.k > 1 ? z.d : 1};
}

/* Of outputs r + t * s those taps k count for which s divides r + p - k * d; they are s / gcd(s, d)
 * apart. */
struct stencil_axis cvp_conv_backward_axis(const convop_conv_problem *p, int axis, int64_t r)
{
    const struct sizes z = sizes_of(p, axis);
    const int64_t d = z.k > 1 ? z.d : 1, common = cvp_gcd_i64(z.s, d);
    struct stencil_axis a = {.count = cvp_ceil_div(z.i - r, z.s),
                             .out_first = r,
                             .out_step = z.s,
                             .in_size = z.o,
                             .in_step = 1,
                             .k_step = z.s / common,
                             .at_step = -(d / common)};
    if (a.count == 1) a.out_step = 1;
    const int64_t most = cvp_min_i64(a.k_step, z.k);
    while (a.k_first < most && (r + z.p - a.k_first * d) % z.s) a.k_first++;
    if (a.k_first == most) return a;
    a.taps = cvp_ceil_div(z.k - a.k_first, a.k_step);
    a.at_first = (r + z.p - a.k_first * d) / z.s;
    return a;
}

/* A stride beyond the image leaves phases empty. */
int64_t cvp_conv_backward_phases(const convop_conv_problem *p, int axis)
{
    const struct sizes z = sizes_of(p, axis);
    return cvp_min_i64(z.s, z.i);
}

int64_t cvp_conv_phases(const convop_conv_problem *p)
{
    int64_t n = 1;
    for (int axis = 0; axis < 3 && p->direction != CONVOP_FWD; axis++)
        n *= cvp_conv_backward_phases(p, axis);
    return n;
}

static int is_in_place(const struct stencil_axis *a)
{
    return a->taps == 1 && a->k_step == 1 && a->in_step == 1 && a->out_step == 1 &&
           a->at_first == 0 && a->count == a->in_size;
}

/* The axis that has all places of both, the slow one's as its rows. */
static void merge_into(struct stencil_axis *fast, struct stencil_axis *slow)
{
    fast->count *= slow->count;
    fast->in_size *= slow->in_size;
    slow->count = slow->in_size = 1;
}

struct stencil cvp_conv_stencil(const convop_conv_problem *p, int64_t phase, int merge)
{
    struct stencil s;
    if (p->direction == CONVOP_FWD) {
        s.d = cvp_conv_forward_axis(p, 0);
        s.h = cvp_conv_forward_axis(p, 1);
        s.w = cvp_conv_forward_axis(p, 2);
    } else {
        const int64_t w = cvp_conv_backward_phases(p, 2), h = cvp_conv_backward_phases(p, 1);
        s.w = cvp_conv_backward_axis(p, 2, phase % w);
        s.h = cvp_conv_backward_axis(p, 1, phase / w % h);
        s.d = cvp_conv_backward_axis(p, 0, phase / w / h);
    }
    if (merge && is_in_place(&s.w) && is_in_place(&s.h)) {
        merge_into(&s.w, &s.h);
        if (is_in_place(&s.d)) merge_into(&s.w, &s.d);
    }
    return s;
}

/* Outputs from `begin` on; where they end. The taps that an output reads inside follow each other.
 */
static int64_t zone_of(const struct stencil_axis *a, int64_t begin, struct stencil_axis *zone)
{
    int64_t end = a->count, first = 0, taps = 0;
    for (int64_t j = 0; j < a->taps; j++) {
        int64_t from, to; /* outputs of which this tap is inside */
        window_inside(a->at_first + j * a->at_step, a->in_step, a->in_size, a->count, &from, &to);
        if (from >= to || to <= begin) continue;
        end = cvp_min_i64(end, from > begin ? from : to);
        if (from <= begin && taps++ == 0) first = j;
    }
    *zone = *a;
    zone->count = end - begin;
    zone->out_first += begin * a->out_step;
    zone->at_first += begin * a->in_step + first * a->at_step;
    zone->k_first += first * a->k_step;
    zone->taps = taps;
    return end;
}

/* The same, or the whole axis. */
static int64_t part_of(const struct stencil_axis *a, int is_zoned, int64_t begin,
                       struct stencil_axis *zone)
{
    if (is_zoned) return zone_of(a, begin, zone);
    *zone = *a;
    return a->count;
}

/* Asking about more of them would take longer than a small problem. */
#define MOST_SPARSE_TAPS 16

int cvp_conv_stencil_is_sparse(const struct stencil_axis *a)
{
    if (a->taps == 0 || a->taps > MOST_SPARSE_TAPS) return 0;
    /* No tap of more outputs than this reads outside. */
    const int64_t before = cvp_ceil_div(cvp_max_i64(0, -stencil_low(a)), a->in_step);
    const int64_t behind =
        cvp_ceil_div(cvp_max_i64(0, stencil_high(a) - a->in_size + 1), a->in_step);
    if (before + behind < a->count / 4) return 0;
    int64_t inside = 0;
    struct stencil_axis zone;
    for (int64_t at = 0; at < a->count;) {
        at = zone_of(a, at, &zone);
        inside += zone.count * zone.taps;
    }
    return inside <= a->count * a->taps * 3 / 4;
}

int cvp_conv_stencil_next_zone(const struct stencil *s, struct stencil_zones axes, int64_t at[3],
                               struct stencil *zone)
{
    if (at[0] >= s->d.count) return 0;
    const int64_t d = part_of(&s->d, axes.d, at[0], &zone->d);
    const int64_t h = part_of(&s->h, axes.h, at[1], &zone->h);
    at[2] = part_of(&s->w, axes.w, at[2], &zone->w);
    if (at[2] < s->w.count) return 1;
    at[2] = 0;
    at[1] = h;
    if (h < s->h.count) return 1;
    at[1] = 0;
    at[0] = d;
    return 1;
}

/* Walks of a window, in both directions; see stencil.h. */
#include "src/operator/convolution/cpu/stencil.h"

#include "src/common/size.h"

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        const int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* Steps that are not taken, of a single output or tap, may be of any size; they count as 1. */
static struct stencil_axis forward(int64_t i, int64_t o, int64_t k, int64_t s, int64_t d, int64_t p)
{
    return (struct stencil_axis){.count = o,
                                 .out_step = 1,
                                 .in_size = i,
                                 .in_step = o > 1 ? s : 1,
                                 .taps = k,
                                 .k_step = 1,
                                 .at_first = -p,
                                 .at_step = k > 1 ? d : 1};
}

/* Phase r of the axis. */
static struct stencil_axis backward(int64_t i, int64_t o, int64_t k, int64_t s, int64_t d,
                                    int64_t p, int64_t r)
{
    d = k > 1 ? d : 1;
    const int64_t common = gcd(s, d);
    struct stencil_axis a = {.count = cvp_ceil_div(i - r, s),
                             .out_first = r,
                             .out_step = s,
                             .in_size = o,
                             .in_step = 1,
                             .k_step = s / common,
                             .at_step = -(d / common)};
    if (a.count == 1) a.out_step = 1;
    while (a.k_first < a.k_step && a.k_first < k && (r + p - a.k_first * d) % s) a.k_first++;
    if (a.k_first == a.k_step || a.k_first >= k) return a;
    a.taps = cvp_ceil_div(k - a.k_first, a.k_step);
    a.at_first = (r + p - a.k_first * d) / s;
    return a;
}

/* A stride beyond the image leaves phases empty. */
static int64_t axis_phases(int64_t s, int64_t i)
{
    return cvp_min_i64(s, i);
}

int64_t cvp_conv_phases(const convop_conv_problem *p)
{
    if (p->direction == CONVOP_FWD) return 1;
    return axis_phases(p->sd, p->id) * axis_phases(p->sh, p->ih) * axis_phases(p->sw, p->iw);
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
        s.d = forward(p->id, p->od, p->kd, p->sd, p->dd, p->pd);
        s.h = forward(p->ih, p->oh, p->kh, p->sh, p->dh, p->ph);
        s.w = forward(p->iw, p->ow, p->kw, p->sw, p->dw, p->pw);
    } else {
        const int64_t w = axis_phases(p->sw, p->iw), h = axis_phases(p->sh, p->ih);
        s.w = backward(p->iw, p->ow, p->kw, p->sw, p->dw, p->pw, phase % w);
        s.h = backward(p->ih, p->oh, p->kh, p->sh, p->dh, p->ph, phase / w % h);
        s.d = backward(p->id, p->od, p->kd, p->sd, p->dd, p->pd, phase / w / h);
    }
    if (merge && is_in_place(&s.w) && is_in_place(&s.h)) {
        merge_into(&s.w, &s.h);
        if (is_in_place(&s.d)) merge_into(&s.w, &s.d);
    }
    return s;
}

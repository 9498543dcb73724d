/* The axes of depthwise correlations (depthwise.h), from the problem. */
#include "src/common/size.h"
#include "src/operator/convolution/cpu/depthwise.h"

/* An axis of the problem: input, output, kernel, stride, dilation, padding. */
struct sizes {
    int64_t i, o, k, s, d, p;
};

/* A step that is not taken means nothing; it gets a size that can be computed with. */
static struct sizes sizes_of(const convop_conv_problem *p, int axis)
{
    const struct sizes all[] = {{p->id, p->od, p->kd, p->sd, p->dd, p->pd},
                                {p->ih, p->oh, p->kh, p->sh, p->dh, p->ph},
                                {p->iw, p->ow, p->kw, p->sw, p->dw, p->pw}};
    struct sizes z = all[axis];
    if (z.o == 1) z.s = cvp_min_i64(z.s, CVP_DW_MAX_STEP);
    if (z.k == 1) z.d = cvp_min_i64(z.d, CVP_DW_MAX_STEP);
    return z;
}

struct cvp_dw_axis cvp_dw_forward_axis(const convop_conv_problem *p, int axis)
{
    struct sizes z = sizes_of(p, axis);
    return (struct cvp_dw_axis){.step = 1,
                                .count = z.o,
                                .at = -z.p,
                                .move = z.s,
                                .tap = z.d,
                                .size = z.i,
                                .taps = z.k,
                                .k_step = 1};
}

int64_t cvp_dw_backward_phases(const convop_conv_problem *p, int axis)
{
    struct sizes z = sizes_of(p, axis);
    return cvp_min_i64(z.s, z.i);
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* Of outputs x = r + j * s those taps k count for which s divides x + p - k * d; the quotient is
 * the index in dst. They are s / gcd(s, d) apart. The last comes first, so that indices rise. */
struct cvp_dw_axis cvp_dw_backward_axis(const convop_conv_problem *p, int axis, int64_t r)
{
    struct sizes z = sizes_of(p, axis);
    struct cvp_dw_axis a = {.begin = r,
                            .step = z.s,
                            .count = cvp_ceil_div(z.i - r, z.s),
                            .move = 1,
                            .tap = 1,
                            .size = z.o};
    int64_t apart = z.s / gcd(z.s, z.d), k = 0, most = cvp_min_i64(z.k, apart);
    while (k < most && (r + z.p - k * z.d) % z.s != 0) k++;
    if (k == most) return a;
    a.taps = (z.k - 1 - k) / apart + 1;
    a.k = k + (a.taps - 1) * apart;
    a.k_step = -apart;
    a.at = (r + z.p - a.k * z.d) / z.s;
    a.tap = apart * z.d / z.s;
    return a;
}

/* Whether two rows computed the same. */
#include <float.h>
#include <math.h>

#include "src/common/half.h"
#include "src/operator/convolution/measure.h"

static double element(const void *at, DLDataType t, size_t i)
{
    if (t.bits == 64) return ((const double *)at)[i];
    if (t.bits == 32) return ((const float *)at)[i];
    uint16_t half = ((const uint16_t *)at)[i];
    return t.code == kDLBfloat ? cvp_float_of_bf16(half) : cvp_float_of_f16(half);
}

/* Products that an element sums, and how large these are together: the values of sets.c average
 * half of 1. */
static double products_of(const convop_conv_problem *p)
{
    const double taps = (double)cvp_conv_taps(p);
    switch (p->direction) {
    case CONVOP_FWD: return taps * (double)(p->ic / p->g);
    case CONVOP_BWD_D: return taps * (double)(p->oc / p->g);
    case CONVOP_BWD_W:
    case CONVOP_BWD_B: break;
    }
    return (double)p->mb * (double)cvp_conv_dst_pixels(p);
}

/* Roundings of n products and sums grow as the root of n, if not by design of a row (Winograd's are
 * ten times as large); a product that is missing is far larger. docs/numerics.md. */
int cvp_conv_results_agree(const struct conv_plan *plan, const void *one, const void *other,
                           size_t bytes, const char *name, char why[CONVOP_WHY_SIZE])
{
    const convop_conv_problem *p = &plan->given;
    const DLDataType t = p->dtype;
    const double n = products_of(p), magnitude = n / 4 + 1;
    const double unit = t.bits == 64 ? DBL_EPSILON : FLT_EPSILON;
    const double stored = t.bits > 16 ? 0 : t.code == kDLBfloat ? 0x1p-8 : 0x1p-11;
    const double bound = unit * (8 + 4 * sqrt(n)) * magnitude;
    for (size_t i = 0; i < bytes / (t.bits / 8); i++) {
        const double a = element(one, t, i), b = element(other, t, i);
        if (fabs(a - b) <= bound + 2 * stored * fmax(fabs(a), fabs(b))) continue;
        snprintf(why, CONVOP_WHY_SIZE, "its result differs from %s's: %g instead of %g", name, b,
                 a);
        return 0;
    }
    return 1;
}

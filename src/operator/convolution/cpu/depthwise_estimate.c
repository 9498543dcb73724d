/* What the row `depthwise` is expected to take. Its loops are of few kinds: windows of a fixed size
 * (3, and 5 where there are registers for it) at stride 1 or 2, pairs of phases, and any taps; in
 * N*C, lanes that lie side by side or are gathered. */
#include "src/common/size.h"
#include "src/operator/convolution/cpu/depthwise.h"
#include "src/operator/convolution/cpu/depthwise_dilated.h"
#include "src/operator/convolution/cpu/depthwise_turned.h"
#include "src/operator/convolution/cpu/estimate.h"

/* Kernels with a path of their own. */
static int has_path(const convop_conv_problem *p)
{
    const int most = cvp_isa_vectors(p->isa) == CVP_ISA_AVX512 ? 5 : 3;
    return p->kh == p->kw && p->sh == p->sw && p->sh <= 2 && (p->kh == 3 || p->kh == most);
}

static int is_window(const convop_conv_problem *p)
{
    return has_path(p) && p->dh == 1 && p->dw == 1;
}

/* ---- forward, and backward by data -------------------------------------------------------------
 */

/* Call; rows; vectors times taps: window at stride 1, at stride 2, pairs, any, any with a stride;
 * vectors of the last two; bytes. */
static const conv_prices planes = {
    {1260, 13.1, 0.22, 0.258, 0.783, 0.674, 2.19, 5.68, 0.0375},
    {998, 6.65, 0.125, 0.419, 1.11, 0.769, 3.74, 9.93, 0.0531},
    {1040, 3.05, 0.27, 0.601, 1.43, 2.41, 7.08, 7.73, 0.0209},
};

/* Call; vectors; vectors times taps: window, any, gathered; gathered lanes times taps; bytes;
 * vectors that are turned. */
static const conv_prices pixels = {
    {1170, 2.77, 0, 0.381, 1.66, 0.0768, 0.0357, 0.5},
    {1.11e+03, 3.65, 0.0296, 0.468, 1.73, 0.367, 0.0233, 0.84},
    {1020, 0.6, 0.155, 0.72, 12, 0, 0.0136, 1},
};

/* A correlation: the output's sizes, and how many taps and visits of a row an output costs. */
struct shape {
    double channels, d, h, w, taps, visits;
};

static struct shape shape_of(const convop_conv_problem *p)
{
    const double taps = (double)cvp_conv_taps(p);
    if (p->direction == CONVOP_FWD)
        return (struct shape){(double)p->oc, (double)p->od, (double)p->oh,
                              (double)p->ow, taps,          (double)p->kd};
    /* A phase has its share of the taps. */
    const double multiplier = (double)p->oc / (double)p->ic;
    const double shares = (double)cvp_min_i64(p->sd, p->kd) * (double)cvp_min_i64(p->sh, p->kh) *
                          (double)cvp_min_i64(p->sw, p->kw);
    return (struct shape){(double)p->ic,
                          (double)p->id,
                          (double)p->ih,
                          (double)p->iw,
                          taps * multiplier / shares,
                          multiplier * cvp_conv_most(1, (double)p->kd / (double)p->sd)};
}

static double price_planes(const convop_conv_problem *p, const struct shape *s)
{
    const int backward = p->direction == CONVOP_BWD_D;
    const double phases = backward ? (double)p->sw : 1;
    const double rows = (double)p->mb * s->channels * s->d * s->h;
    const double vectors =
        rows * phases * cvp_conv_parts(cvp_conv_parts(s->w, phases), cvp_conv_vector(p));
    const double all = vectors * s->taps;
    double work[CONV_KINDS] = {1, rows * s->visits, [8] = cvp_conv_image_bytes(p)};
    const int pairs = backward && p->sw == 2 && p->sh == 2 && p->kh == p->kw && p->dw == 1 &&
                      (p->kw == 3 || p->kw == 5);
    if (is_window(p) && p->sh == 1)
        work[2] = all;
    else if (is_window(p) && !backward)
        work[3] = all;
    else if (pairs)
        work[4] = all;
    else
        work[p->sw > 1 && !is_window(p) ? 6 : 5] = all, work[7] = vectors;
    return cvp_conv_price(p, planes, work,
                          (double)p->mb * s->channels * s->d *
                              cvp_conv_most(1, s->h * s->w / 16384));
}

static double price_pixels(const convop_conv_problem *p, const struct shape *s, int is_turned)
{
    const double lanes = cvp_conv_vector(p);
    const double vectors = (double)p->mb * s->d * s->h * s->w * cvp_conv_parts(s->channels, lanes);
    const double all = vectors * s->taps;
    double work[CONV_KINDS] = {1, [6] = cvp_conv_image_bytes(p)};
    if (p->oc != p->ic) {
        work[4] = all;
        work[5] = all * cvp_conv_least(lanes, s->channels);
    } else {
        const int backward = p->direction == CONVOP_BWD_D;
        const int window = cvp_dw_images(p) > 1
                               ? has_path(p)
                               : is_window(p) && (p->kd == 1 || cvp_conv_is_wide(p));
        work[1] = window ? vectors * (double)p->kd : vectors;
        /* Strided gradients of other windows go by phases of any taps. */
        work[window && !(backward && p->sh > 1 && p->kw > 3) ? 2 : 3] = all;
    }
    if (is_turned)
        work[7] = (double)(p->mb * (cvp_conv_src_pixels(p) + cvp_conv_dst_pixels(p))) *
                  cvp_conv_parts(s->channels, lanes);
    return cvp_conv_price(p, pixels, work,
                          (double)p->mb * s->d * cvp_conv_parts(s->h, 8) *
                              cvp_conv_parts(s->channels, 128));
}

double cvp_dw_estimate(const convop_conv_problem *p)
{
    const struct shape s = shape_of(p);
    const int is_turned = cvp_dw_turned_bytes(p) > 0;
    return p->channels_last || is_turned ? price_pixels(p, &s, is_turned) : price_planes(p, &s);
}

/* ---- backward by weights -----------------------------------------------------------------------
 */

/* Call; sums; rows; vectors times taps: window at stride 1, at stride 2, any at stride 1; rows
 * times taps of any; pixels times taps of any at a stride, which has no vectors; bytes. */
static const conv_prices filter_planes = {
    {1750, 7.05, 4.62, 0.515, 0.602, 0.623, 1.55, 0.553, 0},
    {1.54e+03, 7.08, 5.61, 0.649, 1.36, 1.37, 0.0237, 0.676, 0.000114},
    {1450, 4.74, 1.4, 0.76, 1.23, 0.904, 6.47, 0.585, 0.00559},
};

/* Call; sums; vectors times taps: window, any; rows of vectors times taps of all but windows;
 * gathered vectors times taps, gathered lanes times taps; bytes. */
static const conv_prices filter_pixels = {
    {1180, 2.75, 0.412, 0.532, 0, 2.9, 0, 0.0171},
    {887, 2.61, 0.654, 0.921, 0, 1.89, 0.462, 0.0261},
    {825, 1.48, 0.585, 0.8, 0, 3.03, 0.232, 0.0139},
};

double cvp_dw_filter_estimate(const convop_conv_problem *p, double groups, double parts)
{
    const double lanes = cvp_conv_vector(p), oc = (double)p->oc, taps = (double)cvp_conv_taps(p);
    const double rows = (double)p->mb * (double)p->od * (double)p->oh, width = (double)p->ow;
    const int window = is_window(p);
    if (!p->channels_last) {
        const double all = rows * oc * cvp_conv_parts(width, lanes) * taps;
        double work[CONV_KINDS] = {1, oc * taps * parts,
                                   rows * oc * (double)p->kd, [8] = cvp_conv_image_bytes(p)};
        if (window) {
            work[p->sw == 1 ? 3 : 4] = all;
        } else {
            work[6] = rows * oc * taps;
            work[p->sw == 1 ? 5 : 7] = p->sw == 1 ? all : rows * width * oc * taps;
        }
        return cvp_conv_price(p, filter_planes, work, groups * parts);
    }
    const double vectors = cvp_conv_parts(oc, lanes), all = rows * width * vectors * taps;
    double work[CONV_KINDS] = {1, oc * taps * parts, [7] = cvp_conv_image_bytes(p)};
    if (p->oc != p->ic) {
        work[4] = rows * vectors * taps;
        work[5] = all;
        work[6] = all * cvp_conv_least(lanes, oc);
    } else if (window && p->kd == 1) {
        work[2] = all;
    } else {
        work[3] = all;
        work[4] = rows * vectors * taps;
    }
    return cvp_conv_price(p, filter_pixels, work, groups * parts);
}

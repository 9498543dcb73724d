/* Correlations of NC* planes that are narrower than a vector, whose rows would leave lanes empty:
 * as many channels as a vector has lanes are turned to N*C, computed there, and turned back. No
 * guard. */

#include "src/operator/convolution/cpu/kernels/transpose.h"

/* `pixels` of so many planes to N*C. Whole squares are written: lanes past the last plane are 0. */
static void NAME(turn_in)(const STORED *planes, int64_t plane, int num, int64_t pixels, STORED *to)
{
    for (int64_t m = 0; m < pixels; m += LANES, to += LANES * LANES) {
        const MASK mask = NAME(lanes)(0, pixels - m);
        VEC v[LANES];
        CVP_UNROLL for (int l = 0; l < LANES; l++)
        {
            v[l] = l < num ? NAME(load_some)(planes + l * plane + m, mask) : (VEC){0};
        }
        NAME(transpose)(v);
        CVP_UNROLL for (int q = 0; q < LANES; q++) NAME(store)(to + q * LANES, v[q]);
    }
}

/* And back. */
static void NAME(turn_out)(const STORED *from, int64_t pixels, STORED *planes, int64_t plane,
                           int num)
{
    for (int64_t m = 0; m < pixels; m += LANES, from += LANES * LANES) {
        const MASK mask = NAME(lanes)(0, pixels - m);
        VEC v[LANES];
        CVP_UNROLL for (int q = 0; q < LANES; q++) v[q] = NAME(load)(from + q * LANES);
        NAME(transpose)(v);
        CVP_UNROLL for (int l = 0; l < LANES; l++)
        {
            if (l < num) NAME(store_some)(planes + l * plane + m, mask, v[l]);
        }
    }
}

/* See cvp_dw_kernels.turned. */
static void NAME(turned)(const struct cvp_dw_job *job, void *scratch, int64_t begin, int64_t end)
{
    const int64_t in_w = job->w.at->size, pixels = job->h.at->size * in_w;
    const int64_t out_pixels = job->out_h * job->out_w, groups = (job->channels - 1) / LANES + 1;
    const int64_t squares = ((pixels - 1) / LANES + 1) * LANES * LANES;
    const int64_t out_squares = ((out_pixels - 1) / LANES + 1) * LANES * LANES;
    STORED *in = scratch, *out = in + squares, *residual = out + out_squares;
    struct cvp_dw_job own = *job;
    own.in = in;
    own.out = out;
    own.residual = job->residual ? residual : NULL;
    own.in_stride = (convop_conv_strides){.h = in_w * LANES, .w = LANES};
    own.out_stride = (convop_conv_strides){.h = job->out_w * LANES, .w = LANES};
    own.block_rows = job->out_h;
    own.row_blocks = own.channel_blocks = 1;
    own.block_channels = LANES;
    const int adds = NAME(end_of)(job, 1, 1).steps & NAME(ADD);
    for (int64_t item = begin; item < end; item++) {
        const int64_t n = item / groups, first = item % groups * LANES;
        const int64_t left = job->channels - first, at = n * job->out_stride.n;
        const int num = left < LANES ? (int)left : LANES;
        const STORED *image = (const STORED *)job->in + n * job->in_stride.n;
        const int64_t plane = job->out_stride.c;
        STORED *planes = (STORED *)job->out + at + first * plane;
        NAME(turn_in)(image + first * job->in_stride.c, job->in_stride.c, num, pixels, in);
        if (adds) NAME(turn_in)(planes, plane, num, out_pixels, out);
        if (job->residual) NAME(turn_in)
        ((const STORED *)job->residual + at + first * plane, plane, num, out_pixels, residual);
        own.channels = num;
        own.weights = (const SCALAR *)job->weights + first * cvp_conv_taps(job->p);
        if (job->bias) own.bias = (const STORED *)job->bias + first * job->p->bias_stride;
        NAME(last)(&own, 0, 1);
        NAME(turn_out)(out, out_pixels, planes, plane, num);
    }
}

/* The axes of depthwise correlations (depthwise.h): those of stencil.h, with the tap first that
 * reads the lowest index, so that indices rise. */
#include "src/operator/convolution/cpu/depthwise.h"
#include "src/operator/convolution/cpu/stencil.h"

static struct cvp_dw_axis rising(const struct stencil_axis *a)
{
    struct cvp_dw_axis r = {.begin = a->out_first,
                            .step = a->out_step,
                            .count = a->count,
                            .at = a->at_first,
                            .move = a->in_step,
                            .tap = a->at_step,
                            .size = a->in_size,
                            .taps = a->taps,
                            .k = a->k_first,
                            .k_step = a->k_step};
    /* A step that is not taken may be of any size, and kernels form addresses with it. */
    if (a->taps <= 1) r.tap = r.k_step = 1;
    if (a->taps <= 1 || a->at_step > 0) return r;
    r.tap = -a->at_step;
    r.k_step = -a->k_step;
    r.at += (a->taps - 1) * a->at_step;
    r.k += (a->taps - 1) * a->k_step;
    return r;
}

struct cvp_dw_axis cvp_dw_forward_axis(const convop_conv_problem *p, int axis)
{
    const struct stencil_axis a = cvp_conv_forward_axis(p, axis);
    return rising(&a);
}

struct cvp_dw_axis cvp_dw_backward_axis(const convop_conv_problem *p, int axis, int64_t r)
{
    const struct stencil_axis a = cvp_conv_backward_axis(p, axis, r);
    return rising(&a);
}

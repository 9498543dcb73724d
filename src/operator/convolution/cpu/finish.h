/* What follows the sum of a convolution: dst = activation(dst + residual), the sum having been
 * rounded before. For rows that work in blocks, and for a pass after rows that do not fuse it. */
#ifndef CVP_CONV_FINISH_H
#define CVP_CONV_FINISH_H

#include <math.h>

#include "src/operator/convolution/problem.h"

/* What an activation cuts above; below it cuts at 0. */
static inline double cvp_conv_high(const convop_conv_problem *p)
{
    return p->activation == CONVOP_ACTIVATION_RELU6 ? 6 : (double)INFINITY;
}

/* x between 0 and high; NaN, and the sign of 0, stay. */
#define CVP_CLAMP(x, high) ((x) < 0 ? 0 : (x) > (high) ? (high) : (x))

/* A row's `fuses`: whatever follows. */
int cvp_conv_fuses_all(const convop_conv_problem *p);

/* All of a problem's dst, of float32 or float64, with any strides. residual NULL if there is none.
 */
void cvp_conv_finish(const convop_conv_problem *p, void *dst, const void *residual,
                     const convop_context *context);

/* n elements side by side. */
void cvp_conv_finish_line(const convop_conv_problem *p, int64_t n, void *dst, const void *residual);

#endif

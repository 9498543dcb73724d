/* A bias whose elements lie side by side, for kernels that load it as vectors. */
#ifndef CVP_CONV_BIAS_H
#define CVP_CONV_BIAS_H

#include "src/operator/convolution/problem.h"
#include "src/operator/copy.h"

/* The given one (NULL if there is none) where it has no gaps, else a copy in `room`. */
static inline const void *cvp_conv_bias_compact(const convop_conv_problem *p, const void *bias,
                                                void *room, const convop_context *context)
{
    if (!bias || p->bias_stride == 1) return bias;
    cvp_copy_strided(context, 1, &p->oc, room, &(int64_t){1}, p->dtype, bias, &p->bias_stride,
                     p->dtype);
    return room;
}

#endif

/* Shape inference of Convolution, both ways. */
#ifndef CVP_CONV_INFER_H
#define CVP_CONV_INFER_H

#include "convop/convolution.h"
#include "convop/registry.h"

/* What the error texts call the operator and its arguments. */
struct conv_names {
    const char *op, *src, *weights, *bias, *dst;
};

extern const struct conv_names cvp_conv_forward_names;

/* The shapes of one convolution, possibly partial; bias NULL if there is none. */
struct conv_shapes {
    convop_shape *src, *weights, *bias, *dst;
    struct conv_names names;
};

/* Fills what follows from what is known: dst from src; src's batch from dst, its channels from
 * weights, its sizes from dst where the stride is 1; weights and bias from the parameters.
 * INVALID for a contradiction, a size of 0 other than the batch, a window larger than the padded
 * image, a byte count beyond 64 bits. Shapes may be changed on failure. */
convop_status cvp_conv_infer(const convop_conv_params *params, const struct conv_shapes *shapes);

/* Makes two shapes that must be equal complete each other. */
convop_status cvp_conv_merge(const char *op, const char *name_a, convop_shape *a,
                             const char *name_b, convop_shape *b);

#endif

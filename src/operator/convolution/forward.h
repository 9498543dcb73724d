/* What the forward operators share: Convolution, FusedConvolution and FusedConvolutionAdd. Inputs
 * are src, the residual where the operator has one, weights, and the bias where parameters have
 * one.
 */
#ifndef CVP_CONV_FORWARD_H
#define CVP_CONV_FORWARD_H

#include "src/operator/convolution/convolution.h"

/* Of an operator with (1) or without a residual, under its name. */
int cvp_conv_forward_inputs(const void *params, int has_residual);
convop_status cvp_conv_forward_infer(const char *op, const void *params, int has_residual, int n_in,
                                     convop_shape *in, convop_shape *out);
convop_status cvp_conv_forward_plan(const convop_op_args *args, int has_residual, void *plan,
                                    size_t *workspace_bytes);
convop_status cvp_conv_forward_run(const convop_op_args *args, int has_residual, const void *plan,
                                   void *workspace);
void cvp_conv_forward_end(void *plan);

/* What they say of their inputs and their output. */
#define CONV_SRC_ARG                                                                               \
    {                                                                                              \
        "src", "The images: {mb, ic, ih, iw} or as layout says."                                   \
    }
#define CONV_WEIGHTS_ARG                                                                           \
    {                                                                                              \
        "weights", "The filters: {oc, ic / num_group, kh, kw} or as layout says."                  \
    }
#define CONV_BIAS_ARG                                                                              \
    {                                                                                              \
        "bias", "One value for each output channel: {oc}; absent with no_bias."                    \
    }
#define CONV_DST_ARG                                                                               \
    {                                                                                              \
        "dst", "The result: {mb, oc, oh, ow} or as layout says."                                   \
    }

#endif

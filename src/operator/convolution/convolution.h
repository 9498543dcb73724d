/* What the files of the two operators, forward and backward, share. */
#ifndef CVP_CONVOLUTION_H
#define CVP_CONVOLUTION_H

#include "convop/convolution.h"
#include "convop/registry.h"

extern CONVOP_OP(Convolution);
extern CONVOP_OP(_backward_Convolution);
extern CONVOP_OP(FusedConvolution);
extern CONVOP_OP(FusedConvolutionAdd);

convop_shape cvp_conv_shape_of(const DLTensor *t);

#endif

/* Sums and copies of whole tensors of one shape, float32 or float64, with any strides. */
#ifndef CVP_LINES_H
#define CVP_LINES_H

#include "src/operator/common.h"

/* dst = lhs + rhs, or dst += it for ADD. dst may be one of them. */
void cvp_lines_sum(const convop_context *context, const DLTensor *dst, const DLTensor *lhs,
                   const DLTensor *rhs, convop_request request);

/* dst = src, or dst += src for ADD. dst may be src. */
void cvp_lines_copy(const convop_context *context, const DLTensor *dst, const DLTensor *src,
                    convop_request request);

#endif

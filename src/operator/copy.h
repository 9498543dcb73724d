/* Copies between tensors of different strides and dtypes. */
#ifndef CVP_COPY_H
#define CVP_COPY_H

#include "convop/context.h"

/* to[i * to_strides] = from[i * from_strides] for all i below sizes; strides in elements. Equal
 * dtypes of 2, 4 or 8 bytes are copied bit for bit; else one of them is float16 or bfloat16 and the
 * other float32, rounded to nearest even. `to` has no overlapping elements; the two do not overlap.
 * ndim 1..8. */
void cvp_copy_strided(const convop_context *context, int ndim, const int64_t *sizes, void *to,
                      const int64_t *to_strides, DLDataType to_type, const void *from,
                      const int64_t *from_strides, DLDataType from_type);

#endif

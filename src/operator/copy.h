/* Copies between tensors of different strides. */
#ifndef CVP_COPY_H
#define CVP_COPY_H

#include "convop/context.h"

/* to[i * to_strides] = from[i * from_strides] for all i below sizes; strides in elements of `size`
 * bytes (2, 4 or 8). `to` has no overlapping elements; the two do not overlap. ndim 1..8. */
void cvp_copy_strided(const convop_context *context, size_t size, int ndim, const int64_t *sizes,
                      void *to, const int64_t *to_strides, const void *from,
                      const int64_t *from_strides);

#endif

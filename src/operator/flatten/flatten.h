/* What Flatten and its gradient share: the two shapes, and one memory seen with the other shape. */
#ifndef CVP_FLATTEN_H
#define CVP_FLATTEN_H

#include "convop/registry.h"

/* Completes (n, a, b, ...) and (n, a * b * ...) from each other. INVALID for a contradiction, for
 * an `image` without dimensions, and for a product beyond 64 bits. */
convop_status cvp_flatten_infer(const char *op, const char *image_name, convop_shape *image,
                                const char *rows_name, convop_shape *rows);

/* `rows` with the shape of `image`, whose shape it borrows; strides are its own. */
DLTensor cvp_flatten_view(const DLTensor *rows, const DLTensor *image,
                          int64_t strides[CONVOP_MAX_DIMS]);

#endif

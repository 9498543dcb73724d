/* The shapes of Flatten: (n, a, b, ...) and (n, a * b * ...). */
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/operator/common.h"
#include "src/operator/flatten/flatten.h"

/* The product of the known sizes behind the first, how many are unknown, and the last such. */
static convop_status inner(const char *op, const char *name, const convop_shape *image,
                           int64_t *product, int *unknown, int *which)
{
    *product = 1;
    *unknown = 0;
    for (int i = 1; i < image->ndim; i++) {
        if (image->dim[i] == -1) {
            ++*unknown;
            *which = i;
        } else if (!cvp_mul_i64(*product, image->dim[i], product)) {
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has shape %s: the product of its sizes overflows 64 bits",
                               op, name, cvp_shape_text(image).at);
        }
    }
    return CONVOP_OK;
}

convop_status cvp_flatten_infer(const char *op, const char *image_name, convop_shape *image,
                                const char *rows_name, convop_shape *rows)
{
    convop_shape want = cvp_shape_unknown(2);
    CVP_RETURN_IF_ERROR(cvp_shape_merge(op, rows_name, rows, &want, "it is flat"));
    if (image->ndim == -1) return CONVOP_OK;
    if (image->ndim == 0)
        return convop_fail(CONVOP_E_INVALID, "%s: %s has no dimensions, want 1 or more", op,
                           image_name);
    want.dim[0] = image->dim[0];
    int64_t product;
    int unknown, which = 0;
    CVP_RETURN_IF_ERROR(inner(op, image_name, image, &product, &unknown, &which));
    if (unknown == 0) want.dim[1] = product;
    CVP_RETURN_IF_ERROR(cvp_shape_merge(op, rows_name, rows, &want,
                                        "the batch, and the product of the other sizes"));
    image->dim[0] = rows->dim[0];
    if (unknown != 1 || rows->dim[1] == -1 || product == 0) return CONVOP_OK;
    if (rows->dim[1] % product != 0)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %s has shape %s, %s has shape %s: %lld is not a multiple of %lld",
                           op, image_name, cvp_shape_text(image).at, rows_name,
                           cvp_shape_text(rows).at, (long long)rows->dim[1], (long long)product);
    image->dim[which] = rows->dim[1] / product;
    return CONVOP_OK;
}

DLTensor cvp_flatten_view(const DLTensor *rows, const DLTensor *image,
                          int64_t strides[CONVOP_MAX_DIMS])
{
    int64_t own[CONVOP_MAX_DIMS];
    cvp_tensor_strides(rows, own);
    DLTensor view = *rows;
    view.ndim = image->ndim;
    view.shape = image->shape;
    view.strides = strides;
    int64_t step = own[1];
    for (int i = image->ndim - 1; i > 0; i--) {
        strides[i] = step;
        step *= image->shape[i];
    }
    strides[0] = own[0];
    return view;
}

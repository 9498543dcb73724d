/* Groups of dimensions: joining them. */
#include "src/operator/group.h"

#include "src/common/tensor.h"

struct cvp_group cvp_group_of(const DLTensor *t, int begin, int end)
{
    int64_t strides[CONVOP_MAX_DIMS];
    cvp_tensor_strides(t, strides);
    struct cvp_group g = {.size = 1, .ndim = 0};
    for (int i = begin; i < end; i++) {
        g.size *= t->shape[i];
        if (t->shape[i] == 1) continue;
        if (g.ndim > 0 && g.stride[g.ndim - 1] == t->shape[i] * strides[i]) {
            g.dim[g.ndim - 1] *= t->shape[i];
            g.stride[g.ndim - 1] = strides[i];
            continue;
        }
        g.dim[g.ndim] = t->shape[i];
        g.stride[g.ndim++] = strides[i];
    }
    if (g.ndim == 0) {
        g.dim[0] = 1;
        g.stride[0] = 1;
        g.ndim = 1;
    }
    return g;
}

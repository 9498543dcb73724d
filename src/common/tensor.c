/* The check of a tensor at the border, and the arithmetic on shapes and strides behind it. The
 * check is part of every call: it reads the view once, allocates nothing and builds a text only to
 * fail. */
#include "src/common/tensor.h"

#include <inttypes.h>

#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/text.h"

/* Text of a shape or of strides, for a failure: 8 numbers of 20 digits fit. */
struct dims_text {
    char at[200];
};

static const char *dims(struct dims_text *text, int ndim, const int64_t *dim)
{
    struct cvp_text out = cvp_text_in(text->at, sizeof(text->at));
    cvp_text_add_dims(&out, ndim, dim);
    return text->at;
}

static convop_status check_shape(const char *op, const char *name, const DLTensor *t)
{
    if (t->ndim < 0 || t->ndim > CONVOP_MAX_DIMS)
        return convop_fail(CONVOP_E_INVALID, "%s: %s has ndim %d, want 0 to %d", op, name, t->ndim,
                           CONVOP_MAX_DIMS);
    if (t->ndim > 0 && t->shape == NULL)
        return convop_fail(CONVOP_E_INVALID, "%s: %s has ndim %d but its shape is NULL", op, name,
                           t->ndim);
    for (int i = 0; i < t->ndim; i++) {
        struct dims_text text;
        if (t->shape[i] < 0)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has shape %s, dimension %d has the negative size %" PRId64,
                               op, name, dims(&text, t->ndim, t->shape), i, t->shape[i]);
    }
    return CONVOP_OK;
}

/* Bytes of the tensor without gaps, sizes of 0 taken as 1, so that compact strides fit as well. */
static convop_status check_size(const char *op, const char *name, const DLTensor *t)
{
    int64_t bytes = (int64_t)cvp_dtype_size(t->dtype);
    for (int i = 0; i < t->ndim; i++) {
        struct dims_text text;
        if (!cvp_mul_i64(bytes, cvp_max_i64(t->shape[i], 1), &bytes))
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has shape %s, whose size in bytes overflows 64 bits", op,
                               name, dims(&text, t->ndim, t->shape));
    }
    return CONVOP_OK;
}

/* Elements from the first to the last one that the strides reach; 0 where that overflows. The
 * tensor is not empty and strides are >= 0. */
static int reach(const DLTensor *t, int64_t *last)
{
    *last = 0;
    if (t->strides == NULL) {
        *last = cvp_tensor_elements(t) - 1;
        return 1;
    }
    for (int i = 0; i < t->ndim; i++) {
        int64_t step;
        if (t->shape[i] <= 1) continue;
        if (!cvp_mul_i64(t->shape[i] - 1, t->strides[i], &step)) return 0;
        if (!cvp_add_i64(*last, step, last)) return 0;
    }
    return 1;
}

/* Whether every stride, the smallest first, steps over all that the smaller ones reach. That is
 * sufficient; the few interleaved layouts without it are not worth a search. */
static int is_nested(const DLTensor *t)
{
    int order[CONVOP_MAX_DIMS], n = 0;
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] <= 1) continue;
        int at = n++;
        for (; at > 0 && t->strides[order[at - 1]] > t->strides[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    int64_t last = 0;
    for (int i = 0; i < n; i++) {
        if (t->strides[order[i]] <= last) return 0;
        last += (t->shape[order[i]] - 1) * t->strides[order[i]];
    }
    return 1;
}

static int is_empty(const DLTensor *t)
{
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] == 0) return 1;
    return 0;
}

/* The tensor is not empty. */
static convop_status check_strides(const char *op, const char *name, const DLTensor *t,
                                   enum cvp_role role)
{
    struct dims_text shape, strides;
    int64_t last;
    if (t->strides == NULL) return CONVOP_OK;
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] > 1 && t->strides[i] < 0)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has the negative stride %" PRId64 " in dimension %d", op,
                               name, t->strides[i], i);
    }
    if (!reach(t, &last) || !cvp_mul_i64(last, (int64_t)cvp_dtype_size(t->dtype), &last) ||
        !cvp_add_i64(last, (int64_t)cvp_dtype_size(t->dtype), &last))
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %s has shape %s and strides %s, whose size in bytes overflows 64 "
                           "bits",
                           op, name, dims(&shape, t->ndim, t->shape),
                           dims(&strides, t->ndim, t->strides));
    if (role == CVP_OUTPUT && !is_nested(t))
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %s has shape %s and strides %s, so its elements overlap or "
                           "interleave; those of an output must not",
                           op, name, dims(&shape, t->ndim, t->shape),
                           dims(&strides, t->ndim, t->strides));
    return CONVOP_OK;
}

/* The tensor is not empty, and its strides are checked. */
static convop_status check_data(const char *op, const char *name, const DLTensor *t)
{
    size_t size = cvp_dtype_size(t->dtype);
    if (t->data == NULL)
        return convop_fail(CONVOP_E_INVALID, "%s: %s is not empty but its data is NULL", op, name);
    int64_t last;
    uintptr_t first, end;
    (void)reach(t, &last);
    if (__builtin_add_overflow((uintptr_t)t->data, t->byte_offset, &first) ||
        __builtin_add_overflow(first, (uintptr_t)last * size + size, &end))
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %s has data %p and byte_offset %" PRIu64
                           ", its end overflows the address space",
                           op, name, t->data, t->byte_offset);
    if (first % size != 0)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %s has data %p and byte_offset %" PRIu64
                           ", which is not aligned to its element size of %zu bytes",
                           op, name, t->data, t->byte_offset, size);
    return CONVOP_OK;
}

convop_status cvp_tensor_check_on(const char *op, const char *name, const DLTensor *t,
                                  enum cvp_role role, cvp_device_checker *check_device)
{
    if (t == NULL) return convop_fail(CONVOP_E_INVALID, "%s: %s is NULL", op, name);
    CVP_RETURN_IF_ERROR(cvp_dtype_check(op, name, t->dtype));
    CVP_RETURN_IF_ERROR(check_shape(op, name, t));
    CVP_RETURN_IF_ERROR(check_size(op, name, t));
    CVP_RETURN_IF_ERROR(check_device(op, name, t->device));
    if (is_empty(t)) return CONVOP_OK;
    CVP_RETURN_IF_ERROR(check_strides(op, name, t, role));
    if (role == CVP_QUERY && t->data == NULL) return CONVOP_OK;
    return check_data(op, name, t);
}

convop_status cvp_tensor_check(const char *op, const char *name, const DLTensor *t,
                               enum cvp_role role)
{
    return cvp_tensor_check_on(op, name, t, role, cvp_device_check);
}

convop_status cvp_tensor_check_overlap(const char *op, const char *out_name, const DLTensor *out,
                                       const char *other_name, const DLTensor *other)
{
    if (out == NULL || other == NULL || is_empty(out) || is_empty(other)) return CONVOP_OK;
    int64_t last_out, last_other;
    (void)reach(out, &last_out);
    (void)reach(other, &last_other);
    size_t size_out = cvp_dtype_size(out->dtype), size_other = cvp_dtype_size(other->dtype);
    uintptr_t a = (uintptr_t)cvp_tensor_data(out), b = (uintptr_t)cvp_tensor_data(other);
    if (a >= b + ((size_t)last_other + 1) * size_other ||
        b >= a + ((size_t)last_out + 1) * size_out)
        return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID, "%s: %s and %s overlap in memory, at %p and %p", op,
                       out_name, other_name, cvp_tensor_data(out), cvp_tensor_data(other));
}

struct cvp_extent cvp_tensor_extent(const DLTensor *t)
{
    int64_t last;
    if (is_empty(t)) return (struct cvp_extent){0, 0};
    (void)reach(t, &last);
    size_t size = cvp_dtype_size(t->dtype);
    return (struct cvp_extent){((size_t)last + 1) * size, size - 1};
}

int64_t cvp_tensor_elements(const DLTensor *t)
{
    if (is_empty(t)) return 0;
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) n *= t->shape[i];
    return n;
}

size_t cvp_tensor_bytes(const DLTensor *t)
{
    return (size_t)cvp_tensor_elements(t) * cvp_dtype_size(t->dtype);
}

void cvp_tensor_strides(const DLTensor *t, int64_t *strides)
{
    /* What the next slower stride would be without a gap. */
    int64_t next = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        strides[i] = t->strides == NULL || t->shape[i] <= 1 ? next : t->strides[i];
        if (!cvp_mul_i64(strides[i], cvp_max_i64(t->shape[i], 1), &next)) next = INT64_MAX;
    }
}

int cvp_tensor_is_compact(const DLTensor *t)
{
    if (t->strides == NULL || is_empty(t)) return 1;
    int64_t next = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] <= 1) continue;
        if (t->strides[i] != next) return 0;
        next *= t->shape[i];
    }
    return 1;
}

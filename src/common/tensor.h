/* Checks of DLTensor views at the border of the library, and what is read off them after that. */
#ifndef CVP_COMMON_TENSOR_H
#define CVP_COMMON_TENSOR_H

#include "convop/base.h"

/* What the caller hands it in for. */
enum cvp_role {
    CVP_INPUT,  /* read: any strides >= 0 */
    CVP_OUTPUT, /* written: no two elements may share memory */
    CVP_QUERY   /* only looked at: data may be NULL */
};

/* Everything a kernel may trust: rank 0..8, sizes >= 0, 64-bit sizes and byte counts do not
 * overflow, dtype with one lane, the CPU as device, strides as the role allows, data not NULL
 * unless empty, an address that is a multiple of the element's size. Reads no element.
 * `op` and `name` are for the text: "Convolution: src has ...". */
convop_status cvp_tensor_check(const char *op, const char *name, const DLTensor *t,
                               enum cvp_role role);

/* The same with another check of the device. */
typedef convop_status cvp_device_checker(const char *op, const char *name, DLDevice device);
convop_status cvp_tensor_check_on(const char *op, const char *name, const DLTensor *t,
                                  enum cvp_role role, cvp_device_checker *check_device);

/* Refuses a device that does not exist (INVALID) or is not the CPU (DEVICE). */
convop_status cvp_device_check(const char *op, const char *name, DLDevice device);

/* Refuses a dtype that is unknown, has bits that no such type has, or more than one lane. */
convop_status cvp_dtype_check(const char *op, const char *name, DLDataType dtype);

/* Refuses an output that shares memory with another tensor; either may be NULL or empty. */
convop_status cvp_tensor_check_overlap(const char *op, const char *out_name, const DLTensor *out,
                                       const char *other_name, const DLTensor *other);

/* After cvp_tensor_check: data + byte_offset. Of an empty tensor the pointer may be NULL, and is
 * not to be read. */
static inline void *cvp_tensor_data(const DLTensor *t)
{
    return t->data == NULL ? NULL : (char *)t->data + t->byte_offset;
}

/* After cvp_tensor_check: */
int64_t cvp_tensor_elements(const DLTensor *t);
size_t cvp_tensor_bytes(const DLTensor *t);                   /* elements * size of one */
void cvp_tensor_strides(const DLTensor *t, int64_t *strides); /* compact where NULL; those of
                                                          dimensions of size <= 1 made canonical */
int cvp_tensor_is_compact(const DLTensor *t);                 /* row-major without gaps */

/* What an address must satisfy, for tensors whose shape, strides and dtype are known. */
struct cvp_extent {
    size_t bytes; /* from the first to the last element; 0: empty, the address is not looked at */
    size_t align_mask; /* bits of the address that must be 0 */
};

struct cvp_extent cvp_tensor_extent(const DLTensor *t);

/* 1 if the memory of a tensor of that extent is there and aligned; it is then [*begin, *end). */
static inline int cvp_extent_place(const struct cvp_extent *extent, const DLTensor *t,
                                   uintptr_t *begin, uintptr_t *end)
{
    *begin = *end = 0;
    if (extent->bytes == 0) return 1;
    return t->data && !__builtin_add_overflow((uintptr_t)t->data, t->byte_offset, begin) &&
           !(*begin & extent->align_mask) && !__builtin_add_overflow(*begin, extent->bytes, end);
}

size_t cvp_dtype_size(DLDataType dtype); /* bytes of one element; 0: not whole bytes */
static inline int cvp_dtype_equal(DLDataType a, DLDataType b)
{
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
const char *cvp_dtype_name(DLDataType dtype, char text[16]); /* "float32" */

#endif

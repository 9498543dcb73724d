/* What the files of convop_array share: the object, and how one is begun. */
#ifndef CVP_ENGINE_ARRAY_H
#define CVP_ENGINE_ARRAY_H

#include "convop/array.h"
#include <stdatomic.h>

/* Where the memory came from, and so how it is given back. One member counts. */
struct cvp_array_owner {
    DLManagedTensor *managed;                   /* imported, the old struct */
    struct DLManagedTensorVersioned *versioned; /* imported, that of DLPack 1.x */
    void *buffer;                               /* ours, from `hooks` */
    size_t bytes;
    convop_allocator hooks; /* a copy: the context may go before the array */
};

/* Immutable but for the count. */
struct convop_array {
    atomic_size_t references;
    int read_only;
    DLTensor view; /* byte_offset 0, device_id 0 for memory of the CPU; shape and strides are those
                      below, NULL if ndim is 0 */
    int64_t shape[CONVOP_MAX_DIMS];
    int64_t strides[CONVOP_MAX_DIMS];
    struct cvp_array_owner owner;
};

/* An array with one reference and without an owner, whose view is a checked tensor's, made
 * canonical: byte_offset taken into data, strides filled in and, where a size is 0 or 1 or the
 * tensor is empty, those of compact memory. NULL when there is no memory. */
convop_array *cvp_array_new(const DLTensor *checked);

/* The same with memory of its own, whose contents are undefined: compact, 64-byte aligned, from the
 * context's hooks. Of an empty array the pointer is NULL, as DLPack wants it. `checked` is on the
 * CPU; its strides and data do not count. `function` is for the text. */
convop_status cvp_array_alloc(const char *function, const convop_context *context,
                              const DLTensor *checked, convop_array **out);

#endif

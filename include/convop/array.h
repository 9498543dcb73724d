/* convop_array: an owner of a tensor, for those who need one. Calls that compute take plain
 * DLTensor views; an array says whose memory it is, for how long, and whether it may be written.
 * Reference-counted; counts are atomic, the view is immutable. Since 0.1. */
#ifndef CONVOP_ARRAY_H
#define CONVOP_ARRAY_H

#include "convop/base.h"
#include "convop/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct convop_array convop_array;

/** A new array of zeros on the CPU, 64-byte aligned, compact row-major.
 *  @param shape  ndim sizes >= 0; may be NULL if ndim is 0
 *  @param out    reference count 1, owned by the caller; NULL on failure
 *  @return INVALID (rank, shape, dtype), NO_MEMORY */
CONVOP_API convop_status convop_array_create(const convop_context *context, DLDataType dtype,
                                             int ndim, const int64_t *shape, convop_array **out);

/** Takes over a tensor of the old DLPack struct. It has no read-only flag and counts as writable.
 *  @param managed  on success the array owns it and calls its deleter once, from whichever thread
 *                  drops the last reference; on failure it stays the caller's, untouched.
 *                  No lock is held then, and a NULL deleter is accepted. To import the same one
 *                  twice is the caller's error: its deleter would be called twice. Arrays over
 *                  the same memory know nothing of each other; the caller orders their uses
 *  @return INVALID (rank, shape, NULL data of a non-empty tensor, dtype, lanes, a negative stride,
 *          a pointer that is no multiple of the element size), UNSUPPORTED (a floating-point type
 *          of 8 bits or fewer), DEVICE (a device that is not here), NO_MEMORY; docs/dlpack.md has
 *          all cases */
CONVOP_API convop_status convop_from_dlpack(DLManagedTensor *managed, convop_array **out);

/** The same for the struct of DLPack 1.x, which knows read-only tensors.
 *  Flags that are not known are ignored.
 *  @return also UNSUPPORTED for a major version other than 1 */
CONVOP_API convop_status convop_from_dlpack_versioned(struct DLManagedTensorVersioned *managed,
                                                      convop_array **out);

/** One reference more. Accepts NULL. Returns its argument. */
CONVOP_API convop_array *convop_array_retain(convop_array *array);

/** Drops a reference and sets *array to NULL. Accepts NULL. */
CONVOP_API void convop_array_release(convop_array **array);

/** The tensor, to be read. Lives as long as the array. */
CONVOP_API const DLTensor *convop_array_view(const convop_array *array);

/** The tensor, to be written.
 *  @return INVALID if the array is read-only, or if its elements share memory as those of a
 *          broadcast import do; *out is then NULL */
CONVOP_API convop_status convop_array_writable(convop_array *array, DLTensor **out);

/** Exports a reference; the consumer must call the deleter once, on any thread, and the deleter is
 *  never NULL. data is 64-byte aligned where the memory is convop's, else the address that was
 *  imported; byte_offset is 0, strides are never NULL unless ndim is 0, those of dimensions of size
 *  0 and 1 are compact ones. Pinned memory goes out as the CPU's, device_id 0.
 *  @return INVALID for a read-only array, which the old struct cannot express; NO_MEMORY */
CONVOP_API convop_status convop_to_dlpack(convop_array *array, DLManagedTensor **out);

/** The same as the struct of DLPack 1.x (version 1.3), with the read-only flag. */
CONVOP_API convop_status convop_to_dlpack_versioned(convop_array *array,
                                                    struct DLManagedTensorVersioned **out);

/** The allocator of DLPack 1.3's exchange API: an entry `managed_tensor_allocator` of its table
 *  DLPackExchangeAPI. A new tensor on the CPU as convop_to_dlpack_versioned exports one, compact,
 *  64-byte aligned, its elements undefined.
 *  @param prototype  shape, dtype and device count; its device must be the CPU
 *  @param out        untouched on failure
 *  @param set_error  on failure called once with error_context, the name of a Python exception
 *                    ("MemoryError", "BufferError" or "ValueError") and a sentence, which
 *                    convop_last_error() has too; may be NULL
 *  @return 0, or -1. Thread-safe. Since 0.1. */
CONVOP_API int convop_dlpack_allocate(DLTensor *prototype, struct DLManagedTensorVersioned **out,
                                      void *error_context,
                                      void (*set_error)(void *error_context, const char *kind,
                                                        const char *message));

#ifdef __cplusplus
}
#endif

#endif

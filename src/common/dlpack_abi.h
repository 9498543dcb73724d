/* The versioned struct of DLPack 1.x, and what we rely on in the layout of both structs.
 *
 * Debian's dlpack.h is of version 0.6 and does not know struct DLManagedTensorVersioned; from 1.0
 * on the header brings it. Both have the ABI of dmlc/dlpack's dlpack.h, version 1.3. */
#ifndef CVP_COMMON_DLPACK_ABI_H
#define CVP_COMMON_DLPACK_ABI_H

#include "convop/base.h"

/* The version that we write, and of which we read every minor one. */
#define CVP_DLPACK_MAJOR 1
#define CVP_DLPACK_MINOR 3

/* Bits of `flags`. Others are ignored, as the rules of minor versions allow. */
#define CVP_DLPACK_READ_ONLY ((uint64_t)1 << 0)

#ifndef DLPACK_MAJOR_VERSION
struct DLManagedTensorVersioned {
    struct {
        uint32_t major;
        uint32_t minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
};
#endif

#ifdef DLPACK_FLAG_BITMASK_READ_ONLY
_Static_assert(CVP_DLPACK_READ_ONLY == DLPACK_FLAG_BITMASK_READ_ONLY, "the flag of dlpack.h");
#endif

#define CVP_DLPACK_AT(type, member, at)                                                            \
    _Static_assert(offsetof(type, member) == (at), #type "." #member)
#if UINTPTR_MAX == UINT64_MAX
_Static_assert(sizeof(DLTensor) == 48, "DLTensor");
CVP_DLPACK_AT(DLTensor, data, 0);
CVP_DLPACK_AT(DLTensor, device, 8);
CVP_DLPACK_AT(DLTensor, ndim, 16);
CVP_DLPACK_AT(DLTensor, dtype, 20);
CVP_DLPACK_AT(DLTensor, shape, 24);
CVP_DLPACK_AT(DLTensor, strides, 32);
CVP_DLPACK_AT(DLTensor, byte_offset, 40);
_Static_assert(sizeof(DLManagedTensor) == 64, "DLManagedTensor");
CVP_DLPACK_AT(DLManagedTensor, dl_tensor, 0);
CVP_DLPACK_AT(DLManagedTensor, manager_ctx, 48);
CVP_DLPACK_AT(DLManagedTensor, deleter, 56);
_Static_assert(sizeof(struct DLManagedTensorVersioned) == 80, "DLManagedTensorVersioned");
CVP_DLPACK_AT(struct DLManagedTensorVersioned, version.major, 0);
CVP_DLPACK_AT(struct DLManagedTensorVersioned, version.minor, 4);
CVP_DLPACK_AT(struct DLManagedTensorVersioned, manager_ctx, 8);
CVP_DLPACK_AT(struct DLManagedTensorVersioned, deleter, 16);
CVP_DLPACK_AT(struct DLManagedTensorVersioned, flags, 24);
CVP_DLPACK_AT(struct DLManagedTensorVersioned, dl_tensor, 32);
#endif
#undef CVP_DLPACK_AT

#endif

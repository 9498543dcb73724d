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

/* The exchange API of DLPack 1.3: a table of C functions that a Python type offers as a capsule
 * named CVP_DLPACK_EXCHANGE_CAPSULE in its attribute CVP_DLPACK_EXCHANGE_ATTRIBUTE. Objects are
 * PyObject *. Functions return 0, or -1 with the Python error set; on failure nothing is written.
 * None of them synchronises a stream. The same ABI as dlpack.h's struct DLPackExchangeAPI, under a
 * name of ours so that both may be in one file. */
#define CVP_DLPACK_EXCHANGE_ATTRIBUTE "__dlpack_c_exchange_api__"
#define CVP_DLPACK_EXCHANGE_CAPSULE   "dlpack_exchange_api"

struct cvp_dlpack_exchange_header {
    struct {
        uint32_t major;
        uint32_t minor;
    } version;
    struct cvp_dlpack_exchange_header *previous; /* the table of an older version, or NULL */
};

struct cvp_dlpack_exchange_api {
    struct cvp_dlpack_exchange_header header;
    int (*allocate)(DLTensor *prototype, struct DLManagedTensorVersioned **out, void *error_context,
                    void (*set_error)(void *error_context, const char *kind, const char *message));
    int (*from_object)(void *object, struct DLManagedTensorVersioned **out);
    int (*to_object)(struct DLManagedTensorVersioned *tensor,
                     void **out_object);                /* takes it over */
    int (*view_of_object)(void *object, DLTensor *out); /* borrowed from the object; may be NULL */
    int (*current_stream)(DLDeviceType device_type, int32_t device_id, void **out_stream);
};

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
_Static_assert(sizeof(struct cvp_dlpack_exchange_api) == 56, "DLPackExchangeAPI");
CVP_DLPACK_AT(struct cvp_dlpack_exchange_api, allocate, 16);
CVP_DLPACK_AT(struct cvp_dlpack_exchange_api, view_of_object, 40);
CVP_DLPACK_AT(struct cvp_dlpack_exchange_api, current_stream, 48);
#endif
#undef CVP_DLPACK_AT

#endif

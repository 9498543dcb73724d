/* Arrays from and to DLPack's managed tensors, of the old kind and of DLPack 1.x. */
#include "src/engine/array.h"

#include "src/common/alloc.h"
#include "src/common/dlpack_abi.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include <string.h>

/* ---- import -------------------------------------------------------------------------------- */

/* Begins an array for a foreign tensor; the caller enters its owner. */
static convop_status import(const char *function, const DLTensor *tensor, convop_array **out)
{
    CVP_RETURN_IF_ERROR(cvp_tensor_check(function, "tensor", tensor, CVP_INPUT));
    *out = cvp_array_new(tensor);
    if (*out == NULL)
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for the array", function);
    return CONVOP_OK;
}

convop_status convop_from_dlpack(DLManagedTensor *managed, convop_array **out)
{
    if (out == NULL) return convop_fail(CONVOP_E_INVALID, "convop_from_dlpack: out is NULL");
    *out = NULL;
    if (managed == NULL)
        return convop_fail(CONVOP_E_INVALID, "convop_from_dlpack: managed is NULL");
    CVP_RETURN_IF_ERROR(import("convop_from_dlpack", &managed->dl_tensor, out));
    (*out)->owner.managed = managed;
    return CONVOP_OK;
}

convop_status convop_from_dlpack_versioned(struct DLManagedTensorVersioned *managed,
                                           convop_array **out)
{
    if (out == NULL)
        return convop_fail(CONVOP_E_INVALID, "convop_from_dlpack_versioned: out is NULL");
    *out = NULL;
    if (managed == NULL)
        return convop_fail(CONVOP_E_INVALID, "convop_from_dlpack_versioned: managed is NULL");
    /* Of another major version only the first four members may be read. */
    if (managed->version.major != CVP_DLPACK_MAJOR)
        return convop_fail(CONVOP_E_UNSUPPORTED,
                           "convop_from_dlpack_versioned: the tensor is of DLPack version %u.%u, "
                           "version %d is understood",
                           (unsigned)managed->version.major, (unsigned)managed->version.minor,
                           CVP_DLPACK_MAJOR);
    CVP_RETURN_IF_ERROR(import("convop_from_dlpack_versioned", &managed->dl_tensor, out));
    (*out)->owner.versioned = managed;
    (*out)->read_only = (managed->flags & CVP_DLPACK_READ_ONLY) != 0;
    return CONVOP_OK;
}

/* ---- export -------------------------------------------------------------------------------- */

/* What one export holds: the struct that the consumer sees, the array behind it, and shape and
 * strides of its own, as a consumer may write into those. */
struct export
{
    union {
        DLManagedTensor managed;
        struct DLManagedTensorVersioned versioned;
    } seen;
    convop_array *array;
    int64_t shape[CONVOP_MAX_DIMS];
    int64_t strides[CONVOP_MAX_DIMS];
};

static void end_export(struct export *export)
{
    convop_array *array = export->array;
    cvp_free(export);
    convop_array_release(&array);
}

static void delete_managed(DLManagedTensor *self)
{
    if (self != NULL) end_export(self->manager_ctx);
}

static void delete_versioned(struct DLManagedTensorVersioned *self)
{
    if (self != NULL) end_export(self->manager_ctx);
}

/* The reference and the copies; the caller fills what the consumer sees. */
static struct export *begin_export(const char *function, convop_array *array)
{
    struct export *export = cvp_calloc(1, sizeof(*export));
    if (export == NULL) {
        (void)convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for the managed tensor", function);
        return NULL;
    }
    export->array = convop_array_retain(array);
    memcpy(export->shape, array->shape, sizeof(export->shape));
    memcpy(export->strides, array->strides, sizeof(export->strides));
    return export;
}

/* Pinned memory goes out as the CPU's: it is that as well, and most consumers know no pinned one.
 */
static DLTensor exported_view(struct export *export)
{
    DLTensor view = export->array->view;
    if (view.device.device_type == kDLCUDAHost) view.device.device_type = kDLCPU;
    if (view.ndim > 0) {
        view.shape = export->shape;
        view.strides = export->strides;
    }
    return view;
}

convop_status convop_to_dlpack(convop_array *array, DLManagedTensor **out)
{
    if (out == NULL) return convop_fail(CONVOP_E_INVALID, "convop_to_dlpack: out is NULL");
    *out = NULL;
    if (array == NULL) return convop_fail(CONVOP_E_INVALID, "convop_to_dlpack: array is NULL");
    if (array->read_only)
        return convop_fail(CONVOP_E_INVALID,
                           "convop_to_dlpack: array is read-only, which DLManagedTensor cannot "
                           "express; convop_to_dlpack_versioned can");
    struct export *export = begin_export("convop_to_dlpack", array);
    if (export == NULL) return CONVOP_E_NO_MEMORY;
    export->seen.managed = (DLManagedTensor){
        .dl_tensor = exported_view(export), .manager_ctx = export, .deleter = delete_managed};
    *out = &export->seen.managed;
    return CONVOP_OK;
}

convop_status convop_to_dlpack_versioned(convop_array *array, struct DLManagedTensorVersioned **out)
{
    if (out == NULL)
        return convop_fail(CONVOP_E_INVALID, "convop_to_dlpack_versioned: out is NULL");
    *out = NULL;
    if (array == NULL)
        return convop_fail(CONVOP_E_INVALID, "convop_to_dlpack_versioned: array is NULL");
    struct export *export = begin_export("convop_to_dlpack_versioned", array);
    if (export == NULL) return CONVOP_E_NO_MEMORY;
    export->seen.versioned = (struct DLManagedTensorVersioned){
        .version = {.major = CVP_DLPACK_MAJOR, .minor = CVP_DLPACK_MINOR},
        .manager_ctx = export,
        .deleter = delete_versioned,
        .flags = array->read_only ? CVP_DLPACK_READ_ONLY : 0,
        .dl_tensor = exported_view(export)};
    *out = &export->seen.versioned;
    return CONVOP_OK;
}

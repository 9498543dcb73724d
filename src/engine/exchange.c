/* The allocator of DLPack 1.3's exchange API: what a host asks for outputs of the kind of its
 * inputs. The rest of the table is about Python objects and lives where those are known. */
#include "convop/array.h"

#include "src/common/dlpack_abi.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/engine/array.h"

static convop_status allocate(const DLTensor *prototype, struct DLManagedTensorVersioned **out)
{
    static const char function[] = "convop_dlpack_allocate";
    if (out == NULL) return convop_fail(CONVOP_E_INVALID, "%s: out is NULL", function);
    if (prototype == NULL) return convop_fail(CONVOP_E_INVALID, "%s: prototype is NULL", function);
    DLTensor wanted = *prototype;
    wanted.strides = NULL;
    wanted.data = NULL;
    wanted.byte_offset = 0;
    CVP_RETURN_IF_ERROR(cvp_tensor_check(function, "prototype", &wanted, CVP_QUERY));
    if (wanted.device.device_type != kDLCPU)
        return convop_fail(CONVOP_E_DEVICE,
                           "%s: prototype is in pinned memory, of which convop allocates none",
                           function);
    convop_array *array;
    struct DLManagedTensorVersioned *made;
    CVP_RETURN_IF_ERROR(cvp_array_alloc(function, NULL, &wanted, &array));
    convop_status status = convop_to_dlpack_versioned(array, &made);
    /* The export has a reference of its own. */
    convop_array_release(&array);
    if (status == CONVOP_OK) *out = made;
    return status;
}

static const char *python_name(convop_status status)
{
    switch (status) {
    case CONVOP_E_NO_MEMORY: return "MemoryError";
    case CONVOP_E_DEVICE:
    case CONVOP_E_UNSUPPORTED: return "BufferError";
    default: return "ValueError";
    }
}

int convop_dlpack_allocate(DLTensor *prototype, struct DLManagedTensorVersioned **out,
                           void *error_context,
                           void (*set_error)(void *error_context, const char *kind,
                                             const char *message))
{
    convop_status status = allocate(prototype, out);
    if (status == CONVOP_OK) return 0;
    if (set_error != NULL) set_error(error_context, python_name(status), convop_last_error());
    return -1;
}

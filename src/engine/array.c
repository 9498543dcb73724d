/* convop_array: the object, its references and its own memory. For other programs' memory see
 * dlpack.c. */
#include "src/engine/array.h"

#include "src/common/alloc.h"
#include "src/common/dlpack_abi.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/engine/context.h"
#include <string.h>

static int is_cpu(DLDevice device)
{
    return device.device_type == kDLCPU || device.device_type == kDLCUDAHost;
}

convop_array *cvp_array_new(const DLTensor *checked)
{
    convop_array *array = cvp_calloc(1, sizeof(*array));
    if (array == NULL) return NULL;
    DLTensor from = *checked;
    if (cvp_tensor_elements(checked) == 0) from.strides = NULL;
    atomic_init(&array->references, 1);
    array->view = from;
    array->view.data = cvp_tensor_data(checked);
    array->view.byte_offset = 0;
    /* Some producers number the CPU; some consumers refuse any number but 0. */
    if (is_cpu(from.device)) array->view.device.device_id = 0;
    array->view.shape = NULL;
    array->view.strides = NULL;
    if (from.ndim > 0) {
        memcpy(array->shape, from.shape, (size_t)from.ndim * sizeof(array->shape[0]));
        cvp_tensor_strides(&from, array->strides);
        array->view.shape = array->shape;
        array->view.strides = array->strides;
    }
    return array;
}

convop_status cvp_array_alloc(const char *function, const convop_context *context,
                              const DLTensor *checked, convop_array **out)
{
    DLTensor compact = *checked;
    compact.strides = NULL;
    compact.data = NULL;
    compact.byte_offset = 0;
    size_t bytes = cvp_tensor_bytes(checked);
    convop_array *array = cvp_array_new(&compact);
    if (array == NULL)
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for the array", function);
    if (bytes > 0) {
        /* The process default has no hooks, so NULL need not be resolved. */
        if (context != NULL) array->owner.hooks = context->allocator;
        array->owner.bytes = bytes;
        array->owner.buffer = cvp_buffer_alloc(&array->owner.hooks, bytes);
        if (array->owner.buffer == NULL) {
            cvp_free(array);
            return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for %zu bytes", function, bytes);
        }
        array->view.data = array->owner.buffer;
    }
    *out = array;
    return CONVOP_OK;
}

/* The checks of convop_array_create. *t borrows `sizes`, a copy of shape: a DLTensor's shape is
 * not const. */
static convop_status describe(DLDataType dtype, int ndim, const int64_t *shape,
                              int64_t sizes[CONVOP_MAX_DIMS], DLTensor *t)
{
    *t = (DLTensor){.device = {.device_type = kDLCPU}, .ndim = ndim, .dtype = dtype};
    if (shape != NULL && ndim > 0 && ndim <= CONVOP_MAX_DIMS) {
        memcpy(sizes, shape, (size_t)ndim * sizeof(*sizes));
        t->shape = sizes;
    }
    return cvp_tensor_check("convop_array_create", "array", t, CVP_QUERY);
}

convop_status convop_array_create(const convop_context *context, DLDataType dtype, int ndim,
                                  const int64_t *shape, convop_array **out)
{
    int64_t sizes[CONVOP_MAX_DIMS];
    DLTensor t;
    if (out == NULL) return convop_fail(CONVOP_E_INVALID, "convop_array_create: out is NULL");
    *out = NULL;
    CVP_RETURN_IF_ERROR(describe(dtype, ndim, shape, sizes, &t));

    CVP_RETURN_IF_ERROR(cvp_array_alloc("convop_array_create", context, &t, out));
    if ((*out)->owner.buffer != NULL) memset((*out)->owner.buffer, 0, (*out)->owner.bytes);
    return CONVOP_OK;
}

convop_array *convop_array_retain(convop_array *array)
{
    /* Whoever calls this has a reference, so nothing needs to be ordered. */
    if (array != NULL) atomic_fetch_add_explicit(&array->references, 1, memory_order_relaxed);
    return array;
}

/* The owner's deleter may free its managed struct, may free everything around it, and may call
 * convop: it comes last, and nothing of the array is touched after it. */
static void destroy(convop_array *array)
{
    struct cvp_array_owner owner = array->owner;
    cvp_free(array);
    if (owner.buffer != NULL) cvp_buffer_free(&owner.hooks, owner.buffer, owner.bytes);
    if (owner.managed != NULL && owner.managed->deleter != NULL)
        owner.managed->deleter(owner.managed);
    if (owner.versioned != NULL && owner.versioned->deleter != NULL)
        owner.versioned->deleter(owner.versioned);
}

void convop_array_release(convop_array **array)
{
    if (array == NULL || *array == NULL) return;
    convop_array *dropped = *array;
    *array = NULL;
    /* Release: our uses come before the drop. Acquire: the last one sees everybody's. */
    if (atomic_fetch_sub_explicit(&dropped->references, 1, memory_order_acq_rel) == 1)
        destroy(dropped);
}

const DLTensor *convop_array_view(const convop_array *array)
{
    return array == NULL ? NULL : &array->view;
}

convop_status convop_array_writable(convop_array *array, DLTensor **out)
{
    if (out == NULL) return convop_fail(CONVOP_E_INVALID, "convop_array_writable: out is NULL");
    *out = NULL;
    if (array == NULL) return convop_fail(CONVOP_E_INVALID, "convop_array_writable: array is NULL");
    if (array->read_only)
        return convop_fail(CONVOP_E_INVALID,
                           "convop_array_writable: array is read-only, so it cannot be an output");
    CVP_RETURN_IF_ERROR(
        cvp_tensor_check("convop_array_writable", "array", &array->view, CVP_OUTPUT));
    *out = &array->view;
    return CONVOP_OK;
}

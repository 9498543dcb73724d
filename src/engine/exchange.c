/* The allocator of DLPack 1.3's exchange API: what a host asks for outputs of the kind of its
 * inputs. The rest of the table is about Python objects and lives where those are known. */
#include "convop/array.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/dlpack_abi.h"
#include "src/common/status.h"
#include "src/common/tensor.h"

/* Elements of at most so many bytes lie behind the object, in one block with it: a host with tiny
 * tensors makes many. */
#define MOST_INSIDE 2048

/* A tensor that belongs to its consumer alone, so that it needs no convop_array. */
struct fresh {
    _Alignas(CVP_BUFFER_ALIGN) struct DLManagedTensorVersioned seen;
    int64_t shape[CONVOP_MAX_DIMS], strides[CONVOP_MAX_DIMS];
    size_t inside, outside; /* bytes of the elements; one of them is 0 */
    _Alignas(CVP_BUFFER_ALIGN) char elements[];
};

static void delete (struct DLManagedTensorVersioned *self)
{
    if (self == NULL) return;
    struct fresh *fresh = self->manager_ctx;
    if (fresh->outside > 0) cvp_buffer_free(NULL, self->dl_tensor.data, fresh->outside);
    cvp_buffer_free(NULL, fresh, sizeof(*fresh) + fresh->inside);
}

/* Its memory; NULL where there is none. */
static struct fresh *fresh_new(size_t bytes)
{
    size_t inside = bytes <= MOST_INSIDE ? bytes : 0;
    struct fresh *fresh = cvp_buffer_alloc(NULL, sizeof(*fresh) + inside);
    if (fresh == NULL) return NULL;
    fresh->inside = inside;
    fresh->outside = bytes - inside;
    /* Of an empty tensor the pointer is NULL, as DLPack wants it. */
    void *data = inside > 0 ? fresh->elements : NULL;
    if (fresh->outside > 0) data = cvp_buffer_alloc(NULL, bytes);
    if (data == NULL && bytes > 0) {
        cvp_buffer_free(NULL, fresh, sizeof(*fresh));
        return NULL;
    }
    fresh->seen.dl_tensor.data = data;
    return fresh;
}

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
    const size_t bytes = cvp_tensor_bytes(&wanted);
    struct fresh *fresh = fresh_new(bytes);
    if (fresh == NULL)
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for %zu bytes", function, bytes);
    wanted.data = fresh->seen.dl_tensor.data;
    wanted.device.device_id = 0; /* some consumers refuse any other */
    if (wanted.ndim > 0) {
        memcpy(fresh->shape, wanted.shape, (size_t)wanted.ndim * sizeof(fresh->shape[0]));
        wanted.shape = fresh->shape;
        cvp_tensor_strides(&wanted, fresh->strides);
        wanted.strides = fresh->strides;
    } else {
        wanted.shape = NULL;
    }
    fresh->seen = (struct DLManagedTensorVersioned){
        .version = {.major = CVP_DLPACK_MAJOR, .minor = CVP_DLPACK_MINOR},
        .manager_ctx = fresh,
        .deleter = delete,
        .dl_tensor = wanted};
    *out = &fresh->seen;
    return CONVOP_OK;
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

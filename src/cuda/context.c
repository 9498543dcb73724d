/* Finding the context of a call, and stream-ordered memory. */
#include "src/cuda/context.h"

#include <pthread.h>

#include "src/common/status.h"

/* The default stream that orders all others is never captured, and must not be asked while one of
 * those is. */
static int is_legacy(const void *stream)
{
    return (uintptr_t)stream <= 1;
}

/* The handles of CUDA's two default streams, the legacy one and the thread's own: they have no
 * context of their own. */
static int is_default(const void *stream)
{
    return (uintptr_t)stream <= 2;
}

/* Primary contexts that were retained, by ordinal. Never released: the host decides when a context
 * ends, and at the end of the process the driver may be gone. */
static struct CUctx_st *primary[CVP_MAX_GPUS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a forked child gets not so far */

static unsigned take_primary(const struct cvp_driver *d, const struct cvp_gpu *gpu,
                             struct CUctx_st **context)
{
    unsigned result = CVP_CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    if (!primary[gpu->ordinal]) result = d->primary_retain(&primary[gpu->ordinal], gpu->device);
    *context = primary[gpu->ordinal];
    pthread_mutex_unlock(&lock);
    return result;
}

static unsigned find_context(const struct cvp_driver *d, const struct cvp_gpu *gpu, void *stream,
                             struct CUctx_st **context)
{
    int device = -1;
    if (!is_default(stream)) return d->stream_context(stream, context);
    unsigned result = d->context_current(context);
    if (result != CVP_CUDA_SUCCESS) return result;
    if (*context && d->context_device(&device) == CVP_CUDA_SUCCESS && device == gpu->device)
        return CVP_CUDA_SUCCESS;
    return take_primary(d, gpu, context);
}

convop_status cvp_gpu_enter(const struct cvp_gpu *gpu, void *stream, struct cvp_gpu_scope *scope)
{
    const char *why;
    int device = -1;
    const struct cvp_driver *d = cvp_driver_get(&why);
    if (!d || gpu->ordinal < 0)
        return convop_fail(CONVOP_E_DEVICE, "%s is not here: %s", gpu->name,
                           d ? "only its properties are" : why);
    *scope = (struct cvp_gpu_scope){.driver = d, .stream = stream};
    CVP_RETURN_IF_ERROR(cvp_driver_status(d, find_context(d, gpu, stream, &scope->context),
                                          "the context of a GPU"));
    CVP_RETURN_IF_ERROR(
        cvp_driver_status(d, d->context_push(scope->context), "the context of a GPU"));
    convop_status status =
        cvp_driver_status(d, d->context_id(scope->context, &scope->id), "the context of a GPU");
    if (status == CONVOP_OK)
        status = cvp_driver_status(d, d->context_device(&device), "the context of a GPU");
    if (status == CONVOP_OK && device != gpu->device)
        status = convop_fail(CONVOP_E_DEVICE,
                             "exec.stream is of a context on cuda:%d, the tensors are on cuda:%d",
                             device, gpu->ordinal);
    if (status != CONVOP_OK) cvp_gpu_leave(scope);
    return status;
}

void cvp_gpu_leave(struct cvp_gpu_scope *scope)
{
    struct CUctx_st *context;
    (void)scope->driver->context_pop(&context);
}

int cvp_gpu_is_captured(const struct cvp_gpu *gpu, void *stream)
{
    struct cvp_gpu_scope scope;
    unsigned status = CVP_CU_STREAM_CAPTURE_STATUS_NONE;
    if (is_legacy(stream) || cvp_gpu_enter(gpu, stream, &scope) != CONVOP_OK) return 0;
    (void)scope.driver->stream_is_capturing(stream, &status);
    cvp_gpu_leave(&scope);
    return status != CVP_CU_STREAM_CAPTURE_STATUS_NONE;
}

void *cvp_gpu_alloc(const struct cvp_gpu_scope *scope, size_t bytes)
{
    unsigned long long address = 0;
    if (scope->driver->mem_alloc_async(&address, bytes, scope->stream) != CVP_CUDA_SUCCESS)
        return NULL;
    return (void *)(uintptr_t)address;
}

void cvp_gpu_free(const struct cvp_gpu_scope *scope, void *memory)
{
    if (memory) (void)scope->driver->mem_free_async((uintptr_t)memory, scope->stream);
}

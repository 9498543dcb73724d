/* The handles that are free, most recently used first. */
#include "src/cuda/handle.h"

#include "src/common/alloc.h"
#include "src/common/lock.h"
#include "src/common/status.h"
#include "src/cuda/backend.h"

static struct cvp_cudnn_handle *idle; /* guarded by CVP_LOCK_HANDLES */

/* Takes the first one out that is of the context and, with `exact`, of the stream. */
static struct cvp_cudnn_handle *find(const struct cvp_gpu_scope *scope, int exact)
{
    for (struct cvp_cudnn_handle **at = &idle; *at; at = &(*at)->next) {
        struct cvp_cudnn_handle *h = *at;
        if (h->context_id != scope->id || (exact && h->stream != scope->stream)) continue;
        *at = h->next;
        return h;
    }
    return NULL;
}

/* cuDNN allocates here, which a capture on another stream of this thread would forbid. */
static convop_status make(const struct cvp_cudnn *cudnn, const struct cvp_gpu_scope *scope,
                          struct cvp_cudnn_handle **made)
{
    struct cvp_cudnn_handle *h = cvp_calloc(1, sizeof *h);
    if (!h)
        return convop_fail(CONVOP_E_NO_MEMORY, "cuDNN: no memory for a handle, %zu bytes",
                           sizeof *h);
    unsigned mode = CVP_CU_STREAM_CAPTURE_MODE_RELAXED;
    (void)scope->driver->capture_mode_exchange(&mode);
    const unsigned result = cudnn->create(&h->handle);
    (void)scope->driver->capture_mode_exchange(&mode);
    if (result != CVP_CUDNN_STATUS_SUCCESS) {
        cvp_free(h);
        return cvp_cudnn_status(cudnn, result, "a handle");
    }
    h->context = scope->context;
    h->context_id = scope->id;
    *made = h;
    return CONVOP_OK;
}

convop_status cvp_cudnn_handle_take(const struct cvp_cudnn *cudnn,
                                    const struct cvp_gpu_scope *scope,
                                    struct cvp_cudnn_handle **taken)
{
    cvp_lock(CVP_LOCK_HANDLES);
    struct cvp_cudnn_handle *h = find(scope, 1);
    if (!h) h = find(scope, 0);
    cvp_unlock(CVP_LOCK_HANDLES);
    if (!h) CVP_RETURN_IF_ERROR(make(cudnn, scope, &h));
    if (h->stream != scope->stream) {
        const unsigned result = cudnn->set_stream(h->handle, scope->stream);
        if (result != CVP_CUDNN_STATUS_SUCCESS) {
            cvp_cudnn_handle_give(h);
            return cvp_cudnn_status(cudnn, result, "the stream of a handle");
        }
        h->stream = scope->stream;
    }
    *taken = h;
    return CONVOP_OK;
}

void cvp_cudnn_handle_give(struct cvp_cudnn_handle *h)
{
    cvp_lock(CVP_LOCK_HANDLES);
    h->next = idle;
    idle = h;
    cvp_unlock(CVP_LOCK_HANDLES);
}

/* Nothing is to be done for one whose context has ended: that took along what the handle had. */
static void end(const struct cvp_cudnn_handle *h)
{
    const char *why;
    struct CUctx_st *context;
    unsigned long long id;
    const struct cvp_driver *d = cvp_driver_get(&why);
    if (!d || d->context_id(h->context, &id) != CVP_CUDA_SUCCESS || id != h->context_id ||
        d->context_push(h->context) != CVP_CUDA_SUCCESS)
        return;
    (void)cvp_cudnn_get(&why)->destroy(h->handle);
    (void)d->context_pop(&context);
}

void cvp_cudnn_handles_trim(void)
{
    cvp_lock(CVP_LOCK_HANDLES);
    struct cvp_cudnn_handle *all = idle;
    idle = NULL;
    cvp_unlock(CVP_LOCK_HANDLES);
    while (all) {
        struct cvp_cudnn_handle *h = all;
        all = h->next;
        end(h);
        cvp_free(h);
    }
}

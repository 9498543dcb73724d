/* cuDNN's version, errors, handles, and the execution of plans. */
#include <sched.h>
#include <string.h>

#include "tests/standin/cudnn.h"

size_t cudnnGetVersion(void)
{
    return standin_planner()->version();
}

size_t cudnnGetCudartVersion(void)
{
    return 13000;
}

const char *cudnnGetErrorString(unsigned status)
{
    static const struct {
        unsigned status;
        const char *name;
    } names[] = {
#define CVP_CONSTANT(name, value) {value, #name},
#include "src/cuda/cudnn_constants.h"
#undef CVP_CONSTANT
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].status == status && strncmp(names[i].name, "CUDNN_STATUS_", 13) == 0)
            return names[i].name;
    return "CUDNN_STATUS_?";
}

void cudnnGetLastErrorString(char *text, size_t size)
{
    standin_planner()->last_error(text, size);
}

/* ---- handles --------------------------------------------------------------------------------- */

unsigned cudnnCreate(struct cudnnContext **handle)
{
    ENTER();
    struct cudnnContext *h = calloc(1, sizeof *h);
    if (!h) abort();
    h->context = standin_current();
    h->context_id = h->context->id;
    pthread_mutex_lock(&standin_lock);
    standin_is_unsafe();
    standin_add(STANDIN_HANDLE, h);
    pthread_mutex_unlock(&standin_lock);
    *handle = h;
    return CVP_CUDNN_STATUS_SUCCESS;
}

static void expect_context(const struct cudnnContext *handle)
{
    if (handle->context != standin_current() || handle->context_id != handle->context->id)
        standin_misuse(NULL, "the handle is of another context than the current one");
}

unsigned cudnnDestroy(struct cudnnContext *handle)
{
    const unsigned failed = standin_enter(__func__);
    pthread_mutex_lock(&standin_lock);
    standin_is_unsafe();
    standin_expect(STANDIN_HANDLE, handle);
    expect_context(handle);
    standin_remove(STANDIN_HANDLE, handle);
    pthread_mutex_unlock(&standin_lock);
    free(handle);
    return failed;
}

/* A handle serves one thread at a time. */
static void enter_handle(struct cudnnContext *handle)
{
    pthread_mutex_lock(&standin_lock);
    standin_expect(STANDIN_HANDLE, handle);
    expect_context(handle);
    if (handle->is_busy) standin_misuse(NULL, "another thread is in a call with the handle");
    handle->is_busy = 1;
    pthread_mutex_unlock(&standin_lock);
    sched_yield();
}

static void leave_handle(struct cudnnContext *handle)
{
    pthread_mutex_lock(&standin_lock);
    handle->is_busy = 0;
    pthread_mutex_unlock(&standin_lock);
}

unsigned cudnnSetStream(struct cudnnContext *handle, struct CUstream_st *stream)
{
    ENTER();
    enter_handle(handle);
    pthread_mutex_lock(&standin_lock);
    (void)standin_stream_of(stream);
    handle->stream = stream;
    pthread_mutex_unlock(&standin_lock);
    leave_handle(handle);
    return CVP_CUDNN_STATUS_SUCCESS;
}

unsigned cudnnBackendExecute(struct cudnnContext *handle, void *plan_, void *pack_)
{
    ENTER();
    const struct descriptor *plan = standin_descriptor(plan_), *pack = standin_descriptor(pack_);
    if (!plan->is_final || !pack->is_final)
        standin_misuse(NULL, "the plan or the pack was not finalised");
    enter_handle(handle);
    const int device = plan->device;
    if (device >= 0 && device != handle->context->device)
        standin_misuse(NULL, "the plan is for device %d, the handle of device %d", device,
                       handle->context->device);
    struct work *work = standin_execution(plan, pack);
    pthread_mutex_lock(&standin_lock);
    standin_enqueue(standin_stream_of(handle->stream), work);
    pthread_mutex_unlock(&standin_lock);
    leave_handle(handle);
    return CVP_CUDNN_STATUS_SUCCESS;
}

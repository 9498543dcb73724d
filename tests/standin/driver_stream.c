/* The driver's calls about streams and events. */
#include "tests/standin/state.h"

unsigned cuStreamCreate(struct CUstream_st **stream, unsigned flags)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    struct CUstream_st *s =
        standin_stream_make(standin_current(), !(flags & CVP_CU_STREAM_NON_BLOCKING));
    standin_add(STANDIN_STREAM, s);
    pthread_mutex_unlock(&standin_lock);
    *stream = s;
    return CVP_CUDA_SUCCESS;
}

unsigned cuStreamDestroy_v2(struct CUstream_st *stream)
{
    const unsigned failed = standin_enter(__func__);
    pthread_mutex_lock(&standin_lock);
    standin_expect(STANDIN_STREAM, stream);
    standin_needs_no_capture(stream);
    standin_remove(STANDIN_STREAM, stream);
    standin_stream_end(stream);
    pthread_mutex_unlock(&standin_lock);
    return failed;
}

/* Of any context, for the calls that do not care; a default one is of the current context. */
static struct CUstream_st *any_stream(struct CUstream_st *handle)
{
    if ((uintptr_t)handle <= 2) return standin_stream_of(handle);
    standin_expect(STANDIN_STREAM, handle);
    return handle;
}

unsigned cuStreamSynchronize(struct CUstream_st *handle)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    struct CUstream_st *stream = any_stream(handle);
    standin_needs_no_capture(stream);
    standin_capture_implicit(stream);
    standin_wait(&stream->clock);
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

unsigned cuStreamQuery(struct CUstream_st *handle)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    struct CUstream_st *stream = any_stream(handle);
    standin_needs_no_capture(stream);
    const int is_done = standin_is_done(&stream->clock);
    if (is_done) standin_wait(&stream->clock);
    pthread_mutex_unlock(&standin_lock);
    return is_done ? CVP_CUDA_SUCCESS : CVP_CUDA_ERROR_NOT_READY;
}

unsigned cuStreamGetCtx(struct CUstream_st *handle, struct CUctx_st **context)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    *context = any_stream(handle)->context;
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

unsigned cuStreamWaitEvent(struct CUstream_st *handle, struct CUevent_st *event, unsigned flags)
{
    ENTER();
    if (flags) return CVP_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&standin_lock);
    standin_expect(STANDIN_EVENT, event);
    struct CUstream_st *stream = any_stream(handle);
    if (event->capture)
        stream->capture = event->capture;
    else if (stream->capture && event->is_recorded)
        standin_misuse(NULL, "a captured stream waits for an event that was not captured");
    else
        standin_join(&stream->clock, &event->clock);
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

/* ---- events ---------------------------------------------------------------------------------- */

unsigned cuEventCreate(struct CUevent_st **event, unsigned flags)
{
    ENTER();
    struct CUevent_st *e = calloc(1, sizeof *e);
    if (!e) abort();
    e->context = standin_current();
    e->has_time = !(flags & CVP_CU_EVENT_DISABLE_TIMING);
    pthread_mutex_lock(&standin_lock);
    standin_add(STANDIN_EVENT, e);
    pthread_mutex_unlock(&standin_lock);
    *event = e;
    return CVP_CUDA_SUCCESS;
}

unsigned cuEventDestroy_v2(struct CUevent_st *event)
{
    const unsigned failed = standin_enter(__func__);
    pthread_mutex_lock(&standin_lock);
    standin_remove(STANDIN_EVENT, event);
    standin_wait_quietly(&event->clock);
    pthread_mutex_unlock(&standin_lock);
    free(event);
    return failed;
}

static void run_record(struct op *op, void *event)
{
    pthread_mutex_lock(&standin_lock);
    ((struct CUevent_st *)event)->ms = op->stream->ms;
    pthread_mutex_unlock(&standin_lock);
}

unsigned cuEventRecord(struct CUevent_st *event, struct CUstream_st *handle)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    standin_expect(STANDIN_EVENT, event);
    struct CUstream_st *stream = standin_stream_of(handle);
    if (event->context != stream->context)
        standin_misuse(NULL, "the event is of another context than the stream");
    standin_wait_quietly(&event->clock);
    event->capture = stream->capture;
    if (!stream->capture) {
        standin_enqueue(stream, standin_work("cuEventRecord", run_record, event));
        event->clock = stream->clock;
    }
    event->is_recorded = 1;
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

static void expect_not_captured(const struct CUevent_st *event)
{
    standin_expect(STANDIN_EVENT, event);
    if (event->capture) standin_misuse(NULL, "the event was recorded into a capture");
}

unsigned cuEventSynchronize(struct CUevent_st *event)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    expect_not_captured(event);
    standin_is_unsafe();
    standin_wait(&event->clock);
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

unsigned cuEventQuery(struct CUevent_st *event)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    expect_not_captured(event);
    standin_is_unsafe();
    const int is_done = standin_is_done(&event->clock);
    if (is_done) standin_wait(&event->clock);
    pthread_mutex_unlock(&standin_lock);
    return is_done ? CVP_CUDA_SUCCESS : CVP_CUDA_ERROR_NOT_READY;
}

unsigned cuEventElapsedTime(float *milliseconds, struct CUevent_st *begin, struct CUevent_st *end)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    expect_not_captured(begin);
    expect_not_captured(end);
    if (!begin->has_time || !end->has_time || !begin->is_recorded || !end->is_recorded)
        standin_misuse(NULL, "an event has no time");
    const int is_done = standin_is_done(&begin->clock) && standin_is_done(&end->clock);
    *milliseconds = (float)(end->ms - begin->ms);
    pthread_mutex_unlock(&standin_lock);
    return is_done ? CVP_CUDA_SUCCESS : CVP_CUDA_ERROR_NOT_READY;
}

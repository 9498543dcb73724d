/* Capturing a stream into a graph, and launching it. A graph keeps its work in the order of the
 * calls, whichever streams took part, and a launch runs it in that order. */
#include "tests/standin/state.h"

struct CUgraph_st {
    struct work **works;
    size_t count;
    unsigned mode;
    pthread_t thread;                 /* that began it */
    const struct CUstream_st *origin; /* NULL: ended */
    struct CUctx_st *context;
};

struct CUgraphExec_st {
    struct CUgraph_st graph;
};

static _Thread_local unsigned thread_mode = CVP_CU_STREAM_CAPTURE_MODE_GLOBAL;

/* 1 if the graph's capture forbids unsafe calls in this thread. */
static int forbids(const struct CUgraph_st *graph)
{
    if (!graph->origin || graph->mode == CVP_CU_STREAM_CAPTURE_MODE_RELAXED) return 0;
    if (pthread_equal(graph->thread, pthread_self())) return 1;
    return graph->mode == CVP_CU_STREAM_CAPTURE_MODE_GLOBAL &&
           thread_mode == CVP_CU_STREAM_CAPTURE_MODE_GLOBAL;
}

void standin_is_unsafe(void)
{
    const struct CUgraph_st *graph;
    if (thread_mode == CVP_CU_STREAM_CAPTURE_MODE_RELAXED) return;
    for (size_t i = 0; (graph = standin_at(STANDIN_GRAPH, i)); i++)
        if (forbids(graph)) standin_misuse(NULL, "not allowed while a stream is captured");
}

void standin_needs_no_capture(const struct CUstream_st *stream)
{
    if (stream->capture) standin_misuse(NULL, "not allowed on a stream that is captured");
}

void standin_capture_implicit(const struct CUstream_st *stream)
{
    const struct CUgraph_st *graph;
    for (size_t i = 0; stream->is_legacy && (graph = standin_at(STANDIN_GRAPH, i)); i++)
        if (graph->origin && graph->context == stream->context && graph->origin->is_blocking)
            standin_misuse(NULL, "the default stream waits for a stream that is captured");
}

void standin_capture_work(struct CUgraph_st *graph, struct work *work)
{
    graph->works = realloc(graph->works, (graph->count + 1) * sizeof(struct work *));
    if (!graph->works) abort();
    graph->works[graph->count++] = work;
}

static void release(struct CUgraph_st *graph)
{
    for (size_t i = 0; i < graph->count; i++) standin_release_work(graph->works[i]);
    free(graph->works);
}

unsigned cuStreamIsCapturing(struct CUstream_st *handle, unsigned *status)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    const struct CUstream_st *stream = handle;
    if ((uintptr_t)handle <= 2)
        stream = standin_stream_of(handle);
    else
        standin_expect(STANDIN_STREAM, handle);
    standin_capture_implicit(stream);
    *status =
        stream->capture ? CVP_CU_STREAM_CAPTURE_STATUS_ACTIVE : CVP_CU_STREAM_CAPTURE_STATUS_NONE;
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

unsigned cuStreamBeginCapture_v2(struct CUstream_st *stream, unsigned mode)
{
    ENTER();
    if (mode > CVP_CU_STREAM_CAPTURE_MODE_RELAXED) return CVP_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&standin_lock);
    standin_expect(STANDIN_STREAM, stream);
    standin_needs_no_capture(stream);
    struct CUgraph_st *graph = calloc(1, sizeof *graph);
    if (!graph) abort();
    graph->mode = mode;
    graph->thread = pthread_self();
    graph->origin = stream;
    graph->context = stream->context;
    stream->capture = graph;
    standin_add(STANDIN_GRAPH, graph);
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

unsigned cuStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    standin_expect(STANDIN_STREAM, stream);
    if (!stream->capture || stream->capture->origin != stream)
        standin_misuse(NULL, "no capture was begun on the stream");
    *graph = stream->capture;
    (*graph)->origin = NULL;
    const struct CUstream_st *s;
    for (size_t i = 0; (s = standin_at(STANDIN_STREAM, i)); i++)
        if (s->capture == *graph) ((struct CUstream_st *)(uintptr_t)s)->capture = NULL;
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

unsigned cuThreadExchangeStreamCaptureMode(unsigned *mode)
{
    ENTER();
    const unsigned old = thread_mode;
    thread_mode = *mode;
    *mode = old;
    return CVP_CUDA_SUCCESS;
}

unsigned cuGraphInstantiateWithFlags(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
                                     unsigned long long flags)
{
    ENTER();
    if (flags) return CVP_CUDA_ERROR_INVALID_VALUE;
    struct CUgraphExec_st *e = calloc(1, sizeof *e);
    if (!e) abort();
    pthread_mutex_lock(&standin_lock);
    standin_expect(STANDIN_GRAPH, graph);
    if (graph->origin) standin_misuse(NULL, "the capture has not ended");
    e->graph.context = graph->context;
    for (size_t i = 0; i < graph->count; i++) {
        graph->works[i]->refs++;
        standin_capture_work(&e->graph, graph->works[i]);
    }
    standin_add(STANDIN_GRAPH_EXEC, e);
    pthread_mutex_unlock(&standin_lock);
    *exec = e;
    return CVP_CUDA_SUCCESS;
}

unsigned cuGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *handle)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    standin_expect(STANDIN_GRAPH_EXEC, exec);
    struct CUstream_st *stream = standin_stream_of(handle);
    if (exec->graph.context != stream->context)
        standin_misuse(NULL, "the graph is of another context than the stream");
    for (size_t i = 0; i < exec->graph.count; i++) {
        exec->graph.works[i]->refs++;
        standin_enqueue(stream, exec->graph.works[i]);
    }
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

unsigned cuGraphExecDestroy(struct CUgraphExec_st *exec)
{
    const unsigned failed = standin_enter(__func__);
    pthread_mutex_lock(&standin_lock);
    standin_remove(STANDIN_GRAPH_EXEC, exec);
    release(&exec->graph);
    pthread_mutex_unlock(&standin_lock);
    free(exec);
    return failed;
}

unsigned cuGraphDestroy(struct CUgraph_st *graph)
{
    const unsigned failed = standin_enter(__func__);
    pthread_mutex_lock(&standin_lock);
    standin_remove(STANDIN_GRAPH, graph);
    release(graph);
    pthread_mutex_unlock(&standin_lock);
    free(graph);
    return failed;
}

/* The stand-in itself: what is left at exit, of each kind, ends the process with a sentence. */
#include <stdint.h>

#include "tests/standin/acts.h"

static void nothing(void) {}

static void leak_of_memory(void)
{
    unsigned long long m;
    MUST(D->mem_alloc(&m, BYTES));
}

static void leak_of_a_stream(void)
{
    struct CUstream_st *stream;
    MUST(D->stream_create(&stream, CVP_CU_STREAM_DEFAULT));
}

static void leak_of_an_event(void)
{
    struct CUevent_st *event;
    MUST(D->event_create(&event, CVP_CU_EVENT_DEFAULT));
}

static void leak_of_a_module(void)
{
    static const unsigned image[4] = {0xba55ed50};
    struct CUmod_st *module;
    MUST(D->module_load(&module, image));
}

static void leak_of_a_graph(void)
{
    (void)capture();
}

static void leak_of_a_handle(void)
{
    struct cudnnContext *handle;
    MUST(x.gpu.cudnn->create(&handle));
}

static void leak_of_a_descriptor(void)
{
    void *d;
    MUST(x.gpu.cudnn->descriptor_create(CVP_CUDNN_BACKEND_TENSOR_DESCRIPTOR, &d));
}

static void leak_of_a_current_context(void)
{
    MUST(D->context_push(x.context));
}

int main(void)
{
    static const struct act acts[] = {
        RIGHT(nothing),
        WRONG(leak_of_memory, "left are 1 of: memory"),
        WRONG(leak_of_a_stream, "left are 1 of: stream"),
        WRONG(leak_of_an_event, "left are 1 of: event"),
        WRONG(leak_of_a_module, "left are 1 of: module"),
        WRONG(leak_of_a_graph, "left are 1 of: executable graph"),
        WRONG(leak_of_a_handle, "left are 1 of: handle"),
        WRONG(leak_of_a_descriptor, "left are 1 of: descriptor"),
        WRONG(leak_of_a_current_context, "left are 1 of: current context"),
    };
    return commit_acts("leaks", acts, sizeof acts / sizeof acts[0]);
}

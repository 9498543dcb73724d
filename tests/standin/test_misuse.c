/* The stand-in itself: each class of misuse must end the process with the stand-in's sentence;
 * beside each stands what is right, and passes. */
#include <stdint.h>

#include "tests/standin/acts.h"

/* ---- what is right --------------------------------------------------------------------------- */

static void nothing(void) {}

static void ordered_by_an_event(void)
{
    unsigned char got[BYTES];
    fill_one();
    MUST(D->event_record(x.event, x.one));
    MUST(D->stream_wait_event(x.two, x.event, 0));
    MUST(D->copy_on_device(x.other, x.memory, BYTES, x.two));
    MUST(D->copy_to_host(got, x.other, BYTES, x.two));
    for (int i = 0; i < BYTES; i++) MUST_BE(got[i] == 1);
}

static void ordered_by_the_host(void)
{
    fill_one();
    MUST(D->stream_synchronize(x.one));
    MUST(D->copy_on_device(x.other, x.memory, BYTES, x.two));
}

static void ordered_by_the_default_stream(void)
{
    struct CUstream_st *blocking;
    MUST(D->stream_create(&blocking, CVP_CU_STREAM_DEFAULT));
    MUST(D->fill_bytes(x.memory, 1, BYTES, blocking));
    MUST(D->fill_bytes(x.memory, 2, BYTES, NULL));
    MUST(D->copy_on_device(x.other, x.memory, BYTES, blocking));
    MUST(D->stream_destroy(blocking));
}

static void two_readers(void)
{
    MUST(D->fill_bytes(x.memory, 1, BYTES, x.one));
    MUST(D->stream_synchronize(x.one));
    MUST(D->copy_on_device(x.other, x.memory, BYTES / 2, x.one));
    MUST(D->copy_on_device(x.other + BYTES / 2, x.memory, BYTES / 2, x.two));
}

static void memory_in_the_order_of_a_stream(void)
{
    unsigned long long m;
    MUST(D->mem_alloc_async(&m, BYTES, x.one));
    MUST(D->fill_bytes(m, 1, BYTES, x.one));
    MUST(D->mem_free_async(m, x.one));
}

static void a_captured_graph(void)
{
    unsigned char got[BYTES];
    struct CUgraphExec_st *exec = capture();
    MUST(D->fill_bytes(x.other, 9, BYTES, x.one));
    x.gpu.standin->read(got, x.other, BYTES);
    MUST_BE(got[0] == 9); /* not run yet */
    for (int i = 0; i < 2; i++) MUST(D->graph_launch(exec, x.one));
    x.gpu.standin->read(got, x.other, BYTES);
    MUST_BE(got[0] == 1 && got[BYTES - 1] == 1);
    MUST(D->graph_exec_destroy(exec));
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static void no_order(void)
{
    fill_one();
    MUST(D->copy_on_device(x.other, x.memory, BYTES, x.two));
    MUST(D->context_synchronize());
}

static void an_event_of_too_early(void)
{
    MUST(D->event_record(x.event, x.one));
    fill_one();
    MUST(D->stream_wait_event(x.two, x.event, 0));
    MUST(D->copy_on_device(x.other, x.memory, BYTES, x.two));
    MUST(D->context_synchronize());
}

static void a_write_beside_a_reader(void)
{
    MUST(D->copy_on_device(x.other, x.memory, BYTES, x.two));
    fill_one();
    MUST(D->context_synchronize());
}

static void memory_of_the_host(void)
{
    static unsigned char host[BYTES];
    MUST(D->fill_bytes((uintptr_t)host, 1, BYTES, x.one));
    MUST(D->context_synchronize());
}

static void memory_of_the_device_as_the_hosts(void)
{
    MUST(D->copy_to_device(x.other, (void *)(uintptr_t)x.memory, BYTES, x.one));
}

static void the_host_touches_the_device(void)
{
    *(volatile char *)(uintptr_t)x.memory = 1;
}

static void use_after_free(void)
{
    MUST(D->mem_free(x.memory));
    fill_one();
    MUST(D->context_synchronize());
}

static void use_after_free_in_order(void)
{
    unsigned long long m;
    MUST(D->mem_alloc_async(&m, BYTES, x.one));
    MUST(D->mem_free_async(m, x.one));
    MUST(D->fill_bytes(m, 1, BYTES, x.one));
    MUST(D->context_synchronize());
}

static void free_while_another_stream_uses_it(void)
{
    unsigned long long m;
    MUST(D->mem_alloc_async(&m, BYTES, x.one));
    MUST(D->event_record(x.event, x.one));
    MUST(D->stream_wait_event(x.two, x.event, 0));
    MUST(D->fill_bytes(m, 1, BYTES, x.two));
    MUST(D->mem_free_async(m, x.one));
    MUST(D->context_synchronize());
}

static void twice_freed(void)
{
    MUST(D->mem_free(x.memory));
    MUST(D->mem_free(x.memory));
}

static void out_of_bounds(void)
{
    MUST(D->fill_bytes(x.memory + 1, 1, BYTES, x.one));
    MUST(D->context_synchronize());
}

static void another_context(void)
{
    struct CUctx_st *second = x.gpu.standin->context_create(0);
    MUST(D->context_push(second));
    MUST(D->fill_bytes(x.memory, 1, BYTES, NULL));
    MUST(D->context_synchronize());
}

static void a_stream_of_another_context(void)
{
    MUST(D->context_push(x.gpu.standin->context_create(1)));
    fill_one();
}

static void no_context(void)
{
    struct CUctx_st *context;
    unsigned long long m;
    MUST(D->context_pop(&context));
    (void)D->mem_alloc(&m, BYTES);
}

static void a_stream_that_was_ended(void)
{
    MUST(D->stream_destroy(x.one));
    fill_one();
}

static void allocation_in_a_capture(void)
{
    unsigned long long m;
    MUST(D->capture_begin(x.one, CVP_CU_STREAM_CAPTURE_MODE_GLOBAL));
    (void)D->mem_alloc(&m, BYTES);
}

static void ordered_allocation_in_a_capture(void)
{
    unsigned long long m;
    MUST(D->capture_begin(x.one, CVP_CU_STREAM_CAPTURE_MODE_RELAXED));
    (void)D->mem_alloc_async(&m, BYTES, x.one);
}

static void waiting_in_a_capture(void)
{
    MUST(D->capture_begin(x.one, CVP_CU_STREAM_CAPTURE_MODE_RELAXED));
    (void)D->stream_synchronize(x.one);
}

static void the_default_stream_in_a_capture(void)
{
    struct CUstream_st *blocking;
    MUST(D->stream_create(&blocking, CVP_CU_STREAM_DEFAULT));
    MUST(D->capture_begin(blocking, CVP_CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(D->fill_bytes(x.memory, 1, BYTES, NULL));
}

int main(void)
{
    static const struct act acts[] = {
        RIGHT(nothing),
        RIGHT(ordered_by_an_event),
        RIGHT(ordered_by_the_host),
        RIGHT(ordered_by_the_default_stream),
        RIGHT(two_readers),
        RIGHT(memory_in_the_order_of_a_stream),
        RIGHT(a_captured_graph),
        WRONG(no_order, "no order between"),
        WRONG(an_event_of_too_early, "no order between"),
        WRONG(a_write_beside_a_reader, "no order between"),
        WRONG(memory_of_the_host, "is memory of the host"),
        WRONG(memory_of_the_device_as_the_hosts, "is memory of a device"),
        WRONG(the_host_touches_the_device, ""),
        WRONG(use_after_free, "was freed"),
        WRONG(use_after_free_in_order, "was freed"),
        WRONG(free_while_another_stream_uses_it, "no order between"),
        WRONG(twice_freed, "was freed"),
        WRONG(out_of_bounds, "at byte 1 of an allocation"),
        WRONG(another_context, "of another context"),
        WRONG(a_stream_of_another_context, "of another context"),
        WRONG(no_context, "no context is current"),
        WRONG(a_stream_that_was_ended, "is no stream"),
        WRONG(allocation_in_a_capture, "while a stream is captured"),
        WRONG(ordered_allocation_in_a_capture, "while the stream is captured"),
        WRONG(waiting_in_a_capture, "on a stream that is captured"),
        WRONG(the_default_stream_in_a_capture, "the default stream waits"),
    };
    return commit_acts("misuse", acts, sizeof acts / sizeof acts[0]);
}

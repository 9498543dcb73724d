/* The stand-in itself: each class of misuse is committed in a child of its own and must end it with
 * the stand-in's sentence; beside each stands what is right, and passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <string.h>

#include "tests/standin/gpu.h"
#include "tests/support/child.h"

#define BYTES 4096

static struct test_gpu gpu;
#define D (gpu.driver)

/* What most need: a context, two streams, an event, memory. */
static struct {
    struct CUctx_st *context;
    struct CUstream_st *one, *two;
    struct CUevent_st *event;
    unsigned long long memory, other;
} x;

static void set_up(void)
{
    gpu = test_gpu_begin();
    MUST(D->primary_retain(&x.context, 0));
    MUST(D->context_push(x.context));
    MUST(D->stream_create(&x.one, CVP_CU_STREAM_NON_BLOCKING));
    MUST(D->stream_create(&x.two, CVP_CU_STREAM_NON_BLOCKING));
    MUST(D->event_create(&x.event, CVP_CU_EVENT_DEFAULT));
    MUST(D->mem_alloc(&x.memory, BYTES));
    MUST(D->mem_alloc(&x.other, BYTES));
}

static void tear_down(void)
{
    struct CUctx_st *context;
    MUST(D->mem_free(x.memory));
    MUST(D->mem_free(x.other));
    MUST(D->event_destroy(x.event));
    MUST(D->stream_destroy(x.one));
    MUST(D->stream_destroy(x.two));
    MUST(D->context_pop(&context));
    MUST(D->primary_release(0));
}

static void fill_one(void)
{
    MUST(D->fill_bytes(x.memory, 1, BYTES, x.one));
}

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

static struct CUgraphExec_st *capture(void)
{
    struct CUgraph_st *graph;
    struct CUgraphExec_st *exec;
    MUST(D->capture_begin(x.one, CVP_CU_STREAM_CAPTURE_MODE_GLOBAL));
    fill_one();
    MUST(D->copy_on_device(x.other, x.memory, BYTES, x.one));
    MUST(D->capture_end(x.one, &graph));
    MUST(D->graph_instantiate(&exec, graph, 0));
    MUST(D->graph_destroy(graph));
    return exec;
}

static void a_captured_graph(void)
{
    unsigned char got[BYTES];
    struct CUgraphExec_st *exec = capture();
    MUST(D->fill_bytes(x.other, 9, BYTES, x.one));
    gpu.standin->read(got, x.other, BYTES);
    MUST_BE(got[0] == 9); /* not run yet */
    for (int i = 0; i < 2; i++) MUST(D->graph_launch(exec, x.one));
    gpu.standin->read(got, x.other, BYTES);
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
    struct CUctx_st *second = gpu.standin->context_create(0);
    MUST(D->context_push(second));
    MUST(D->fill_bytes(x.memory, 1, BYTES, NULL));
    MUST(D->context_synchronize());
}

static void a_stream_of_another_context(void)
{
    MUST(D->context_push(gpu.standin->context_create(1)));
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
    MUST(gpu.cudnn->create(&handle));
}

static void leak_of_a_descriptor(void)
{
    void *d;
    MUST(gpu.cudnn->descriptor_create(CVP_CUDNN_BACKEND_TENSOR_DESCRIPTOR, &d));
}

static void leak_of_a_current_context(void)
{
    MUST(D->context_push(x.context));
}

/* ---- running them ---------------------------------------------------------------------------- */

struct act {
    const char *name;
    void (*run)(void);
    const char *says; /* a part of the sentence; NULL: it is right; "": the signal of a fault */
};

static int commit(void *act_)
{
    const struct act *act = act_;
    set_up();
    act->run();
    tear_down();
    exit(0); /* leaks are looked for at exit */
}

/* The child's exit code, and what it wrote to stderr. */
static int run_child(const struct act *act, char *text, size_t size)
{
    int ends[2];
    if (pipe(ends) != 0) return -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(TEST_CHILD_SECONDS);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        for (int s = 1; s < 16; s++) signal(s, SIG_DFL);
        _exit(commit((void *)(uintptr_t)act));
    }
    close(ends[1]);
    size_t used = 0;
    ssize_t got;
    while ((got = read(ends[0], text + used, size - 1 - used)) > 0) used += (size_t)got;
    text[used] = '\0';
    close(ends[0]);
    return test_reap(child);
}

static void try(void **state)
{
    const struct act *act = *state;
    char text[4096];
    const int code = run_child(act, text, sizeof text);
    if (!act->says) {
        if (code != 0) fail_msg("%d: %s", code, text);
    } else if (!act->says[0]) {
        /* A sanitizer turns the signal into an exit code of its own. */
        assert_true(code == -SIGSEGV || code > 0);
    } else {
        if (code != STANDIN_MISUSE || !strstr(text, act->says)) fail_msg("%d: %s", code, text);
        assert_true(strncmp(text, "standin: ", 9) == 0);
    }
}

#define RIGHT(act)                                                                                 \
    {                                                                                              \
#act, act, NULL                                                                            \
    }
#define WRONG(act, says)                                                                           \
    {                                                                                              \
#act, act, says                                                                            \
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
        WRONG(leak_of_memory, "left are 1 of: memory"),
        WRONG(leak_of_a_stream, "left are 1 of: stream"),
        WRONG(leak_of_an_event, "left are 1 of: event"),
        WRONG(leak_of_a_module, "left are 1 of: module"),
        WRONG(leak_of_a_graph, "left are 1 of: executable graph"),
        WRONG(leak_of_a_handle, "left are 1 of: handle"),
        WRONG(leak_of_a_descriptor, "left are 1 of: descriptor"),
        WRONG(leak_of_a_current_context, "left are 1 of: current context"),
    };
    enum { COUNT = sizeof acts / sizeof acts[0] };
    struct CMUnitTest tests[COUNT];
    for (int i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){acts[i].name, try, NULL, NULL, (void *)(uintptr_t)&acts[i]};
    return cmocka_run_group_tests_name("misuse", tests, NULL, NULL);
}

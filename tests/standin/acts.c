/* Committing acts, and what became of whoever did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <string.h>

#include "tests/standin/acts.h"
#include "tests/support/child.h"

struct acting x;

static void set_up(void)
{
    x.gpu = test_gpu_begin();
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

void fill_one(void)
{
    MUST(D->fill_bytes(x.memory, 1, BYTES, x.one));
}

struct CUgraphExec_st *capture(void)
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

int commit_acts(const char *name, const struct act acts[], size_t count)
{
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    MUST_BE(tests != NULL);
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){acts[i].name, try, NULL, NULL, (void *)(uintptr_t)&acts[i]};
    const int failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    free(tests);
    return failed;
}

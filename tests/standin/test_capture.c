/* Captures of streams on the stand-in's GPU: what may be captured, and what a call does without in
 * a capture. Argument real: planned by the cuDNN of the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <string.h>

#include "tests/standin/set_up.h"
#include "tests/support/expect.h"

/* ---- capture --------------------------------------------------------------------------------- */

static void a_prepared_instance_can_be_captured(void **state)
{
    (void)state;
    const struct cvp_driver *d = set_up.gpu.driver;
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    convop_instance *op = NULL;
    struct CUgraph_st *graph;
    struct CUgraphExec_st *exec;
    size_t bytes = 0;
    unsigned long long workspace = 0;
    plain_make(&c, &e, 6);
    set_up_enter(set_up.contexts[0]);
    on_gpu_put(&g, &set_up.gpu, &c, 0);
    const DLTensor *in[] = {&g.placed.at[P_SRC], &g.placed.at[P_WEIGHTS], &g.placed.at[P_BIAS]};
    DLTensor *out[] = {&g.placed.at[P_DST]};
    expect_ok(convop_instance_create_typed("Convolution", &c.params, 3, NULL, NULL, &op));
    expect_ok(convop_instance_reshape(op, in, out, NULL, 1 << 20, &bytes));
    if (bytes) MUST(d->mem_alloc(&workspace, bytes + 64));
    struct CUstream_st *stream = make_stream();
    convop_exec x = on_stream(stream);
    x.workspace = (void *)(uintptr_t)workspace;
    x.workspace_bytes = bytes ? bytes + 64 : 0;
    expect_ok(convop_instance_run(op, in, out, &x)); /* a handle is made */
    MUST(d->fill_bytes(g.memory[P_DST], 0xff, placed_bytes(&c, P_DST), stream));
    MUST(d->capture_begin(stream, CVP_CU_STREAM_CAPTURE_MODE_GLOBAL));
    expect_ok(convop_instance_run(op, in, out, &x));
    MUST(d->capture_end(stream, &graph));
    on_gpu_take_back(&g);
    c.requests[0] = c.requests[1] = c.requests[2] = CONVOP_REQ_NULL;
    assert_false(on_gpu_is_right(&g, &e)); /* nothing ran */
    MUST(d->graph_instantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++) MUST(d->graph_launch(exec, stream));
    assert_true(on_gpu_is_right(&g, &e));
    MUST(d->graph_exec_destroy(exec));
    MUST(d->graph_destroy(graph));
    MUST(d->stream_destroy(stream));
    if (workspace) MUST(d->mem_free(workspace));
    convop_instance_destroy(&op);
    on_gpu_free(&g);
    set_up_leave();
    conv_expected_free(&e);
    conv_case_destroy(&c);
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* What lines say of measuring. */
static int begun, captured;

static void listen(void *user, const char *line)
{
    (void)user;
    begun += strstr(line, ",tune,Convolution,") && strstr(line, ",begin,");
    captured += strstr(line, ",tune,Convolution,") && strstr(line, ",captured,-,0.0000");
}

static long measurings(void)
{
    return set_up.gpu.standin->calls("cuEventElapsedTime");
}

/* Forward on a stream, with a workspace. */
static void run(struct on_gpu *g, struct CUstream_st *stream, unsigned long long workspace)
{
    convop_exec x = on_stream(stream);
    x.workspace = (void *)(uintptr_t)workspace;
    x.workspace_bytes = 1 << 20;
    expect_ok(placed_forward(&g->placed, &x));
}

/* A call that would measure takes the estimate in a capture; the next one measures. */
static void nothing_is_measured_in_a_capture(void **state)
{
    (void)state;
    const struct cvp_driver *d = set_up.gpu.driver;
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    struct CUgraph_st *graph;
    struct CUgraphExec_st *exec;
    unsigned long long workspace;
    expect_ok(convop_set("impl", ""));
    for (int verbose = 0; verbose < 2; verbose++) {
        plain_make(&c, &e, 7);
        c.requests[0] = c.requests[1] = c.requests[2] = CONVOP_REQ_NULL;
        c.params.cudnn_tune = CONVOP_TUNE_LIMITED_WORKSPACE;
        set_up_enter(set_up.contexts[0]);
        on_gpu_put(&g, &set_up.gpu, &c, 0);
        MUST(d->mem_alloc(&workspace, 1 << 20));
        struct CUstream_st *stream = make_stream();
        expect_ok(convop_tune_forget(NULL, NULL));
        expect_ok(convop_set("verbose", verbose ? "1" : "0"));
        begun = captured = 0;
        const long before = measurings();
        MUST(d->capture_begin(stream, CVP_CU_STREAM_CAPTURE_MODE_RELAXED));
        run(&g, stream, workspace);
        MUST(d->capture_end(stream, &graph));
        assert_int_equal(measurings(), before);
        assert_int_equal(captured, verbose);
        assert_int_equal(begun, 0);
        MUST(d->graph_instantiate(&exec, graph, 0));
        MUST(d->graph_launch(exec, stream));
        assert_true(on_gpu_is_right(&g, &e));
        run(&g, stream, workspace);
        assert_true(measurings() > before);
        assert_int_equal(begun, verbose);
        MUST(d->graph_exec_destroy(exec));
        MUST(d->graph_destroy(graph));
        MUST(d->stream_destroy(stream));
        MUST(d->mem_free(workspace));
        on_gpu_free(&g);
        set_up_leave();
        conv_expected_free(&e);
        conv_case_destroy(&c);
    }
    expect_ok(convop_set("verbose", "0"));
    expect_ok(convop_set("impl", "cudnn"));
}

int main(int argc, char **argv)
{
    setenv("CONVOP_CACHE_DIR", "none", 1);
    convop_set_log_sink(listen, NULL);
    const int code = set_up_begin(argc, argv);
    if (code) return code;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prepared_instance_can_be_captured),
        cmocka_unit_test(nothing_is_measured_in_a_capture),
    };
    return set_up_end(cmocka_run_group_tests_name("capture", tests, NULL, NULL));
}

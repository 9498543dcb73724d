/* A prepared Convolution is captured into a CUDA graph, by every row, and the graph runs twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "convop/convop.h"
#include "tests/gpu/gpu.h"
#include "tests/support/expect.h"

#define LIMIT (64 << 20) /* bytes of workspace */

/* A prepared instance and its memory. */
struct prepared {
    convop_instance *op;
    const DLTensor *in[3];
    DLTensor *out[1];
    unsigned long long workspace;
    convop_exec exec;
};

static void prepare(struct prepared *p, struct gpu_conv *g)
{
    size_t bytes = 0;
    for (int i = 0; i < 3; i++) p->in[i] = &g->placed.at[P_SRC + i];
    p->out[0] = &g->placed.at[P_DST];
    expect_ok(
        convop_instance_create_typed("Convolution", &g->placed.c->params, 3, NULL, NULL, &p->op));
    expect_ok(convop_instance_reshape(p->op, p->in, p->out, NULL, LIMIT, &bytes));
    p->exec = gpu_exec(gpu.stream);
    p->exec.workspace_bytes = bytes + 64;
    GPU(mem_alloc(&p->workspace, bytes + 64));
    p->exec.workspace = (void *)(uintptr_t)p->workspace;
}

static void end(struct prepared *p)
{
    convop_instance_destroy(&p->op);
    GPU(mem_free(p->workspace));
}

/* The result is not there any more. */
static void wipe(struct gpu_conv *g)
{
    GPU(fill_bytes(g->memory[P_DST], 0xff, placed_bytes(g->placed.c, P_DST), gpu.stream));
}

static int is_wiped(struct gpu_conv *g)
{
    const size_t bytes = placed_bytes(g->placed.c, P_DST);
    unsigned char *held = malloc(bytes);
    size_t same = 0;
    assert_non_null(held);
    GPU(copy_to_host(held, g->memory[P_DST], bytes, gpu.stream));
    GPU(stream_synchronize(gpu.stream));
    while (same < bytes && held[same] == 0xff) same++;
    free(held);
    return same == bytes;
}

static void capture(struct gpu_conv *g, const struct conv_expected *e)
{
    struct prepared p = {0};
    struct CUgraph_st *graph;
    struct CUgraphExec_st *exec;
    prepare(&p, g);
    expect_ok(convop_instance_run(p.op, p.in, p.out, &p.exec)); /* loads what it runs */
    assert_true(gpu_is_right(g, e));
    wipe(g);
    GPU(capture_begin(gpu.stream, CVP_CU_STREAM_CAPTURE_MODE_GLOBAL));
    expect_ok(convop_instance_run(p.op, p.in, p.out, &p.exec));
    GPU(capture_end(gpu.stream, &graph));
    assert_true(is_wiped(g)); /* it was not run */
    GPU(graph_instantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++) {
        wipe(g);
        GPU(graph_launch(exec, gpu.stream));
        assert_true(gpu_is_right(g, e));
    }
    GPU(graph_exec_destroy(exec));
    GPU(graph_destroy(graph));
    end(&p);
}

/* By each row that applies; how many. */
static int capture_rows(int groups, int type)
{
    const struct conv_size size = {
        .axes = 2, .type = type, .mb = 2, .ic = 16, .oc = 16, .g = groups, .i = 9, .k = 3, .p = 1};
    struct conv_case c;
    struct conv_expected e;
    struct gpu_conv g;
    convop_conv_row rows[CONV_CASE_MAX_ROWS];
    conv_case_fixed(&c, &size, 1, 1);
    for (int i = 0; i < 3; i++) c.requests[i] = CONVOP_REQ_NULL;
    conv_case_expect(&c, &e);
    gpu_put(&g, &c, 1);
    const int count = gpu_rows(&g, CONVOP_FWD, rows);
    for (int i = 0; i < count; i++) {
        printf("%s, type %d, %d groups\n", rows[i].name, type, groups);
        expect_ok(convop_set("impl", rows[i].name));
        capture(&g, &e);
        expect_ok(convop_set("impl", NULL));
    }
    gpu_free(&g);
    conv_expected_free(&e);
    conv_case_destroy(&c);
    return count;
}

static void a_graph_gives_what_the_call_gives(void **state)
{
    (void)state;
    static const int types[] = {BOX_F32, BOX_F16};
    for (int i = 0; i < 4; i++) assert_true(capture_rows(i & 1 ? 16 : 1, types[i / 2]) > 0);
}

int main(void)
{
    setenv("CONVOP_CACHE_DIR", "none", 1);
    setenv("CONVOP_MATH", "strict", 1);
    const int code = gpu_begin();
    if (code) return code;
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_graph_gives_what_the_call_gives)};
    const int failed = cmocka_run_group_tests_name("gpu_capture", tests, NULL, NULL);
    gpu_end();
    return failed;
}

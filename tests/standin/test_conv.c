/* Convolution on the stand-in's GPUs through convop's own calls: results, planning, streams,
 * contexts, devices, threads, capture. Argument real: planned by the cuDNN of the machine; else by
 * the stand-in, which takes all.
 *
 *     CONVOP_CASE=<seed> test_standin_conv     repeats one problem */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "convop/convop.h"
#include "tests/standin/on_gpu.h"
#include "tests/support/expect.h"

#define CASES      120
#define CASES_REAL 30
#define THREADS    8

static struct test_gpu gpu;
static struct CUctx_st *contexts[STANDIN_DEVICES]; /* primary ones */
static int is_real;
static int has_bias_gradient; /* there is a row for it */

static const struct conv_size plain = {
    .axes = 2, .type = BOX_F32, .mb = 2, .ic = 8, .oc = 8, .g = 1, .i = 6, .k = 3, .s = 1, .p = 1};

static void make_plain(struct conv_case *c, struct conv_expected *e, uint64_t seed)
{
    conv_case_fixed(c, &plain, 1, seed);
    if (!has_bias_gradient) c->requests[2] = CONVOP_REQ_NULL;
    conv_case_expect(c, e);
}

static void enter(struct CUctx_st *context)
{
    MUST(gpu.driver->context_push(context));
}

static void leave(void)
{
    struct CUctx_st *context;
    MUST(gpu.driver->context_pop(&context));
}

static convop_exec on_stream(struct CUstream_st *stream)
{
    convop_exec x = CONVOP_EXEC_INIT;
    x.stream = stream;
    return x;
}

static struct CUstream_st *make_stream(void)
{
    struct CUstream_st *stream;
    MUST(gpu.driver->stream_create(&stream, CVP_CU_STREAM_NON_BLOCKING));
    return stream;
}

/* ---- results --------------------------------------------------------------------------------- */

/* 0: wrong; -1: a part of it is not run at all, by this cuDNN or for an empty batch. */
static int run_random(uint64_t seed)
{
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    conv_case_create(&c, seed);
    if (!has_bias_gradient) c.requests[2] = CONVOP_REQ_NULL;
    conv_case_expect(&c, &e);
    enter(contexts[0]);
    on_gpu_put(&g, &gpu, &c, 0);
    convop_status status = placed_forward(&g.placed, NULL);
    if (status == CONVOP_OK) status = placed_backward(&g.placed, NULL);
    int good = status == CONVOP_OK                                        ? on_gpu_is_right(&g, &e)
               : (is_real || c.mb == 0) && status == CONVOP_E_UNSUPPORTED ? -1
                                                                          : 0;
    if (good == 0) {
        if (status != CONVOP_OK) printf("status %d: %s\n", (int)status, convop_last_error());
        conv_case_print(&c);
        printf("CONVOP_CASE=%" PRIu64 "\n", seed);
    }
    on_gpu_free(&g);
    leave();
    conv_expected_free(&e);
    conv_case_destroy(&c);
    return good;
}

static void random_problems(void **state)
{
    (void)state;
    const char *one = getenv("CONVOP_CASE");
    int bad = 0, ran = 0;
    struct rng r = {one ? 0 : test_seed(20261130)};
    for (int64_t n = one ? 1 : test_scaled(is_real ? CASES_REAL : CASES); n > 0 && bad < 5; n--) {
        const int good = run_random(one ? strtoull(one, NULL, 0) : rng_next(&r));
        bad += good == 0;
        ran += good > 0;
    }
    printf("%d ran\n", ran);
    assert_int_equal(bad, 0);
    assert_true(ran > 0);
}

/* ---- planning -------------------------------------------------------------------------------- */

static long planned(void)
{
    return gpu.standin->calls("heuristics");
}

static void a_call_like_an_earlier_one_is_not_planned(void **state)
{
    (void)state;
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    make_plain(&c, &e, 1);
    enter(contexts[0]);
    on_gpu_put(&g, &gpu, &c, 0);
    (void)convop_trim();
    const long before = planned();
    expect_ok(placed_forward(&g.placed, NULL));
    const long first = planned(), plans = gpu.standin->calls("plans");
    assert_true(first > before);
    for (int i = 0; i < 3; i++) expect_ok(placed_forward(&g.placed, NULL));
    assert_int_equal(planned(), first);
    assert_int_equal(gpu.standin->calls("plans"), plans);
    expect_ok(placed_backward(&g.placed, NULL));
    assert_true(planned() > first);
    assert_true(on_gpu_is_right(&g, &e));
    on_gpu_free(&g);
    leave();
    conv_expected_free(&e);
    conv_case_destroy(&c);
}

/* The plan that is chosen first has a workspace of 64 KiB. */
static void without_memory_for_the_workspace_a_smaller_plan_runs(void **state)
{
    (void)state;
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    size_t available, total;
    if (is_real) skip();
    make_plain(&c, &e, 2);
    enter(contexts[0]);
    on_gpu_put(&g, &gpu, &c, 0);
    MUST(gpu.driver->mem_info(&available, &total));
    gpu.standin->limit_memory(0, total - available + 1024);
    const convop_status forward = placed_forward(&g.placed, NULL),
                        backward = placed_backward(&g.placed, NULL);
    gpu.standin->limit_memory(0, total);
    expect_ok(forward);
    expect_ok(backward);
    assert_true(on_gpu_is_right(&g, &e));
    on_gpu_free(&g);
    leave();
    conv_expected_free(&e);
    conv_case_destroy(&c);
}

/* ---- streams --------------------------------------------------------------------------------- */

static long waits(void)
{
    return gpu.standin->calls("cuStreamSynchronize") + gpu.standin->calls("cuCtxSynchronize") +
           gpu.standin->calls("cuEventSynchronize") + gpu.standin->calls("cuMemFree_v2");
}

/* What comes before and after on the caller's stream is in order with it, and nobody waits. */
static void the_callers_stream_alone_orders_the_call(void **state)
{
    (void)state;
    const struct cvp_driver *d = gpu.driver;
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    make_plain(&c, &e, 3);
    enter(contexts[0]);
    on_gpu_put(&g, &gpu, &c, 0);
    const size_t in = placed_bytes(&c, P_SRC), out = placed_bytes(&c, P_DST);
    unsigned long long source, result;
    MUST(d->mem_alloc(&source, in));
    MUST(d->mem_alloc(&result, out));
    struct CUstream_st *stream = make_stream();
    convop_exec x = on_stream(stream);
    expect_ok(placed_forward(&g.placed, &x)); /* planned */
    MUST(d->copy_on_device(source, g.memory[P_SRC], in, stream));
    MUST(d->fill_bytes(g.memory[P_SRC], 0, in, stream));
    const long before = waits();
    MUST(d->copy_on_device(g.memory[P_SRC], source, in, stream));
    expect_ok(placed_forward(&g.placed, &x));
    MUST(d->copy_on_device(result, g.memory[P_DST], out, stream));
    MUST(d->fill_bytes(g.memory[P_DST], 0xff, out, stream));
    assert_int_equal(waits(), before);
    MUST(d->copy_on_device(g.memory[P_DST], result, out, stream));
    expect_ok(placed_backward(&g.placed, &x));
    assert_int_equal(waits(), before);
    assert_true(on_gpu_is_right(&g, &e));
    MUST(d->stream_destroy(stream));
    MUST(d->mem_free(source));
    MUST(d->mem_free(result));
    on_gpu_free(&g);
    leave();
    conv_expected_free(&e);
    conv_case_destroy(&c);
}

/* ---- devices and contexts -------------------------------------------------------------------- */

static void run_in(struct CUctx_st *context, int device, int with_stream, uint64_t seed)
{
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    make_plain(&c, &e, seed);
    enter(context);
    on_gpu_put(&g, &gpu, &c, device);
    struct CUstream_st *stream = with_stream ? make_stream() : NULL;
    const convop_exec x = on_stream(stream);
    /* The caller's current context does not matter where the stream has one. */
    if (with_stream) leave();
    expect_ok(placed_forward(&g.placed, &x));
    expect_ok(placed_backward(&g.placed, &x));
    if (with_stream) enter(context);
    assert_true(on_gpu_is_right(&g, &e));
    if (stream) MUST(gpu.driver->stream_destroy(stream));
    on_gpu_free(&g);
    leave();
    conv_expected_free(&e);
    conv_case_destroy(&c);
}

static void two_devices(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) run_in(contexts[i % 2], i % 2, i >= 2, (uint64_t)i);
}

static void two_contexts(void **state)
{
    (void)state;
    struct CUctx_st *own = gpu.standin->context_create(0);
    for (int i = 0; i < 6; i++) run_in(i % 2 ? own : contexts[0], 0, i >= 2, (uint64_t)i);
    (void)convop_trim(); /* handles of that context */
    gpu.standin->context_destroy(own);
}

static void tensors_and_stream_of_different_devices_are_refused(void **state)
{
    (void)state;
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    make_plain(&c, &e, 5);
    enter(contexts[1]);
    struct CUstream_st *stream = make_stream();
    const convop_exec x = on_stream(stream);
    leave();
    enter(contexts[0]);
    on_gpu_put(&g, &gpu, &c, 0);
    assert_int_equal(placed_forward(&g.placed, &x), CONVOP_E_DEVICE);
    g.placed.at[P_WEIGHTS].device.device_id = 1;
    assert_int_not_equal(placed_forward(&g.placed, NULL), CONVOP_OK);
    g.placed.at[P_WEIGHTS].device.device_type = kDLCPU;
    assert_int_not_equal(placed_forward(&g.placed, NULL), CONVOP_OK);
    g.placed.at[P_SRC].device.device_id = STANDIN_DEVICES;
    assert_int_equal(placed_forward(&g.placed, NULL), CONVOP_E_DEVICE);
    on_gpu_free(&g);
    leave();
    enter(contexts[1]);
    MUST(gpu.driver->stream_destroy(stream));
    leave();
    conv_expected_free(&e);
    conv_case_destroy(&c);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    int number, good;
};

/* Each with a stream and tensors of its own, all with the same plans. */
static void *work(void *worker_)
{
    struct worker *w = worker_;
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    const int device = w->number % STANDIN_DEVICES;
    make_plain(&c, &e, (uint64_t)w->number);
    enter(contexts[device]);
    on_gpu_put(&g, &gpu, &c, device);
    struct CUstream_st *stream = make_stream();
    const convop_exec x = on_stream(stream);
    w->good = 1;
    for (int i = 0; i < 10; i++)
        w->good &= placed_forward(&g.placed, &x) == CONVOP_OK &&
                   placed_backward(&g.placed, &x) == CONVOP_OK;
    w->good &= on_gpu_is_right(&g, &e);
    MUST(gpu.driver->stream_destroy(stream));
    on_gpu_free(&g);
    leave();
    conv_expected_free(&e);
    conv_case_destroy(&c);
    return NULL;
}

static void eight_threads(void **state)
{
    (void)state;
    struct worker workers[THREADS];
    (void)convop_trim();
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_true(workers[i].good);
    }
}

/* ---- capture --------------------------------------------------------------------------------- */

static void a_prepared_instance_can_be_captured(void **state)
{
    (void)state;
    const struct cvp_driver *d = gpu.driver;
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    convop_instance *op = NULL;
    struct CUgraph_st *graph;
    struct CUgraphExec_st *exec;
    size_t bytes = 0;
    unsigned long long workspace = 0;
    make_plain(&c, &e, 6);
    enter(contexts[0]);
    on_gpu_put(&g, &gpu, &c, 0);
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
    leave();
    conv_expected_free(&e);
    conv_case_destroy(&c);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int probe_bias_gradient(void)
{
    struct conv_case c;
    struct on_gpu g;
    conv_case_fixed(&c, &plain, 1, 1);
    c.requests[0] = c.requests[1] = CONVOP_REQ_NULL;
    enter(contexts[0]);
    on_gpu_put(&g, &gpu, &c, 0);
    const convop_status status = placed_backward(&g.placed, NULL);
    on_gpu_free(&g);
    leave();
    conv_case_destroy(&c);
    return status == CONVOP_OK;
}

/* What convop keeps for the process: contexts and handles, and the properties of each device. */
static void let_convop_keep(void)
{
    static const enum standin_kind kept[] = {STANDIN_CONTEXT, STANDIN_PRIMARY, STANDIN_HANDLE,
                                             STANDIN_MODULE, STANDIN_DESCRIPTOR};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) gpu.standin->keeps(kept[i]);
}

int main(int argc, char **argv)
{
    is_real = argc > 1 && strcmp(argv[1], "real") == 0;
    const struct standin *standin = standin_open();
    if (is_real && !standin->has_real_cudnn()) {
        printf("no cuDNN is on this machine\n");
        return 77;
    }
    standin->plan_here(!is_real);
    gpu = test_gpu_begin();
    let_convop_keep();
    expect_ok(convop_set("impl", "cudnn")); /* convop's own kernels run in tests/cuda_host */
    for (int i = 0; i < STANDIN_DEVICES; i++) MUST(gpu.driver->primary_retain(&contexts[i], i));
    has_bias_gradient = probe_bias_gradient();
    printf("%s row for the gradient of the bias\n", has_bias_gradient ? "with a" : "no");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems),
        cmocka_unit_test(a_call_like_an_earlier_one_is_not_planned),
        cmocka_unit_test(without_memory_for_the_workspace_a_smaller_plan_runs),
        cmocka_unit_test(the_callers_stream_alone_orders_the_call),
        cmocka_unit_test(two_devices),
        cmocka_unit_test(two_contexts),
        cmocka_unit_test(tensors_and_stream_of_different_devices_are_refused),
        cmocka_unit_test(eight_threads),
        cmocka_unit_test(a_prepared_instance_can_be_captured),
    };
    const int failed = cmocka_run_group_tests_name("conv", tests, NULL, NULL);
    (void)convop_trim();
    if (standin->live(STANDIN_DESCRIPTOR) > STANDIN_DEVICES) {
        printf("%ld descriptors are left\n", standin->live(STANDIN_DESCRIPTOR));
        return 1;
    }
    return failed;
}

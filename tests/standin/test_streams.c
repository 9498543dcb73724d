/* Streams, contexts, devices and threads of convolutions on the stand-in's GPUs. Argument real:
 * planned by the cuDNN of the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <pthread.h>

#include "tests/standin/set_up.h"
#include "tests/support/expect.h"

#define THREADS 8

/* ---- streams --------------------------------------------------------------------------------- */

static long waits(void)
{
    return set_up.gpu.standin->calls("cuStreamSynchronize") +
           set_up.gpu.standin->calls("cuCtxSynchronize") +
           set_up.gpu.standin->calls("cuEventSynchronize") +
           set_up.gpu.standin->calls("cuMemFree_v2");
}

/* What comes before and after on the caller's stream is in order with it, and nobody waits. */
static void the_callers_stream_alone_orders_the_call(void **state)
{
    (void)state;
    const struct cvp_driver *d = set_up.gpu.driver;
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    plain_make(&c, &e, 3);
    set_up_enter(set_up.contexts[0]);
    on_gpu_put(&g, &set_up.gpu, &c, 0);
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
    set_up_leave();
    conv_expected_free(&e);
    conv_case_destroy(&c);
}

/* ---- devices and contexts -------------------------------------------------------------------- */

static void run_in(struct CUctx_st *context, int device, int with_stream, uint64_t seed)
{
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    plain_make(&c, &e, seed);
    set_up_enter(context);
    on_gpu_put(&g, &set_up.gpu, &c, device);
    struct CUstream_st *stream = with_stream ? make_stream() : NULL;
    const convop_exec x = on_stream(stream);
    /* The caller's current context does not matter where the stream has one. */
    if (with_stream) set_up_leave();
    expect_ok(placed_forward(&g.placed, &x));
    expect_ok(placed_backward(&g.placed, &x));
    if (with_stream) set_up_enter(context);
    assert_true(on_gpu_is_right(&g, &e));
    if (stream) MUST(set_up.gpu.driver->stream_destroy(stream));
    on_gpu_free(&g);
    set_up_leave();
    conv_expected_free(&e);
    conv_case_destroy(&c);
}

static void two_devices(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) run_in(set_up.contexts[i % 2], i % 2, i >= 2, (uint64_t)i);
}

static void two_contexts(void **state)
{
    (void)state;
    struct CUctx_st *own = set_up.gpu.standin->context_create(0);
    for (int i = 0; i < 6; i++) run_in(i % 2 ? own : set_up.contexts[0], 0, i >= 2, (uint64_t)i);
    (void)convop_trim(); /* handles of that context */
    set_up.gpu.standin->context_destroy(own);
}

/* What was kept of a context that has ended is not taken for another one's. */
static void a_context_in_the_place_of_another(void **state)
{
    (void)state;
    struct CUctx_st *first = set_up.gpu.standin->context_create(0);
    run_in(first, 0, 0, 1);
    set_up.gpu.standin->context_destroy(first);
    set_up.gpu.standin->context_reuse(first);
    struct CUctx_st *second = set_up.gpu.standin->context_create(0);
    assert_ptr_equal(first, second);
    run_in(second, 0, 0, 2);
    run_in(second, 0, 1, 3);
    (void)convop_trim();
    set_up.gpu.standin->context_destroy(second);
}

static void tensors_and_stream_of_different_devices_are_refused(void **state)
{
    (void)state;
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    plain_make(&c, &e, 5);
    set_up_enter(set_up.contexts[1]);
    struct CUstream_st *stream = make_stream();
    const convop_exec x = on_stream(stream);
    set_up_leave();
    set_up_enter(set_up.contexts[0]);
    on_gpu_put(&g, &set_up.gpu, &c, 0);
    assert_int_equal(placed_forward(&g.placed, &x), CONVOP_E_DEVICE);
    g.placed.at[P_WEIGHTS].device.device_id = 1;
    assert_int_not_equal(placed_forward(&g.placed, NULL), CONVOP_OK);
    g.placed.at[P_WEIGHTS].device.device_type = kDLCPU;
    assert_int_not_equal(placed_forward(&g.placed, NULL), CONVOP_OK);
    g.placed.at[P_SRC].device.device_id = STANDIN_DEVICES;
    assert_int_equal(placed_forward(&g.placed, NULL), CONVOP_E_DEVICE);
    on_gpu_free(&g);
    set_up_leave();
    set_up_enter(set_up.contexts[1]);
    MUST(set_up.gpu.driver->stream_destroy(stream));
    set_up_leave();
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
    plain_make(&c, &e, (uint64_t)w->number);
    set_up_enter(set_up.contexts[device]);
    on_gpu_put(&g, &set_up.gpu, &c, device);
    struct CUstream_st *stream = make_stream();
    const convop_exec x = on_stream(stream);
    w->good = 1;
    for (int i = 0; i < 10; i++)
        w->good &= placed_forward(&g.placed, &x) == CONVOP_OK &&
                   placed_backward(&g.placed, &x) == CONVOP_OK;
    w->good &= on_gpu_is_right(&g, &e);
    MUST(set_up.gpu.driver->stream_destroy(stream));
    on_gpu_free(&g);
    set_up_leave();
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

int main(int argc, char **argv)
{
    const int code = set_up_begin(argc, argv);
    if (code) return code;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_callers_stream_alone_orders_the_call),
        cmocka_unit_test(two_devices),
        cmocka_unit_test(two_contexts),
        cmocka_unit_test(a_context_in_the_place_of_another),
        cmocka_unit_test(tensors_and_stream_of_different_devices_are_refused),
        cmocka_unit_test(eight_threads),
    };
    return set_up_end(cmocka_run_group_tests_name("streams", tests, NULL, NULL));
}

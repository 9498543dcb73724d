/* Every call of the driver and of cuDNN that a convolution makes is made to fail, one at a time,
 * with each kind of answer: the convolution then works all the same, or says why not, has written
 * nothing and has left nothing. What is planned is planned anew each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <string.h>

#include "convop/convop.h"
#include "tests/standin/on_gpu.h"
#include "tests/support/child.h"
#include "tests/support/expect.h"

#define MOST_CALLS  2000
#define FIRST_CALLS 90 /* of a process, until handles and properties are there */

static struct test_gpu gpu;

/* With a workspace, which is allocated: 64 KiB. */
static const struct conv_size size = {
    .axes = 2, .type = BOX_F32, .mb = 1, .ic = 4, .oc = 4, .g = 1, .i = 4, .k = 3, .s = 1, .p = 1};

static const struct answer {
    unsigned driver, cudnn;
} answers[] = {
    {CVP_CUDA_ERROR_OUT_OF_MEMORY, CVP_CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED},
    {CVP_CUDA_ERROR_LAUNCH_FAILED, CVP_CUDNN_STATUS_EXECUTION_FAILED},
    {CVP_CUDA_ERROR_INVALID_VALUE, CVP_CUDNN_STATUS_NOT_SUPPORTED},
};

/* Of what a call must not leave behind. */
static const enum standin_kind kinds[] = {STANDIN_MEMORY,  STANDIN_HOST_MEMORY, STANDIN_STREAM,
                                          STANDIN_EVENT,   STANDIN_GRAPH,       STANDIN_GRAPH_EXEC,
                                          STANDIN_CURRENT, STANDIN_DESCRIPTOR};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void count_live(long live[KINDS])
{
    for (int i = 0; i < KINDS; i++) live[i] = gpu.standin->live(kinds[i]);
}

struct trial {
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    convop_exec exec;
    int output; /* that the call computes */
};

static convop_status call(struct trial *t)
{
    return t->output == 0 ? placed_forward(&t->g.placed, &t->exec)
                          : placed_backward(&t->g.placed, &t->exec);
}

/* The output alone is asked for. */
static void begin(struct trial *t, int output, struct CUstream_st *stream)
{
    const convop_exec exec = CONVOP_EXEC_INIT;
    conv_case_fixed(&t->c, &size, 1, (uint64_t)output);
    t->output = output;
    t->exec = exec;
    t->exec.stream = stream;
    t->c.request = output == 0 ? CONVOP_REQ_WRITE : CONVOP_REQ_NULL;
    for (int i = 0; i < 3; i++)
        t->c.requests[i] = output == i + 1 ? CONVOP_REQ_WRITE : CONVOP_REQ_NULL;
    conv_case_expect(&t->c, &t->e);
    on_gpu_put(&t->g, &gpu, &t->c, 0);
}

static void end(struct trial *t)
{
    on_gpu_free(&t->g);
    conv_expected_free(&t->e);
    conv_case_destroy(&t->c);
}

/* Of the output: 1 if it is all NaN, as it was at first. */
static int is_untouched(struct trial *t)
{
    const struct box *b = conv_case_output(&t->c, t->output);
    int64_t sizes[5], at[5];
    on_gpu_take_back(&t->g);
    box_sizes(b, sizes);
    BOX_FOR_EACH(sizes, at) if (box_get(b, at) == box_get(b, at)) return 0;
    return 1;
}

static void reset(struct trial *t)
{
    unsigned char bytes[1 << 12];
    const int which = placed_which((convop_conv_direction)t->output);
    memset(bytes, 0xff, sizeof bytes);
    gpu.standin->write(t->g.memory[which], bytes, placed_bytes(&t->c, which));
}

/* 1 as long as there is an n-th call. */
static int fail_one(struct trial *t, long n, const struct answer *answer)
{
    long before[KINDS], after[KINDS];
    (void)convop_trim();
    reset(t);
    count_live(before);
    const long calls = gpu.standin->calls(NULL);
    gpu.standin->fail_nth(NULL, n, answer->driver, answer->cudnn);
    const convop_status status = call(t);
    gpu.standin->fail_nth(NULL, 0, 0, 0);
    const int failed = gpu.standin->calls(NULL) - calls >= n;
    MUST(gpu.driver->context_synchronize());
    (void)convop_trim();
    count_live(after);
    for (int i = 0; i < KINDS; i++)
        if (after[i] > before[i])
            fail_msg("output %d, call %ld, answers %u and %u: %ld of kind %d are left", t->output,
                     n, answer->driver, answer->cudnn, after[i] - before[i], (int)kinds[i]);
    if (status != CONVOP_OK) {
        if (!convop_last_error()[0]) fail_msg("call %ld: no sentence", n);
        if (!is_untouched(t))
            fail_msg("call %ld: %s, and the output was written", n, convop_last_error());
    } else if (!on_gpu_is_right(&t->g, &t->e)) {
        fail_msg("output %d, call %ld, answers %u and %u: wrong", t->output, n, answer->driver,
                 answer->cudnn);
    }
    return failed;
}

static void set_up(void)
{
    static const enum standin_kind kept[] = {STANDIN_CONTEXT, STANDIN_PRIMARY, STANDIN_HANDLE,
                                             STANDIN_MODULE, STANDIN_DESCRIPTOR};
    gpu = test_gpu_begin();
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) gpu.standin->keeps(kept[i]);
}

static void each_call_may_fail(void **state)
{
    (void)state;
    struct CUctx_st *context;
    struct CUstream_st *stream;
    set_up();
    MUST(gpu.driver->primary_retain(&context, 0));
    MUST(gpu.driver->context_push(context));
    MUST(gpu.driver->stream_create(&stream, CVP_CU_STREAM_NON_BLOCKING));
    for (int output = 0; output < 3; output++) {
        struct trial t;
        long n = 1;
        begin(&t, output, stream);
        expect_ok(call(&t)); /* with handles and properties, which stay */
        for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
            for (n = 1; n < MOST_CALLS && fail_one(&t, n, &answers[i]); n++) continue;
        printf("output %d: %ld calls\n", output, n - 1);
        assert_true(n > 10 && n < MOST_CALLS);
        expect_ok(call(&t));
        assert_true(on_gpu_is_right(&t.g, &t.e));
        end(&t);
    }
    MUST(gpu.driver->stream_destroy(stream));
    MUST(gpu.driver->context_pop(&context));
}

/* The status of convop_conv_tune is that of what failed. */
static void measuring_says_what_failed(void **state)
{
    (void)state;
    struct trial t;
    size_t count = 0;
    struct CUctx_st *context;
    MUST(gpu.driver->primary_retain(&context, 0));
    MUST(gpu.driver->context_push(context));
    begin(&t, 0, NULL);
    const DLTensor *at = t.g.placed.at;
    gpu.standin->fail_nth("cuMemAlloc_v2", 1, CVP_CUDA_ERROR_LAUNCH_FAILED, 0);
    const convop_status status = convop_conv_tune(
        &t.c.params, CONVOP_FWD, &at[P_SRC], &at[P_WEIGHTS], &at[P_DST], NULL, NULL, NULL, &count);
    gpu.standin->fail_nth(NULL, 0, 0, 0);
    assert_int_equal(status, CONVOP_E_DEVICE);
    assert_non_null(strstr(convop_last_error(), "memory to measure on a GPU"));
    end(&t);
    MUST(gpu.driver->context_pop(&context));
}

/* In a process that has used no GPU yet. */
static int fail_first(void *n)
{
    struct trial t;
    struct CUctx_st *context;
    set_up();
    MUST(gpu.driver->primary_retain(&context, 0));
    MUST(gpu.driver->context_push(context));
    begin(&t, 0, NULL);
    gpu.standin->fail_nth(NULL, *(const long *)n, CVP_CUDA_ERROR_LAUNCH_FAILED,
                          CVP_CUDNN_STATUS_EXECUTION_FAILED);
    const convop_status status = call(&t);
    gpu.standin->fail_nth(NULL, 0, 0, 0);
    MUST_BE(status == CONVOP_OK ? on_gpu_is_right(&t.g, &t.e) : is_untouched(&t));
    MUST_BE(status == CONVOP_OK || convop_last_error()[0]);
    if (call(&t) == CONVOP_OK) MUST_BE(on_gpu_is_right(&t.g, &t.e));
    end(&t);
    MUST(gpu.driver->context_pop(&context));
    exit(0); /* leaks are looked for at exit */
}

static void each_of_the_first_calls_may_fail(void **state)
{
    (void)state;
    for (long n = 1; n <= FIRST_CALLS; n++) {
        fflush(NULL);
        const int code = test_reap(test_fork(fail_first, &n));
        if (code != 0) fail_msg("the first call that failed was the %ldth: exit code %d", n, code);
    }
}

int main(void)
{
    standin_open()->plan_here(1);
    MUST(convop_set("cache_dir", "none"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_of_the_first_calls_may_fail), /* before this process uses a GPU */
        cmocka_unit_test(each_call_may_fail),
        cmocka_unit_test(measuring_says_what_failed),
    };
    return cmocka_run_group_tests_name("failures", tests, NULL, NULL);
}

/* The beginning and the end of tests of convolutions on the stand-in. */
#include "tests/standin/set_up.h"

#include <string.h>

struct set_up set_up;

static const struct conv_size plain = {
    .axes = 2, .type = BOX_F32, .mb = 2, .ic = 8, .oc = 8, .g = 1, .i = 6, .k = 3, .s = 1, .p = 1};

void plain_make(struct conv_case *c, struct conv_expected *e, uint64_t seed)
{
    conv_case_fixed(c, &plain, 1, seed);
    if (!set_up.has_bias_gradient) c->requests[2] = CONVOP_REQ_NULL;
    conv_case_expect(c, e);
}

void set_up_enter(struct CUctx_st *context)
{
    MUST(set_up.gpu.driver->context_push(context));
}

void set_up_leave(void)
{
    struct CUctx_st *context;
    MUST(set_up.gpu.driver->context_pop(&context));
}

convop_exec on_stream(struct CUstream_st *stream)
{
    convop_exec x = CONVOP_EXEC_INIT;
    x.stream = stream;
    return x;
}

struct CUstream_st *make_stream(void)
{
    struct CUstream_st *stream;
    MUST(set_up.gpu.driver->stream_create(&stream, CVP_CU_STREAM_NON_BLOCKING));
    return stream;
}

static int probe_bias_gradient(void)
{
    struct conv_case c;
    struct on_gpu g;
    conv_case_fixed(&c, &plain, 1, 1);
    c.requests[0] = c.requests[1] = CONVOP_REQ_NULL;
    set_up_enter(set_up.contexts[0]);
    on_gpu_put(&g, &set_up.gpu, &c, 0);
    const convop_status status = placed_backward(&g.placed, NULL);
    on_gpu_free(&g);
    set_up_leave();
    conv_case_destroy(&c);
    return status == CONVOP_OK;
}

int set_up_begin(int argc, char **argv)
{
    /* What convop keeps for the process: contexts and handles, and the properties of each device.
     */
    static const enum standin_kind kept[] = {STANDIN_CONTEXT, STANDIN_PRIMARY, STANDIN_HANDLE,
                                             STANDIN_MODULE, STANDIN_DESCRIPTOR};
    const struct standin *standin = standin_open();
    set_up.is_real = argc > 1 && strcmp(argv[1], "real") == 0;
    if (set_up.is_real && !standin->has_real_cudnn()) {
        printf("no cuDNN is on this machine\n");
        return 77;
    }
    standin->plan_here(!set_up.is_real);
    set_up.gpu = test_gpu_begin();
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) standin->keeps(kept[i]);
    MUST(convop_set("impl", "cudnn")); /* convop's own kernels run in tests/cuda_host */
    for (int i = 0; i < STANDIN_DEVICES; i++)
        MUST(set_up.gpu.driver->primary_retain(&set_up.contexts[i], i));
    set_up.has_bias_gradient = probe_bias_gradient();
    printf("%s row for the gradient of the bias\n", set_up.has_bias_gradient ? "with a" : "no");
    return 0;
}

int set_up_end(int failed)
{
    (void)convop_trim();
    if (set_up.gpu.standin->live(STANDIN_DESCRIPTOR) <= STANDIN_DEVICES) return failed;
    printf("%ld descriptors are left\n", set_up.gpu.standin->live(STANDIN_DESCRIPTOR));
    return 1;
}

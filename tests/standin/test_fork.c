/* Forks around work on a GPU. The driver does not survive one, so whatever the child asks of a GPU
 * is refused, at once, whatever another thread of the parent was in at that moment; and the child
 * calls neither the driver nor cuDNN, which the stand-in would end it for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "convop/convop.h"
#include "src/cuda/context.h"
#include "tests/standin/on_gpu.h"
#include "tests/support/child_check.h"

#define HELD_MS 300

static const struct conv_size size = {
    .axes = 2, .type = BOX_F32, .mb = 1, .ic = 4, .oc = 4, .g = 1, .i = 4, .k = 3, .s = 1, .p = 1};

struct work {
    struct test_gpu gpu;
    struct conv_case c;
    struct on_gpu g;
    convop_instance *op;
    const DLTensor *in[3];
    DLTensor *out[1];
};

/* Everything of a process's first convolution, the primary context among it. */
static void *begin(void *work)
{
    struct work *w = work;
    const char *why;
    struct cvp_gpu_scope scope;
    w->gpu = test_gpu_begin();
    const struct cvp_gpu *gpu = cvp_gpu_get(0, &why);
    MUST_BE(gpu != NULL);
    MUST(cvp_gpu_enter(gpu, NULL, &scope));
    on_gpu_put(&w->g, &w->gpu, &w->c, 0);
    cvp_gpu_leave(&scope);
    MUST(placed_forward(&w->g.placed, NULL));
    return NULL;
}

/* Memory of the device stays: the process ends without looking for leaks. */
static void set_up(struct work *w)
{
    const struct standin *standin = standin_open();
    standin->plan_here(1);
    memset(w, 0, sizeof *w);
    conv_case_fixed(&w->c, &size, 1, 1);
    w->c.requests[2] = CONVOP_REQ_NULL; /* only convop's own kernels compute it */
    for (int i = 0; i < PLACED; i++) {  /* until they are placed: addresses of no GPU at all */
        w->g.placed.at[i] = w->c.src.tensor;
        w->g.placed.at[i].device = (DLDevice){kDLCUDA, 0};
    }
    w->g.placed.c = &w->c;
    /* What a process does once on the CPU is then behind it; the row is refused there. */
    if (TEST_THREAD_SANITIZER) (void)conv_case_forward(&w->c, NULL);
}

static int is_refused(convop_status status)
{
    return status == CONVOP_E_DEVICE && strstr(convop_last_error(), "forked");
}

/* The child of a process that had used the GPU, or was about to. */
static int child(void *work)
{
    struct work *w = work;
    char text[200], said[200];
    struct cvp_text value = cvp_text_in(text, sizeof text);
    struct cvp_text reason = cvp_text_in(said, sizeof said);
    const char *why;
    size_t bytes;
    alarm(20); /* a lock that nobody will release */
    CHECK(is_refused(placed_forward(&w->g.placed, NULL)));
    CHECK(is_refused(placed_backward(&w->g.placed, NULL)));
    CHECK(cvp_gpu_count(&why) == 0 && strstr(why, "forked"));
    CHECK(!cvp_cudnn_get(&why) && strstr(why, "forked"));
    cvp_gpu_describe(&value, &reason);
    CHECK(strcmp(text, "none") == 0 && strstr(said, "forked"));
    if (w->op) CHECK(is_refused(convop_instance_run(w->op, w->in, w->out, NULL)));
    if (w->op) CHECK(convop_instance_reshape(w->op, w->in, w->out, NULL, 0, &bytes) != CONVOP_OK);
    convop_instance_destroy(&w->op);
    (void)convop_trim();
    return RIGHT;
}

/* In a process that has used no GPU: one thread does, and is in that call while another forks. */
static int fork_within(void *symbol)
{
    struct work w;
    pthread_t thread;
    set_up(&w);
    const struct standin *standin = standin_open();
    standin->delay(symbol, HELD_MS);
    CHECK(pthread_create(&thread, NULL, begin, &w) == 0);
    while (standin->calls(symbol) == 0) usleep(1000);
    usleep(HELD_MS / 3 * 1000);
    const int code = test_reap(test_fork(child, &w));
    standin->delay(NULL, 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return code;
}

static void a_child_of_a_busy_moment_is_refused(void **state)
{
    (void)state;
    static const char *const symbols[] = {
        "cuInit",      "cuDeviceGetCount",     "cuDevicePrimaryCtxRetain",
        "cudnnCreate", "cudnnBackendFinalize",
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        printf("%s\n", symbols[i]);
        run_child(fork_within, (void *)(uintptr_t)symbols[i]);
    }
}

/* With plans, handles and an instance of the parent, which goes on. */
static int fork_after(void *unused)
{
    (void)unused;
    struct work w;
    struct conv_expected e;
    size_t bytes;
    set_up(&w);
    conv_case_expect(&w.c, &e);
    begin(&w);
    w.in[0] = &w.g.placed.at[P_SRC];
    w.in[1] = &w.g.placed.at[P_WEIGHTS];
    w.in[2] = &w.g.placed.at[P_BIAS];
    w.out[0] = &w.g.placed.at[P_DST];
    MUST(convop_instance_create_typed("Convolution", &w.c.params, 3, NULL, NULL, &w.op));
    MUST(convop_instance_reshape(w.op, w.in, w.out, NULL, 1 << 20, &bytes));
    MUST(convop_instance_run(w.op, w.in, w.out, NULL));
    MUST(placed_backward(&w.g.placed, NULL));
    CHECK(test_reap(test_fork(child, &w)) == RIGHT);
    MUST(convop_instance_run(w.op, w.in, w.out, NULL));
    CHECK(on_gpu_is_right(&w.g, &e));
    convop_instance_destroy(&w.op);
    return RIGHT;
}

static void a_child_with_the_parents_plans_is_refused(void **state)
{
    (void)state;
    run_child(fork_after, NULL);
}

int main(void)
{
    setenv("CONVOP_IMPL", "cudnn", 1); /* convop's own kernels run in tests/cuda_host */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_of_a_busy_moment_is_refused),
        cmocka_unit_test(a_child_with_the_parents_plans_is_refused),
    };
    return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}

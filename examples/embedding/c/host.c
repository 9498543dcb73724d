/* A host that keeps its own memory and its own threads, and lends both to convop.
 *     cc host.c $(pkg-config --cflags --libs convop) -pthread && ./a.out */
#include <convop/convop.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, CHANNELS = 32, SIZE = 56 };

/* ---- what the host has already ----------------------------------------------------------------
 */

static long bytes_lent, bytes_returned;

static void *host_alloc(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    void *memory = NULL;
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes))
        return NULL;
    __atomic_add_fetch(&bytes_lent, (long)bytes, __ATOMIC_RELAXED);
    return memory;
}

static void host_release(void *user, void *memory, size_t bytes)
{
    (void)user;
    free(memory);
    __atomic_add_fetch(&bytes_returned, (long)bytes, __ATOMIC_RELAXED);
}

struct share {
    convop_parallel_body body;
    void *arg;
    int64_t i;
};

static void *run_share(void *arg)
{
    struct share *share = arg;
    share->body(share->arg, share->i);
    return NULL;
}

/* Threads for each loop, so that the sample stays short; a host asks its pool. n <= THREADS. */
static void host_parallel_for(void *user, int64_t n, convop_parallel_body body, void *arg)
{
    (void)user;
    pthread_t threads[THREADS];
    struct share shares[THREADS];
    int64_t started = 0;
    while (started < n - 1) {
        shares[started] = (struct share){body, arg, started};
        if (pthread_create(&threads[started], NULL, run_share, &shares[started])) break;
        started++;
    }
    for (int64_t i = started; i < n; i++) body(arg, i);
    for (int64_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

static void host_log(void *user, const char *line)
{
    fprintf(stderr, "%s: %s\n", (const char *)user, line);
}

/* ---- the call ---------------------------------------------------------------------------------
 */

static DLTensor view(float *data, int64_t *shape)
{
    return (DLTensor){data, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, NULL, 0};
}

static convop_status convolve(const convop_context *context, float *x, float *w, float *y)
{
    int64_t image[4] = {1, CHANNELS, SIZE, SIZE}, filter[4] = {CHANNELS, CHANNELS, 3, 3};
    DLTensor src = view(x, image), weights = view(w, filter), dst = view(y, image);

    convop_conv_params params = CONVOP_CONV_PARAMS_INIT;
    params.kernel = convop_tuple2(3, 3);
    params.pad_begin = params.pad_end = convop_tuple2(1, 1);
    params.num_filter = CHANNELS;
    params.no_bias = 1;

    convop_exec exec = CONVOP_EXEC_INIT;
    exec.context = context;
    return convop_conv_forward(&params, &src, &weights, NULL, &dst, CONVOP_REQ_WRITE, &exec);
}

int main(void)
{
    static float x[CHANNELS * SIZE * SIZE], w[CHANNELS * CHANNELS * 9], y[CHANNELS * SIZE * SIZE];
    for (int i = 0; i < CHANNELS * SIZE * SIZE; i++) x[i] = 1;
    for (int i = 0; i < CHANNELS * CHANNELS * 9; i++) w[i] = 0.5f;

    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    options.num_threads = THREADS;
    options.allocator = (convop_allocator){host_alloc, host_release, NULL};
    options.parallel_for = host_parallel_for;
    options.log = host_log;
    options.log_user = (void *)"host";

    convop_context *context = NULL;
    convop_status status = convop_context_create(&options, &context);
    if (status == CONVOP_OK) status = convolve(context, x, w, y);
    if (status != CONVOP_OK)
        fprintf(stderr, "%s: %s\n", convop_status_name(status), convop_last_error());
    convop_context_destroy(&context);

    float middle = y[SIZE * SIZE / 2 + SIZE / 2];
    printf("%g, all memory returned: %s\n", (double)middle,
           bytes_lent == bytes_returned ? "yes" : "no");
    return status != CONVOP_OK || middle != CHANNELS * 9 * 0.5f || bytes_lent != bytes_returned;
}

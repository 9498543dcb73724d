/* A case on a GPU: its tensors there, with their guards, and the time of calls by events. The CPU's
 * copies are what the fills write and what the check reads. */
#include "tools/bench/bench.h"
#include "tools/bench/gpu.h"

#define BLOCK_MS    1.0  /* what a block of calls takes at least: events count half microseconds */
#define MOST_CALLS  1000 /* of a block */
#define COPY_BLOCKS 10   /* of which the fastest counts */

int case_is_on_gpu(const struct bench_case *c)
{
    return c->device.device_type == kDLCUDA;
}

convop_status case_place(struct bench_case *c)
{
    DLTensor *const asked[] = {&c->query.src, &c->query.weights, &c->query.dst};
    convop_status status = CONVOP_OK;
    for (int i = 0; i < NUM_OPERANDS; i++) {
        struct tensor *t = &c->tensor[i];
        if (!t->block) continue;
        status = gpu_alloc(t->block_bytes, &t->on_gpu);
        if (status != CONVOP_OK) break;
        t->view.data = (unsigned char *)t->on_gpu + GUARD;
        t->view.device = c->device;
    }
    for (int i = 0; i < 3; i++) asked[i]->device = c->device;
    c->exec.stream = gpu_stream();
    return status;
}

void case_take_away(struct bench_case *c)
{
    for (int i = 0; i < NUM_OPERANDS; i++) {
        gpu_free(c->tensor[i].on_gpu);
        c->tensor[i].on_gpu = NULL;
    }
}

convop_status case_send(struct bench_case *c)
{
    convop_status status = CONVOP_OK;
    for (int i = 0; i < NUM_OPERANDS && status == CONVOP_OK; i++) {
        const struct tensor *t = &c->tensor[i];
        if (t->on_gpu) status = gpu_write(t->on_gpu, t->block, t->block_bytes);
    }
    return status;
}

convop_status case_fetch(struct bench_case *c)
{
    convop_status status = CONVOP_OK;
    for (int i = 0; i < NUM_OPERANDS && status == CONVOP_OK; i++) {
        struct tensor *t = &c->tensor[i];
        if (t->on_gpu) status = gpu_read(t->block, t->on_gpu, t->block_bytes);
    }
    return status;
}

/* ---- time ---------------------------------------------------------------------------------- */

int calls_of_block(double ms)
{
    return ms >= BLOCK_MS ? 1 : ms * MOST_CALLS <= BLOCK_MS ? MOST_CALLS : (int)(BLOCK_MS / ms) + 1;
}

/* Workspace that is taken in the order of the stream goes back to the system whenever somebody
 * waits for the GPU: the call before the first event brings it again, so that its price is none of
 * a call in the middle of others. The GPU works on it while the host enqueues the next ones. */
convop_status case_time_block(struct bench_case *c, int calls, double *ms)
{
    convop_status status = case_run(c);
    if (status == CONVOP_OK) status = gpu_timer_begin();
    for (int i = 0; i < calls && status == CONVOP_OK; i++) status = case_run(c);
    if (status == CONVOP_OK) status = gpu_timer_end(ms);
    *ms /= calls;
    return status;
}

static convop_status time_copies(void *to, const void *from, size_t bytes, int calls, double *ms)
{
    convop_status status = gpu_timer_begin();
    for (int i = 0; i < calls && status == CONVOP_OK; i++) status = gpu_copy(to, from, bytes);
    if (status == CONVOP_OK) status = gpu_timer_end(ms);
    *ms /= calls;
    return status;
}

double copy_limit_ms(double bytes)
{
    const size_t half = (size_t)(bytes / 2); /* is read, and written */
    void *from = NULL, *to = NULL;
    double best = 0, ms = 0;
    convop_status status = half ? gpu_alloc(half, &from) : CONVOP_E_UNSUPPORTED;
    if (status == CONVOP_OK) status = gpu_alloc(half, &to);
    for (int i = 0; i < 2 && status == CONVOP_OK; i++) /* the first one warms up */
        status = time_copies(to, from, half, 2, &ms);
    const int calls = calls_of_block(ms);
    for (int i = 0; i < COPY_BLOCKS && status == CONVOP_OK; i++) {
        status = time_copies(to, from, half, calls, &ms);
        if (i == 0 || ms < best) best = ms;
    }
    gpu_free(to);
    gpu_free(from);
    return status == CONVOP_OK ? best : 0;
}

/* Measuring on a GPU: each row that applies, and of a row with alternatives each of those, on a
 * stream and memory of its own, timed by events.
 *
 * This is the one place where convop waits for a GPU. The least of samples counts, so that what
 * else runs there disturbs the order of the candidates as little as can be. */
#include <math.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/log.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/cuda/context.h"
#include "src/engine/context.h"
#include "src/operator/convolution/lines.h"
#include "src/operator/convolution/measure.h"

#define SAMPLE_MS        0.5 /* runs are timed together until they last so long ... */
#define MOST_RUNS        64  /* ... or are so many */
#define MIN_SAMPLES      5
#define MAX_SAMPLES      50
#define QUIET            5    /* samples in which the least time has not fallen ... */
#define FALL             0.99 /* ... below so much of itself */
#define BEHIND           1.5  /* a candidate so far behind after MIN_SAMPLES is not timed on */
#define ALTERNATIVES     8    /* of a row */
#define PATTERN          ((size_t)1 << 20)
#define TENSOR_ALIGNMENT 256 /* as an allocation of CUDA has it */

/* The state of one measuring. */
struct contest {
    const struct conv_plan *plan;
    struct cvp_gpu_scope scope;
    struct CUstream_st *stream;
    struct CUevent_st *begin, *end;
    unsigned long long memory; /* of the tensors */
    struct conv_set_layout layout;
    double deadline, best_ms;
    const struct conv_candidate *best;
    char *best_notes;
    convop_status failed; /* of the last that did */
};

/* ---- what it takes --------------------------------------------------------------------------- */

/* The same values in all tensors, and no denormals, which could change the time. */
static unsigned fill(const struct contest *c)
{
    const struct cvp_driver *d = c->scope.driver;
    const convop_allocator *memory = &c->plan->context->allocator;
    void *pattern = cvp_buffer_alloc(memory, PATTERN);
    if (!pattern) return CVP_CUDA_ERROR_OUT_OF_MEMORY;
    cvp_conv_fill(c->plan->context, c->plan->given.dtype, pattern, PATTERN, 1);
    unsigned result = CVP_CUDA_SUCCESS;
    const size_t bytes = c->layout.bytes;
    for (size_t at = 0; at < bytes && result == CVP_CUDA_SUCCESS; at += PATTERN)
        result = d->copy_to_device(c->memory + at, pattern,
                                   bytes - at < PATTERN ? bytes - at : PATTERN, c->stream);
    if (result == CVP_CUDA_SUCCESS) result = d->stream_synchronize(c->stream);
    cvp_buffer_free(memory, pattern, PATTERN);
    return result;
}

static unsigned open_contest(struct contest *c)
{
    const struct cvp_driver *d = c->scope.driver;
    unsigned result = d->stream_create(&c->stream, CVP_CU_STREAM_NON_BLOCKING);
    if (result == CVP_CUDA_SUCCESS) result = d->event_create(&c->begin, CVP_CU_EVENT_DEFAULT);
    if (result == CVP_CUDA_SUCCESS) result = d->event_create(&c->end, CVP_CU_EVENT_DEFAULT);
    if (result == CVP_CUDA_SUCCESS) result = d->mem_alloc(&c->memory, c->layout.bytes);
    return result == CVP_CUDA_SUCCESS ? fill(c) : result;
}

static void close_contest(struct contest *c)
{
    const struct cvp_driver *d = c->scope.driver;
    if (c->stream) (void)d->stream_synchronize(c->stream);
    if (c->memory) (void)d->mem_free(c->memory);
    if (c->end) (void)d->event_destroy(c->end);
    if (c->begin) (void)d->event_destroy(c->begin);
    if (c->stream) (void)d->stream_destroy(c->stream);
}

/* ---- one candidate --------------------------------------------------------------------------- */

/* The time of one run out of `runs`. */
static convop_status sample(struct contest *c, const struct conv_plan *plan, void *workspace,
                            int runs, double *ms)
{
    const struct cvp_driver *d = c->scope.driver;
    convop_conv_operands t = cvp_conv_set_operands(&c->layout, (char *)(uintptr_t)c->memory);
    t.stream = c->stream;
    float elapsed = 0;
    unsigned result = d->event_record(c->begin, c->stream);
    for (int i = 0; i < runs && result == CVP_CUDA_SUCCESS; i++)
        CVP_RETURN_IF_ERROR(cvp_conv_plan_compute(plan, &t, plan->context, workspace));
    if (result == CVP_CUDA_SUCCESS) result = d->event_record(c->end, c->stream);
    if (result == CVP_CUDA_SUCCESS) result = d->event_synchronize(c->end);
    if (result == CVP_CUDA_SUCCESS) result = d->event_elapsed(&elapsed, c->begin, c->end);
    *ms = fmax((double)elapsed / runs, 1e-6);
    return cvp_driver_status(d, result, "measuring");
}

static convop_status time_plan(struct contest *c, const struct conv_plan *plan, void *workspace,
                               double *ms, int *samples)
{
    double first, least = INFINITY;
    /* The first run loads kernels; the second one is timed to size the samples. */
    CVP_RETURN_IF_ERROR(sample(c, plan, workspace, 1, &first));
    CVP_RETURN_IF_ERROR(sample(c, plan, workspace, 1, &first));
    const int runs = (int)fmin(ceil(SAMPLE_MS / first), MOST_RUNS);
    *ms = first;
    for (int n = 1, quiet = 0; n <= MAX_SAMPLES && cvp_conv_measure_now() < c->deadline; n++) {
        double one;
        CVP_RETURN_IF_ERROR(sample(c, plan, workspace, runs, &one));
        quiet = one < least * FALL ? 0 : quiet + 1;
        *ms = least = fmin(least, one);
        *samples = n;
        if (n >= MIN_SAMPLES && (quiet >= QUIET || (c->best && least > BEHIND * c->best_ms))) break;
    }
    return CONVOP_OK;
}

/* A candidate as its notes say; it becomes the best if it is. */
static convop_status measure_one(struct contest *c, const struct conv_candidate *candidate,
                                 const char *notes, double *ms, int *samples)
{
    const struct cvp_driver *d = c->scope.driver;
    struct conv_plan plan = *c->plan;
    unsigned long long workspace = 0;
    convop_status status = cvp_conv_plan_take(&plan, candidate, CONVOP_CHOICE_MEASURED, notes);
    if (status == CONVOP_OK && plan.bytes)
        status = cvp_driver_status(d, d->mem_alloc(&workspace, plan.bytes), "workspace to measure");
    if (status == CONVOP_OK)
        status = time_plan(c, &plan, (void *)(uintptr_t)workspace, ms, samples);
    if (workspace) {
        (void)d->stream_synchronize(c->stream);
        (void)d->mem_free(workspace);
    }
    if (status == CONVOP_OK && (!c->best || *ms < c->best_ms)) {
        c->best = candidate;
        c->best_ms = *ms;
        cvp_free(c->best_notes);
        c->best_notes = cvp_conv_plan_notes(&plan);
    }
    cvp_conv_plan_end_state(&plan);
    return status;
}

/* A row that is measured, and what came of it so far. */
struct trial {
    struct contest *contest;
    const struct conv_candidate *candidate;
    struct conv_result *result;
    int count;
};

static void try_state(void *user, const char *notes)
{
    struct trial *t = user;
    struct contest *c = t->contest;
    double ms = 0;
    int samples = 0;
    if (t->count++ > 0 && cvp_conv_measure_now() > c->deadline) return;
    convop_status status = measure_one(c, t->candidate, notes, &ms, &samples);
    if (cvp_verbose(2)) cvp_conv_log_measured(c->plan, t->candidate->impl, 0, ms, samples);
    if (status != CONVOP_OK) c->failed = status;
    if (status == CONVOP_OK && (t->result->ms == 0 || ms < t->result->ms)) {
        t->result->ms = ms;
        t->result->why[0] = '\0';
    } else if (status != CONVOP_OK && t->result->ms == 0) {
        snprintf(t->result->why, sizeof t->result->why, "%.*s", (int)sizeof t->result->why - 1,
                 convop_last_error());
    }
}

static void measure_row(struct contest *c, const struct conv_candidate *candidate,
                        struct conv_result *result)
{
    const convop_conv_impl *row = candidate->impl;
    struct trial t = {c, candidate, result, 0};
    if (CONV_IMPL_HAS(row, alternatives) && row->alternatives)
        row->alternatives(&c->plan->given, ALTERNATIVES, try_state, &t);
    /* Also says why where there is no state. */
    if (t.count == 0) try_state(&t, "");
}

convop_status cvp_conv_measure_gpu(const struct conv_plan *plan, const struct conv_candidates *all,
                                   const struct conv_measuring *how, struct conv_result results[],
                                   const struct conv_candidate **winner)
{
    struct contest c = {.plan = plan};
    unsigned mode = CVP_CU_STREAM_CAPTURE_MODE_RELAXED;
    *winner = NULL;
    memset(results, 0, all->count * sizeof *results);
    CVP_RETURN_IF_ERROR(cvp_conv_set_lay_out(&c.layout, plan, TENSOR_ALIGNMENT));
    CVP_RETURN_IF_ERROR(cvp_gpu_enter(plan->given.gpu, NULL, &c.scope));
    if (cvp_verbose(1)) cvp_conv_log_tune(plan, "begin", NULL, how->budget_ms);
    c.deadline = cvp_conv_measure_now() + how->budget_ms;
    /* Another stream of this thread may be in a capture, which would forbid to allocate. */
    (void)c.scope.driver->capture_mode_exchange(&mode);
    convop_status status =
        cvp_driver_status(c.scope.driver, open_contest(&c), "memory to measure on a GPU");
    for (size_t i = 0; i < all->count && status == CONVOP_OK; i++)
        measure_row(&c, &all->at[i], &results[i]);
    close_contest(&c);
    (void)c.scope.driver->capture_mode_exchange(&mode);
    cvp_gpu_leave(&c.scope);
    if (cvp_verbose(1)) cvp_conv_log_tune(plan, "end", c.best ? c.best->impl : NULL, c.best_ms);
    *winner = c.best;
    if (!c.best) return status == CONVOP_OK ? c.failed : status;
    results[c.best - all->at].notes = c.best_notes;
    return CONVOP_OK;
}

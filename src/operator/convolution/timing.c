/* Running one candidate on the sets, and its time. */
#include <math.h>
#include <stdatomic.h>

#include "src/common/alloc.h"
#include "src/common/clock.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/engine/context.h"
#include "src/operator/convolution/measure.h"

#define SAMPLE_MS                                                                                  \
    0.05 /* shorter runs are timed together, so that reading the clock costs nothing */
#define MOST_RUNS   64 /* in a sample */
#define MIN_SAMPLES 5
#define MAX_SAMPLES 100
#define QUIET       5    /* samples in which the least time has not fallen ... */
#define FALL        0.99 /* ... below so much of itself */
#define FAR         10   /* a first run so many times the best row's time is the only one */
#define BEHIND      1.5  /* a row so far behind after MIN_SAMPLES needs no better figure */
#define STRAY       3    /* a first run so many times the estimate says nothing of the row */

static double (*_Atomic clock_of_tests)(void);

void cvp_conv_measure_clock(double (*now_ms)(void))
{
    atomic_store(&clock_of_tests, now_ms);
}

double cvp_conv_measure_now(void)
{
    double (*now)(void) = atomic_load_explicit(&clock_of_tests, memory_order_relaxed);
    return now ? now() : cvp_now_ms();
}

#define PAGE 4096 /* bytes; no machine's pages are smaller */

/* Pages that nobody has used yet are made by the first write, which takes longer than many a
 * layer. */
static void use_pages(char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += PAGE) ((volatile char *)memory)[i] = 0;
}

convop_status cvp_conv_runner_make(struct conv_runner *r, const struct conv_sets *s,
                                   const struct conv_plan *plan,
                                   const struct conv_candidate *candidate)
{
    const int prepares = plan->terms.constants;
    *r = (struct conv_runner){.sets = s, .base = *plan};
    CVP_RETURN_IF_ERROR(cvp_conv_plan_take(&r->base, candidate, CONVOP_CHOICE_MEASURED, ""));
    const size_t bytes = r->workspace_bytes = r->base.bytes;
    r->plans = cvp_calloc((size_t)(prepares ? s->sets : 1), sizeof *r->plans);
    if (bytes) r->workspace = cvp_buffer_alloc(&s->context->allocator, bytes);
    if (!r->plans || (bytes && !r->workspace))
        return convop_fail(CONVOP_E_NO_MEMORY, "Convolution: no memory for %zu bytes of workspace",
                           bytes);
    if (bytes) use_pages(r->workspace, bytes);
    do {
        struct conv_plan *p = &r->plans[r->num_plans];
        *p = r->base;
        if (prepares) {
            convop_conv_operands t = cvp_conv_sets_operands(s, r->num_plans);
            convop_status status = cvp_conv_plan_prepare(p, t.weights);
            /* Fewer packed forms are better than none. */
            if (status != CONVOP_OK && r->num_plans > 0) break;
            CVP_RETURN_IF_ERROR(status);
        }
        r->num_plans++;
    } while (prepares && r->num_plans < s->sets);
    return CONVOP_OK;
}

void cvp_conv_runner_free(struct conv_runner *r)
{
    /* The rows are held by the plan that these are copies of. */
    for (int i = 0; i < r->num_plans; i++) cvp_conv_plan_unprepare(&r->plans[i]);
    cvp_free(r->plans);
    cvp_conv_plan_end_state(&r->base);
    if (r->workspace)
        cvp_buffer_free(&r->sets->context->allocator, r->workspace, r->workspace_bytes);
}

convop_status cvp_conv_runner_run(struct conv_runner *r)
{
    const convop_conv_operands t = cvp_conv_sets_operands(r->sets, r->next);
    const struct conv_plan *plan = &r->plans[r->next % r->num_plans];
    r->next = (r->next + 1) % r->sets->sets;
    r->runs++;
    return cvp_conv_plan_compute(plan, &t, r->sets->context, r->workspace);
}

static convop_status sample(struct conv_runner *r, int runs, double *ms)
{
    const double start = cvp_conv_measure_now();
    for (int i = 0; i < runs; i++) CVP_RETURN_IF_ERROR(cvp_conv_runner_run(r));
    /* The clock's grain is what a time above 0 stands for. */
    *ms = fmax((cvp_conv_measure_now() - start) / runs, 1e-6);
    return CONVOP_OK;
}

convop_status cvp_conv_runner_time(struct conv_runner *r, double expected, double best,
                                   double deadline, double *ms)
{
    double first, least;
    CVP_RETURN_IF_ERROR(sample(r, 1, &first));
    *ms = first;
    const int is_stray = expected > 0 && first > STRAY * expected;
    if (best > 0 && first > FAR * best && !is_stray) return CONVOP_OK;
    const int runs = first < SAMPLE_MS ? (int)fmin(ceil(SAMPLE_MS / first), MOST_RUNS) : 1;
    /* The first run was the warm-up; a row that has time for no other is known by it, unless it had
     * to wait for memory or for other programs. */
    least = INFINITY;
    for (int n = 1, quiet = 0; n <= MAX_SAMPLES; n++) {
        double one;
        if (cvp_conv_measure_now() >= deadline && !(n == 1 && is_stray)) break;
        CVP_RETURN_IF_ERROR(sample(r, runs, &one));
        quiet = one < least * FALL ? 0 : quiet + 1;
        least = fmin(least, one);
        *ms = least;
        if (n >= MIN_SAMPLES && (quiet >= QUIET || (best > 0 && least > BEHIND * best))) break;
    }
    return CONVOP_OK;
}

/* How long a call takes: warm, the fastest of many; on a GPU the fastest of many blocks of calls.
 * The fastest is what the code can do; the median tells more about the neighbours. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/bench/bench.h"

#define WARM_UP       2
#define LEAST_REPEATS 5
#define MOST_SAMPLES  4096 /* of the median: those of the first calls */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void read_stages(convop_stage_time stages[CONVOP_STAGE_COUNT])
{
    for (int i = 0; i < CONVOP_STAGE_COUNT; i++) {
        stages[i].struct_size = sizeof stages[i];
        convop_stage_read((convop_stage)i, &stages[i]);
    }
}

/* One call on the CPU; fills ms and stages. */
static convop_status time_call(struct bench_case *c, int with_stages, struct times *t)
{
    convop_stage_time before[CONVOP_STAGE_COUNT];
    if (with_stages) read_stages(before);
    double start = now_ms();
    convop_status status = case_run(c);
    t->ms = now_ms() - start;
    if (!with_stages) return status;
    read_stages(t->stages);
    for (int i = 0; i < CONVOP_STAGE_COUNT; i++) {
        t->stages[i].ms -= before[i].ms;
        t->stages[i].count -= before[i].count;
    }
    return status;
}

static convop_status time_sample(struct bench_case *c, int with_stages, int calls, struct times *t)
{
    return case_is_on_gpu(c) ? case_time_block(c, calls, &t->ms) : time_call(c, with_stages, t);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int is_done(const struct settings *s, int done, double elapsed)
{
    if (s->repeat) return done >= s->repeat;
    return done >= LEAST_REPEATS && elapsed >= s->min_time;
}

convop_status case_time(struct bench_case *c, int with_stages, struct times *times)
{
    static double samples[MOST_SAMPLES];
    const struct settings *s = &c->problem->settings;
    struct times best = {.ms = 0}, one = {.ms = 0};
    convop_status status = CONVOP_OK;
    int done = 0, calls = 1; /* of a sample */
    if (with_stages) convop_stages_collect(1);
    for (int i = 0; i < WARM_UP && status == CONVOP_OK; i++) status = case_run(c);
    if (case_is_on_gpu(c) && status == CONVOP_OK) {
        status = case_time_block(c, WARM_UP, &one.ms);
        calls = calls_of_block(one.ms);
    }
    double begin = now_ms();
    while (status == CONVOP_OK && !is_done(s, done, now_ms() - begin)) {
        status = time_sample(c, with_stages, calls, &one);
        if (done == 0 || one.ms < best.ms) best = one;
        if (done < MOST_SAMPLES) samples[done] = one.ms;
        done++;
    }
    if (with_stages) convop_stages_collect(0);
    if (status != CONVOP_OK) return status;
    size_t count = done < MOST_SAMPLES ? (size_t)done : MOST_SAMPLES;
    qsort(samples, count, sizeof *samples, by_value);
    best.median_ms = samples[count / 2];
    *times = best;
    return CONVOP_OK;
}

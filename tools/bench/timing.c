/* How long a call takes: warm, the fastest of many. The fastest is what the code can do; the mean
 * tells more about the neighbours. */
#include <time.h>

#include "tools/bench/bench.h"

#define WARM_UP       2
#define LEAST_REPEATS 5

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

convop_status case_time(struct bench_case *c, double *ms)
{
    const struct settings *s = c->settings;
    double best = 0, begin = 0;
    for (int i = -WARM_UP;; i++) {
        double start = now_ms();
        convop_status status = case_run(c);
        double end = now_ms();
        if (status != CONVOP_OK) return status;
        if (i == 0) begin = start;
        if (i < 0) continue;
        if (i == 0 || end - start < best) best = end - start;
        int done = i + 1;
        if (s->repeat ? done >= s->repeat : done >= LEAST_REPEATS && end - begin >= s->min_time)
            break;
    }
    *ms = best;
    return CONVOP_OK;
}

/* Log lines, and when they are written. */
#include "examples/mobilenet/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

void log_line(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "INFO:root:%s\n", text);
}

double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void speedometer_batch(struct speedometer *s, int epoch, int64_t batch, struct metrics *metrics)
{
    if (batch < s->last) s->is_running = 0; /* a new epoch */
    if (!s->is_running) {
        s->is_running = 1;
        s->last = batch;
        s->start = now_seconds();
        return;
    }
    if (batch % s->frequent != 0) return;
    double seconds = now_seconds() - s->start;
    char text[256];
    metrics_text(metrics, text, sizeof text, METRICS_SINCE_LINE);
    log_line("Epoch[%d] Batch [%lld-%lld]\tSpeed: %.2f samples/sec%s", epoch,
             (long long)(batch - s->frequent), (long long)batch,
             (double)s->frequent * s->batch_size / seconds, text);
    metrics_new_line(metrics);
    s->last = batch;
    s->start = now_seconds();
}

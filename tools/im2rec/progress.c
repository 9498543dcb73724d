/* Progress for a person who waits. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tools/im2rec/im2rec.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct im2rec_progress im2rec_progress_begin(const char *what, uint64_t total)
{
    const double t = now();
    return (struct im2rec_progress){what, total, t, t, isatty(STDERR_FILENO), 0};
}

void im2rec_progress_show(struct im2rec_progress *progress, uint64_t done)
{
    const double t = now();
    if (t - progress->shown < 1) return;
    progress->shown = t;
    progress->open_line = progress->terminal;
    fprintf(stderr, "%s%s: %llu of %llu (%.0f %%), %.0f images/s%s",
            progress->terminal ? "\r\033[K" : "", progress->what, (unsigned long long)done,
            (unsigned long long)progress->total,
            100.0 * (double)done / (double)(progress->total ? progress->total : 1),
            (double)done / (t - progress->begin), progress->terminal ? "" : "\n");
    fflush(stderr);
}

double im2rec_progress_end(struct im2rec_progress *progress)
{
    if (progress->open_line) fputs("\r\033[K", stderr);
    progress->open_line = 0;
    return now() - progress->begin;
}

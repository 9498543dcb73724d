/* Metrics. */
#include "examples/mobilenet/metric.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void metrics_reset(struct metrics *m)
{
    memset(&m->epoch, 0, sizeof m->epoch);
    metrics_new_line(m);
}

void metrics_new_line(struct metrics *m)
{
    memset(&m->line, 0, sizeof m->line);
}

static double at(const DLTensor *t, int64_t i)
{
    return t->dtype.bits == 64 ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i];
}

static void add_row(struct metric_sums *s, const DLTensor *p, int64_t row, int64_t label, int top_k)
{
    int64_t classes = p->shape[1], better = 0, before = 0;
    double own = at(p, row * classes + label);
    for (int64_t c = 0; c < classes; c++) {
        double v = at(p, row * classes + c);
        better += v > own;
        before += v == own && c < label; /* ties go to the first class */
    }
    s->count++;
    s->correct += better + before == 0;
    s->correct_k += better + before < top_k;
    s->cross_entropy -= log(own > 1e-12 ? own : 1e-12);
}

void metrics_add(struct metrics *m, const DLTensor *p, const double *labels, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        add_row(&m->epoch, p, i, (int64_t)labels[i], m->top_k);
        add_row(&m->line, p, i, (int64_t)labels[i], m->top_k);
    }
}

static double part(int64_t n, int64_t of)
{
    return of > 0 ? (double)n / (double)of : NAN;
}

void metrics_text(const struct metrics *m, char *text, size_t size, int which)
{
    const struct metric_sums *s = which == METRICS_SINCE_LINE ? &m->line : &m->epoch;
    int n = snprintf(text, size, "\taccuracy=%f", part(s->correct, s->count));
    if (m->top_k > 0 && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, "\ttop_k_accuracy_%d=%f", m->top_k,
                 part(s->correct_k, s->count));
}

double metrics_accuracy(const struct metrics *m)
{
    return part(m->epoch.correct, m->epoch.count);
}
double metrics_top_k(const struct metrics *m)
{
    return part(m->epoch.correct_k, m->epoch.count);
}

double metrics_cross_entropy(const struct metrics *m)
{
    return m->epoch.count > 0 ? m->epoch.cross_entropy / (double)m->epoch.count : NAN;
}

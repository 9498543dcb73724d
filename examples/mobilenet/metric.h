/* Accuracy, accuracy of the k best, and cross-entropy, over an epoch and since the last line. */
#ifndef MOBILENET_METRIC_H
#define MOBILENET_METRIC_H

#include <stddef.h>
#include <stdint.h>

#include "convop/base.h"

struct metric_sums {
    int64_t count, correct, correct_k;
    double cross_entropy;
};

struct metrics {
    int top_k; /* 0: not reported */
    struct metric_sums epoch, line;
};

void metrics_reset(struct metrics *m);
void metrics_new_line(struct metrics *m);

/* Adds the first `count` rows of probabilities {mb, classes} with their labels {mb}. */
void metrics_add(struct metrics *m, const DLTensor *probabilities, const double *labels,
                 int64_t count);

enum { METRICS_SINCE_LINE, METRICS_OF_EPOCH };

/* "\taccuracy=0.912000\ttop_k_accuracy_5=..." */
void metrics_text(const struct metrics *m, char *text, size_t size, int which);

double metrics_accuracy(const struct metrics *m);
double metrics_top_k(const struct metrics *m);
double metrics_cross_entropy(const struct metrics *m);

#endif

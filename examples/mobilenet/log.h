/* Log lines as MXNet's example writes them through Python's logging: "INFO:root:..." on stderr. */
#ifndef MOBILENET_LOG_H
#define MOBILENET_LOG_H

#include <stdint.h>

#include "examples/mobilenet/metric.h"

void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The speed of training: a line every `frequent` batches. */
struct speedometer {
    int batch_size, frequent, is_running;
    int64_t last; /* batch of the last line */
    double start; /* seconds */
};

/* After each batch, counted from 0 in each epoch. */
void speedometer_batch(struct speedometer *s, int epoch, int64_t batch, struct metrics *metrics);

double now_seconds(void);

#endif

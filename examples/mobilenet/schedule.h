/* The learning rate over updates, as MXNet's fit.py and MultiFactorScheduler have it. */
#ifndef MOBILENET_SCHEDULE_H
#define MOBILENET_SCHEDULE_H

#include "examples/mobilenet/options.h"

struct schedule {
    double lr, factor;
    int64_t steps[MAX_LR_STEPS]; /* updates after which the rate is multiplied */
    int num_steps, next;
};

/* begin_epoch: the first epoch of this run; steps that lie before it have been taken. */
void schedule_init(struct schedule *schedule, const struct options *options, int begin_epoch);

/* The rate of the update of that number, counted from 1. Logs each change. */
double schedule_rate(struct schedule *schedule, int64_t update);

#endif

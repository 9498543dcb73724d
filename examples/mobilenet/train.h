/* The training loop. */
#ifndef MOBILENET_TRAIN_H
#define MOBILENET_TRAIN_H

#include "convop/base.h"
#include "examples/mobilenet/options.h"

/* Trains as the options say. *interrupted: SIGINT or SIGTERM came, and it has stopped after the
 * batch at hand, with a checkpoint if there is a prefix. */
convop_status train(const struct options *options, int *interrupted);

#endif

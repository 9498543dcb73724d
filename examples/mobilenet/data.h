/* What the network is fed: images from record files, or one synthetic batch again and again. */
#ifndef MOBILENET_DATA_H
#define MOBILENET_DATA_H

#include "convop/base.h"
#include "examples/mobilenet/options.h"

struct data;

enum { DATA_TRAIN, DATA_VALIDATION };

/* INVALID, IO: one sentence that names the file. */
convop_status data_open(struct data **data, const struct options *options, int which);
void data_close(struct data **data);

/* Begins an epoch. */
convop_status data_epoch(struct data *data, int epoch);

/* The next batch into images {mb, c, h, w} and labels {mb} (of the network's dtype); also into
 * plain[mb]. *count: those that count, 0 at the end of the epoch. */
convop_status data_next(struct data *data, DLTensor *images, DLTensor *labels, double *plain,
                        int *count);

/* Images left out in this epoch because they do not decode. */
int64_t data_num_bad(const struct data *data);

#endif

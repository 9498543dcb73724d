/* The lines of a file: which are records, which are not. */
#ifndef CVP_TUNING_SCAN_H
#define CVP_TUNING_SCAN_H

#include "src/operator/tuning/index.h"

/* How many lines of each kind; format is the highest of the headers, 0 without one. */
struct cvp_tune_census {
    size_t lines, records, others, comments, bad;
    int format;
};

/* Takes over a buffer with a file's text; without memory frees it and answers NULL. Of a newer
 * format no record is taken. The batch has one reference, the caller's. */
struct cvp_tune_batch *cvp_tune_scan(char *text, size_t length, size_t bytes,
                                     struct cvp_tune_census *census);

/* 1 if the file is ours to write to: it is empty, or has a header of ours or a sound line, or is
 * the beginning of what a killed writer left. */
int cvp_tune_is_ours(const char *text, size_t length, const struct cvp_tune_census *census);

/* Puts a batch's records into an index that nobody else has yet, in the order of their lines;
 * returns as cvp_tune_index_add. */
size_t cvp_tune_index_fill(struct cvp_tune_index *index, struct cvp_tune_batch *batch,
                           struct cvp_tune_leftovers *left);

#endif

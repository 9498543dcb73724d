/* Tensors of the cases: any dtype, strides and offset, in pages of their own whose neighbours may
 * not be touched. Elements are numbered in logical row-major order. */
#ifndef TESTS_CASES_TENSOR_H
#define TESTS_CASES_TENSOR_H

#include <jansson.h>

#include "convop/base.h"
#include "tests/support/guard.h"

struct tensor {
    DLTensor dl;
    int64_t shape[CONVOP_MAX_DIMS], strides[CONVOP_MAX_DIMS];
    int64_t count;
    struct guard memory;
    unsigned char *snapshot;
};

/* Whether a tensor's last byte, or its first one, lies next to the forbidden page. */
enum placement { AT_END, AT_BEGIN };

/* strides NULL: compact. Negative ones start at byte_offset as DLPack has it. All bytes are 0xff, a
 * NaN in every dtype, so that what lies between elements shows where it is read. */
void tensor_create(struct tensor *t, DLDataType type, int ndim, const int64_t *shape,
                   const int64_t *strides, uint64_t byte_offset, enum placement placement);
/* An input as a case writes it, filled. */
void tensor_from_json(struct tensor *t, const json_t *input, enum placement placement);
/* Safe for one that was never created. */
void tensor_destroy(struct tensor *t);

double tensor_get(const struct tensor *t, int64_t i);
void tensor_set(struct tensor *t, int64_t i, double value);
void tensor_fill(struct tensor *t, double value);
/* All values; the caller frees them. */
double *tensor_values(const struct tensor *t);

/* Keeps a copy of every byte; tensor_same compares with it: all bytes, or only those of no
 * element. */
void tensor_remember(struct tensor *t);
int tensor_same(const struct tensor *t);
int tensor_gaps_same(const struct tensor *t);

#endif

/* A tensor of a test, in its own memory: any layout, gaps and offset, with canaries around every
 * element that it does not own. Elements are reached by logical index (n, c, d, h, w). */
#ifndef TEST_BOX_H
#define TEST_BOX_H

#include "convop/base.h"
#include "rng.h"

struct box {
    DLTensor tensor;
    int64_t shape[CONVOP_MAX_DIMS], strides[CONVOP_MAX_DIMS];
    unsigned char *memory;
    unsigned char *owned; /* 1 for each byte that belongs to an element */
    size_t bytes;
    int axes, channels_last; /* axes 0: a vector over c */
};

enum { BOX_DENSE = 0, BOX_GAPS = 1 };

/* What elements are. */
enum { BOX_F16 = 16, BOX_BF16 = 17, BOX_F32 = 32, BOX_F64 = 64 };

/* The logical sizes are n, c and the last `axes` of d, h, w; axes 0: {c} alone. `skew` elements of
 * offset. With BOX_GAPS strides are random but free of overlaps. */
void box_create(struct box *b, struct rng *r, int type, int axes, int channels_last,
                const int64_t ncdhw[5], int gaps, int skew);
void box_destroy(struct box *b);

double box_get(const struct box *b, const int64_t at[5]);
void box_set(struct box *b, const int64_t at[5], double value);

/* All elements, by a function of the running logical index. */
void box_fill_int(struct box *b, struct rng *r, int64_t low, int64_t high);
void box_fill_real(struct box *b, struct rng *r);
void box_fill_value(struct box *b, double value);

/* 1 if every byte between elements is as box_create left it. */
int box_canaries_whole(const struct box *b);

/* A copy of the memory, to compare with later; box_unchanged frees it. */
unsigned char *box_snapshot(const struct box *b);
int box_unchanged(const struct box *b, unsigned char *snapshot);

/* Calls body for each logical index. */
#define BOX_FOR_EACH(ncdhw, at)                                                                    \
    for (at[0] = 0; at[0] < (ncdhw)[0]; at[0]++)                                                   \
        for (at[1] = 0; at[1] < (ncdhw)[1]; at[1]++)                                               \
            for (at[2] = 0; at[2] < (ncdhw)[2]; at[2]++)                                           \
                for (at[3] = 0; at[3] < (ncdhw)[3]; at[3]++)                                       \
                    for (at[4] = 0; at[4] < (ncdhw)[4]; at[4]++)

/* The sizes that box_create was given. */
void box_sizes(const struct box *b, int64_t ncdhw[5]);

#endif

/* Some neighbouring dimensions of a tensor, seen as one index: rows of a matrix, or positions of an
 * image. Dimensions that lie behind each other without a gap are joined to one. */
#ifndef CVP_OPERATOR_GROUP_H
#define CVP_OPERATOR_GROUP_H

#include "convop/base.h"

struct cvp_group {
    int64_t size;                                          /* of all dimensions together */
    int ndim;                                              /* >= 1; 1: one stride says it all */
    int64_t dim[CONVOP_MAX_DIMS], stride[CONVOP_MAX_DIMS]; /* in elements, the slowest first */
};

/* Dimensions [begin, end) of t; none of them is a group of size 1. */
struct cvp_group cvp_group_of(const DLTensor *t, int begin, int end);

/* Elements that index i, below size, lies behind the first. */
static inline int64_t cvp_group_at(const struct cvp_group *g, int64_t i)
{
    if (g->ndim == 1) return i * g->stride[0];
    int64_t at = 0;
    for (int d = g->ndim - 1; d >= 0; d--) {
        at += i % g->dim[d] * g->stride[d];
        i /= g->dim[d];
    }
    return at;
}

#endif

/* A problem as the library is asked about it: parameters, and tensors without memory. */
#ifndef PROBLEMS_QUERY_H
#define PROBLEMS_QUERY_H

#include "tools/problems/descriptor.h"
#include "tools/problems/kinds.h"

/* Tensors point into it: not to be copied. */
struct query {
    convop_conv_params params;
    DLTensor src, weights, dst; /* or their gradients; data is NULL */
    int64_t shapes[3][5];
};

/* For convop_conv_explain and convop_conv_tune, with library_direction(direction). */
void query_make(const struct descriptor *d, const struct post_ops *post_ops,
                enum direction direction, enum type type, enum tag tag, struct query *query);

#endif

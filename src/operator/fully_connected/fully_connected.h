/* What FullyConnected and its gradient share: parameters, those of MXNet's operator of the same
 * name, and shapes. */
#ifndef CVP_FULLY_CONNECTED_H
#define CVP_FULLY_CONNECTED_H

#include "convop/registry.h"

struct fc_params {
    size_t struct_size;
    int64_t num_hidden;
    int no_bias, flatten;
};

extern const convop_field cvp_fc_fields[];
#define FC_NUM_FIELDS 3

/* What the error texts call the operator and its arguments. */
struct fc_names {
    const char *op, *src, *weights, *bias, *dst;
};

/* bias NULL if there is none. */
struct fc_shapes {
    convop_shape *src, *weights, *bias, *dst;
    struct fc_names names;
};

/* Fills what follows from what is known: dst from src and the other way round; weights and bias
 * from src and the parameters; one unknown size among those that are multiplied, from weights.
 * INVALID for a contradiction, or a size of 0 other than the first. */
convop_status cvp_fc_infer(const struct fc_params *p, const struct fc_shapes *s);

/* The first dimension of src that is multiplied with weights; those before it are rows. */
static inline int cvp_fc_split(const struct fc_params *p, int ndim)
{
    return p->flatten ? 1 : ndim - 1;
}

#endif

/* The parameters of the updates by stochastic gradient descent, those of MXNet's operators of the
 * same names. */
#ifndef CVP_SGD_H
#define CVP_SGD_H

#include "convop/registry.h"

struct sgd_params {
    size_t struct_size;
    double lr, wd, rescale_grad, clip_gradient;
    int lazy_update;
    double momentum; /* sgd_mom_update alone */
};

/* The fields of sgd_mom_update; those of sgd_update are the same but for the last. */
extern const convop_field cvp_sgd_fields[];
#define SGD_NUM_FIELDS 6

#endif

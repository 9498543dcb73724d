/* The table of parameters of sgd_update and sgd_mom_update. */
#include <float.h>
#include <stddef.h>

#include "src/operator/sgd/sgd.h"

#define FIELD(field_kind, member)                                                                  \
    .struct_size = sizeof(convop_field), .name = #member, .kind = CONVOP_FIELD_##field_kind,       \
    .offset = offsetof(struct sgd_params, member)
#define REAL(member) FIELD(FLOAT, member), .min = -DBL_MAX, .max = DBL_MAX

const convop_field cvp_sgd_fields[] = {
    {REAL(lr), .doc = "Learning rate."},
    {REAL(wd), .default_text = "0",
     .doc = "Weight decay: the loss is taken to hold wd/2 times the square of each weight."},
    {REAL(rescale_grad), .default_text = "1", .doc = "The gradient is multiplied by it first."},
    {REAL(clip_gradient), .default_text = "-1",
     .doc = "The rescaled gradient is cut to at most this magnitude; below 0 it is not."},
    {FIELD(BOOL, lazy_update), .default_text = "True",
     .doc = "For sparse gradients; dense ones are the same with and without."},
    {REAL(momentum), .default_text = "0", .doc = "The share of the last step that is kept."},
};

_Static_assert(sizeof cvp_sgd_fields / sizeof cvp_sgd_fields[0] == SGD_NUM_FIELDS,
               "SGD_NUM_FIELDS");

/* What the files of Activation and its gradient share. */
#ifndef CVP_ACTIVATION_H
#define CVP_ACTIVATION_H

#include "src/operator/common.h"

enum activation_type {
    ACTIVATION_RELU,
    ACTIVATION_SIGMOID,
    ACTIVATION_TANH,
    ACTIVATION_SOFTRELU,
    ACTIVATION_SOFTSIGN,
    ACTIVATION_TYPES
};

struct activation_params {
    size_t struct_size;
    int act_type;
};

extern const convop_field cvp_activation_fields[1];

/* [float64][type]; arg is the request. Forward: dst, src. Backward: diff_src, diff_dst, dst. */
extern cvp_line_body *const cvp_activation_forward[2][ACTIVATION_TYPES];
extern cvp_line_body *const cvp_activation_backward[2][ACTIVATION_TYPES];

#endif

/* Convolution's parameters: field table, check, and what their defaults mean. */
#ifndef CVP_CONV_PARAMS_H
#define CVP_CONV_PARAMS_H

#include "convop/convolution.h"

#define CONV_MAX_AXES 3

/* The names of convop_layout. */
extern const convop_enum_value cvp_conv_layout_values[];

/* Convolution's, then those that the fused operators have besides. */
extern const convop_field cvp_conv_fields[];
#define CONV_NUM_FIELDS       12
#define CONV_NUM_FUSED_FIELDS 13

/* INVALID unless the fields, each within its own range, fit together. The second is for operators
 * that have no activation. */
convop_status cvp_conv_params_check(const void *params);
convop_status cvp_conv_params_check_plain(const void *params);

/* Checked parameters with "not given" replaced. */
struct conv_resolved {
    int64_t stride[CONV_MAX_AXES], dilate[CONV_MAX_AXES];
    int64_t pad_begin[CONV_MAX_AXES], pad_end[CONV_MAX_AXES];
    convop_layout layout;
    int channels_last;
};

/* A caller's struct with the rest at its defaults, checked. INVALID. */
convop_status cvp_conv_params_read(const convop_conv_params *from, convop_conv_params *to);

struct conv_resolved cvp_conv_params_resolve(const convop_conv_params *params);

const char *cvp_conv_layout_name(convop_layout layout);
const char *cvp_conv_activation_name(int activation);

/* dilate * (kernel - 1) + 1: how far a window reaches in one axis. Checked parameters: it fits. */
static inline int64_t cvp_conv_reach(int64_t kernel, int64_t dilate)
{
    return dilate * (kernel - 1) + 1;
}

#endif

/* Parameters of a convolution from the named attributes that a host passes along with its tensors.
 *
 *     stride, dilate, pad_begin, pad_end   integers, one for each axis, the slowest first
 *     pad                                  both pads
 *     num_group                            an integer
 *     layout                               a text, as "NHWC"
 *
 * kernel and num_filter follow from the weights. */
#ifndef ADAPTERS_CONV_ATTRS_H
#define ADAPTERS_CONV_ATTRS_H

#include "convop/convolution.h"

struct conv_attr {
    const char *name; /* name_size bytes, without a final 0; likewise text */
    size_t name_size;
    const int64_t *integers; /* NULL: it is a text */
    size_t num_integers;
    const char *text;
    size_t text_size;
};

/* Sets a parameter. INVALID for a name, a kind or a number of integers that does not fit. */
convop_status conv_attrs_set(convop_conv_params *params, const struct conv_attr *attr);

/* Fills in what the weights, or their gradient, and the presence of a bias say. */
convop_status conv_attrs_complete(convop_conv_params *params, const DLTensor *weights,
                                  int has_bias);

#endif

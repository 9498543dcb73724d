/* What SoftmaxOutput and its gradient share: parameters, those of MXNet's operator of the same
 * name, and how data and label are cut into softmaxes. */
#ifndef CVP_SOFTMAX_OUTPUT_H
#define CVP_SOFTMAX_OUTPUT_H

#include "convop/registry.h"
#include "src/operator/group.h"

enum softmax_normalization { SOFTMAX_NULL = 0, SOFTMAX_BATCH = 1, SOFTMAX_VALID = 2 };

struct softmax_params {
    size_t struct_size;
    double grad_scale, ignore_label;
    int multi_output, use_ignore, preserve_shape;
    int normalization; /* softmax_normalization */
    int out_grad;
    double smooth_alpha;
};

extern const convop_field cvp_softmax_fields[];
#define SOFTMAX_NUM_FIELDS 8

/* INVALID if multi_output and preserve_shape are both set. */
convop_status cvp_softmax_check(const void *params);

/* Shapes of data (of n equal ones, named by args) and of their labels, both ways. */
convop_status cvp_softmax_infer(const char *op, const struct softmax_params *p, int n,
                                const convop_arg *const *args, convop_shape *const *data,
                                const char *label_name, convop_shape *label);

/* Data as rows x classes x positions: a softmax runs over the classes. One label belongs to each
 * row and position. */
struct softmax_axes {
    struct cvp_group rows, classes, positions;
};

struct softmax_axes cvp_softmax_axes(const struct softmax_params *p, const DLTensor *data);
/* Their labels; classes is of size 1. */
struct softmax_axes cvp_softmax_label_axes(const struct softmax_params *p, const DLTensor *label);

#endif

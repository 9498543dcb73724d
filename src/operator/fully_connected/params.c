/* FullyConnected's parameters and shapes. */
#include <stddef.h>

#include "src/common/size.h"
#include "src/common/status.h"
#include "src/operator/common.h"
#include "src/operator/fully_connected/fully_connected.h"

#define MAX_SIZE 9223372036854775807.0
#define FIELD(field_kind, member)                                                                  \
    .struct_size = sizeof(convop_field), .name = #member, .kind = CONVOP_FIELD_##field_kind,       \
    .offset = offsetof(struct fc_params, member)

const convop_field cvp_fc_fields[] = {
    {FIELD(INT, num_hidden), .min = 1, .max = MAX_SIZE, .doc = "Number of outputs."},
    {FIELD(BOOL, no_bias), .default_text = "False", .doc = "There is no bias."},
    {FIELD(BOOL, flatten), .default_text = "True",
     .doc = "All axes of src but the first are multiplied with weights; else the last alone."},
};

_Static_assert(sizeof cvp_fc_fields / sizeof cvp_fc_fields[0] == FC_NUM_FIELDS, "FC_NUM_FIELDS");

/* The product of the sizes from `begin` on, -1 if one is unknown. *missing is the only unknown
 * dimension, -1 if there is none or another one; *known the product of the others. */
static convop_status multiply(const struct fc_names *n, const convop_shape *src, int begin,
                              int64_t *k, int *missing, int64_t *known)
{
    int unknown = 0;
    *missing = -1;
    *known = 1;
    for (int i = begin; i < src->ndim; i++) {
        if (src->dim[i] == -1) {
            unknown++;
            *missing = i;
        } else if (src->dim[i] == 0) {
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has shape %s: dimension %d is 0, only the batch may be",
                               n->op, n->src, cvp_shape_text(src).at, i);
        } else if (!cvp_mul_i64(*known, src->dim[i], known)) {
            return convop_fail(CONVOP_E_INVALID, "%s: %s has shape %s: its size overflows 64 bits",
                               n->op, n->src, cvp_shape_text(src).at);
        }
    }
    *k = unknown ? -1 : *known;
    if (unknown != 1) *missing = -1;
    return CONVOP_OK;
}

/* Weights from src, or src's one unknown size from weights. */
static convop_status infer_weights(const struct fc_params *p, const struct fc_shapes *s)
{
    const struct fc_names *n = &s->names;
    convop_shape want = cvp_shape_unknown(2);
    int64_t known = 1;
    int missing = -1;
    want.dim[0] = p->num_hidden;
    if (s->src->ndim != -1)
        CVP_RETURN_IF_ERROR(
            multiply(n, s->src, cvp_fc_split(p, s->src->ndim), &want.dim[1], &missing, &known));
    CVP_RETURN_IF_ERROR(cvp_shape_merge(n->op, n->weights, s->weights, &want,
                                        p->flatten ? "num_hidden, the size of a row of src"
                                                   : "num_hidden, the last size of src"));
    int64_t k = s->weights->dim[1];
    if (k == 0)
        return convop_fail(CONVOP_E_INVALID, "%s: %s has shape %s: dimension 1 is 0", n->op,
                           n->weights, cvp_shape_text(s->weights).at);
    if (missing == -1 || k == -1) return CONVOP_OK;
    if (k % known != 0)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %s has shape %s, of which a row cannot have the %lld elements that "
                           "%s with shape %s wants",
                           n->op, n->src, cvp_shape_text(s->src).at, (long long)k, n->weights,
                           cvp_shape_text(s->weights).at);
    s->src->dim[missing] = k / known;
    return CONVOP_OK;
}

/* dst and the rows of src from each other. */
static convop_status infer_rows(const struct fc_params *p, const struct fc_shapes *s)
{
    const struct fc_names *n = &s->names;
    if (s->src->ndim == -1 && s->dst->ndim > 0 && !p->flatten)
        *s->src = cvp_shape_unknown(s->dst->ndim);
    int rows = p->flatten ? 1 : s->src->ndim - 1;
    if (rows < 0) return CONVOP_OK;
    convop_shape want = cvp_shape_unknown(rows + 1);
    want.dim[rows] = p->num_hidden;
    for (int i = 0; i < rows && s->src->ndim != -1; i++) want.dim[i] = s->src->dim[i];
    CVP_RETURN_IF_ERROR(
        cvp_shape_merge(n->op, n->dst, s->dst, &want, "the rows of src, num_hidden"));
    for (int i = 0; i < rows && s->src->ndim != -1; i++) {
        s->src->dim[i] = s->dst->dim[i];
        if (i > 0 && s->src->dim[i] == 0)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has shape %s: dimension %d is 0, only the batch may be",
                               n->op, n->src, cvp_shape_text(s->src).at, i);
    }
    return CONVOP_OK;
}

convop_status cvp_fc_infer(const struct fc_params *p, const struct fc_shapes *s)
{
    const struct fc_names *n = &s->names;
    if (s->src->ndim == 0)
        return convop_fail(CONVOP_E_INVALID, "%s: %s has no dimensions, it must have 1 or more",
                           n->op, n->src);
    CVP_RETURN_IF_ERROR(infer_rows(p, s));
    CVP_RETURN_IF_ERROR(infer_weights(p, s));
    if (!s->bias) return CONVOP_OK;
    convop_shape bias = {.ndim = 1, .dim = {p->num_hidden}};
    return cvp_shape_merge(n->op, n->bias, s->bias, &bias, "num_hidden");
}

/* One direction, planned: the row that runs it, the copies that make its tensors what the row
 * takes, and what was made of weights that stay the same. */
#ifndef CVP_CONV_PLAN_H
#define CVP_CONV_PLAN_H

#include "src/operator/convolution/impl.h"

/* A tensor of a plan: as the caller has it, and whether the row gets a copy of it instead: compact,
 * and float32 where the caller's is a 16-bit type. */
struct conv_side {
    int64_t sizes[5];         /* n, c, d, h, w; weights: oc, ic / g, ... */
    convop_conv_strides have; /* the caller's */
    convop_conv_strides want; /* the copy's */
    int copied;
};

/* Immutable once made; may run in many threads. */
struct conv_plan {
    convop_conv_problem problem; /* as the row sees it */
    DLDataType dtype;            /* of the caller's tensors */
    struct conv_side src, weights, bias, dst;
    const struct conv_rows *rows; /* held until the plan ends */
    const convop_conv_impl *impl;
    size_t bytes; /* of workspace: the copies, then the row's */

    /* Of constant weights, owned: the copy that the row takes, or what it packed. */
    void *prepared;
    size_t prepared_bytes;
    int is_packed;
    const convop_context *context;
};

/* Chooses for a problem. Where only the last resort takes it as it is and copies fit the workspace
 * limit, it is chosen for the copies. UNSUPPORTED, INVALID as cvp_conv_fail_to_find. */
convop_status cvp_conv_plan_init(struct conv_plan *plan, const convop_conv_problem *p,
                                 const convop_context *context);

/* For weights that stay the same until the plan ends: copies and packs them once.
 * NO_MEMORY leaves the plan as it was. */
convop_status cvp_conv_plan_prepare(struct conv_plan *plan, const void *weights);

/* t->packed is set by this function. */
convop_status cvp_conv_plan_run(const struct conv_plan *plan, const convop_conv_operands *t,
                                const convop_context *context, void *workspace);

/* Ends a plan; one that was zeroed or never made is left alone. */
void cvp_conv_plan_end(struct conv_plan *plan);

/* Copies between the caller's tensor and the row's. */
void cvp_conv_gather(const struct conv_plan *plan, const struct conv_side *side,
                     const convop_context *context, void *to, const void *from);
void cvp_conv_scatter(const struct conv_plan *plan, const struct conv_side *side,
                      const convop_context *context, void *to, const void *from);

/* Bytes of a side's copy, rounded up to the alignment of buffers. */
size_t cvp_conv_copy_bytes(const struct conv_plan *plan, const struct conv_side *side);

#endif

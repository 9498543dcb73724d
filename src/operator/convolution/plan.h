/* One direction, planned: the row that runs it, and the copies that make its tensors compact. */
#ifndef CVP_CONV_PLAN_H
#define CVP_CONV_PLAN_H

#include "src/operator/convolution/impl.h"

/* Immutable once made; may run in many threads. */
struct conv_plan {
    struct conv_problem problem;           /* as the row sees it */
    struct conv_strides src, weights, dst; /* as the caller's tensors are */
    int copy_src, copy_weights, copy_dst;  /* that tensor goes through a compact copy */
    const struct conv_impl *impl;
    size_t row_bytes; /* of the workspace, behind the copies */
    size_t bytes;     /* of workspace in all */
};

/* Chooses for a problem. Tensors that are not compact are copied to scratch where the limit allows
 * it, else only rows that take any strides remain. Errors as cvp_conv_select. */
convop_status cvp_conv_plan_init(struct conv_plan *plan, const struct conv_problem *p);

convop_status cvp_conv_plan_run(const struct conv_plan *plan, const struct conv_operands *t,
                                const convop_context *context, void *workspace);

#endif

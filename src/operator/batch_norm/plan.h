/* How BatchNorm goes through its tensors: which layout they have and how the work is cut. The cut
 * follows from shapes alone, so that sums do not depend on threads. */
#ifndef CVP_BN_PLAN_H
#define CVP_BN_PLAN_H

#include "src/operator/batch_norm/batch_norm.h"
#include "src/operator/batch_norm/kernels.h"

struct bn_plan {
    /* NULL: strides that the kernels do not take, or too little workspace; channels are then
     * computed one by one by plain loops. */
    const struct bn_kernels *kernels;
    int is_double;
    int64_t element_size;
    int64_t elements;               /* of the whole tensor */
    int64_t count;                  /* of one channel */
    int64_t outer, channels, inner; /* in the order of memory; inner 1: rows, else planes */

    /* Sums. A block is what is read twice and should stay in the cache: whole planes or a piece of
     * one; or rows. Parts are runs of blocks whose sums are added up before they meet the others.
     */
    int64_t block_planes, block_inner, plane_blocks; /* planes; plane_blocks: blocks in a plane */
    int64_t block_rows;
    int64_t blocks, parts;

    int64_t sums_step; /* doubles from one kind of sum of a part to the next */
    int64_t period;    /* of the tables; rows only */
    size_t coef_at, sums_at, sums_of_part, table_at; /* in the workspace; bytes */
};

/* Fills *plan for tensors of one shape and tells its workspace. INVALID for a setting that does not
 * parse. */
convop_status cvp_bn_plan_init(struct bn_plan *plan, const convop_op_args *args, int num,
                               const DLTensor *const *tensors, size_t *workspace_bytes);

#endif

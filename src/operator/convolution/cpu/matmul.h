/* What the three directions of the row `gemm` share: which GEMM multiplies, and how the workspace
 * is cut into lanes. Policy only; the arithmetic is in src/operator/gemm. */
#ifndef CVP_CONV_MATMUL_H
#define CVP_CONV_MATMUL_H

#include "src/operator/convolution/impl.h"
#include "src/operator/gemm/blas.h"
#include "src/operator/gemm/gemm.h"

/* OpenBLAS where it applies and is the faster one, else convop's own kernels. */
struct conv_matmul {
    enum cvp_float type;
    const struct cvp_gemm_kernels *own;
    const struct cvp_blas *blas; /* NULL: own */
};

struct conv_matmul cvp_conv_matmul_for(const convop_conv_problem *p);

/* One product in one lane; scratch as cvp_conv_lanes counts it. */
void cvp_conv_matmul(const struct conv_matmul *matmul, const struct cvp_gemm *g, void *scratch);

/* Scratch of a lane: a block of columns, then what the GEMM packs. */
struct conv_lanes {
    int lanes;
    size_t columns_bytes, lane_bytes;
};

static inline size_t cvp_conv_lanes_bytes(const struct conv_lanes *l)
{
    return (size_t)l->lanes * l->lane_bytes;
}

/* Lanes for tasks that each need `columns` elements and multiply m x n x k at most. 0 lanes if one
 * lane already exceeds the workspace limit. How much a lane takes never depends on their number. */
struct conv_lanes cvp_conv_lanes(const convop_conv_problem *p, const struct conv_matmul *matmul,
                                 int64_t tasks, int64_t columns, int64_t m, int64_t n, int64_t k);

/* For applicable: 1, or 0 with the reason. */
int cvp_conv_lanes_fit(const convop_conv_problem *p, const struct conv_lanes *lanes,
                       char why[CONVOP_WHY_SIZE]);

/* Runs task(job, i, columns, scratch) for every i < tasks, with each lane's own memory. */
typedef void conv_task(const void *job, int64_t i, void *columns, void *scratch);
void cvp_conv_run_tasks(const convop_context *context, const struct conv_lanes *lanes,
                        int64_t tasks, conv_task *task, const void *job, void *workspace);

/* Sizes of blocks. They follow from the problem alone, so that results do not depend on threads. */

/* Bytes of columns that a lane works on at a time: a share of a second-level cache. */
#define CONV_COLUMNS_BYTES ((int64_t)512 << 10)

/* Tasks below which a problem is cut finer, if it can be: what a mid-sized machine keeps busy. */
#define CONV_MIN_TASKS 16

/* Pixels in a block of `rows` rows of columns, between 64 and 1024 and not above `pixels`. */
int64_t cvp_conv_pixel_block(const convop_conv_problem *p, int64_t rows, int64_t pixels);

#endif

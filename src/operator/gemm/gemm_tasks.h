/* What operators that multiply matrices share: which GEMM does it, and how the workspace is cut
 * into lanes of a parallel loop. Policy only; the arithmetic is in gemm.h and blas.h. */
#ifndef CVP_GEMM_TASKS_H
#define CVP_GEMM_TASKS_H

#include "convop/context.h"
#include "src/operator/gemm/blas.h"
#include "src/operator/gemm/gemm.h"

/* OpenBLAS where it applies and is the faster one, else convop's own kernels. */
struct cvp_gemm_choice {
    enum cvp_float type;
    const struct cvp_gemm_kernels *own;
    const struct cvp_blas *blas; /* NULL: own */
    int halvings;                /* of the blocks of `own`, which cvp_gemm_lanes_for sets */
};

struct cvp_gemm_choice cvp_gemm_choose(enum cvp_float type, enum cvp_isa isa, int threads,
                                       int deterministic);

/* One product in one lane; scratch as cvp_gemm_lanes_for counts it. */
void cvp_gemm_multiply(const struct cvp_gemm_choice *choice, struct cvp_gemm *g, void *scratch);

/* Scratch of a lane: the task's own memory, then what the GEMM packs. */
struct cvp_gemm_lanes {
    int lanes;
    size_t own_bytes, lane_bytes;
    int one_calls_for_all; /* OpenBLAS brings its own threads */
};

static inline size_t cvp_gemm_lanes_bytes(const struct cvp_gemm_lanes *l)
{
    return (size_t)l->lanes * l->lane_bytes;
}

/* Lanes for tasks that each need `elements` of the type for themselves and multiply m x n x k at
 * most, on up to `threads` threads in up to `limit` bytes. 0 lanes if one that is alone exceeds the
 * limit, so that what can be done does not depend on threads. Many lanes pack smaller blocks, where
 * that keeps them all within CVP_GEMM_LANES_BYTES or lets more of them into the limit. */
struct cvp_gemm_lanes cvp_gemm_lanes_for(struct cvp_gemm_choice *choice, int threads, size_t limit,
                                         int64_t tasks, int64_t elements, int64_t m, int64_t n,
                                         int64_t k);

#define CVP_GEMM_LANES_BYTES ((size_t)8 << 20)

/* Runs task(job, i, own, scratch) for every i < tasks, with each lane's own memory. */
typedef void cvp_gemm_task(const void *job, int64_t i, void *own, void *scratch);
void cvp_gemm_run_tasks(const convop_context *context, const struct cvp_gemm_lanes *lanes,
                        int64_t tasks, cvp_gemm_task *task, const void *job, void *workspace);

/* Tasks below which a problem is cut finer, if it can be: what a mid-sized machine keeps busy. */
#define CVP_GEMM_MIN_TASKS 16

#endif

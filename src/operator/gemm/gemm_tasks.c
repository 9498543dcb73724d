/* Which GEMM multiplies, and its lanes. */
#include "src/operator/gemm/gemm_tasks.h"

#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"

struct cvp_gemm_choice cvp_gemm_choose(enum cvp_float type, enum cvp_isa isa, int threads,
                                       int deterministic)
{
    struct cvp_gemm_choice r = {.type = type, .own = cvp_gemm_kernels(type, isa)};
    /* With wide vectors convop's kernels are the faster ones, and OpenBLAS may not know the
     * processor; without them its assembly is. docs/performance.md has the figures. */
    const char *why;
    if (isa == CVP_ISA_BASELINE) r.blas = cvp_blas_get(threads, deterministic, &why);
    return r;
}

void cvp_gemm_multiply(const struct cvp_gemm_choice *choice, struct cvp_gemm *g, void *scratch)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    g->halvings = choice->halvings;
    if (choice->blas && cvp_blas_takes(g))
        cvp_blas_gemm(choice->blas, choice->type, g);
    else
        cvp_gemm(choice->own, g, scratch);
    cvp_stage_leave(outer);
}

/* SIZE_MAX where size_t does not hold it. */
static size_t lane_bytes(const struct cvp_gemm_choice *choice, size_t own, int64_t m, int64_t n,
                         int64_t k)
{
    const size_t packed = cvp_gemm_workspace(choice->own, m, n, k, choice->halvings);
    size_t bytes;
    return cvp_add_size(own, cvp_round_up(packed, CVP_BUFFER_ALIGN), &bytes) ? bytes : SIZE_MAX;
}

struct cvp_gemm_lanes cvp_gemm_lanes_for(struct cvp_gemm_choice *choice, int threads, size_t limit,
                                         int64_t tasks, int64_t elements, int64_t m, int64_t n,
                                         int64_t k)
{
    struct cvp_gemm_lanes r = {.lanes = 0, .own_bytes = SIZE_MAX, .lane_bytes = SIZE_MAX};
    size_t bytes;
    if (!cvp_mul_size((size_t)elements, choice->type == CVP_F64 ? 8 : 4, &bytes) ||
        bytes > SIZE_MAX - CVP_BUFFER_ALIGN)
        return r;
    r.own_bytes = cvp_round_up(bytes, CVP_BUFFER_ALIGN);
    choice->halvings = 0;
    r.lane_bytes = lane_bytes(choice, r.own_bytes, m, n, k);
    if (r.lane_bytes > limit) return r;
    const int64_t wanted = cvp_min_i64(threads, tasks);
    const size_t share = (limit < CVP_GEMM_LANES_BYTES ? limit : CVP_GEMM_LANES_BYTES) /
                         (size_t)cvp_max_i64(wanted, 1);
    while (r.lane_bytes > share && choice->halvings < CVP_GEMM_MAX_HALVINGS) {
        choice->halvings++;
        r.lane_bytes = lane_bytes(choice, r.own_bytes, m, n, k);
    }
    const int64_t fit = r.lane_bytes ? (int64_t)(limit / r.lane_bytes) : INT64_MAX;
    /* Memory is booked for all lanes, whatever OpenBLAS is set to now: the host may set it anew. */
    r.lanes = (int)cvp_min_i64(wanted, fit);
    r.one_calls_for_all = choice->blas && cvp_blas_is_threaded(choice->blas);
    return r;
}

struct run {
    cvp_gemm_task *task;
    const void *job;
    const struct cvp_gemm_lanes *lanes;
    char *workspace;
};

static void run_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct run *run = arg;
    char *own = run->workspace + (size_t)lane * run->lanes->lane_bytes;
    for (int64_t i = begin; i < end; i++) run->task(run->job, i, own, own + run->lanes->own_bytes);
}

void cvp_gemm_run_tasks(const convop_context *context, const struct cvp_gemm_lanes *lanes,
                        int64_t tasks, cvp_gemm_task *task, const void *job, void *workspace)
{
    struct run run = {task, job, lanes, workspace};
    cvp_parallel_on(context, lanes->one_calls_for_all ? 1 : lanes->lanes, tasks, run_range, &run);
}

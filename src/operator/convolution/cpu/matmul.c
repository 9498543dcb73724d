/* Shared parts of the row `gemm`. */
#include "src/operator/convolution/cpu/matmul.h"

#include <stdio.h>

#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/engine/parallel.h"

struct conv_matmul cvp_conv_matmul_for(const convop_conv_problem *p)
{
    struct conv_matmul r = {.type = cvp_conv_float(p)};
    r.own = cvp_gemm_kernels(r.type, (enum cvp_isa)p->isa);
    /* With wide vectors convop's kernels are the faster ones, and OpenBLAS may not know the
     * processor; without them its assembly is. docs/design.md has the figures. */
    const char *why;
    if (p->isa == CVP_ISA_BASELINE) r.blas = cvp_blas_get(p->threads, p->deterministic, &why);
    return r;
}

void cvp_conv_matmul(const struct conv_matmul *matmul, const struct cvp_gemm *g, void *scratch)
{
    if (matmul->blas && cvp_blas_takes(g))
        cvp_blas_gemm(matmul->blas, matmul->type, g);
    else
        cvp_gemm(matmul->own, g, scratch);
}

struct conv_lanes cvp_conv_lanes(const convop_conv_problem *p, const struct conv_matmul *matmul,
                                 int64_t tasks, int64_t columns, int64_t m, int64_t n, int64_t k)
{
    struct conv_lanes r = {.lanes = 0, .columns_bytes = SIZE_MAX, .lane_bytes = SIZE_MAX};
    size_t bytes;
    if (!cvp_mul_size((size_t)columns, cvp_conv_element_size(p), &bytes) ||
        bytes > SIZE_MAX - CVP_BUFFER_ALIGN)
        return r;
    r.columns_bytes = cvp_round_up(bytes, CVP_BUFFER_ALIGN);
    if (!cvp_add_size(r.columns_bytes,
                      cvp_round_up(cvp_gemm_workspace(matmul->own, m, n, k), CVP_BUFFER_ALIGN),
                      &r.lane_bytes))
        return r;
    int64_t fit = r.lane_bytes ? (int64_t)(p->workspace_limit / r.lane_bytes) : INT64_MAX;
    int64_t lanes = matmul->blas && cvp_blas_is_threaded(matmul->blas) ? 1 : p->threads;
    r.lanes = (int)cvp_min_i64(cvp_min_i64(lanes, tasks), fit);
    return r;
}

int cvp_conv_lanes_fit(const convop_conv_problem *p, const struct conv_lanes *lanes,
                       char why[CONVOP_WHY_SIZE])
{
    if (lanes->lanes > 0) return 1;
    snprintf(why, CONVOP_WHY_SIZE, "needs %zu bytes of workspace, the limit is %zu",
             lanes->lane_bytes, p->workspace_limit);
    return 0;
}

struct run {
    conv_task *task;
    const void *job;
    const struct conv_lanes *lanes;
    char *workspace;
};

static void run_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct run *run = arg;
    char *columns = run->workspace + (size_t)lane * run->lanes->lane_bytes;
    for (int64_t i = begin; i < end; i++)
        run->task(run->job, i, columns, columns + run->lanes->columns_bytes);
}

void cvp_conv_run_tasks(const convop_context *context, const struct conv_lanes *lanes,
                        int64_t tasks, conv_task *task, const void *job, void *workspace)
{
    struct run run = {task, job, lanes, workspace};
    cvp_parallel_on(context, lanes->lanes, tasks, run_range, &run);
}

int64_t cvp_conv_pixel_block(const convop_conv_problem *p, int64_t rows, int64_t pixels)
{
    int64_t fit = CONV_COLUMNS_BYTES / (int64_t)cvp_conv_element_size(p) / cvp_max_i64(rows, 1);
    return cvp_min_i64(pixels, cvp_min_i64(1024, cvp_max_i64(64, fit / 32 * 32)));
}

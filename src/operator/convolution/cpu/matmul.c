/* Shared parts of the row `gemm`. */
#include "src/operator/convolution/cpu/matmul.h"

#include "src/common/size.h"

struct cvp_gemm_choice cvp_conv_matmul_for(const convop_conv_problem *p)
{
    return cvp_gemm_choose(cvp_conv_float(p), (enum cvp_isa)p->isa, p->threads, p->deterministic);
}

struct cvp_gemm_lanes cvp_conv_lanes(const convop_conv_problem *p, struct cvp_gemm_choice *matmul,
                                     int64_t tasks, int64_t columns, int64_t m, int64_t n,
                                     int64_t k)
{
    return cvp_gemm_lanes_for(matmul, p->threads, p->workspace_limit, tasks, columns, m, n, k);
}

int cvp_conv_lanes_fit(const convop_conv_problem *p, const struct cvp_gemm_lanes *lanes,
                       char why[CONVOP_WHY_SIZE])
{
    if (lanes->lanes > 0) return 1;
    return cvp_conv_refuse(why, "needs %zu bytes of workspace, the limit is %zu", lanes->lane_bytes,
                           p->workspace_limit);
}

int64_t cvp_conv_pixel_block(const convop_conv_problem *p, int64_t rows, int64_t pixels)
{
    int64_t fit = CONV_COLUMNS_BYTES / (int64_t)cvp_conv_element_size(p) / cvp_max_i64(rows, 1);
    return cvp_min_i64(pixels, cvp_min_i64(1024, cvp_max_i64(64, fit / 32 * 32)));
}

/* What the three directions of the row `gemm` share: a problem's GEMM and lanes, and the sizes of
 * its blocks. Policy only; the arithmetic is in src/operator/gemm. */
#ifndef CVP_CONV_MATMUL_H
#define CVP_CONV_MATMUL_H

#include "src/common/size.h"
#include "src/operator/convolution/impl.h"
#include "src/operator/gemm/gemm_tasks.h"

struct cvp_gemm_choice cvp_conv_matmul_for(const convop_conv_problem *p);

/* Lanes for tasks that each need `columns` elements and multiply m x n x k at most. */
struct cvp_gemm_lanes cvp_conv_lanes(const convop_conv_problem *p, struct cvp_gemm_choice *matmul,
                                     int64_t tasks, int64_t columns, int64_t m, int64_t n,
                                     int64_t k);

/* For cut: 1, or 0 with the reason. */
int cvp_conv_lanes_fit(const convop_conv_problem *p, const struct cvp_gemm_lanes *lanes,
                       char why[CONVOP_WHY_SIZE]);

/* What a direction of the row does: so many products of m x n x k, in so many tasks, and so many
 * elements copied to or from columns, in so many runs. */
struct cvp_conv_products {
    double calls, m, n, k, tasks, columns, runs;
};

/* Expected milliseconds; by direction and layout. */
double cvp_conv_products_price(const convop_conv_problem *p, const struct cvp_conv_products *w);

/* Runs of consecutive elements that lowering `rows` rows of columns at all pixels of `images`
 * copies.
 */
double cvp_conv_column_runs(const convop_conv_problem *p, double images, double rows);

/* Sizes of blocks. They follow from the problem alone, so that results do not depend on threads. */

/* Bytes of columns that a lane works on at a time: a share of a second-level cache. */
#define CONV_COLUMNS_BYTES ((int64_t)512 << 10)

/* Elements of a block of columns; more than any memory has where they overflow. */
static inline int64_t cvp_conv_columns(int64_t rows, int64_t pixels)
{
    int64_t r;
    return cvp_mul_i64(rows, pixels, &r) ? r : INT64_MAX;
}

/* Pixels in a block of `rows` rows of columns, between 64 and 1024 and not above `pixels`. */
int64_t cvp_conv_pixel_block(const convop_conv_problem *p, int64_t rows, int64_t pixels);

#endif

/* Matrix multiplication on one thread, with convop's own kernels:
 *
 *     c[i][j] = (accumulate ? c[i][j] : 0) + sum over p of a[i][p] * b[p][j]
 *
 * a is m x k, b is k x n, c is m x n. Operands are where they lie, with any strides (in elements):
 * element a[i][p] is at a + i * a_row + p * a_col, and so on; c has unit column stride.
 *
 * Each element of c is one chain of fused multiply-adds over ascending p, cut into blocks of
 * CVP_GEMM_KC whose sums are added in order: its bits do not depend on m, n, on the strides or on
 * where in the matrix it lies, so callers may cut m and n as they like. (Without FMA, in the
 * baseline instruction set of x86-64, multiply and add are rounded apart: other bits, the same
 * rule.) With accumulate 0, c is not read: it may hold NaN. No NaN or infinity of a, b is skipped.
 */
#ifndef CVP_GEMM_H
#define CVP_GEMM_H

#include "convop/base.h"
#include "src/common/cpu.h"

enum cvp_float { CVP_F32 = 0, CVP_F64 = 1, CVP_FLOAT_COUNT };

#define CVP_GEMM_KC 256

struct cvp_gemm {
    int64_t m, n, k; /* m, n >= 1; k >= 0 */
    const void *a, *b;
    void *c;
    int64_t a_row, a_col, b_row, b_col, c_row;
    int accumulate;
    int halvings; /* of the blocks that are packed at a time: less scratch, the same bits */
};

/* More of them save nothing. */
#define CVP_GEMM_MAX_HALVINGS 6

/* The kernels of one instruction set for one type. */
struct cvp_gemm_kernels;

/* Those for an instruction set that the CPU has; never NULL (baseline where a set has none). */
const struct cvp_gemm_kernels *cvp_gemm_kernels(enum cvp_float type, enum cvp_isa isa);

/* Scratch bytes that cvp_gemm takes at most for m x n x k and anything smaller; bounded by a few MB
 * whatever the sizes. */
size_t cvp_gemm_workspace(const struct cvp_gemm_kernels *kernels, int64_t m, int64_t n, int64_t k,
                          int halvings);

/* workspace: cvp_gemm_workspace bytes, 64-byte aligned. */
void cvp_gemm(const struct cvp_gemm_kernels *kernels, const struct cvp_gemm *g, void *workspace);

#endif

/* The known-answer test of an OpenBLAS: some versions give wrong results on processors newer than
 * themselves. Products of small integers, which every order of summation computes exactly, against
 * convop's own GEMM for the baseline instruction set. */
#include <math.h>

#include "src/common/alloc.h"
#include "src/operator/gemm/blas_table.h"

/* Below, at and above the tiles and the small-matrix paths of OpenBLAS. */
static const struct {
    int m, n, k;
} shapes[] = {{1, 9, 4}, {3, 5, 7}, {16, 16, 16}, {64, 96, 128}, {33, 257, 70}};

#define MOST_OPERAND (128 * 257) /* elements, of any of a, b, c */

static void set(enum cvp_float type, void *x, int64_t i, double value)
{
    if (type == CVP_F32)
        ((float *)x)[i] = (float)value;
    else
        ((double *)x)[i] = value;
}

static void fill(enum cvp_float type, void *x, int64_t count, uint32_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        set(type, x, i, (double)(int)(seed >> 29) - 3); /* -3..4 */
    }
}

/* a, b, c, the expected c, and the workspace of the latter. */
struct memory {
    char *a, *b, *c, *expected, *workspace;
};

/* By value: the sign of a zero is not promised. */
static int equal(enum cvp_float type, const void *x, const void *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (type == CVP_F32 && ((const float *)x)[i] != ((const float *)y)[i]) return 0;
        if (type == CVP_F64 && ((const double *)x)[i] != ((const double *)y)[i]) return 0;
    }
    return 1;
}

/* One product into c, which holds NaN before it, and the same added to c. */
static int right(const struct cvp_blas *blas, enum cvp_float type, struct cvp_gemm g,
                 const struct memory *at)
{
    const struct cvp_gemm_kernels *own = cvp_gemm_kernels(type, CVP_ISA_BASELINE);
    const int64_t count = g.m * g.n;
    for (int64_t i = 0; i < count; i++) set(type, at->c, i, NAN);
    for (g.accumulate = 0; g.accumulate < 2; g.accumulate++) {
        g.c = at->expected;
        cvp_gemm(own, &g, at->workspace);
        g.c = at->c;
        cvp_blas_gemm(blas, type, &g);
        if (!equal(type, at->c, at->expected, count)) return 0;
    }
    return 1;
}

static int all_right(const struct cvp_blas *blas, const struct memory *at)
{
    for (int type = 0; type < CVP_FLOAT_COUNT; type++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            const int m = shapes[s].m, n = shapes[s].n, k = shapes[s].k;
            fill((enum cvp_float)type, at->a, (int64_t)m * k, 1);
            fill((enum cvp_float)type, at->b, (int64_t)k * n, 2);
            /* Neither and both for the large ones: a host may wait for this. */
            const int step = (int64_t)m * n > 1000 ? 3 : 1;
            for (int transposed = 0; transposed < 4; transposed += step) {
                const int ta = transposed & 1, tb = transposed >> 1;
                const struct cvp_gemm g = {.m = m,
                                           .n = n,
                                           .k = k,
                                           .a = at->a,
                                           .b = at->b,
                                           .a_row = ta ? 1 : k,
                                           .a_col = ta ? m : 1,
                                           .b_row = tb ? 1 : n,
                                           .b_col = tb ? k : 1,
                                           .c_row = n};
                if (!right(blas, (enum cvp_float)type, g, at)) return 0;
            }
        }
    return 1;
}

convop_status cvp_blas_check(const struct cvp_blas *blas)
{
    const size_t operand = MOST_OPERAND * sizeof(double);
    size_t scratch = 0;
    for (int type = 0; type < CVP_FLOAT_COUNT; type++) {
        const size_t one = cvp_gemm_workspace(
            cvp_gemm_kernels((enum cvp_float)type, CVP_ISA_BASELINE), 64, 257, 128, 0);
        if (one > scratch) scratch = one;
    }
    const size_t bytes = 4 * operand + scratch;
    char *memory = cvp_buffer_alloc(NULL, bytes);
    if (!memory) return CONVOP_E_NO_MEMORY;
    const struct memory at = {memory, memory + operand, memory + 2 * operand, memory + 3 * operand,
                              memory + 4 * operand};
    const int ok = all_right(blas, &at);
    cvp_buffer_free(NULL, memory, bytes);
    return ok ? CONVOP_OK : CONVOP_E_INTERNAL;
}

/* The BatchNorm kernels of one instruction set: the same source, compiled once for each with its
 * flags and CVP_ISA_SUFFIX, its name in the tables. */
#include <string.h>
#if defined __AVX2__
#include <immintrin.h>
#endif

#include "src/operator/batch_norm/kernels.h"
#include "src/operator/common.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)

#if defined __AVX512F__
#define VECTOR_BYTES 64
#elif defined __AVX2__
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

/* Sums run in 16 lanes with every instruction set, so that they add in one order. */
#define LANES       16
#define VECTOR_SIZE (VECTOR_BYTES / 8)
#define VECTORS     (LANES / VECTOR_SIZE)

#if defined __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

typedef double doubles __attribute__((vector_size(VECTOR_BYTES)));

static inline double sum_of(const doubles lanes[VECTORS])
{
    double at[LANES];
    memcpy(at, lanes, sizeof at);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) at[i] += at[i + half];
    return at[0];
}

#define T       float
#define NAME(x) PASTE(x, f32)
#if defined __AVX2__ && !defined __AVX512F__
/* gcc 12 would do it in halves, one of which it reads from the stack. */
#define WIDEN(x) ((doubles)_mm256_cvtps_pd(_mm_loadu_ps(x)))
#endif
#include "src/operator/batch_norm/kernels/lines.h"
#include "src/operator/batch_norm/kernels/rows.h"
#undef T
#undef NAME
#undef WIDEN

#define T       double
#define NAME(x) PASTE(x, f64)
#include "src/operator/batch_norm/kernels/lines.h"
#include "src/operator/batch_norm/kernels/rows.h"
#undef T
#undef NAME

#define TABLE(type)                                                                                \
    extern const struct bn_kernels PASTE(cvp_bn_##type, CVP_ISA_SUFFIX);                           \
    const struct bn_kernels PASTE(cvp_bn_##type, CVP_ISA_SUFFIX) = {                               \
        .moments = moments_##type,                                                                 \
        .products = products_##type,                                                               \
        .scale = scale_##type,                                                                     \
        .diff = diff_##type,                                                                       \
        .moments_rows = moments_rows_##type,                                                       \
        .products_rows = products_rows_##type,                                                     \
        .fill_table = fill_table_##type,                                                           \
        .scale_rows = scale_rows_##type,                                                           \
        .diff_rows = diff_rows_##type,                                                             \
    };

TABLE(f32)
TABLE(f64)

/* Shuffles by number of lanes, for __builtin_shufflevector, and masks of lanes: what vector
 * extensions lack.
 *
 * A masked load reads the lanes of the mask alone, the others are 0: it never touches what lies
 * outside of a tensor. AVX-512 and AVX2 have it; elsewhere lanes go one by one. */
#ifndef CVP_KERNELS_LANES_H
#define CVP_KERNELS_LANES_H

#include "src/operator/gemm/kernels/tile.h"

#if defined __AVX2__
#include <immintrin.h>
#endif

#define CVP_INDEX_2  0, 1
#define CVP_INDEX_4  CVP_INDEX_2, 2, 3
#define CVP_INDEX_8  CVP_INDEX_4, 4, 5, 6, 7
#define CVP_INDEX_16 CVP_INDEX_8, 8, 9, 10, 11, 12, 13, 14, 15

#define CVP_EVEN_2  0, 2
#define CVP_EVEN_4  CVP_EVEN_2, 4, 6
#define CVP_EVEN_8  CVP_EVEN_4, 8, 10, 12, 14
#define CVP_EVEN_16 CVP_EVEN_8, 16, 18, 20, 22, 24, 26, 28, 30

#define CVP_ODD_2  1, 3
#define CVP_ODD_4  CVP_ODD_2, 5, 7
#define CVP_ODD_8  CVP_ODD_4, 9, 11, 13, 15
#define CVP_ODD_16 CVP_ODD_8, 17, 19, 21, 23, 25, 27, 29, 31

#define CVP_LOW_2  0, 2
#define CVP_LOW_4  0, 4, 1, 5
#define CVP_LOW_8  0, 8, 1, 9, 2, 10, 3, 11
#define CVP_LOW_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23

#define CVP_HIGH_2  1, 3
#define CVP_HIGH_4  2, 6, 3, 7
#define CVP_HIGH_8  4, 12, 5, 13, 6, 14, 7, 15
#define CVP_HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

#if CVP_VECTOR_BYTES == 64
#define CVP_F32_LANES 16
#define CVP_F64_LANES 8
#elif CVP_VECTOR_BYTES == 32
#define CVP_F32_LANES 8
#define CVP_F64_LANES 4
#else
#define CVP_F32_LANES 4
#define CVP_F64_LANES 2
#endif

#define CVP_LIST_(name, n) CVP_##name##_##n
#define CVP_LIST(name, n)  CVP_LIST_(name, n)

#if defined __AVX2__ && !defined __AVX512F__
/* Stores the first n of 8 lanes, or of 4, in whole pieces: masked stores take AMD's processors a
 * dozen cycles. */
static inline __attribute__((always_inline)) void cvp_store_first_ps(float *to, int n, __m256 v)
{
    if (n == 8) {
        _mm256_storeu_ps(to, v);
        return;
    }
    __m128 rest = _mm256_castps256_ps128(v);
    if (n & 4) {
        _mm_storeu_ps(to, rest);
        rest = _mm256_extractf128_ps(v, 1);
        to += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)to, rest);
        rest = _mm_movehl_ps(rest, rest);
        to += 2;
    }
    if (n & 1) _mm_store_ss(to, rest);
}

static inline __attribute__((always_inline)) void cvp_store_first_pd(double *to, int n, __m256d v)
{
    __m128d rest = _mm256_castpd256_pd128(v);
    if (n == 4) {
        _mm256_storeu_pd(to, v);
        return;
    }
    if (n & 2) {
        _mm_storeu_pd(to, rest);
        rest = _mm256_extractf128_pd(v, 1);
        to += 2;
    }
    if (n & 1) _mm_store_sd(to, rest);
}

/* Of a mask of the first lanes: how many. */
#define CVP_FIRST_PS(m) __builtin_popcount((unsigned)_mm256_movemask_ps((__m256)(m)))
#define CVP_FIRST_PD(m) __builtin_popcount((unsigned)_mm256_movemask_pd((__m256d)(m)))
#endif

/* Vector registers: how much a block may hold. */
#if defined __AVX512F__ || defined __aarch64__
#define CVP_VECTOR_REGISTERS 32
#else
#define CVP_VECTOR_REGISTERS 16
#endif

/* sum += a * the vector at `at`, in the register where sum is and from where the other lies. */
#if defined __FMA__ || defined __AVX512F__
#define CVP_MULTIPLY_ADD_AT(sum, a, at)                                                            \
    do {                                                                                           \
        if (sizeof((sum)[0]) == 4)                                                                 \
            __asm__("vfmadd231ps %2, %1, %0"                                                       \
                    : "+v"(sum)                                                                    \
                    : "v"(a), "m"(*(const __typeof__(sum) *)(at)));                                \
        else                                                                                       \
            __asm__("vfmadd231pd %2, %1, %0"                                                       \
                    : "+v"(sum)                                                                    \
                    : "v"(a), "m"(*(const __typeof__(sum) *)(at)));                                \
    } while (0)
#else
#define CVP_MULTIPLY_ADD_AT(sum, a, at) CVP_MULTIPLY_ADD(sum, a, *(const __typeof__(sum) *)(at))
#endif

#endif

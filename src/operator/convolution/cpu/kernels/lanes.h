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

/* Vector registers: how much a block may hold. */
#if defined __AVX512F__ || defined __aarch64__
#define CVP_VECTOR_REGISTERS 32
#else
#define CVP_VECTOR_REGISTERS 16
#endif

#endif

/* The kernels of the row `grouped` of one instruction set: the same source, compiled once for each
 * with its flags and CVP_ISA_SUFFIX, its name in the tables. */
#include "src/operator/convolution/cpu/grouped.h"
#include "src/operator/convolution/cpu/kernels/lanes.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)

/* Pixels whose sums are in registers together; by weights channels of three taps, and pixels that
 * are multiplied with them at a time. */
#if CVP_VECTOR_REGISTERS == 32
#define PIXELS         14
#define EACH_PIXELS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define CHANNELS       8
#define TURN           4
#elif defined __AVX2__
#define PIXELS         10
#define EACH_PIXELS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10)
#define CHANNELS       4
#define TURN           2
#else
#define PIXELS         8
#define EACH_PIXELS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define CHANNELS       4
#define TURN           1
#endif
#define SUMS (3 * CHANNELS)

/* Asks the second-level cache for what is read later: pixels of many channels meet in few sets of
 * the first. */
#define FETCH(at) __builtin_prefetch((const void *)(uintptr_t)(at), 0, 2)

#define WIDEN(v)  ((VEC)(v))
#define NARROW(v) ((LOOSE)(v))
#define GET(x)    (x)
#define SET(x)    (x)

#define SCALAR  float
#define STORED  float
#define INTEGER int32_t
#define LANES   CVP_F32_LANES
#define NAME(x) PASTE(x, f32)
#if defined __AVX512F__
#define MASK_LOAD(p, m)     _mm512_maskz_loadu_ps((__mmask16)(m), p)
#define MASK_STORE(p, m, v) _mm512_mask_storeu_ps(p, (__mmask16)(m), (__m512)(v))
#define MASK_KEEP(m, v)     _mm512_maskz_mov_ps((__mmask16)(m), (__m512)(v))
#define PERMUTE(a, index)   _mm512_permutexvar_ps((__m512i)(index), (__m512)(a))
#define PICK(a, b, index)   _mm512_permutex2var_ps((__m512)(a), (__m512i)(index), (__m512)(b))
#elif defined __AVX2__
#define MASK_LOAD(p, m)     _mm256_maskload_ps(p, (__m256i)(m))
#define MASK_STORE(p, m, v) cvp_store_first_ps(p, CVP_FIRST_PS(m), (__m256)(v))
#define PERMUTE(a, index)   _mm256_permutevar8x32_ps((__m256)(a), (__m256i)(index))
#endif
#include "src/operator/convolution/cpu/kernels/grouped_all.h"
#undef SCALAR
#undef STORED
#undef INTEGER
#undef LANES
#undef NAME
#undef MASK_LOAD
#undef MASK_STORE
#undef MASK_KEEP
#undef PERMUTE
#undef PICK

#define SCALAR  double
#define STORED  double
#define INTEGER int64_t
#define LANES   CVP_F64_LANES
#define NAME(x) PASTE(x, f64)
#if defined __AVX512F__
#define MASK_LOAD(p, m)     _mm512_maskz_loadu_pd((__mmask8)(m), p)
#define MASK_STORE(p, m, v) _mm512_mask_storeu_pd(p, (__mmask8)(m), (__m512d)(v))
#define MASK_KEEP(m, v)     _mm512_maskz_mov_pd((__mmask8)(m), (__m512d)(v))
#define PERMUTE(a, index)   _mm512_permutexvar_pd((__m512i)(index), (__m512d)(a))
#define PICK(a, b, index)   _mm512_permutex2var_pd((__m512d)(a), (__m512i)(index), (__m512d)(b))
#elif defined __AVX2__
#define MASK_LOAD(p, m)     _mm256_maskload_pd(p, (__m256i)(m))
#define MASK_STORE(p, m, v) cvp_store_first_pd(p, CVP_FIRST_PD(m), (__m256d)(v))
#endif
#include "src/operator/convolution/cpu/kernels/grouped_all.h"

/* The depthwise kernels of one instruction set: the same source, compiled once for each with its
 * flags and CVP_ISA_SUFFIX, its name in the tables. */
#include "src/operator/convolution/cpu/depthwise.h"
#include "src/operator/convolution/cpu/finish.h"
#include "src/operator/convolution/cpu/kernels/lanes.h"
#include "src/operator/stored/kernels/half_vector.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)

/* Rows of dst that a block computes together, enough for chains of sums side by side. */
#define ROWS       4
#define SLIDE_ROWS 4

/* Of N*C patches, rows and pixels: as many as leave registers for nine weights. */
#define LAST_ROWS 2
#if CVP_VECTOR_REGISTERS == 32
#define LAST_PIXELS 4
#else
#define LAST_PIXELS 2
#endif

/* Products that a lane sums in its own precision; then it goes on in double. */
#define LANE_SUM 256

/* The taps i, begin <= i < end, for which at + i * tap is in [0, size). */
CVP_INLINE void taps_inside(int64_t at, int64_t tap, int64_t size, int64_t taps, int64_t *begin,
                            int64_t *end)
{
    int64_t low = -at, high = size - at;
    if (tap != 1) {
        low = low <= 0 ? 0 : (low - 1) / tap + 1;
        high = high <= 0 ? 0 : (high - 1) / tap + 1;
    }
    *begin = low < 0 ? 0 : low;
    *end = high > taps ? taps : high;
}

/* 1 for a window of k by k neighbours at stride s. */
static int is_window(const struct cvp_dw_axis *h, const struct cvp_dw_axis *w, int k, int s)
{
    return h->taps == k && w->taps == k && h->tap == 1 && w->tap == 1 && h->move == s &&
           w->move == s && h->step == 1 && w->step == 1;
}

/* Of float32, and of 16-bit types, which are float32 in registers. */
#define SCALAR  float
#define INTEGER int32_t
#define LANES   CVP_F32_LANES
#define WINDOW  5 /* the largest that has its own kernels: 3 or 5 */
#if defined __AVX512F__
#define MASK_KEEP(m, v)         _mm512_maskz_mov_ps((__mmask16)(m), (__m512)(v))
#define MASK_LOAD_F32(p, m)     _mm512_maskz_loadu_ps((__mmask16)(m), p)
#define MASK_STORE_F32(p, m, v) _mm512_mask_storeu_ps(p, (__mmask16)(m), (__m512)(v))
#define MASK_LOAD_16(p, m)      _mm256_maskz_loadu_epi16((__mmask16)(m), p)
#define MASK_STORE_16(p, m, v)  _mm256_mask_storeu_epi16(p, (__mmask16)(m), (__m256i)(v))
#elif defined __AVX2__
#define MASK_LOAD_F32(p, m)     _mm256_maskload_ps(p, (__m256i)(m))
#define MASK_STORE_F32(p, m, v) cvp_store_first_ps(p, CVP_FIRST_PS(m), (__m256)(v))
#endif

#define STORED    float
#define WIDEN(v)  ((VEC)(v))
#define NARROW(v) ((LOOSE)(v))
#define GET(x)    (x)
#define SET(x)    (x)
#define NAME(x)   PASTE(x, f32)
#if defined MASK_LOAD_F32
#define MASK_LOAD  MASK_LOAD_F32
#define MASK_STORE MASK_STORE_F32
#endif
#include "src/operator/convolution/cpu/kernels/depthwise_all.h"
#undef STORED
#undef WIDEN
#undef NARROW
#undef GET
#undef SET
#undef NAME
#undef MASK_LOAD
#undef MASK_STORE

#undef WINDOW
#define WINDOW 3 /* the code of larger ones takes minutes to compile for all types */
#define STORED uint16_t
#if defined MASK_LOAD_16
#define MASK_LOAD  MASK_LOAD_16
#define MASK_STORE MASK_STORE_16
#endif
#define WIDEN(v)  ((VEC)cvp_singles_of_f16((cvp_halves)(v)))
#define NARROW(v) ((LOOSE)cvp_f16_of_singles((cvp_singles)(v)))
#define GET(x)    cvp_single_of_f16(x)
#define SET(x)    cvp_f16_of_single(x)
#define NAME(x)   PASTE(x, f16)
#include "src/operator/convolution/cpu/kernels/depthwise_all.h"
#undef WIDEN
#undef NARROW
#undef GET
#undef SET
#undef NAME

#define WIDEN(v)  ((VEC)cvp_singles_of_bf16((cvp_halves)(v)))
#define NARROW(v) ((LOOSE)cvp_bf16_of_singles((cvp_singles)(v)))
#define GET(x)    cvp_float_of_bf16(x)
#define SET(x)    cvp_bf16_of_float(x)
#define NAME(x)   PASTE(x, bf16)
#include "src/operator/convolution/cpu/kernels/depthwise_all.h"
#undef STORED
#undef WIDEN
#undef NARROW
#undef GET
#undef SET
#undef NAME
#undef MASK_LOAD
#undef MASK_STORE

#undef SCALAR
#undef INTEGER
#undef LANES
#undef WINDOW
#undef MASK_KEEP

#define SCALAR    double
#define STORED    double
#define INTEGER   int64_t
#define LANES     CVP_F64_LANES
#define WINDOW    3
#define WIDEN(v)  ((VEC)(v))
#define NARROW(v) ((LOOSE)(v))
#define GET(x)    (x)
#define SET(x)    (x)
#define NAME(x)   PASTE(x, f64)
#if defined __AVX512F__
#define MASK_LOAD(p, m)     _mm512_maskz_loadu_pd((__mmask8)(m), p)
#define MASK_STORE(p, m, v) _mm512_mask_storeu_pd(p, (__mmask8)(m), (__m512d)(v))
#define MASK_KEEP(m, v)     _mm512_maskz_mov_pd((__mmask8)(m), (__m512d)(v))
#elif defined __AVX2__
#define MASK_LOAD(p, m)     _mm256_maskload_pd(p, (__m256i)(m))
#define MASK_STORE(p, m, v) cvp_store_first_pd(p, CVP_FIRST_PD(m), (__m256d)(v))
#endif
#include "src/operator/convolution/cpu/kernels/depthwise_all.h"

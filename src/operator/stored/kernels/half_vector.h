/* float16 and bfloat16 to and from vectors of float, in the instructions of the set that a file of
 * kernels is compiled for: rounded to nearest even, denormals kept, NaN stays NaN, the same bits as
 * those of src/common/half.h.
 *
 * float16 has instructions from AVX2 (F16C) on. That of AVX-512-BF16, which rounds to bfloat16, is
 * not used: it takes denormals for zeros. */
#ifndef CVP_HALF_VECTOR_H
#define CVP_HALF_VECTOR_H

#include "src/common/half.h"
#include "src/operator/gemm/kernels/tile.h"

#if defined __AVX2__
#include <immintrin.h>
#endif

#define CVP_HALF_LANES (CVP_VECTOR_BYTES / 4)

typedef float cvp_singles __attribute__((vector_size(CVP_VECTOR_BYTES), may_alias));
typedef int32_t cvp_single_bits __attribute__((vector_size(CVP_VECTOR_BYTES), may_alias));
typedef uint32_t cvp_single_words __attribute__((vector_size(CVP_VECTOR_BYTES), may_alias));
typedef uint16_t cvp_halves
    __attribute__((vector_size(CVP_VECTOR_BYTES / 2), aligned(2), may_alias));

/* Zero-extended, and the low halves of words. gcc's own code for this is slow. */
#if defined __AVX512F__
CVP_INLINE cvp_single_words cvp_words_of_halves(cvp_halves h)
{
    return (cvp_single_words)_mm512_cvtepu16_epi32((__m256i)h);
}

CVP_INLINE cvp_halves cvp_halves_of_words(cvp_single_words w)
{
    return (cvp_halves)_mm512_cvtepi32_epi16((__m512i)w);
}
#elif defined __AVX2__
CVP_INLINE cvp_single_words cvp_words_of_halves(cvp_halves h)
{
    return (cvp_single_words)_mm256_cvtepu16_epi32((__m128i)h);
}

CVP_INLINE cvp_halves cvp_halves_of_words(cvp_single_words w)
{
    const __m256i low = (__m256i)(w & 0xffff), packed = _mm256_packus_epi32(low, low);
    return (cvp_halves)_mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
}
#else
CVP_INLINE cvp_single_words cvp_words_of_halves(cvp_halves h)
{
    return __builtin_convertvector(h, cvp_single_words);
}

CVP_INLINE cvp_halves cvp_halves_of_words(cvp_single_words w)
{
    return __builtin_convertvector(w, cvp_halves);
}
#endif

/* Lanes of a where the mask is set, else of b. */
CVP_INLINE cvp_single_words cvp_lanes_of(cvp_single_bits mask, cvp_single_words a,
                                         cvp_single_words b)
{
    return ((cvp_single_words)mask & a) | (~(cvp_single_words)mask & b);
}

CVP_INLINE cvp_singles cvp_singles_of_bf16(cvp_halves h)
{
    return (cvp_singles)(cvp_words_of_halves(h) << 16);
}

CVP_INLINE cvp_halves cvp_bf16_of_singles(cvp_singles v)
{
    const cvp_single_words x = (cvp_single_words)v;
    const cvp_single_bits is_nan = (cvp_single_bits)(x & 0x7fffffff) > 0x7f800000;
    const cvp_single_words rounded = (x + 0x7fff + ((x >> 16) & 1)) >> 16;
    return cvp_halves_of_words(cvp_lanes_of(is_nan, x >> 16 | 0x40, rounded));
}

#if defined __F16C__ && CVP_VECTOR_BYTES == 64
CVP_INLINE cvp_singles cvp_singles_of_f16(cvp_halves h)
{
    return (cvp_singles)_mm512_cvtph_ps((__m256i)h);
}

CVP_INLINE cvp_halves cvp_f16_of_singles(cvp_singles v)
{
    return (cvp_halves)_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#elif defined __F16C__ && CVP_VECTOR_BYTES == 32
CVP_INLINE cvp_singles cvp_singles_of_f16(cvp_halves h)
{
    return (cvp_singles)_mm256_cvtph_ps((__m128i)h);
}

CVP_INLINE cvp_halves cvp_f16_of_singles(cvp_singles v)
{
    return (cvp_halves)_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
}
#else /* as half.h does it, and says why */
CVP_INLINE cvp_singles cvp_singles_of_f16(cvp_halves h)
{
    const cvp_single_words w = cvp_words_of_halves(h);
    const cvp_singles r = (cvp_singles)((w & 0x7fff) << 13) * 0x1p112f;
    const cvp_single_words special = (cvp_single_words)((w & 0x7c00) == 0x7c00) & 0x7f800000;
    return (cvp_singles)((w & 0x8000) << 16 | (cvp_single_words)r | special);
}

CVP_INLINE cvp_halves cvp_f16_of_singles(cvp_singles v)
{
    const cvp_single_words x = (cvp_single_words)v, a = x & 0x7fffffff;
    const cvp_single_bits size = (cvp_single_bits)a; /* compared as signed, which SSE2 can */
    const cvp_single_words small = (cvp_single_words)((cvp_singles)a + 0.5f) -
                                   (cvp_single_words)((cvp_single_words){0} + 0x3f000000);
    const cvp_single_words normal = (a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13;
    cvp_single_words r = cvp_lanes_of(size < 0x38800000, small, normal);
    r = cvp_lanes_of(size >= 0x47800000, (cvp_single_words){0} + 0x7c00, r);
    r = cvp_lanes_of(size > 0x7f800000, 0x7e00 | ((a >> 13) & 0x1ff), r);
    return cvp_halves_of_words(r | (x >> 16 & 0x8000));
}
#endif

/* One element. */
#if defined __F16C__
CVP_INLINE float cvp_single_of_f16(uint16_t h)
{
    return _cvtsh_ss(h);
}

CVP_INLINE uint16_t cvp_f16_of_single(float x)
{
    return (uint16_t)_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
}
#else
CVP_INLINE float cvp_single_of_f16(uint16_t h)
{
    return cvp_float_of_f16(h);
}

CVP_INLINE uint16_t cvp_f16_of_single(float x)
{
    return cvp_f16_of_float(x);
}
#endif

#endif

/* Loads and stores of a tile's last vector, of which c has some lanes, and stores past the caches:
 * what vector extensions lack. No guard: included once for each type, with SCALAR and NAME set.
 *
 * AVX-512 alone has masks that cost nothing; without CVP_TILE_MASKS such a tile is computed on the
 * side. */

#if defined __x86_64__
#include <immintrin.h>
#endif

/* A mask of the first n lanes; 0: of all. */
typedef uint16_t NAME(mask);

CVP_INLINE NAME(mask) NAME(mask_of)(int n)
{
    return (NAME(mask))((1u << (n > 0 ? n : LANES)) - 1);
}

#if defined __AVX512F__
#define CVP_TILE_MASKS 1
CVP_INLINE LOOSE NAME(load_some)(const SCALAR *from, NAME(mask) m)
{
    if (sizeof(SCALAR) == 4) return (LOOSE)_mm512_maskz_loadu_ps(m, from);
    return (LOOSE)_mm512_maskz_loadu_pd((__mmask8)m, from);
}
CVP_INLINE void NAME(store_some)(SCALAR *to, NAME(mask) m, LOOSE v)
{
    if (sizeof(SCALAR) == 4)
        _mm512_mask_storeu_ps(to, m, (__m512)v);
    else
        _mm512_mask_storeu_pd(to, (__mmask8)m, (__m512d)v);
}
CVP_INLINE void NAME(stream)(SCALAR *to, LOOSE v)
{
    _mm512_stream_ps((void *)to, (__m512)v);
}
#else
#define CVP_TILE_MASKS 0
CVP_INLINE LOOSE NAME(load_some)(const SCALAR *from, NAME(mask) m)
{
    (void)m;
    return *(const LOOSE *)from;
}
CVP_INLINE void NAME(store_some)(SCALAR *to, NAME(mask) m, LOOSE v)
{
    (void)m;
    *(LOOSE *)to = v;
}
CVP_INLINE void NAME(stream)(SCALAR *to, LOOSE v)
{
#if defined __AVX2__
    _mm256_stream_ps((void *)to, (__m256)v);
#elif defined __x86_64__
    _mm_stream_ps((void *)to, (__m128)v);
#else
    *(LOOSE *)to = v;
#endif
}
#endif

/* Vectors of one type, included with SCALAR, INTEGER (as wide), LANES (a literal) and NAME set, and
 * where the instruction set has masks of lanes the MASK_ macros. Tensors hold elements of the type
 * STORED, in vectors LOOSE; WIDEN and NARROW convert these from and to VEC, get and set one
 * element.
 */

#define VEC   NAME(vec)
#define LOOSE NAME(loose)
#define IVEC  NAME(ivec)
#define MASK  NAME(mask)

typedef SCALAR VEC __attribute__((vector_size(CVP_VECTOR_BYTES), may_alias));
typedef STORED LOOSE
    __attribute__((vector_size(LANES * sizeof(STORED)), aligned(sizeof(STORED)), may_alias));
typedef INTEGER IVEC __attribute__((vector_size(CVP_VECTOR_BYTES), may_alias));

#if defined __AVX512F__
typedef uint32_t MASK; /* a bit for each lane */
#else
typedef IVEC MASK; /* all ones or zero */
#endif

CVP_INLINE VEC NAME(load)(const STORED *p)
{
    return WIDEN(*(const LOOSE *)p);
}

CVP_INLINE void NAME(store)(STORED *p, VEC v)
{
    *(LOOSE *)p = NARROW(v);
}

CVP_INLINE SCALAR NAME(get)(const STORED *p)
{
    return GET(*p);
}

CVP_INLINE void NAME(set)(STORED *p, SCALAR x)
{
    *p = SET(x);
}

/* The scalar in every lane: x - 0 is x. */
CVP_INLINE VEC NAME(all)(SCALAR x)
{
    return x - (VEC){0};
}

CVP_INLINE VEC NAME(everywhere)(const STORED *p)
{
    return NAME(all)(NAME(get)(p));
}

/* Lanes low <= l < high. */
CVP_INLINE MASK NAME(lanes)(int64_t low, int64_t high)
{
    low = low < 0 ? 0 : low > LANES ? LANES : low;
    high = high < low ? low : high > LANES ? LANES : high;
#if defined __AVX512F__
    return ((1u << high) - 1u) & ~((1u << low) - 1u);
#else
    const IVEC index = {CVP_LIST(INDEX, LANES)};
    return (index >= (IVEC){0} + (INTEGER)low) & (index < (IVEC){0} + (INTEGER)high);
#endif
}

CVP_INLINE VEC NAME(load_some)(const STORED *p, MASK m)
{
#if defined MASK_LOAD
    return WIDEN((LOOSE)MASK_LOAD(p, m));
#else
    LOOSE v = {0};
    CVP_UNROLL for (int l = 0; l < LANES; l++)
    {
        if (m[l]) v[l] = p[l];
    }
    return WIDEN(v);
#endif
}

/* Those of the mask, which are the first ones. */
CVP_INLINE void NAME(store_some)(STORED *p, MASK m, VEC v)
{
#if defined MASK_STORE
    MASK_STORE(p, m, NARROW(v));
#else
    const LOOSE narrow = NARROW(v);
    CVP_UNROLL for (int l = 0; l < LANES; l++)
    {
        if (m[l]) p[l] = narrow[l];
    }
#endif
}

/* The lanes of the mask, 0 in the others. */
CVP_INLINE VEC NAME(keep)(MASK m, VEC v)
{
#if defined __AVX512F__
    return (VEC)MASK_KEEP(m, v);
#else
    return (VEC)((IVEC)v & m);
#endif
}

/* Every second element of a and b side by side, and back. */
CVP_INLINE VEC NAME(even)(VEC a, VEC b)
{
    return __builtin_shufflevector(a, b, CVP_LIST(EVEN, LANES));
}

CVP_INLINE VEC NAME(odd)(VEC a, VEC b)
{
    return __builtin_shufflevector(a, b, CVP_LIST(ODD, LANES));
}

CVP_INLINE VEC NAME(zip_low)(VEC a, VEC b)
{
    return __builtin_shufflevector(a, b, CVP_LIST(LOW, LANES));
}

CVP_INLINE VEC NAME(zip_high)(VEC a, VEC b)
{
    return __builtin_shufflevector(a, b, CVP_LIST(HIGH, LANES));
}

/* All lanes, pair by pair. */
CVP_INLINE double NAME(sum)(VEC v)
{
    CVP_UNROLL for (int n = LANES; n > 1; n /= 2) v = NAME(even)(v, v) + NAME(odd)(v, v);
    return (double)v[0];
}

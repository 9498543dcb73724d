/* A square of vectors turned, for types that vector.h was included for. */

/* Each step rotates the bits of (row, lane) by one; log2(LANES) of them transpose. */
CVP_INLINE void NAME(transpose)(VEC r[LANES])
{
    CVP_UNROLL for (int step = 1; step < LANES; step *= 2)
    {
        VEC t[LANES];
        CVP_UNROLL for (int i = 0; i < LANES / 2; i++)
        {
            t[2 * i] = NAME(zip_low)(r[i], r[i + LANES / 2]);
            t[2 * i + 1] = NAME(zip_high)(r[i], r[i + LANES / 2]);
        }
        CVP_UNROLL for (int i = 0; i < LANES; i++) r[i] = t[i];
    }
}

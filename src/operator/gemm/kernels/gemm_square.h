/* Transposing rows into a panel, square by square: included with SCALAR and SQUARES (the name of
 * the function) set, SIDE (rows and columns of a square, a literal), and ZIP_LOW and ZIP_HIGH,
 * which interleave the lower and the upper halves of two rows. */

/* Depth from p = begin on, in whole squares; answers where that ends. There are as many rows as the
 * squares across the panel have. Squares go from the last row
 * to the first: the lanes that one writes past its panel row are those that the first square, or
 * its own next row, writes after it. */
CVP_INLINE int64_t SQUARES(SCALAR *panel, const int width, int64_t begin, int64_t end,
                           const SCALAR *const *rows)
{
    typedef SCALAR row
        __attribute__((vector_size(SIDE * sizeof(SCALAR)), aligned(sizeof(SCALAR)), may_alias));
    const int64_t whole = end - (end - begin) % SIDE;
    if (whole == begin) return begin;
    for (int first = (width - 1) / SIDE * SIDE; first >= 0; first -= SIDE) {
        const SCALAR *from[SIDE];
        CVP_UNROLL for (int i = 0; i < SIDE; i++) from[i] = rows[first + i];
        for (int64_t p = begin; p < whole; p += SIDE) {
            row r[SIDE], t[SIDE];
            CVP_UNROLL for (int i = 0; i < SIDE; i++) r[i] = *(const row *)(from[i] + p);
            /* Each step rotates the bits of (row, lane) by one; log2(SIDE) of them transpose. */
            CVP_UNROLL for (int step = 1; step < SIDE; step *= 2)
            {
                CVP_UNROLL for (int i = 0; i < SIDE / 2; i++)
                {
                    t[2 * i] = ZIP_LOW(r[i], r[i + SIDE / 2]);
                    t[2 * i + 1] = ZIP_HIGH(r[i], r[i + SIDE / 2]);
                }
                CVP_UNROLL for (int i = 0; i < SIDE; i++) r[i] = t[i];
            }
            SCALAR *to = panel + p * width + first;
            CVP_UNROLL for (int i = 0; i < SIDE; i++) * (row *)(to + i * width) = r[i];
        }
    }
    return whole;
}

#undef SQUARES
#undef SIDE
#undef ZIP_LOW
#undef ZIP_HIGH

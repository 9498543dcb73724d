/* Backward by data at stride 2 in NC*: the two phases of a row are computed side by side and stored
 * in turn. Windows of 3x3 and 5x5. No guard. */

/* Taps of an axis of a pair at most. */
#define PAIR_TAPS 3

/* The weights of both phases, and for an edge the lanes whose taps are inside. */
struct NAME(pair) {
    VEC w0[PAIR_TAPS][PAIR_TAPS], w1[PAIR_TAPS][PAIR_TAPS]; /* of the height, of the width */
    MASK keep0[PAIR_TAPS], keep1[PAIR_TAPS];
};

/* Adds a row's inputs to a phase; in: tap 0 of lane 0. */
CVP_INLINE VEC NAME(pair_row)(VEC sum, const int taps, const int masked, const STORED *in,
                              int64_t tap, const VEC *w, const MASK *keep)
{
    CVP_UNROLL for (int t = 0; t < taps; t++)
    {
        const STORED *from = in + t * tap;
        sum += (masked ? NAME(load_some)(from, keep[t]) : NAME(load)(from)) * w[t];
    }
    return sum;
}

/* Outputs 2x and on, of both phases in turn, of row j. */
CVP_INLINE void NAME(pair)(const int taps0, const int taps1, const int masked, const PLANE *p,
                           const PAIR *e, int64_t j, int64_t x, int64_t width)
{
    const struct cvp_dw_axis *h = p->h, *w = p->w;
    const int64_t y = h->at + j * h->move;
    VEC a = NAME(all)(p->bias), b = a;
    CVP_UNROLL for (int i = 0; i < PAIR_TAPS; i++)
    {
        int64_t row = y + i * h->tap;
        if (i < h->taps && row >= 0 && row < h->size) {
            const STORED *in = p->in + row * p->in_row + x;
            a = NAME(pair_row)(a, taps0, masked, in + w[0].at, w[0].tap, e->w0[i], e->keep0);
            b = NAME(pair_row)(b, taps1, masked, in + w[1].at, w[1].tap, e->w1[i], e->keep1);
        }
    }
    STORED *to = p->out + (h->begin + j * h->step) * p->out_row + 2 * x;
    MASK low = masked ? NAME(lanes)(0, width - 2 * x) : NAME(lanes)(0, LANES);
    MASK high = masked ? NAME(lanes)(0, width - 2 * x - LANES) : low;
    NAME(put)(to, NAME(zip_low)(a, b), &p->end, masked, low);
    NAME(put)(to + LANES, NAME(zip_high)(a, b), &p->end, masked, high);
}

CVP_INLINE void NAME(pair_weights)(const PLANE *p, const struct cvp_dw_axis *w, const int taps,
                                   VEC (*to)[PAIR_TAPS])
{
    const struct cvp_dw_axis *h = p->h;
    for (int64_t i = 0; i < h->taps; i++)
        for (int t = 0; t < taps; t++)
            to[i][t] = NAME(everywhere)(p->weights + (h->k + i * h->k_step) * p->weights_row +
                                        w->k + t * w->k_step);
}

/* Clears the lanes of an edge whose taps are outside. */
CVP_INLINE void NAME(pair_edge)(const struct cvp_dw_axis *w, const int taps, int64_t x,
                                int64_t rows, MASK *keep, VEC (*to)[PAIR_TAPS])
{
    for (int t = 0; t < taps; t++) {
        int64_t at = w->at + x + t * w->tap;
        keep[t] = NAME(lanes)(-at, w->size - at);
        for (int64_t i = 0; i < rows; i++) to[i][t] = NAME(keep)(keep[t], to[i][t]);
    }
}

/* Both phases of the width at stride 2, whose outputs alternate. */
CVP_INLINE void NAME(pairs)(const PLANE *p, const int taps0, const int taps1)
{
    const struct cvp_dw_axis *w = p->w;
    const int64_t width = w[0].count + w[1].count;
    PAIR whole;
    NAME(pair_weights)(p, &w[0], taps0, whole.w0);
    NAME(pair_weights)(p, &w[1], taps1, whole.w1);
    int64_t begin = 0, end = 0;
    for (int64_t x = 0; x < w[0].count; x += LANES) {
        if (NAME(is_whole)(&w[0], x) && NAME(is_whole)(&w[1], x) && 2 * (x + LANES) <= width) {
            if (end != x) begin = x;
            end = x + LANES;
            continue;
        }
        PAIR edge = whole;
        NAME(pair_edge)(&w[0], taps0, x, p->h->taps, edge.keep0, edge.w0);
        NAME(pair_edge)(&w[1], taps1, x, p->h->taps, edge.keep1, edge.w1);
        for (int64_t j = p->j0; j < p->j1; j++) NAME(pair)(taps0, taps1, 1, p, &edge, j, x, width);
    }
    for (int64_t j = p->j0; j < p->j1; j++)
        for (int64_t x = begin; x < end; x += LANES)
            NAME(pair)(taps0, taps1, 0, p, &whole, j, x, width);
}

#define PAIRS(a, b)                                                                                \
    static void NAME(pairs_##a##_##b)(const PLANE *p)                                              \
    {                                                                                              \
        NAME(pairs)(p, a, b);                                                                      \
    }
PAIRS(1, 2)
PAIRS(2, 1)
#if WINDOW == 5
PAIRS(2, 3)
PAIRS(3, 2)
#endif
#undef PAIRS

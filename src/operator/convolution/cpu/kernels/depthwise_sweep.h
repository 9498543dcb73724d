/* 3x3 windows of N*C tensors at stride 1, where registers do not hold nine weights beside columns
 * of the image: some rows of one vector of channels go along the width together, a column of inputs
 * at a time. Each input is loaded once, and added to the sums of all windows that it is in; weights
 * are read from the first-level cache as multiplications need them. A column that is outside is
 * left out at the ends of a row, and so is a row that is. No guard.
 *
 * Products are summed column by column of the window. */

/* Outputs of some rows; the inputs of their windows' first row begin at `in`. */
struct NAME(sweep) {
    const STORED *in;
    STORED *out;
    const SCALAR *weights;
    VEC bias;
    END end;
    int64_t in_h, in_w, out_h, out_w;
    int has_first, has_last; /* of the rows of inputs */
};

/* Those of a tap; turned around where the window is that of a gradient. */
CVP_INLINE const SCALAR *NAME(sweep_weights)(const SWEEP *p, const int turned, int i, int j)
{
    const int tap = turned ? 8 - (i * 3 + j) : i * 3 + j;
    return p->weights + tap * LANES;
}

/* Adds the products of a column of inputs, which is each of the window's: of three outputs' sums of
 * all rows. */
CVP_INLINE void NAME(sweep_column)(const int rows, const int turned, const SWEEP *p,
                                   const STORED *in, VEC *first, VEC *middle, VEC *last)
{
    CVP_UNROLL for (int t = 0; t < rows + 2; t++)
    {
        if ((t > 0 || p->has_first) && (t <= rows || p->has_last)) {
            const VEC x = NAME(load)(in + t * p->in_h);
            CVP_UNROLL for (int r = 0; r < rows; r++)
            {
                const int i = t - r;
                if (i >= 0 && i < 3) {
                    CVP_MULTIPLY_ADD_AT(first[r], x, NAME(sweep_weights)(p, turned, i, 0));
                    CVP_MULTIPLY_ADD_AT(middle[r], x, NAME(sweep_weights)(p, turned, i, 1));
                    CVP_MULTIPLY_ADD_AT(last[r], x, NAME(sweep_weights)(p, turned, i, 2));
                }
            }
        }
    }
}

CVP_INLINE void NAME(sweep_put)(const int rows, const SWEEP *p, STORED *out, const VEC *sum)
{
    CVP_UNROLL for (int r = 0; r < rows; r++)
    {
        NAME(put)(out + r * p->out_h, sum[r], &p->end, 0, NAME(lanes)(0, LANES));
    }
}

/* Rows j and on of one vector of channels. Column e of their inputs is the last of the window of
 * output e - 2, the middle one of e - 1's and the first of e's; outputs that there are not are
 * summed too, and not stored. */
CVP_INLINE void NAME(sweep)(const int rows, const int turned, const CHANNELS *c,
                            const struct cvp_dw_axis *h, const struct cvp_dw_axis *wa, int64_t j)
{
    const int64_t y = h->at + j;
    const SWEEP p = {.in = c->in + y * c->in_h + wa->at * c->in_w,
                     .out = c->out + j * c->out_h,
                     .weights = c->weights,
                     .bias = c->bias,
                     .end = c->end,
                     .in_h = c->in_h,
                     .in_w = c->in_w,
                     .out_h = c->out_h,
                     .out_w = c->out_w,
                     .has_first = y >= 0,
                     .has_last = y + rows + 1 < h->size};
    VEC last[SLIDE_ROWS], middle[SLIDE_ROWS];
    CVP_UNROLL for (int r = 0; r < rows; r++) last[r] = middle[r] = p.bias;
    const STORED *in = p.in;
    STORED *out = p.out - 2 * p.out_w;
    int64_t e = 0, end = wa->count + 2;
    if (wa->at < 0) e++, in += p.in_w, out += p.out_w;
    if (wa->at + end > wa->size) end = wa->size - wa->at;
    for (; e < end; e++, in += p.in_w, out += p.out_w) {
        VEC first[SLIDE_ROWS];
        CVP_UNROLL for (int r = 0; r < rows; r++) first[r] = p.bias;
        NAME(sweep_column)(rows, turned, &p, in, first, middle, last);
        if (e >= 2) NAME(sweep_put)(rows, &p, out, last);
        CVP_UNROLL for (int r = 0; r < rows; r++) last[r] = middle[r], middle[r] = first[r];
    }
    if (end < wa->count + 2) NAME(sweep_put)(rows, &p, out, last);
}

#define SWEEP_BY(name, turned)                                                                     \
    static void NAME(name)(const CHANNELS *c, const struct cvp_dw_axis *h,                         \
                           const struct cvp_dw_axis *w, int64_t j, int64_t rows)                   \
    {                                                                                              \
        for (; rows >= SLIDE_ROWS; j += SLIDE_ROWS, rows -= SLIDE_ROWS)                            \
            NAME(sweep)(SLIDE_ROWS, turned, c, h, w, j);                                           \
        if (rows == 3) NAME(sweep)(3, turned, c, h, w, j);                                         \
        if (rows == 2) NAME(sweep)(2, turned, c, h, w, j);                                         \
        if (rows == 1) NAME(sweep)(1, turned, c, h, w, j);                                         \
    }
SWEEP_BY(sweep_forward, 0)
SWEEP_BY(sweep_turned, 1)
#undef SWEEP_BY

/* That of 3x3 windows at stride s; NULL: patches are faster. */
static NAME(rows_of) * NAME(sliding)(const struct cvp_dw_axis *w, int s)
{
    if (s == 2) return NULL;
    return w->k_step < 0 ? NAME(sweep_turned) : NAME(sweep_forward);
}

/* 3x3 windows of N*C tensors, where registers hold nine weights beside columns of the image: some
 * rows of one vector of channels slide along the width together, so that each input is loaded once
 * for all of them. A column that is outside is left out at the ends of a row, and so is a row that
 * is. No guard.
 *
 * Products are summed row by row of the window, as patches sum them. */

/* Which of its columns a step does not have. */
#define NONE  0
#define LEFT  1
#define RIGHT 2

/* Outputs of some rows at one place of the width, whose inputs begin at `in`. */
struct NAME(slide) {
    const STORED *in;
    STORED *out;
    VEC bias;
    END end;
    int64_t in_h, in_w, out_h, out_w;
    int has_first, has_last; /* of the rows of inputs */
};

/* a and b: the columns that the last step leaves, b at stride 1 only. */
CVP_INLINE void NAME(slide_step)(const int rows, const int s, const int missing, const SLIDE *p,
                                 const VEC *w, VEC *a, VEC *b)
{
    VEC sum[SLIDE_ROWS];
    CVP_UNROLL for (int r = 0; r < rows; r++) sum[r] = p->bias;
    CVP_UNROLL for (int t = 0; t < (rows - 1) * s + 3; t++)
    {
        if ((t > 0 || p->has_first) && (t < (rows - 1) * s + 2 || p->has_last)) {
            const STORED *in = p->in + t * p->in_h;
            VEC x[3] = {a[t], s == 1 ? b[t] : NAME(load)(in + p->in_w)};
            x[2] = missing == RIGHT ? (VEC){0} : NAME(load)(in + 2 * p->in_w);
            CVP_UNROLL for (int r = 0; r < rows; r++)
            {
                const int i = t - r * s;
                if (i >= 0 && i < 3) {
                    if (missing != LEFT) sum[r] += x[0] * w[i * 3];
                    sum[r] += x[1] * w[i * 3 + 1];
                    if (missing != RIGHT) sum[r] += x[2] * w[i * 3 + 2];
                }
            }
            a[t] = x[s];
            b[t] = x[2];
        }
    }
    CVP_UNROLL for (int r = 0; r < rows; r++)
    {
        NAME(put)(p->out + r * p->out_h, sum[r], &p->end, 0, NAME(lanes)(0, LANES));
    }
}

/* Rows j and on of one vector of channels. */
CVP_INLINE void NAME(slide)(const int rows, const int s, const CHANNELS *c,
                            const struct cvp_dw_axis *h, const struct cvp_dw_axis *wa, int64_t j)
{
    VEC w[9], a[(SLIDE_ROWS - 1) * 2 + 3] = {{0}}, b[(SLIDE_ROWS - 1) * 2 + 3] = {{0}};
    CVP_UNROLL for (int i = 0; i < 9; i++)
    {
        const int64_t tap = (h->k + i / 3 * h->k_step) * 3 + wa->k + i % 3 * wa->k_step;
        w[i] = *(const VEC *)(c->weights + tap * LANES);
    }
    const int64_t y = h->at + j * s;
    SLIDE p = {.in = c->in + y * c->in_h + wa->at * c->in_w,
               .out = c->out + j * c->out_h,
               .bias = c->bias,
               .end = c->end,
               .in_h = c->in_h,
               .in_w = c->in_w,
               .out_h = c->out_h,
               .out_w = c->out_w,
               .has_first = y >= 0,
               .has_last = y + (rows - 1) * s + 2 < h->size};
    CVP_UNROLL for (int t = 0; t < (rows - 1) * s + 3; t++)
    {
        if ((t > 0 || p.has_first) && (t < (rows - 1) * s + 2 || p.has_last)) {
            if (wa->at >= 0) a[t] = NAME(load)(p.in + t * p.in_h);
            if (s == 1) b[t] = NAME(load)(p.in + t * p.in_h + p.in_w);
        }
    }
    const int misses_last = wa->at + (wa->count - 1) * s + 2 >= wa->size;
    int64_t left = wa->count - misses_last;
    if (wa->at < 0) {
        NAME(slide_step)(rows, s, LEFT, &p, w, a, b);
        p.in += s * p.in_w;
        p.out += p.out_w;
        left--;
    }
    for (; left > 0; left--, p.in += s * p.in_w, p.out += p.out_w)
        NAME(slide_step)(rows, s, NONE, &p, w, a, b);
    if (misses_last) NAME(slide_step)(rows, s, RIGHT, &p, w, a, b);
}

#define SLIDE_BY(s)                                                                                \
    static void NAME(slide_##s)(const CHANNELS *c, const struct cvp_dw_axis *h,                    \
                                const struct cvp_dw_axis *w, int64_t j, int64_t rows)              \
    {                                                                                              \
        for (; rows >= SLIDE_ROWS; j += SLIDE_ROWS, rows -= SLIDE_ROWS)                            \
            NAME(slide)(SLIDE_ROWS, s, c, h, w, j);                                                \
        if (rows == 3) NAME(slide)(3, s, c, h, w, j);                                              \
        if (rows == 2) NAME(slide)(2, s, c, h, w, j);                                              \
        if (rows == 1) NAME(slide)(1, s, c, h, w, j);                                              \
    }
SLIDE_BY(1)
SLIDE_BY(2)
#undef SLIDE_BY

/* That of 3x3 windows at stride s. */
static NAME(rows_of) * NAME(sliding)(const struct cvp_dw_axis *w, int s)
{
    (void)w;
    return s == 1 ? NAME(slide_1) : NAME(slide_2);
}

#undef NONE
#undef LEFT
#undef RIGHT

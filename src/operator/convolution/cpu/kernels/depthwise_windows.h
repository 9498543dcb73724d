/* Correlations of NC* planes with windows of 3x3 and 5x5. No guard. */

/* ROWS rows of one vector. in: tap 0 of the first row, of which rows [first, last) are inside. */
CVP_INLINE void NAME(window)(const int k, const int s, const int masked, const PLANE *p,
                             const STORED *in, int64_t first, int64_t last, const VEC *w,
                             const EDGE *e, STORED *out, int64_t rows)
{
    VEC sum[ROWS];
    CVP_UNROLL for (int r = 0; r < ROWS; r++) sum[r] = NAME(all)(p->bias);
    CVP_UNROLL for (int t = 0; t < (ROWS - 1) * s + k; t++)
    {
        if (t >= first && t < last) {
            VEC xs[WINDOW + 1];
            NAME(columns)(k, s, masked, in + t * p->in_row, masked ? e->load : NULL, xs);
            CVP_UNROLL for (int r = 0; r < ROWS; r++)
            {
                const int kh = t - r * s;
                if (kh >= 0 && kh < k) {
                    CVP_UNROLL for (int i = 0; i < k; i++) sum[r] += xs[i] * w[kh * k + i];
                }
            }
        }
    }
    MASK m = masked ? e->store : NAME(lanes)(0, LANES);
    CVP_UNROLL for (int r = 0; r < ROWS; r++)
    {
        if (r < rows) NAME(put)(out + r * p->out_row, sum[r], &p->end, masked, m);
    }
}

CVP_INLINE void NAME(windows)(const int k, const int s, const PLANE *p, const EDGES *row)
{
    VEC w[WINDOW * WINDOW], edge_w[WINDOW * WINDOW];
    CVP_UNROLL for (int i = 0; i < k; i++)
    {
        CVP_UNROLL for (int j = 0; j < k; j++)
        {
            w[i * k + j] =
                NAME(everywhere)(p->weights + (p->h->k + i * p->h->k_step) * p->weights_row +
                                 p->w->k + j * p->w->k_step);
        }
    }
    for (int64_t j = p->j0; j < p->j1; j += ROWS) {
        int64_t y = p->h->at + j * s, first = -y, last = p->h->size - y, rows = p->j1 - j;
        const STORED *in = p->in + y * p->in_row + p->w->at;
        STORED *out = p->out + j * p->out_row;
        for (int64_t x = row->begin; x < row->end; x += LANES)
            NAME(window)(k, s, 0, p, in + x * s, first, last, w, NULL, out + x, rows);
    }
    for (int i = 0; i < row->edges; i++) {
        const EDGE *e = &row->edge[i];
        CVP_UNROLL for (int t = 0; t < k * k; t++) edge_w[t] = NAME(keep)(e->keep[t % k], w[t]);
        for (int64_t j = p->j0; j < p->j1; j += ROWS) {
            int64_t y = p->h->at + j * s, first = -y, last = p->h->size - y, rows = p->j1 - j;
            const STORED *in = p->in + y * p->in_row + p->w->at;
            NAME(window)
            (k, s, 1, p, in + e->x * s, first, last, edge_w, e, p->out + j * p->out_row + e->x,
             rows);
        }
    }
}

#define WINDOWS(k, s)                                                                              \
    static void NAME(windows_##k##_##s)(const PLANE *p, const EDGES *row)                          \
    {                                                                                              \
        NAME(windows)(k, s, p, row);                                                               \
    }
WINDOWS(3, 1)
WINDOWS(3, 2)
#if WINDOW == 5
WINDOWS(5, 1)
WINDOWS(5, 2)
#endif
#undef WINDOWS

typedef void NAME(windows_of)(const PLANE *p, const EDGES *row);

/* By size, by stride. */
static NAME(windows_of) *const NAME(all_windows)[][2] = {
    {NAME(windows_3_1), NAME(windows_3_2)},
#if WINDOW == 5
    {NAME(windows_5_1), NAME(windows_5_2)},
#endif
};

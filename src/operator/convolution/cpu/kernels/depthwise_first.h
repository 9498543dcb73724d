/* Correlations of NC* planes: windows of 3x3 and 5x5, pairs of phases of a backward pass at stride
 * 2, and any other. No guard. */

/* A plane of out from one of in and the weights of one depth; adds where `add`. */
struct NAME(plane) {
    SCALAR *out;
    const SCALAR *in, *weights;
    SCALAR bias;
    int add;
    int64_t out_row, in_row, weights_row;
    const struct cvp_dw_axis *h, *w;
    int64_t j0, j1; /* of h */
};

CVP_INLINE void NAME(put)(SCALAR *to, VEC v, int add, const int masked, MASK m)
{
    if (masked) {
        if (add) v += NAME(load_some)(to, m);
        NAME(store_some)(to, m, v);
    } else {
        if (add) v += NAME(load)(to);
        NAME(store)(to, v);
    }
}

/* ---- windows ------------------------------------------------------------------------------- */

/* ROWS rows of one vector. in: tap 0 of the first row, of which rows [first, last) are inside. */
CVP_INLINE void NAME(window)(const int k, const int s, const int masked,
                             const struct NAME(plane) * p, const SCALAR *in, int64_t first,
                             int64_t last, const VEC *w, const struct NAME(edge) * e, SCALAR *out,
                             int64_t rows)
{
    VEC sum[ROWS];
    CVP_UNROLL for (int r = 0; r < ROWS; r++) sum[r] = NAME(all)(p->bias);
    CVP_UNROLL for (int t = 0; t < (ROWS - 1) * s + k; t++)
    {
        if (t >= first && t < last) {
            VEC xs[MOST_TAPS + 1];
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
        if (r < rows) NAME(put)(out + r * p->out_row, sum[r], p->add, masked, m);
    }
}

CVP_INLINE void NAME(windows)(const int k, const int s, const struct NAME(plane) * p,
                              const struct NAME(row) * row)
{
    VEC w[MOST_TAPS * MOST_TAPS], edge_w[MOST_TAPS * MOST_TAPS];
    CVP_UNROLL for (int i = 0; i < k; i++)
    {
        CVP_UNROLL for (int j = 0; j < k; j++)
        {
            w[i * k + j] = NAME(all)(p->weights[(p->h->k + i * p->h->k_step) * p->weights_row +
                                                p->w->k + j * p->w->k_step]);
        }
    }
    for (int64_t j = p->j0; j < p->j1; j += ROWS) {
        int64_t y = p->h->at + j * s, first = -y, last = p->h->size - y, rows = p->j1 - j;
        const SCALAR *in = p->in + y * p->in_row + p->w->at;
        SCALAR *out = p->out + j * p->out_row;
        for (int64_t x = row->begin; x < row->end; x += LANES)
            NAME(window)(k, s, 0, p, in + x * s, first, last, w, NULL, out + x, rows);
    }
    for (int i = 0; i < row->edges; i++) {
        const struct NAME(edge) *e = &row->edge[i];
        CVP_UNROLL for (int t = 0; t < k * k; t++) edge_w[t] = NAME(keep)(e->keep[t % k], w[t]);
        for (int64_t j = p->j0; j < p->j1; j += ROWS) {
            int64_t y = p->h->at + j * s, first = -y, last = p->h->size - y, rows = p->j1 - j;
            const SCALAR *in = p->in + y * p->in_row + p->w->at;
            NAME(window)
            (k, s, 1, p, in + e->x * s, first, last, edge_w, e, p->out + j * p->out_row + e->x,
             rows);
        }
    }
}

#define WINDOWS(k, s)                                                                              \
    static void NAME(windows_##k##_##s)(const struct NAME(plane) * p,                              \
                                        const struct NAME(row) * row)                              \
    {                                                                                              \
        NAME(windows)(k, s, p, row);                                                               \
    }
WINDOWS(3, 1)
WINDOWS(3, 2)
WINDOWS(5, 1)
WINDOWS(5, 2)
#undef WINDOWS

/* ---- any taps ------------------------------------------------------------------------------ */

/* Outputs x... of row j, its taps [i0, i1) of the height. taps: those of w, or 0 if not known. */
CVP_INLINE VEC NAME(taps)(const struct NAME(plane) * p, const struct cvp_dw_axis *w, const int taps,
                          int64_t j, int64_t i0, int64_t i1, int64_t x, const int masked)
{
    VEC sum = NAME(all)(p->bias);
    const struct cvp_dw_axis *h = p->h;
    const int64_t at = w->at + x * w->move;
    const SCALAR *in = p->in + (h->at + j * h->move) * p->in_row + at;
    const SCALAR *weights = p->weights + h->k * p->weights_row + w->k;
    const int64_t n = taps ? taps : w->taps;
    for (int64_t t = 0; t < n; t++) {
        int64_t pos = t * w->tap;
        MASK m = masked ? NAME(lanes)(-at - pos, w->size - at - pos) : NAME(lanes)(0, LANES);
        for (int64_t i = i0; i < i1; i++) {
            const SCALAR *from = in + i * h->tap * p->in_row + pos;
            VEC by = NAME(all)(weights[i * h->k_step * p->weights_row + t * w->k_step]);
            if (w->move != 1) {
                VEC v = {0}, some = {0};
                for (int64_t l = 0; l < LANES; l++)
                    if (at + pos + l * w->move >= 0 && at + pos + l * w->move < w->size)
                        v[l] = from[l * w->move], some[l] = by[l];
                sum += v * some;
            } else if (masked) {
                sum += NAME(load_some)(from, m) * NAME(keep)(m, by);
            } else {
                sum += NAME(load)(from) * by;
            }
        }
    }
    return sum;
}

/* 1 if all taps of all lanes from x on are inside. */
CVP_INLINE int NAME(is_whole)(const struct cvp_dw_axis *w, int64_t x)
{
    int64_t at = w->at + x;
    return w->move == 1 && at >= 0 && at + (w->taps - 1) * w->tap + LANES <= w->size;
}

static void NAME(any)(const struct NAME(plane) * p)
{
    const struct cvp_dw_axis *h = p->h, *w = p->w;
    for (int64_t j = p->j0; j < p->j1; j++) {
        int64_t i0, i1;
        taps_inside(h->at + j * h->move, h->tap, h->size, h->taps, &i0, &i1);
        SCALAR *out = p->out + (h->begin + j * h->step) * p->out_row + w->begin;
        for (int64_t x = 0; x < w->count; x += LANES) {
            VEC v = NAME(is_whole)(w, x) ? NAME(taps)(p, w, 0, j, i0, i1, x, 0)
                                         : NAME(taps)(p, w, 0, j, i0, i1, x, 1);
            if (w->step == 1 && x + LANES <= w->count)
                NAME(put)(out + x, v, p->add, 0, NAME(lanes)(0, LANES));
            else if (w->step == 1)
                NAME(put)(out + x, v, p->add, 1, NAME(lanes)(0, w->count - x));
            else
                for (int64_t l = 0; l < LANES && x + l < w->count; l++) {
                    SCALAR *to = out + (x + l) * w->step;
                    *to = p->add ? *to + v[l] : v[l];
                }
        }
    }
}

/* Both phases of the width at stride 2, whose outputs alternate. */
CVP_INLINE void NAME(pairs)(const struct NAME(plane) * p, const int taps0, const int taps1)
{
    const struct cvp_dw_axis *h = p->h, *w = p->w;
    int64_t width = w[0].count + w[1].count;
    for (int64_t j = p->j0; j < p->j1; j++) {
        int64_t i0, i1;
        taps_inside(h->at + j * h->move, h->tap, h->size, h->taps, &i0, &i1);
        SCALAR *out = p->out + (h->begin + j * h->step) * p->out_row;
        for (int64_t x = 0; x < w[0].count; x += LANES) {
            SCALAR *to = out + 2 * x;
            if (NAME(is_whole)(&w[0], x) && NAME(is_whole)(&w[1], x) && 2 * (x + LANES) <= width) {
                VEC a = NAME(taps)(p, &w[0], taps0, j, i0, i1, x, 0);
                VEC b = NAME(taps)(p, &w[1], taps1, j, i0, i1, x, 0);
                MASK m = NAME(lanes)(0, LANES);
                NAME(put)(to, NAME(zip_low)(a, b), p->add, 0, m);
                NAME(put)(to + LANES, NAME(zip_high)(a, b), p->add, 0, m);
            } else {
                VEC a = NAME(taps)(p, &w[0], taps0, j, i0, i1, x, 1);
                VEC b = NAME(taps)(p, &w[1], taps1, j, i0, i1, x, 1);
                MASK low = NAME(lanes)(0, width - 2 * x);
                MASK high = NAME(lanes)(0, width - 2 * x - LANES);
                NAME(put)(to, NAME(zip_low)(a, b), p->add, 1, low);
                NAME(put)(to + LANES, NAME(zip_high)(a, b), p->add, 1, high);
            }
        }
    }
}

#define PAIRS(a, b)                                                                                \
    static void NAME(pairs_##a##_##b)(const struct NAME(plane) * p)                                \
    {                                                                                              \
        NAME(pairs)(p, a, b);                                                                      \
    }
PAIRS(0, 0)
PAIRS(1, 2)
PAIRS(2, 1)
PAIRS(2, 3)
PAIRS(3, 2)
#undef PAIRS

/* ---- items --------------------------------------------------------------------------------- */

/* How the planes of a range are computed. */
struct NAME(way) {
    void (*windows)(const struct NAME(plane) *, const struct NAME(row) *); /* or NULL */
    void (*pairs)(const struct NAME(plane) *);                             /* or NULL */
    struct NAME(row) row;
};

static void NAME(find_way)(struct NAME(way) * way, const struct cvp_dw_job *job)
{
    const struct cvp_dw_axis *h = job->h.at, *w = job->w.at;
    way->windows = NULL;
    way->pairs = NULL;
    for (int k = 3; k <= 5; k += 2)
        for (int s = 1; s <= 2; s++)
            if (is_window(h, w, k, s) && NAME(make_row)(&way->row, k, s, w))
                way->windows = k == 3   ? s == 1 ? NAME(windows_3_1) : NAME(windows_3_2)
                                 : s == 1 ? NAME(windows_5_1)
                                        : NAME(windows_5_2);
    if (job->w.n != 2 || w[0].step != 2) return;
    int64_t taps = w[0].taps * 10 + w[1].taps;
    way->pairs = taps == 12   ? NAME(pairs_1_2)
                 : taps == 21 ? NAME(pairs_2_1)
                 : taps == 23 ? NAME(pairs_2_3)
                 : taps == 32 ? NAME(pairs_3_2)
                              : NAME(pairs_0_0);
}

/* All phases of a plane's rows [y0, y1). h without taps: only bias, or nothing. */
static void NAME(plane_rows)(struct NAME(plane) * p, const struct cvp_dw_job *job,
                             const struct NAME(way) * way, int is_empty, int64_t y0, int64_t y1)
{
    for (int64_t r = 0; r < job->h.n; r++) {
        struct cvp_dw_axis h = job->h.at[r];
        if (is_empty) h.taps = 0;
        p->h = &h;
        p->j0 = y0 <= r ? 0 : (y0 - r - 1) / h.step + 1;
        p->j1 = y1 <= r ? 0 : (y1 - r - 1) / h.step + 1;
        p->w = job->w.at;
        if (way->windows && !is_empty)
            way->windows(p, &way->row);
        else if (way->pairs)
            way->pairs(p);
        else
            for (int64_t i = 0; i < job->w.n; i++, p->w++) NAME(any)(p);
    }
}

static void NAME(first)(const struct cvp_dw_job *job, int64_t begin, int64_t end)
{
    struct NAME(way) way;
    NAME(find_way)(&way, job);
    const convop_conv_problem *q = job->p;
    const int64_t taps = q->kh * q->kw, sums = job->backward ? job->multiplier : 1;
    for (int64_t item = begin; item < end; item++) {
        int64_t block = item % job->row_blocks, rest = item / job->row_blocks;
        int64_t z = rest % job->out_d, c = rest / job->out_d % job->channels;
        int64_t n = rest / job->out_d / job->channels;
        int64_t y0 = block * job->block_rows, y1 = y0 + job->block_rows;
        if (y1 > job->out_h) y1 = job->out_h;
        const struct cvp_dw_axis *d = &job->d.at[z % job->d.step];
        int64_t at = d->at + z / job->d.step * d->move, d0, d1;
        taps_inside(at, d->tap, d->size, d->taps, &d0, &d1);

        struct NAME(plane) p = {.add = q->add,
                                .out_row = job->out_stride.h,
                                .in_row = job->in_stride.h,
                                .weights_row = q->kw};
        p.out = (SCALAR *)job->out + n * job->out_stride.n + c * job->out_stride.c +
                z * job->out_stride.d;
        if (job->bias) p.bias = ((const SCALAR *)job->bias)[c * q->bias_stride];
        int done = 0;
        for (int64_t m = 0; m < sums; m++)
            for (int64_t i = d0; i < d1; i++) {
                int64_t from = job->backward ? c * job->multiplier + m : c / job->multiplier;
                p.in = (const SCALAR *)job->in + n * job->in_stride.n + from * job->in_stride.c +
                       (at + i * d->tap) * job->in_stride.d;
                p.weights = (const SCALAR *)job->weights +
                            ((job->backward ? from : c) * q->kd + d->k + i * d->k_step) * taps;
                NAME(plane_rows)(&p, job, &way, 0, y0, y1);
                p.bias = 0;
                p.add = done = 1;
            }
        if (done) continue;
        p.in = job->in;
        p.weights = job->weights;
        NAME(plane_rows)(&p, job, &way, 1, y0, y1);
    }
}

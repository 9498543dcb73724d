/* Filter gradients in NC*: a weight is the product of two rows, summed over rows. Windows of 3x3
 * and 5x5 keep all sums of a few kernel rows in registers. No guard. */

/* Rows of dst that are multiplied together, so that they share loads of src. */
#define FILTER_ROWS 2

/* Kernel rows whose sums fit the registers. */
#if CVP_VECTOR_REGISTERS == 32
#define KERNEL_ROWS(k) (k)
#else
#define KERNEL_ROWS(k) ((k) == 3 ? 3 : 1)
#endif

/* Where rows of src and dst lie. */
struct NAME(rows) {
    const STORED *src, *dst; /* of an image, a channel, a depth */
    int64_t src_row, dst_row;
};

/* n rows of dst from row j on, at one vector of pixels; sum: kr kernel rows of k. */
CVP_INLINE void NAME(products)(const int k, const int kr, const int s, const int n,
                               const int masked, const PIECE *p, int64_t j, int64_t y, int64_t size,
                               int64_t x, int64_t at, const EDGE *e, VEC *sum)
{
    VEC dy[FILTER_ROWS];
    const STORED *dst = p->dst + j * p->dst_row + x, *src = p->src + y * p->src_row + at;
    CVP_UNROLL for (int r = 0; r < n; r++)
    {
        dy[r] = masked ? NAME(load_some)(dst + r * p->dst_row, e->store)
                       : NAME(load)(dst + r * p->dst_row);
    }
    CVP_UNROLL for (int t = 0; t < (n - 1) * s + kr; t++)
    {
        if (y + t >= 0 && y + t < size) {
            VEC xs[WINDOW + 1];
            NAME(columns)(k, s, masked, src + t * p->src_row, masked ? e->load : NULL, xs);
            CVP_UNROLL for (int i = 0; i < k; i++)
            {
                if (masked && s == 2) xs[i] = NAME(keep)(e->keep[i], xs[i]);
                CVP_UNROLL for (int r = 0; r < n; r++)
                {
                    const int kh = t - r * s;
                    if (kh >= 0 && kh < kr)
                        sum[kh * k + i] += xs[i] * (masked ? NAME(keep)(e->keep[i], dy[r]) : dy[r]);
                }
            }
        }
    }
}

/* Rows [j0, j1) at one vector of pixels. */
CVP_INLINE void NAME(product_rows)(const int k, const int kr, const int s, const int masked,
                                   const PIECE *p, const struct cvp_dw_filter *f, int64_t kh,
                                   int64_t j0, int64_t j1, int64_t x, const EDGE *e, VEC *sum)
{
    const int64_t at = f->w.at + x * s;
    int64_t j = j0, y = f->h.at + j0 * s + kh;
    for (; j + FILTER_ROWS <= j1; j += FILTER_ROWS, y += FILTER_ROWS * s)
        NAME(products)(k, kr, s, FILTER_ROWS, masked, p, j, y, f->h.size, x, at, e, sum);
    if (j < j1) NAME(products)(k, kr, s, 1, masked, p, j, y, f->h.size, x, at, e, sum);
}

/* Rows [j0, j1), kernel rows from kh on. */
CVP_INLINE void NAME(piece_products)(const int k, const int kr, const int s, const PIECE *p,
                                     const struct cvp_dw_filter *f, const EDGES *row, int64_t kh,
                                     int64_t j0, int64_t j1, VEC *total)
{
    VEC sum[WINDOW * WINDOW];
    CVP_UNROLL for (int i = 0; i < k * kr; i++) sum[i] = total[i];
    /* Along the rows where they are long, down the plane at their ends. */
    if (row->begin < row->end)
        for (int64_t j = j0; j < j1; j += FILTER_ROWS)
            for (int64_t x = row->begin; x < row->end; x += LANES) NAME(product_rows)
    (k, kr, s, 0, p, f, kh, j, j + FILTER_ROWS < j1 ? j + FILTER_ROWS : j1, x, NULL, sum);
    for (int i = 0; i < row->edges; i++)
        NAME(product_rows)(k, kr, s, 1, p, f, kh, j0, j1, row->edge[i].x, &row->edge[i], sum);
    CVP_UNROLL for (int i = 0; i < k * kr; i++) total[i] = sum[i];
}

/* A walk over rows of all images, numbered through: a piece lies in one depth of one image. */
struct NAME(walk) {
    int64_t n, z, j0, j1;
    int64_t left; /* rows, this piece's among them */
};

static WALK NAME(first_piece)(const convop_conv_problem *p, int64_t r0, int64_t r1)
{
    WALK w = {.j0 = r0 % p->oh, .z = r0 / p->oh % p->od, .n = r0 / p->oh / p->od};
    w.left = r1 - r0;
    w.j1 = w.j0 + w.left < p->oh ? w.j0 + w.left : p->oh;
    return w;
}

static void NAME(next_piece)(WALK *w, const convop_conv_problem *p)
{
    w->left -= w->j1 - w->j0;
    w->j0 = 0;
    w->j1 = w->left < p->oh ? w->left : p->oh;
    if (++w->z < p->od) return;
    w->z = 0;
    w->n++;
}

/* Rows of a channel at tap kd of the depth; 0 if that is outside. */
static int NAME(piece_rows)(const struct cvp_dw_filter *f, int64_t c, int64_t kd, const WALK *w,
                            PIECE *rows)
{
    const convop_conv_problem *p = f->p;
    int64_t z = f->d.at + w->z * f->d.move + kd * f->d.tap;
    if (z < 0 || z >= f->d.size) return 0;
    rows->src_row = p->src.h;
    rows->dst_row = p->dst.h;
    rows->src = (const STORED *)f->src + w->n * p->src.n +
                (f->multiplier == 1 ? c : c / f->multiplier) * p->src.c + z * p->src.d;
    rows->dst = (const STORED *)f->dst + w->n * p->dst.n + c * p->dst.c + w->z * p->dst.d;
    return 1;
}

CVP_INLINE void NAME(filter_windows)(const int k, const int kr, const int s,
                                     const struct cvp_dw_filter *f, const EDGES *row, int64_t c,
                                     int64_t kd, int64_t kh, int64_t r0, int64_t r1, double *sums)
{
    VEC total[WINDOW * WINDOW];
    CVP_UNROLL for (int i = 0; i < k * kr; i++) total[i] = (VEC){0};
    const int64_t vectors = (f->w.count + LANES - 1) / LANES;
    /* Rows until the sums go on in double, in pairs. */
    const int64_t most = LANE_SUM / vectors > FILTER_ROWS
                             ? LANE_SUM / vectors / FILTER_ROWS * FILTER_ROWS
                             : FILTER_ROWS;
    int64_t added = 0;
    WALK w = NAME(first_piece)(f->p, r0, r1);
    for (; w.left > 0; NAME(next_piece)(&w, f->p)) {
        PIECE rows;
        if (!NAME(piece_rows)(f, c, kd, &w, &rows)) continue;
        for (int64_t j = w.j0; j < w.j1; j += most) {
            int64_t end = j + most < w.j1 ? j + most : w.j1;
            NAME(piece_products)(k, kr, s, &rows, f, row, kh, j, end, total);
            added += (end - j) * vectors;
            if (added < LANE_SUM) continue;
            for (int i = 0; i < k * kr; i++) {
                sums[i] += NAME(sum)(total[i]);
                total[i] = (VEC){0};
            }
            added = 0;
        }
    }
    for (int i = 0; i < k * kr; i++) sums[i] += NAME(sum)(total[i]);
}

#define FILTER_WINDOWS(k, s)                                                                       \
    static void NAME(filter_windows_##k##_##s)(const struct cvp_dw_filter *f, const EDGES *row,    \
                                               int64_t c, int64_t r0, int64_t r1, double *sums)    \
    {                                                                                              \
        for (int64_t kd = 0; kd < f->p->kd; kd++)                                                  \
            for (int64_t kh = 0; kh < k; kh += KERNEL_ROWS(k)) {                                   \
                double *to = sums + (kd * k + kh) * k;                                             \
                NAME(filter_windows)(k, KERNEL_ROWS(k), s, f, row, c, kd, kh, r0, r1, to);         \
            }                                                                                      \
    }
FILTER_WINDOWS(3, 1)
FILTER_WINDOWS(3, 2)
#if WINDOW == 5
FILTER_WINDOWS(5, 1)
FILTER_WINDOWS(5, 2)
#endif
#undef FILTER_WINDOWS

typedef void NAME(filter_windows_of)(const struct cvp_dw_filter *f, const EDGES *row, int64_t c,
                                     int64_t r0, int64_t r1, double *sums);

/* By size, by stride. */
static NAME(filter_windows_of) *const NAME(all_filter_windows)[][2] = {
    {NAME(filter_windows_3_1), NAME(filter_windows_3_2)},
#if WINDOW == 5
    {NAME(filter_windows_5_1), NAME(filter_windows_5_2)},
#endif
};

/* Products of two rows at one tap of the width. */
static double NAME(dot)(const STORED *dst, const STORED *src, const struct cvp_dw_axis *w,
                        int64_t kw)
{
    int64_t at = w->at + kw * w->tap, x0, x1;
    double all = 0;
    taps_inside(at, w->move, w->size, w->count, &x0, &x1);
    if (w->move != 1) {
        for (int64_t x = x0; x < x1; x++)
            all += (double)NAME(get)(dst + x) * (double)NAME(get)(src + at + x * w->move);
        return all;
    }
    while (x0 < x1) {
        VEC sum = {0};
        int64_t end = x1 - x0 > LANE_SUM * LANES ? x0 + LANE_SUM * LANES : x1;
        for (; x0 + LANES <= end; x0 += LANES)
            sum += NAME(load)(dst + x0) * NAME(load)(src + at + x0);
        if (x0 < end) {
            MASK m = NAME(lanes)(0, end - x0);
            sum += NAME(load_some)(dst + x0, m) * NAME(load_some)(src + at + x0, m);
            x0 = end;
        }
        all += NAME(sum)(sum);
    }
    return all;
}

static void NAME(filter_any)(const struct cvp_dw_filter *f, int64_t c, int64_t r0, int64_t r1,
                             double *sums)
{
    const convop_conv_problem *p = f->p;
    WALK w = NAME(first_piece)(p, r0, r1);
    for (; w.left > 0; NAME(next_piece)(&w, p)) {
        PIECE rows;
        for (int64_t kd = 0; kd < p->kd; kd++) {
            if (!NAME(piece_rows)(f, c, kd, &w, &rows)) continue;
            for (int64_t kh = 0; kh < p->kh; kh++)
                for (int64_t kw = 0; kw < p->kw; kw++)
                    for (int64_t j = w.j0; j < w.j1; j++) {
                        int64_t y = f->h.at + j * f->h.move + kh * f->h.tap;
                        if (y >= 0 && y < f->h.size)
                            sums[(kd * p->kh + kh) * p->kw + kw] +=
                                NAME(dot)(rows.dst + j * rows.dst_row, rows.src + y * rows.src_row,
                                          &f->w, kw);
                    }
        }
    }
}

static void NAME(filter_first)(const struct cvp_dw_filter *f, int64_t c0, int64_t c1, int64_t r0,
                               int64_t r1, double *sums)
{
    const int64_t taps = cvp_conv_taps(f->p);
    EDGES row;
    NAME(filter_windows_of) *windows = NULL;
    for (int k = 3; k <= WINDOW; k += 2)
        for (int s = 1; s <= 2; s++)
            if (is_window(&f->h, &f->w, k, s) && f->w.count <= LANE_SUM * LANES &&
                NAME(make_row)(&row, k, s, &f->w))
                windows = NAME(all_filter_windows)[k == 5][s == 2];
    for (int64_t c = c0; c < c1; c++)
        if (windows)
            windows(f, &row, c, r0, r1, sums + c * taps);
        else
            NAME(filter_any)(f, c, r0, r1, sums + c * taps);
}

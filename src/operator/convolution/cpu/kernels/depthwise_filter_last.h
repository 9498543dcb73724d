/* Filter gradients in N*C: a vector is LANES channels, a weight sums products of pixels. Windows of
 * 3x3 and 5x5 keep the sums of all taps, or of a kernel row, in registers. No guard. */

/* Pixels of dst that share loads of src. */
#define FILTER_PIXELS 2

/* The channels of a task at one row of dst. */
struct NAME(line) {
    const STORED *dst, *src; /* of a row, of a depth of an image; first channel */
    MASK mask;
    int lanes;
    int64_t offset[LANES]; /* SPREAD: of each lane in src */
};

CVP_INLINE VEC NAME(load_line)(const LINE *l, const int mode, const STORED *from)
{
    if (mode == WHOLE) return NAME(load)(from);
    if (mode == SOME) return NAME(load_some)(from, l->mask);
    LOOSE v = {0};
    for (int i = 0; i < l->lanes; i++) v[i] = from[l->offset[i]];
    return WIDEN(v);
}

/* sums[c] += the lanes. */
CVP_INLINE void NAME(flush)(const LINE *l, VEC v, double *sums)
{
    if (l->lanes == LANES) {
        CVP_UNROLL for (int i = 0; i < LANES; i++) sums[i] += (double)v[i];
    } else {
        for (int i = 0; i < l->lanes; i++) sums[i] += (double)v[i];
    }
}

/* ---- windows ------------------------------------------------------------------------------- */

/* n pixels from x on; y: row of src of the first kernel row. */
CVP_INLINE void NAME(pixel_products)(const int k, const int kr, const int s, const int n,
                                     const int edge, const int mode, const struct cvp_dw_filter *f,
                                     const LINE *l, int64_t y, int64_t x, VEC *sum)
{
    const int64_t dst_w = f->p->dst.w, src_w = f->p->src.w, src_h = f->p->src.h;
    const int64_t at = f->w.at + x * s;
    VEC dy[FILTER_PIXELS];
    CVP_UNROLL for (int q = 0; q < n; q++)
    {
        const STORED *from = l->dst + (x + q) * dst_w;
        dy[q] = mode == WHOLE ? NAME(load)(from) : NAME(load_some)(from, l->mask);
    }
    CVP_UNROLL for (int i = 0; i < kr; i++)
    {
        if (y + i >= 0 && y + i < f->h.size) {
            const STORED *src = l->src + (y + i) * src_h + at * src_w;
            CVP_UNROLL for (int u = 0; u < (n - 1) * s + k; u++)
            {
                if (!edge || (at + u >= 0 && at + u < f->w.size)) {
                    VEC v = NAME(load_line)(l, mode, src + u * src_w);
                    CVP_UNROLL for (int q = 0; q < n; q++)
                    {
                        const int j = u - q * s;
                        if (j >= 0 && j < k) sum[i * k + j] += v * dy[q];
                    }
                }
            }
        }
    }
}

/* One row of dst. */
CVP_INLINE void NAME(line_products)(const int k, const int kr, const int s, const int mode,
                                    const struct cvp_dw_filter *f, const LINE *l, int64_t y,
                                    int64_t x0, int64_t x1, VEC *total)
{
    VEC sum[WINDOW * WINDOW];
    CVP_UNROLL for (int i = 0; i < k * kr; i++) sum[i] = total[i];
    int64_t x = x0;
    while (x < x1) {
        int64_t at = f->w.at + x * s;
        if (x + FILTER_PIXELS <= x1 && at >= 0 && at + (FILTER_PIXELS - 1) * s + k <= f->w.size) {
            NAME(pixel_products)(k, kr, s, FILTER_PIXELS, 0, mode, f, l, y, x, sum);
            x += FILTER_PIXELS;
        } else {
            NAME(pixel_products)(k, kr, s, 1, 1, mode, f, l, y, x, sum);
            x++;
        }
    }
    CVP_UNROLL for (int i = 0; i < k * kr; i++) total[i] = sum[i];
}

/* Rows [r0, r1) at kernel rows from kh on, for `vectors` vectors of channels from c on: all of them
 * row by row, so that pixels are read as they lie. */
CVP_INLINE void NAME(line_windows)(const int k, const int kr, const int s, const int mode,
                                   const struct cvp_dw_filter *f, LINE *l, int64_t c,
                                   int64_t vectors, int64_t kh, int64_t r0, int64_t r1,
                                   double *sums)
{
    const convop_conv_problem *p = f->p;
    VEC total[CVP_DW_GROUP / LANES][WINDOW * WINDOW];
    for (int64_t v = 0; v < vectors; v++)
        for (int i = 0; i < k * kr; i++) total[v][i] = (VEC){0};
    int64_t added = 0;
    for (int64_t r = r0; r < r1; r++) {
        int64_t j = r % p->oh, rest = r / p->oh, z = rest % p->od, n = rest / p->od;
        int64_t depth = f->d.at + z * f->d.move, y = f->h.at + j * s + kh;
        if (depth < 0 || depth >= f->d.size) continue;
        const STORED *dst = (const STORED *)f->dst + n * p->dst.n + z * p->dst.d + j * p->dst.h;
        const STORED *src = (const STORED *)f->src + n * p->src.n + depth * p->src.d;
        for (int64_t x = 0, end; x < f->w.count; x = end) {
            end = f->w.count - x > LANE_SUM ? x + LANE_SUM : f->w.count;
            added += end - x;
            for (int64_t v = 0; v < vectors; v++) {
                l->dst = dst + c + v * LANES;
                l->src = src + c + v * LANES;
                NAME(line_products)(k, kr, s, mode, f, l, y, x, end, total[v]);
                if (added < LANE_SUM) continue;
                for (int i = 0; i < k * kr; i++) {
                    NAME(flush)(l, total[v][i], sums + i * p->oc + c + v * LANES);
                    total[v][i] = (VEC){0};
                }
            }
            if (added >= LANE_SUM) added = 0;
        }
    }
    for (int64_t v = 0; v < vectors; v++)
        for (int i = 0; i < k * kr; i++)
            NAME(flush)(l, total[v][i], sums + i * p->oc + c + v * LANES);
}

typedef void NAME(line_windows_of)(const struct cvp_dw_filter *f, LINE *l, int64_t c,
                                   int64_t vectors, int64_t r0, int64_t r1, double *sums);

#define LINE_WINDOWS(k, s, mode)                                                                   \
    static void NAME(line_windows_##k##_##s##_##mode)(const struct cvp_dw_filter *f, LINE *l,      \
                                                      int64_t c, int64_t vectors, int64_t r0,      \
                                                      int64_t r1, double *sums)                    \
    {                                                                                              \
        for (int64_t kh = 0; kh < k; kh += KERNEL_ROWS(k)) {                                       \
            double *to = sums + kh * k * f->p->oc;                                                 \
            NAME(line_windows)(k, KERNEL_ROWS(k), s, mode, f, l, c, vectors, kh, r0, r1, to);      \
        }                                                                                          \
    }
LINE_WINDOWS(3, 1, 0)
LINE_WINDOWS(3, 2, 0)
LINE_WINDOWS(3, 1, 1)
LINE_WINDOWS(3, 2, 1)
#if WINDOW == 5
LINE_WINDOWS(5, 1, 0)
LINE_WINDOWS(5, 2, 0)
#endif
#undef LINE_WINDOWS

static NAME(line_windows_of) * NAME(find_line_windows)(const struct cvp_dw_filter *f, int mode)
{
    static NAME(line_windows_of) *const all[][2][2] = {
        {{NAME(line_windows_3_1_0), NAME(line_windows_3_1_1)},
         {NAME(line_windows_3_2_0), NAME(line_windows_3_2_1)}},
#if WINDOW == 5
        {{NAME(line_windows_5_1_0), NULL}, {NAME(line_windows_5_2_0), NULL}},
#endif
    };
    if (mode == SPREAD || f->p->kd != 1) return NULL;
    for (int k = 3; k <= WINDOW; k += 2)
        for (int s = 1; s <= 2; s++)
            if (is_window(&f->h, &f->w, k, s)) return all[k == 5][s == 2][mode];
    return NULL;
}

/* ---- any taps ------------------------------------------------------------------------------ */

/* Products of a row of dst with a row of src at one tap of the width. */
CVP_INLINE void NAME(line_dot)(const int mode, const struct cvp_dw_filter *f, const LINE *l,
                               const STORED *src, int64_t kw, double *sums)
{
    const struct cvp_dw_axis *w = &f->w;
    int64_t at = w->at + kw * w->tap, x0, x1;
    taps_inside(at, w->move, w->size, w->count, &x0, &x1);
    while (x0 < x1) {
        VEC sum = {0};
        int64_t end = x1 - x0 > LANE_SUM ? x0 + LANE_SUM : x1;
        for (; x0 < end; x0++) {
            const STORED *from = l->dst + x0 * f->p->dst.w;
            VEC dy = mode == WHOLE ? NAME(load)(from) : NAME(load_some)(from, l->mask);
            sum += NAME(load_line)(l, mode, src + (at + x0 * w->move) * f->p->src.w) * dy;
        }
        NAME(flush)(l, sum, sums);
    }
}

CVP_INLINE void NAME(line_any)(const int mode, const struct cvp_dw_filter *f, LINE *l, int64_t c,
                               int64_t r0, int64_t r1, double *sums)
{
    const convop_conv_problem *p = f->p;
    for (int64_t r = r0; r < r1; r++) {
        int64_t j = r % p->oh, rest = r / p->oh, z = rest % p->od, n = rest / p->od;
        int64_t d0, d1, h0, h1, depth = f->d.at + z * f->d.move, y = f->h.at + j * f->h.move;
        taps_inside(depth, f->d.tap, f->d.size, p->kd, &d0, &d1);
        taps_inside(y, f->h.tap, f->h.size, p->kh, &h0, &h1);
        l->dst = (const STORED *)f->dst + n * p->dst.n + z * p->dst.d + j * p->dst.h + c;
        const STORED *image = (const STORED *)f->src + n * p->src.n + (mode == SPREAD ? 0 : c);
        for (int64_t kd = d0; kd < d1; kd++)
            for (int64_t kh = h0; kh < h1; kh++)
                for (int64_t kw = 0; kw < p->kw; kw++) {
                    const STORED *src =
                        image + (depth + kd * f->d.tap) * p->src.d + (y + kh * f->h.tap) * p->src.h;
                    int64_t tap = (kd * p->kh + kh) * p->kw + kw;
                    NAME(line_dot)(mode, f, l, src, kw, sums + tap * p->oc + c);
                }
    }
}

/* Of at most CVP_DW_GROUP channels. */
static void NAME(filter_last)(const struct cvp_dw_filter *f, int64_t c0, int64_t c1, int64_t r0,
                              int64_t r1, double *sums)
{
    for (int64_t c = c0, end; c < c1; c = end) {
        int64_t vectors = c1 - c < LANES ? 1 : (c1 - c) / LANES;
        LINE l = {.mask = NAME(lanes)(0, c1 - c)};
        l.lanes = c1 - c < LANES ? (int)(c1 - c) : LANES;
        int mode = f->multiplier > 1 ? SPREAD : l.lanes < LANES ? SOME : WHOLE;
        NAME(line_windows_of) *windows = NAME(find_line_windows)(f, mode);
        end = windows ? c + vectors * LANES : c + LANES;
        if (windows) {
            windows(f, &l, c, vectors, r0, r1, sums);
        } else if (mode == WHOLE) {
            NAME(line_any)(WHOLE, f, &l, c, r0, r1, sums);
        } else if (mode == SOME) {
            NAME(line_any)(SOME, f, &l, c, r0, r1, sums);
        } else {
            for (int i = 0; i < l.lanes; i++) l.offset[i] = (c + i) / f->multiplier;
            NAME(line_any)(SPREAD, f, &l, c, r0, r1, sums);
        }
    }
}

#undef FILTER_PIXELS
#undef FILTER_ROWS
#undef KERNEL_ROWS
#undef WHOLE
#undef SOME
#undef SPREAD

/* Correlations of N*C tensors: a vector is LANES channels of one pixel, so that any stride and
 * dilation goes with whole loads. Windows of 3x3 and 5x5 compute a patch of pixels at a time, each
 * input of which is loaded once. No guard. */

/* What a vector of channels is read by: WHOLE, or SOME lanes, or lanes that are not side by side
 * (SPREAD: a channel multiplier above 1). */
#define WHOLE  0
#define SOME   1
#define SPREAD 2

struct NAME(channels);

/* Windows of rows [j, j + rows) of one vector of channels. */
typedef void NAME(rows_of)(const CHANNELS *c, const struct cvp_dw_axis *h,
                           const struct cvp_dw_axis *w, int64_t j, int64_t rows);

/* A vector of channels of an image and a depth of out. */
struct NAME(channels) {
    NAME(rows_of) * windows[2]; /* of the job, by mode; NULL: they go the way of any taps */
    int64_t together;           /* rows that are best computed together */
    int spreads;                /* rows that are no windows go the way of depthwise_spread.h */
    END first;                  /* what follows the first term of a sum */
    STORED *out;
    const STORED *in;
    const SCALAR *weights; /* packed */
    VEC bias;
    END end;
    MASK mask; /* of the lanes that there are */
    int lanes;
    int64_t offset[LANES]; /* SPREAD: of each lane's input */
    int64_t in_d, in_h, in_w, out_h, out_w;
};

CVP_INLINE VEC NAME(load_channels)(const CHANNELS *c, const int mode, const STORED *from)
{
    if (mode == WHOLE) return NAME(load)(from);
    if (mode == SOME) return NAME(load_some)(from, c->mask);
    LOOSE v = {0};
    for (int l = 0; l < c->lanes; l++) v[l] = from[c->offset[l]];
    return WIDEN(v);
}

/* ---- any taps ------------------------------------------------------------------------------ */

/* Those of a row that are inside. */
struct NAME(taps_of) {
    const struct cvp_dw_axis *d, *h, *w;
    int64_t d_at, h_at; /* of tap 0 */
    int64_t d0, d1, h0, h1;
    int64_t kh, kw;
};

CVP_INLINE void NAME(pixels)(const int n, const int mode, const CHANNELS *c, const TAPS *k,
                             STORED *row, int64_t x, int64_t t0, int64_t t1)
{
    VEC sum[LAST_PIXELS];
    const struct cvp_dw_axis *d = k->d, *h = k->h, *w = k->w;
    CVP_UNROLL for (int q = 0; q < n; q++) sum[q] = c->bias;
    const int64_t apart = w->move * c->in_w, next = w->tap * c->in_w;
    for (int64_t a = k->d0; a < k->d1; a++)
        for (int64_t i = k->h0; i < k->h1; i++) {
            const STORED *from = c->in + (k->d_at + a * d->tap) * c->in_d +
                                 (k->h_at + i * h->tap) * c->in_h +
                                 (w->at + x * w->move) * c->in_w + t0 * next;
            const SCALAR *by =
                c->weights + (((d->k + a * d->k_step) * k->kh + h->k + i * h->k_step) * k->kw +
                              w->k + t0 * w->k_step) *
                                 LANES;
            for (int64_t t = t0; t < t1; t++, from += next, by += w->k_step * LANES) {
                VEC weights = *(const VEC *)by;
                CVP_UNROLL for (int q = 0; q < n; q++)
                {
                    sum[q] += NAME(load_channels)(c, mode, from + q * apart) * weights;
                }
            }
        }
    CVP_UNROLL for (int q = 0; q < n; q++)
    {
        NAME(put)
        (row + (w->begin + (x + q) * w->step) * c->out_w, sum[q], &c->end, mode != WHOLE, c->mask);
    }
}

/* One phase of a row: in [x0, x1) all taps of the width are inside. */
CVP_INLINE void NAME(phase)(const int mode, const CHANNELS *c, const TAPS *k, STORED *row,
                            int64_t x0, int64_t x1)
{
    const struct cvp_dw_axis *w = k->w;
    int64_t x = 0;
    while (x < w->count) {
        if (x >= x0 && x + LAST_PIXELS <= x1) {
            NAME(pixels)(LAST_PIXELS, mode, c, k, row, x, 0, w->taps);
            x += LAST_PIXELS;
            continue;
        }
        int64_t t0, t1;
        taps_inside(w->at + x * w->move, w->tap, w->size, w->taps, &t0, &t1);
        NAME(pixels)(1, mode, c, k, row, x, t0, t1);
        x++;
    }
}

/* ---- windows ------------------------------------------------------------------------------- */

/* A patch of outputs at row r, pixel x of which `rows` by `pixels` are there; of its inputs those
 * in rows [top, bottom) and columns [left, right) are inside. A patch that is not at an edge has
 * all pixels and columns. */
struct NAME(patch) {
    const STORED *in;
    STORED *out;
    int64_t rows, top, bottom, pixels, left, right;
};

CVP_INLINE void NAME(patch)(const int k, const int s, const int edge, const int mode,
                            const CHANNELS *c, const PATCH *p, const VEC *w)
{
    VEC sum[LAST_ROWS][LAST_PIXELS];
    CVP_UNROLL for (int r = 0; r < LAST_ROWS; r++)
    {
        CVP_UNROLL for (int q = 0; q < LAST_PIXELS; q++) sum[r][q] = c->bias;
    }
    CVP_UNROLL for (int t = 0; t < (LAST_ROWS - 1) * s + k; t++)
    {
        if (t >= p->top && t < p->bottom) {
            const STORED *in = p->in + t * c->in_h;
            CVP_UNROLL for (int u = 0; u < (LAST_PIXELS - 1) * s + k; u++)
            {
                if (!edge || (u >= p->left && u < p->right)) {
                    VEC x = NAME(load_channels)(c, mode, in + u * c->in_w);
                    CVP_UNROLL for (int r = 0; r < LAST_ROWS; r++)
                    {
                        CVP_UNROLL for (int q = 0; q < LAST_PIXELS; q++)
                        {
                            const int i = t - r * s, j = u - q * s;
                            if (i >= 0 && i < k && j >= 0 && j < k) sum[r][q] += x * w[i * k + j];
                        }
                    }
                }
            }
        }
    }
    CVP_UNROLL for (int r = 0; r < LAST_ROWS; r++)
    {
        if (r < p->rows) {
            CVP_UNROLL for (int q = 0; q < LAST_PIXELS; q++)
            {
                if (!edge || q < p->pixels) NAME(put)
                (p->out + r * c->out_h + q * c->out_w, sum[r][q], &c->end, mode != WHOLE, c->mask);
            }
        }
    }
}

/* Rows j and on of one vector of channels; c->out is the depth of out, c->in that of in. */
CVP_INLINE void NAME(patches)(const int k, const int s, const int mode, const CHANNELS *c,
                              const struct cvp_dw_axis *h, const struct cvp_dw_axis *wa, int64_t j,
                              int64_t rows)
{
    VEC w[WINDOW * WINDOW];
    CVP_UNROLL for (int i = 0; i < k; i++)
    {
        CVP_UNROLL for (int t = 0; t < k; t++)
        {
            int64_t tap = (h->k + i * h->k_step) * k + wa->k + t * wa->k_step;
            w[i * k + t] = *(const VEC *)(c->weights + tap * LANES);
        }
    }
    int64_t y = h->at + j * s;
    PATCH p = {.rows = rows, .top = -y, .bottom = h->size - y};
    for (int64_t x = 0; x < wa->count; x += LAST_PIXELS) {
        int64_t at = wa->at + x * s;
        p.in = c->in + y * c->in_h + at * c->in_w;
        p.out = c->out + j * c->out_h + x * c->out_w;
        p.pixels = wa->count - x;
        p.left = -at;
        p.right = wa->size - at;
        if (mode == WHOLE && at >= 0 && p.pixels >= LAST_PIXELS &&
            p.right >= (LAST_PIXELS - 1) * s + k)
            NAME(patch)(k, s, 0, mode, c, &p, w);
        else
            NAME(patch)(k, s, 1, mode, c, &p, w);
    }
}

#define PATCHES(k, s, mode)                                                                        \
    static void NAME(patches_##k##_##s##_##mode)(const CHANNELS *c, const struct cvp_dw_axis *h,   \
                                                 const struct cvp_dw_axis *w, int64_t j,           \
                                                 int64_t rows)                                     \
    {                                                                                              \
        for (; rows > 0; j += LAST_ROWS, rows -= LAST_ROWS)                                        \
            NAME(patches)(k, s, mode, c, h, w, j, rows);                                           \
    }
PATCHES(3, 1, 0)
PATCHES(3, 2, 0)
PATCHES(3, 1, 1)
PATCHES(3, 2, 1)
#if WINDOW == 5
PATCHES(5, 1, 0)
PATCHES(5, 2, 0)
#endif
#undef PATCHES

/* 1 if no window misses more than one row, or column. */
static int NAME(slides)(const struct cvp_dw_axis *a, int s)
{
    const int64_t last = a->at + (a->count - 1) * s;
    return a->count >= 2 && a->at >= -1 && last + 2 <= a->size;
}

#if CVP_VECTOR_REGISTERS == 32
#include "src/operator/convolution/cpu/kernels/depthwise_slide.h"
#else
#include "src/operator/convolution/cpu/kernels/depthwise_sweep.h"
#endif

/* Finds the windows of a job; returns what `together` is. */
static int64_t NAME(find_windows)(const struct cvp_dw_job *job, CHANNELS *c)
{
    static NAME(rows_of) *const all[][2][2] = {
        {{NAME(patches_3_1_0), NAME(patches_3_1_1)}, {NAME(patches_3_2_0), NAME(patches_3_2_1)}},
#if WINDOW == 5
        {{NAME(patches_5_1_0), NULL}, {NAME(patches_5_2_0), NULL}},
#endif
    };
    const struct cvp_dw_axis *h = job->h.at, *w = job->w.at;
    /* Sums of several depths are added up in out, which rounds those of 16 bits. */
    const int adds = job->p->kd != 1;
    if (job->multiplier > 1 || (adds && sizeof(STORED) < sizeof(SCALAR))) return LAST_ROWS;
    for (int k = 3; k <= WINDOW; k += 2)
        for (int s = 1; s <= 2; s++)
            if (is_window(h, w, k, s))
                for (int mode = WHOLE; mode <= SOME; mode++)
                    c->windows[mode] = all[k == 5][s == 2][mode];
    for (int s = 1; s <= 2; s++)
        if (is_window(h, w, 3, s) && NAME(slides)(h, s) && NAME(slides)(w, s) &&
            NAME(sliding)(w, s)) {
            c->windows[WHOLE] = NAME(sliding)(w, s);
            return SLIDE_ROWS;
        }
    return LAST_ROWS;
}

#include "src/operator/convolution/cpu/kernels/depthwise_spread.h"

/* ---- items --------------------------------------------------------------------------------- */

/* Rows [y0, y1) of one vector of channels and one term of its sum. */
CVP_INLINE void NAME(any_rows)(const int mode, const struct cvp_dw_job *job, const CHANNELS *c,
                               TAPS *k, int64_t y0, int64_t y1)
{
    for (int64_t y = y0; y < y1; y++) {
        const struct cvp_dw_axis *h = k->h = &job->h.at[y % job->h.step];
        k->h_at = h->at + y / job->h.step * h->move;
        taps_inside(k->h_at, h->tap, h->size, h->taps, &k->h0, &k->h1);
        STORED *row = c->out + y * c->out_h;
        if (mode != SPREAD && c->spreads && k->d0 < k->d1 &&
            NAME(spread_row)(mode, c, k, &job->w, row))
            continue;
        for (int64_t i = 0; i < job->w.n; i++) {
            const struct cvp_dw_axis *w = k->w = &job->w.at[i];
            int64_t x0 = w->at >= 0 ? 0 : (-w->at - 1) / w->move + 1;
            int64_t x1 = w->size - (w->taps - 1) * w->tap - w->at;
            x1 = x1 <= 0 ? 0 : (x1 - 1) / w->move + 1;
            if (x1 > w->count) x1 = w->count;
            NAME(phase)(mode, c, k, row, x0, x1);
        }
    }
}

/* Windows of the depths that are inside, one after the other; these rows of out stay in the
 * first-level cache. */
static void NAME(all_depths)(const struct cvp_dw_job *job, CHANNELS *c, const TAPS *k,
                             NAME(rows_of) * windows, int64_t y0, int64_t y1)
{
    const STORED *in = c->in;
    const SCALAR *weights = c->weights;
    for (int64_t a = k->d0; a < k->d1; a++) {
        c->in = in + (k->d_at + a * k->d->tap) * c->in_d;
        c->weights = weights + (k->d->k + a * k->d->k_step) * k->kh * k->kw * LANES;
        if (k->d1 - k->d0 > 1) c->end = NAME(end_of)(job, a == k->d0, a + 1 == k->d1);
        windows(c, job->h.at, job->w.at, y0, y1 - y0);
        c->bias = (VEC){0};
    }
}

/* Rows of out [y0, y1), channels of out from first on, as many as a vector has or are left. */
static void NAME(last_rows)(const struct cvp_dw_job *job, CHANNELS *c, const STORED *image, TAPS *k,
                            int64_t first, int64_t y0, int64_t y1)
{
    const convop_conv_problem *q = job->p;
    int64_t left = job->channels - first, sums = job->backward ? job->multiplier : 1;
    c->lanes = left < LANES ? (int)left : LANES;
    c->mask = NAME(lanes)(0, left);
    int mode = job->multiplier > 1 ? SPREAD : left < LANES ? SOME : WHOLE;
    c->bias = (VEC){0};
    c->end = c->first;
    if (job->bias && q->bias_stride == 1)
        c->bias = NAME(load_some)((const STORED *)job->bias + first, c->mask);
    else if (job->bias)
        for (int l = 0; l < c->lanes; l++)
            c->bias[l] = NAME(get)((const STORED *)job->bias + (first + l) * q->bias_stride);
    NAME(rows_of) *windows = mode == SPREAD ? NULL : c->windows[mode];
    for (int64_t m = 0; m < sums; m++) {
        c->weights =
            (const SCALAR *)job->weights + (first / LANES * sums + m) * cvp_conv_taps(q) * LANES;
        c->in = image;
        if (mode != SPREAD)
            c->in += first;
        else
            for (int l = 0; l < c->lanes; l++)
                c->offset[l] = job->backward ? (first + l) * job->multiplier + m
                                             : (first + l) / job->multiplier;
        if (windows && k->d0 < k->d1) {
            NAME(all_depths)(job, c, k, windows, y0, y1);
        } else if (mode == WHOLE) {
            NAME(any_rows)(WHOLE, job, c, k, y0, y1);
        } else if (mode == SOME) {
            NAME(any_rows)(SOME, job, c, k, y0, y1);
        } else {
            NAME(any_rows)(SPREAD, job, c, k, y0, y1);
        }
        if (m + 1 == sums) return;
        c->bias = (VEC){0};
        c->end = NAME(end_of)(job, 0, m + 2 == sums);
    }
}

static void NAME(last)(const struct cvp_dw_job *job, int64_t begin, int64_t end)
{
    const convop_conv_problem *q = job->p;
    CHANNELS c = {.in_d = job->in_stride.d,
                  .in_h = job->in_stride.h,
                  .in_w = job->in_stride.w,
                  .out_h = job->out_stride.h,
                  .out_w = job->out_stride.w};
    c.together = NAME(find_windows)(job, &c);
    c.spreads = job->multiplier == 1 && q->kd == 1 && NAME(spreads)(&job->w);
    c.first = NAME(end_of)(job, 1, !job->backward || job->multiplier == 1);
    for (int64_t item = begin; item < end; item++) {
        int64_t c0 = item % job->channel_blocks * job->block_channels;
        int64_t rest = item / job->channel_blocks, y0 = rest % job->row_blocks * job->block_rows;
        int64_t z = rest / job->row_blocks % job->out_d, n = rest / job->row_blocks / job->out_d;
        int64_t c1 = c0 + job->block_channels, y1 = y0 + job->block_rows;
        if (c1 > job->channels) c1 = job->channels;
        if (y1 > job->out_h) y1 = job->out_h;
        TAPS k = {.kh = q->kh, .kw = q->kw, .d = &job->d.at[z % job->d.step]};
        k.d_at = k.d->at + z / job->d.step * k.d->move;
        taps_inside(k.d_at, k.d->tap, k.d->size, k.d->taps, &k.d0, &k.d1);
        const STORED *image = (const STORED *)job->in + n * job->in_stride.n;
        STORED *slab = (STORED *)job->out + n * job->out_stride.n + z * job->out_stride.d;
        /* A few rows of all channels, then the next: what they share stays in the caches. */
        const int64_t most = c.together * (job->h.step < job->out_h ? job->h.step : job->out_h);
        const int64_t bands = (y1 - y0 - 1) / most + 1, rows = (y1 - y0 - 1) / bands + 1;
        for (int64_t y = y0; y < y1; y += rows)
            for (int64_t first = c0; first < c1; first += LANES) {
                c.out = slab + first;
                NAME(last_rows)(job, &c, image, &k, first, y, y + rows < y1 ? y + rows : y1);
            }
    }
}

/* The kernels of the row `grouped` for one type; see grouped.h. Included for each, with the macros
 * of vector.h, and where the instruction set has them PERMUTE, of lanes, and PICK, of two vectors'
 * lanes. */
#include "src/operator/convolution/cpu/kernels/vector.h"

#include "src/operator/convolution/cpu/kernels/transpose.h"

/* ---- what lies elsewhere -----------------------------------------------------------------------
 */

/* `channels` input channels of pixels whose span lies in one vector, or two. */
CVP_INLINE void NAME(spread_some)(VEC *to, int64_t plane, const SCALAR *from, int64_t pixel,
                                  const int32_t *index, int64_t j, int64_t span, int64_t pixels,
                                  int64_t ahead, const int channels)
{
#if defined PERMUTE
    IVEC at[8];
    CVP_UNROLL for (int l = 0; l < LANES; l++) at[0][l] = index[l] + (INTEGER)j;
    CVP_UNROLL for (int i = 1; i < channels; i++) at[i] = at[0] + i;
    if (span <= LANES) {
        const MASK m = NAME(lanes)(0, span);
        for (int64_t x = 0; x < pixels; x++, from += pixel) {
            FETCH(from + ahead);
            const VEC v = NAME(load_some)(from, m);
            CVP_UNROLL for (int i = 0; i < channels; i++) to[i * plane + x] =
                (VEC)PERMUTE(v, at[i]);
        }
        return;
    }
#endif
#if defined PICK
    if (span <= 2 * LANES) {
        const MASK m = NAME(lanes)(0, span - LANES);
        for (int64_t x = 0; x < pixels; x++, from += pixel) {
            FETCH(from + ahead);
            const VEC low = NAME(load)(from), high = NAME(load_some)(from + LANES, m);
            CVP_UNROLL for (int i = 0; i < channels; i++) to[i * plane + x] =
                (VEC)PICK(low, high, at[i]);
        }
        return;
    }
#endif
    (void)span;
    (void)ahead;
    for (int64_t x = 0; x < pixels; x++, from += pixel)
        for (int i = 0; i < channels; i++) {
            VEC v;
            CVP_UNROLL for (int l = 0; l < LANES; l++) v[l] = from[index[l] + j + i];
            to[i * plane + x] = v;
        }
}

static void NAME(spread)(void *to_, int64_t plane, const void *from, int64_t pixel,
                         const int32_t *index, int64_t channels, int64_t span, int64_t before,
                         int64_t pixels, int64_t behind, int64_t ahead)
{
    VEC *to = to_;
    int64_t j = 0;
#define STEP(n)                                                                                    \
    for (; j + n <= channels; j += n)                                                              \
    NAME(spread_some)(to + j * plane + before, plane, from, pixel, index, j, span, pixels, ahead, n)
    STEP(8);
    STEP(4);
    STEP(2);
    STEP(1);
#undef STEP
    for (j = 0; j < channels; j++, to += plane) {
        for (int64_t x = 0; x < before; x++) to[x] = (VEC){0};
        for (int64_t x = 0; x < behind; x++) to[before + pixels + x] = (VEC){0};
    }
}

static void NAME(turn_in)(void *to, int64_t step, const void *from_, const int64_t *rows, int64_t n,
                          int64_t ahead)
{
    const SCALAR *from = from_;
    for (int64_t x = 0; x < n; x += LANES) {
        VEC r[LANES];
        const MASK m = NAME(lanes)(0, n - x);
        CVP_UNROLL for (int l = 0; l < LANES; l++)
        {
            r[l] = (VEC){0};
            if (rows[l] < 0) continue;
            r[l] = NAME(load_some)(from + rows[l] + x, m);
            FETCH(from + rows[l] + x + ahead);
        }
        NAME(transpose)(r);
        CVP_UNROLL for (int i = 0; i < LANES; i++)
        {
            if (i < n - x) *(VEC *)((SCALAR *)to + (x + i) * step) = r[i];
        }
    }
}

static void NAME(turn_out)(void *to_, const int64_t *rows, const void *from, int64_t step,
                           int64_t n, int add)
{
    SCALAR *to = to_;
    for (int64_t x = 0; x < n; x += LANES) {
        VEC r[LANES];
        const MASK m = NAME(lanes)(0, n - x);
        CVP_UNROLL for (int i = 0; i < LANES; i++)
        {
            r[i] = (VEC){0};
            if (i < n - x) r[i] = *(const VEC *)((const SCALAR *)from + (x + i) * step);
        }
        NAME(transpose)(r);
        CVP_UNROLL for (int l = 0; l < LANES; l++)
        {
            if (rows[l] < 0) continue;
            if (add) r[l] += NAME(load_some)(to + rows[l] + x, m);
            NAME(store_some)(to + rows[l] + x, m, r[l]);
        }
    }
}

static void NAME(add)(void *to, const void *from, int64_t n)
{
    for (int64_t i = 0; i < n / LANES; i++) ((VEC *)to)[i] += ((const VEC *)from)[i];
}

/* ---- forward, and backward by data -------------------------------------------------------------
 */

/* Sums of n pixels to where they belong. */
static void NAME(put)(const struct cvp_grouped_sum *s, const VEC *sums, SCALAR *out, int n)
{
    const MASK m = NAME(lanes)(0, s->lanes);
    for (int i = 0; i < n; i++, out += s->out_step) {
        VEC v = sums[i];
        if (s->add) v += NAME(load_some)(out, m);
        NAME(store_some)(out, m, v);
    }
}

/* Adds the products of a run. */
CVP_INLINE void NAME(sum_taps)(const struct cvp_grouped_sum *s, const SCALAR *x, const SCALAR *w,
                               VEC *sum, const int n, const int64_t step)
{
    for (int64_t k = 0; k < s->taps; k++, x += s->x_tap, w += s->w_tap) {
        const SCALAR *xj = x, *wj = w;
        int64_t j = s->channels;
        do {
            VEC v = *(const VEC *)wj;
            CVP_IN_REGISTER(v);
            CVP_UNROLL for (int i = 0; i < n; i++)
                CVP_MULTIPLY_ADD_AT(sum[i], v, xj + i * step * LANES);
            xj += s->plane;
            wj += s->w_step;
        } while (--j > 0);
    }
}

/* The same of three taps side by side: what several outputs read is read once. */
CVP_INLINE void NAME(sum_window)(const struct cvp_grouped_sum *s, const SCALAR *x, const SCALAR *w,
                                 VEC *sum, const int n, const int step)
{
    int64_t j = s->channels;
    do {
        VEC v[3];
        CVP_UNROLL for (int k = 0; k < 3; k++)
        {
            v[k] = *(const VEC *)(w + k * s->w_tap);
            CVP_IN_REGISTER(v[k]);
        }
        CVP_UNROLL for (int i = 0; i < (n - 1) * step + 3; i++)
        {
            VEC u = *(const VEC *)(x + i * LANES);
            CVP_IN_REGISTER(u);
            CVP_UNROLL for (int k = 2; k >= 0; k--)
            {
                if (i >= k && (i - k) % step == 0 && (i - k) / step < n)
                    CVP_MULTIPLY_ADD(sum[(i - k) / step], v[k], u);
            }
        }
        x += s->plane;
        w += s->w_step;
    } while (--j > 0);
}

/* n pixels from `at` on, `step` vectors apart. */
CVP_INLINE void NAME(sum_pixels)(const struct cvp_grouped_sum *s, int64_t at, const int n,
                                 const int64_t step, const int is_window)
{
    VEC sum[PIXELS];
    CVP_UNROLL for (int i = 0; i < n; i++) sum[i] = (VEC){0};
    for (int64_t r = 0; r < s->num_runs; r++) {
        const SCALAR *x = (const SCALAR *)s->runs[r].x + at * step * LANES, *w = s->runs[r].w;
        if (is_window)
            NAME(sum_window)(s, x, w, sum, n, (int)step);
        else
            NAME(sum_taps)(s, x, w, sum, n, step);
    }
    if (s->bias) {
        const VEC bias = *(const VEC *)s->bias;
        CVP_UNROLL for (int i = 0; i < n; i++) sum[i] += bias;
    }
    SCALAR *out = (SCALAR *)s->out + at * s->out_step;
    if (s->lanes == LANES && !s->add) {
        CVP_UNROLL for (int i = 0; i < n; i++) NAME(store)(out + i * s->out_step, sum[i]);
    } else {
        VEC copy[PIXELS];
        CVP_UNROLL for (int i = 0; i < n; i++) copy[i] = sum[i];
        NAME(put)(s, copy, out, n);
    }
}

#define SUM(n)                                                                                     \
    SUM_OF(sum_##n, n, 1, 0)                                                                       \
    SUM_OF(sum_apart_##n, n, 2, 0)                                                                 \
    SUM_OF(window_##n, n, 1, 1)                                                                    \
    SUM_OF(window_apart_##n, n, 2, 1)
#define SUM_OF(name, n, step, is_window)                                                           \
    static void NAME(name)(const struct cvp_grouped_sum *s, int64_t at)                            \
    {                                                                                              \
        NAME(sum_pixels)(s, at, n, step, is_window);                                               \
    }
EACH_PIXELS(SUM)
#undef SUM
#undef SUM_OF

static void NAME(sum_row)(const struct cvp_grouped_sum *s)
{
    typedef void sum_body(const struct cvp_grouped_sum *s, int64_t at);
#define ENTRY(n) {{NAME(sum_##n), NAME(window_##n)}, {NAME(sum_apart_##n), NAME(window_apart_##n)}},
    static sum_body *const bodies[][2][2] = {EACH_PIXELS(ENTRY)};
#undef ENTRY
    if (s->x_step > 2) {
        for (int64_t at = 0; at < s->pixels; at++) NAME(sum_pixels)(s, at, 1, s->x_step, 0);
        return;
    }
    const int is_window = s->taps == 3 && s->x_tap == LANES;
    /* Parts as even as can be. */
    int64_t parts = (s->pixels + PIXELS - 1) / PIXELS;
    for (int64_t at = 0; parts > 0; parts--) {
        const int64_t n = (s->pixels - at + parts - 1) / parts;
        bodies[n - 1][s->x_step - 1][is_window](s, at);
        at += n;
    }
}

/* ---- backward by weights -----------------------------------------------------------------------
 */

/* Adds the products of n pixels, `step` vectors apart, to the sums of `taps` taps side by side of
 * some channels: what several taps read is read once. */
CVP_INLINE void NAME(filter_pixels)(const struct cvp_grouped_filter *f, const SCALAR *x,
                                    const SCALAR *y, VEC *sum, const int taps, const int channels,
                                    const int step, const int n)
{
    VEC v[PIXELS];
    CVP_UNROLL for (int p = 0; p < n; p++)
    {
        v[p] = NAME(load)(y + p * f->y_step);
        CVP_IN_REGISTER(v[p]);
    }
    CVP_UNROLL for (int j = 0; j < channels; j++)
    {
        CVP_UNROLL for (int i = 0; i < (n - 1) * step + taps; i++)
        {
            VEC u = *(const VEC *)(x + j * f->plane + i * LANES);
            CVP_IN_REGISTER(u);
            CVP_UNROLL for (int k = 0; k < taps; k++)
            {
                if (i >= k && (i - k) % step == 0 && (i - k) / step < n)
                    CVP_MULTIPLY_ADD(sum[j * taps + k], v[(i - k) / step], u);
            }
        }
    }
}

/* A row, `turn` pixels at a time; step 0: as many vectors apart as the row says, one at a time. */
CVP_INLINE void NAME(filter_row)(const struct cvp_grouped_filter *f, const SCALAR *x, SCALAR *sums,
                                 const int taps, const int channels, const int step, const int turn)
{
    const SCALAR *y = f->y;
    VEC sum[SUMS];
    CVP_UNROLL for (int i = 0; i < taps * channels; i++) sum[i] =
        *(VEC *)(sums + i / taps * f->sum_step + i % taps * f->sum_tap);
    int64_t p = f->pixels;
    for (; p >= turn; p -= turn, x += turn * f->x_step, y += turn * f->y_step)
        NAME(filter_pixels)(f, x, y, sum, taps, channels, step, turn);
    for (; turn > 1 && p > 0; p--, x += f->x_step, y += f->y_step)
        NAME(filter_pixels)(f, x, y, sum, taps, channels, step, 1);
    CVP_UNROLL for (int i = 0; i < taps * channels; i++) *
        (VEC *)(sums + i / taps * f->sum_step + i % taps * f->sum_tap) = sum[i];
}

#define FILTER(taps, channels, step, turn)                                                         \
    static __attribute__((noinline)) void NAME(filter_##taps##_##channels##_##step)(               \
        const struct cvp_grouped_filter *f, const SCALAR *x, SCALAR *sums)                         \
    {                                                                                              \
        NAME(filter_row)(f, x, sums, taps, channels, step, turn);                                  \
    }
#define FILTERS(step)                                                                              \
    FILTER(3, 4, step, TURN)                                                                       \
    FILTER(3, 2, step, 4)                                                                          \
    FILTER(3, 1, step, 4)
FILTERS(1)
FILTERS(2)
#if CHANNELS == 8
FILTER(3, 8, 1, TURN)
FILTER(3, 8, 2, TURN)
#endif
FILTER(1, 8, 1, 1)
FILTER(1, 4, 1, 1)
FILTER(1, 2, 1, 1)
FILTER(1, 1, 1, 1)
#undef FILTERS
#undef FILTER

/* n channels at a time, as long as there are so many. */
#define STEP(n, taps, step)                                                                        \
    for (; left >= n; left -= n, x += n * f->plane, sums += n * f->sum_step)                       \
    NAME(filter_##taps##_##n##_##step)(f, x, sums)

static void NAME(filter)(const struct cvp_grouped_filter *f)
{
    const int step = f->taps == 3 && f->x_tap == LANES ? (int)(f->x_step / LANES) : 0;
    const int is_window = step == 1 || step == 2;
    for (int64_t k = 0; k < f->taps; k += is_window ? 3 : 1) {
        const SCALAR *x = (const SCALAR *)f->x + k * f->x_tap;
        SCALAR *sums = (SCALAR *)f->sums + k * f->sum_tap;
        int64_t left = f->channels;
        if (!is_window) {
            STEP(8, 1, 1);
            STEP(4, 1, 1);
            STEP(2, 1, 1);
            STEP(1, 1, 1);
        } else if (step == 1) {
#if CHANNELS == 8
            STEP(8, 3, 1);
#endif
            STEP(4, 3, 1);
            STEP(2, 3, 1);
            STEP(1, 3, 1);
        } else {
#if CHANNELS == 8
            STEP(8, 3, 2);
#endif
            STEP(4, 3, 2);
            STEP(2, 3, 2);
            STEP(1, 3, 2);
        }
    }
}
#undef STEP

extern const struct cvp_grouped_kernels PASTE(NAME(cvp_grouped), CVP_ISA_SUFFIX);
const struct cvp_grouped_kernels PASTE(NAME(cvp_grouped), CVP_ISA_SUFFIX) = {
    .lanes = LANES,
    .pixels = PIXELS,
#if defined PICK
    .permuted = 2 * LANES,
#elif defined PERMUTE
    .permuted = LANES,
#endif
    .spread = NAME(spread),
    .turn_in = NAME(turn_in),
    .turn_out = NAME(turn_out),
    .sum = NAME(sum_row),
    .filter = NAME(filter),
    .add = NAME(add),
};

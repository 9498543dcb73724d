/* The kernels of the row `winograd` of one instruction set: the same source, compiled once for each
 * with its flags and CVP_ISA_SUFFIX, its name in the tables. */
#include "src/operator/convolution/cpu/winograd.h"
#include "src/operator/convolution/cpu/kernels/lanes.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)

#define SCALAR    float
#define STORED    float
#define INTEGER   int32_t
#define LANES     CVP_F32_LANES
#define WIDEN(v)  ((VEC)(v))
#define NARROW(v) ((LOOSE)(v))
#define GET(x)    (x)
#define SET(x)    (x)
#define NAME(x)   PASTE(x, f32)
#if defined __AVX512F__
#define MASK_LOAD(p, m)     _mm512_maskz_loadu_ps((__mmask16)(m), p)
#define MASK_STORE(p, m, v) _mm512_mask_storeu_ps(p, (__mmask16)(m), (__m512)(v))
#define MASK_KEEP(m, v)     _mm512_maskz_mov_ps((__mmask16)(m), (__m512)(v))
#elif defined __AVX2__
#define MASK_LOAD(p, m)     _mm256_maskload_ps(p, (__m256i)(m))
#define MASK_STORE(p, m, v) cvp_store_first_ps(p, CVP_FIRST_PS(m), (__m256)(v))
#endif
#include "src/operator/convolution/cpu/kernels/vector.h"

#include "src/operator/convolution/cpu/kernels/transpose.h"

/* Before a loop that stays one: unrolled, the loads of all its turns would come first, and on the
 * stack. */
#if defined __clang__
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ROLLED _Pragma("GCC unroll 1")
#endif

#define IN  WINOGRAD_IN
#define OUT WINOGRAD_OUT

/* ---- the three transforms of one row or column ------------------------------------------------
 */

CVP_INLINE void transform_in(VEC to[IN], const VEC d[IN])
{
    const VEC a = d[4] - 4 * d[2], b = d[3] - 4 * d[1];
    const VEC c = d[4] - d[2], e = 2 * (d[3] - d[1]);
    to[0] = 4 * (d[0] - d[2]) + c;
    to[1] = a + b;
    to[2] = a - b;
    to[3] = c + e;
    to[4] = c - e;
    to[5] = (d[5] - d[3]) - 2 * e;
}

CVP_INLINE void transform_out(VEC to[OUT], const VEC m[IN])
{
    const VEC a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];
    to[0] = m[0] + a + c;
    to[1] = b + 2 * d;
    to[2] = a + 4 * c;
    to[3] = b + 8 * d + m[5];
}

/* Each product is used once, so that every compiler fuses it with the sum. */
CVP_INLINE void transform_filter(VEC to[IN], const VEC g[3])
{
    const VEC a = (g[0] + g[2]) * (-1.0F / 6), c = g[2] * (1.0F / 6) + g[0] * (1.0F / 24);
    VEC b = g[1];
    to[0] = g[0] * 0.25F;
    to[1] = a - b * (1.0F / 6);
    to[3] = c + b * (1.0F / 12);
    CVP_IN_REGISTER(b);
    to[2] = a + b * (1.0F / 6);
    to[4] = c - b * (1.0F / 12);
    to[5] = g[2];
}

static void filters(float *to, int64_t point, const float *taps, int64_t tap, int n)
{
    for (int l = 0; l < n; l += LANES) {
        VEC rows[IN][3];
        CVP_UNROLL for (int j = 0; j < 3; j++)
        {
            VEC g[3], r[IN];
            CVP_UNROLL for (int i = 0; i < 3; i++) g[i] = NAME(load)(taps + (3 * i + j) * tap + l);
            transform_filter(r, g);
            CVP_UNROLL for (int i = 0; i < IN; i++) rows[i][j] = r[i];
        }
        CVP_UNROLL for (int i = 0; i < IN; i++)
        {
            VEC r[IN];
            transform_filter(r, rows[i]);
            CVP_UNROLL for (int j = 0; j < IN; j++)
                NAME(store)(to + (IN * i + j) * point + l, r[j]);
        }
    }
}

/* ---- pixels to vectors of channels, and back ---------------------------------------------------
 */

CVP_INLINE void put(float *to, VEC v, int add)
{
    if (add) v += NAME(load)(to);
    NAME(store)(to, v);
}

CVP_INLINE void put_some(float *to, MASK m, VEC v, int add)
{
    if (add) v += NAME(load_some)(to, m);
    NAME(store_some)(to, m, v);
}

CVP_INLINE void turn_block_in(float *to, const float *from, int64_t plane, int channels,
                              int64_t pixels, const int whole)
{
    VEC r[LANES];
    const MASK m = NAME(lanes)(0, pixels);
    CVP_UNROLL for (int c = 0; c < LANES; c++)
    {
        r[c] = (VEC){0};
        if (whole)
            r[c] = NAME(load)(from + c * plane);
        else if (c < channels)
            r[c] = NAME(load_some)(from + c * plane, m);
    }
    NAME(transpose)(r);
    CVP_UNROLL for (int x = 0; x < LANES; x++)
    {
        if (whole || x < pixels) *(VEC *)(to + x * LANES) = r[x];
    }
}

static void turn_in(float *to, const float *from, int64_t plane, int channels, int64_t pixels)
{
    int64_t x = 0;
    if (channels == LANES)
        for (; x + LANES <= pixels; x += LANES)
            turn_block_in(to + x * LANES, from + x, plane, LANES, LANES, 1);
    for (; x < pixels; x += LANES)
        turn_block_in(to + x * LANES, from + x, plane, channels, pixels - x, 0);
}

CVP_INLINE void turn_block_out(float *to, int64_t plane, int channels, int64_t pixels,
                               const float *from, int add, const int whole)
{
    VEC r[LANES];
    const MASK m = NAME(lanes)(0, pixels);
    CVP_UNROLL for (int x = 0; x < LANES; x++)
    {
        r[x] = (VEC){0};
        if (whole || x < pixels) r[x] = *(const VEC *)(from + x * LANES);
    }
    NAME(transpose)(r);
    CVP_UNROLL for (int c = 0; c < LANES; c++)
    {
        float *at = to + c * plane;
        if (whole)
            put(at, r[c], add);
        else if (c < channels)
            put_some(at, m, r[c], add);
    }
}

static void turn_out(float *to, int64_t plane, int channels, int64_t pixels, const float *from,
                     int add)
{
    int64_t x = 0;
    if (channels == LANES)
        for (; x + LANES <= pixels; x += LANES)
            turn_block_out(to + x, plane, LANES, LANES, from + x * LANES, add, 1);
    for (; x < pixels; x += LANES)
        turn_block_out(to + x, plane, channels, pixels - x, from + x * LANES, add, 0);
}

/* ---- tiles --------------------------------------------------------------------------------------
 * Over columns first on the way in and last on the way out: columns are shared by tiles side by
 * side, so that theirs is done once. */

CVP_INLINE void columns_of(float *to, int64_t row, const float *const from[IN],
                           const int64_t pixel[IN], int64_t pixels, MASK m, const int whole)
{
    for (int64_t x = 0; x < pixels; x++) {
        VEC d[IN], r[IN];
        CVP_UNROLL for (int i = 0; i < IN; i++)
        {
            const float *at = from[i] + x * pixel[i];
            if (whole)
                d[i] = NAME(load)(at);
            else
                d[i] = NAME(load_some)(at, m);
        }
        transform_in(r, d);
        CVP_UNROLL for (int i = 0; i < IN; i++) * (VEC *)(to + i * row + x * LANES) = r[i];
    }
}

static void columns_in(float *to, int64_t row, const float *const from[IN], const int64_t pixel[IN],
                       int64_t pixels, int channels)
{
    const MASK m = NAME(lanes)(0, channels);
    if (channels == LANES)
        columns_of(to, row, from, pixel, pixels, m, 1);
    else
        columns_of(to, row, from, pixel, pixels, m, 0);
}

static void rows_in(float *to, int64_t point, int64_t tile, const float *from, int64_t row,
                    int64_t tiles)
{
    for (int64_t t = 0; t < tiles; t++) {
        const float *d = from + t * OUT * LANES;
        float *v = to + t * tile;
        ROLLED for (int i = 0; i < IN; i++, d += row, v += IN * point)
        {
            VEC in[IN], r[IN];
            CVP_UNROLL for (int j = 0; j < IN; j++) in[j] = *(const VEC *)(d + j * LANES);
            transform_in(r, in);
            CVP_UNROLL for (int j = 0; j < IN; j++) NAME(store)(v + j * point, r[j]);
        }
    }
}

static void rows_out(float *to, int64_t row, const float *from, int64_t point, int64_t tile,
                     int64_t tiles)
{
    for (int64_t t = 0; t < tiles; t++) {
        const float *m = from + t * tile;
        float *s = to + t * OUT * LANES;
        ROLLED for (int i = 0; i < IN; i++, m += IN * point, s += row)
        {
            VEC in[IN], r[OUT];
            CVP_UNROLL for (int j = 0; j < IN; j++) in[j] = NAME(load)(m + j * point);
            transform_out(r, in);
            CVP_UNROLL for (int j = 0; j < OUT; j++) * (VEC *)(s + j * LANES) = r[j];
        }
    }
}

CVP_INLINE void columns_back(float *const to[OUT], int rows, int64_t pixel, const float *from,
                             int64_t row, int64_t pixels, VEC bias, MASK m, int add,
                             const int whole)
{
    for (int64_t x = 0; x < pixels; x++) {
        VEC in[IN], r[OUT];
        CVP_UNROLL for (int i = 0; i < IN; i++) in[i] = *(const VEC *)(from + i * row + x * LANES);
        transform_out(r, in);
        CVP_UNROLL for (int i = 0; i < OUT; i++)
        {
            if (i < rows && whole)
                put(to[i] + x * pixel, r[i] + bias, add);
            else if (i < rows)
                put_some(to[i] + x * pixel, m, r[i] + bias, add);
        }
    }
}

static void columns_out(float *const to[OUT], int rows, int64_t pixel, const float *from,
                        int64_t row, int64_t pixels, const float *bias, int channels, int add)
{
    const MASK m = NAME(lanes)(0, channels);
    VEC b = {0};
    if (bias) b = NAME(load_some)(bias, m);
    if (channels < LANES)
        columns_back(to, rows, pixel, from, row, pixels, b, m, add, 0);
    else if (rows == OUT && !add)
        columns_back(to, OUT, pixel, from, row, pixels, b, m, 0, 1);
    else
        columns_back(to, rows, pixel, from, row, pixels, b, m, add, 1);
}

extern const struct cvp_winograd_kernels PASTE(cvp_winograd, CVP_ISA_SUFFIX);
const struct cvp_winograd_kernels PASTE(cvp_winograd, CVP_ISA_SUFFIX) = {
    .lanes = LANES,
    .filters = filters,
    .turn_in = turn_in,
    .turn_out = turn_out,
    .columns_in = columns_in,
    .rows_in = rows_in,
    .rows_out = rows_out,
    .columns_out = columns_out,
};

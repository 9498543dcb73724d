/* The kernels of split_kernels.h, for the instruction set that has tiles.
 * Source: Intel, Architecture Instruction Set Extensions Programming Reference, chapter 3. */
#include "src/operator/convolution/cpu/split_kernels.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* What LDTILECFG reads; all tiles are whole. Constant, as compilers do not know that it is read. */
static const struct {
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} shapes = {.palette = 1,
            .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
            .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
_Static_assert(sizeof(shapes) == 64 && SPLIT_LINE == 64 && SPLIT_SIDE == 16, "whole tiles");

static void begin(void)
{
    _tile_loadconfig(&shapes);
}

static void end(void)
{
    _tile_release();
}

/* Registers 0 to 3 are sums, row by row; 4 and 5 tiles of a, 6 and 7 of b. */
#define LOAD_A(which)                                                                              \
    do {                                                                                           \
        _tile_loadd(4, a + (which)*p->a.term, a_row);                                              \
        if (ROWS > 1) _tile_loadd(5, a + (which)*p->a.term + p->a.tile, a_row);                    \
    } while (0)
#define LOAD_B(which)                                                                              \
    do {                                                                                           \
        _tile_loadd(6, b + (which)*p->b.term, b_row);                                              \
        if (COLUMNS > 1) _tile_loadd(7, b + (which)*p->b.term + p->b.tile, b_row);                 \
    } while (0)
#define MULTIPLY()                                                                                 \
    do {                                                                                           \
        _tile_dpbf16ps(0, 4, 6);                                                                   \
        if (COLUMNS > 1) _tile_dpbf16ps(1, 4, 7);                                                  \
        if (ROWS > 1) _tile_dpbf16ps(2, 5, 6);                                                     \
        if (ROWS > 1 && COLUMNS > 1) _tile_dpbf16ps(3, 5, 7);                                      \
    } while (0)
#define EACH_STEP(statements)                                                                      \
    for (int64_t i = 0; i < p->num_runs; i++) {                                                    \
        const char *a = p->runs[i].a + p->a_at, *b = p->runs[i].b + p->b_at;                       \
        for (int64_t n = p->runs[i].steps; n > 0; n--, a += p->a.step, b += p->b.step) {           \
            statements                                                                             \
        }                                                                                          \
    }

/* The five small products of all steps, from the smallest on, then the large one. */
#define DEFINE(name)                                                                               \
    static void name(const struct split_product *p)                                                \
    {                                                                                              \
        const int64_t a_row = p->a.row, b_row = p->b.row,                                          \
                      c_row = p->c_row * (int64_t)sizeof(float);                                   \
        _tile_zero(0);                                                                             \
        _tile_zero(1);                                                                             \
        _tile_zero(2);                                                                             \
        _tile_zero(3);                                                                             \
        EACH_STEP({                                                                                \
            LOAD_A(0);                                                                             \
            LOAD_B(2);                                                                             \
            MULTIPLY();                                                                            \
            LOAD_B(1);                                                                             \
            MULTIPLY();                                                                            \
            LOAD_A(1);                                                                             \
            MULTIPLY();                                                                            \
            LOAD_B(0);                                                                             \
            MULTIPLY();                                                                            \
            LOAD_A(2);                                                                             \
            MULTIPLY();                                                                            \
        })                                                                                         \
        EACH_STEP({                                                                                \
            LOAD_A(0);                                                                             \
            LOAD_B(0);                                                                             \
            MULTIPLY();                                                                            \
        })                                                                                         \
        _tile_stored(0, p->c, c_row);                                                              \
        if (COLUMNS > 1) _tile_stored(1, p->c + SPLIT_SIDE, c_row);                                \
        if (ROWS > 1) _tile_stored(2, p->c + SPLIT_SIDE * p->c_row, c_row);                        \
        if (ROWS > 1 && COLUMNS > 1)                                                               \
            _tile_stored(3, p->c + SPLIT_SIDE * p->c_row + SPLIT_SIDE, c_row);                     \
    }

#define ROWS    1
#define COLUMNS 1
DEFINE(multiply_1_1)
#undef COLUMNS
#define COLUMNS 2
DEFINE(multiply_1_2)
#undef ROWS
#define ROWS 2
DEFINE(multiply_2_2)
#undef COLUMNS
#define COLUMNS 1
DEFINE(multiply_2_1)

static void multiply(const struct split_product *p)
{
    static void (*const tiles[2][2])(const struct split_product *) = {{multiply_1_1, multiply_1_2},
                                                                      {multiply_2_1, multiply_2_2}};
    tiles[p->rows - 1][p->columns - 1](p);
}

/* The nearest bfloat16 of x in the lower half of the result, those of y in the upper one. */
INLINE __m512i nearest(__m512 x, __m512 y)
{
    return (__m512i)_mm512_cvtne2ps_pbh(y, x);
}

/* The first n lanes. */
INLINE __mmask16 first(int64_t n)
{
    return n >= 16 ? (__mmask16)0xffff : n > 0 ? (__mmask16)((1u << n) - 1) : 0;
}

/* Where elements lie that are `along` apart. */
INLINE __m512i places(int64_t along)
{
    const __m512i ramp = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_mullo_epi32(ramp, _mm512_set1_epi32((int)along));
}

/* n elements, 16 at most, `along` apart, and zeros. */
INLINE __m512 load(const float *from, int64_t along, int64_t n)
{
    if (along == 1) return _mm512_maskz_loadu_ps(first(n), from);
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), first(n), places(along), from,
                                    sizeof(float));
}

/* Behind an always-inline one, so that evenly lying elements have a loop of their own. */
INLINE void rows_of(char *to, int64_t step, int64_t term_step, const float *from, int64_t along,
                    int64_t n)
{
    const __m512i low = _mm512_set_epi16(15, 0, 14, 0, 13, 0, 12, 0, 11, 0, 10, 0, 9, 0, 8, 0, 7, 0,
                                         6, 0, 5, 0, 4, 0, 3, 0, 2, 0, 1, 0, 0, 0);
    const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi32(16 << 16));
    const __mmask32 upper = 0xaaaaaaaa; /* the half of a float32 that is its bfloat16 */
    for (int64_t i = 0; i < n; i += SPLIT_DEPTH, to += step) {
        __m512 x = load(from + i * along, along, n - i);
        __m512 y = load(from + (i + 16) * along, along, n - i - 16);
        for (int t = 0; t < SPLIT_TERMS; t++) {
            const __m512i term = nearest(x, y);
            _mm512_storeu_si512(to + t * term_step, term);
            x = _mm512_sub_ps(x, (__m512)_mm512_maskz_permutexvar_epi16(upper, low, term));
            y = _mm512_sub_ps(y, (__m512)_mm512_maskz_permutexvar_epi16(upper, high, term));
        }
    }
}

static void rows(char *to, int64_t step, int64_t term_step, const float *from, int64_t along,
                 int64_t n)
{
    if (from && along == 1)
        rows_of(to, step, term_step, from, 1, n);
    else if (from)
        rows_of(to, step, term_step, from, along, n);
    else
        for (int64_t i = 0; i < n; i += SPLIT_DEPTH, to += step)
            for (int t = 0; t < SPLIT_TERMS; t++) memset(to + t * term_step, 0, SPLIT_LINE);
}

INLINE void pairs_of(char *to, int64_t term_step, const float *even, const float *odd,
                     int64_t along, int64_t n)
{
    const __m512i zip = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i upper = _mm512_set1_epi32((int)0xffff0000);
    for (int64_t i = 0; i < n; i += SPLIT_SIDE, to += SPLIT_LINE) {
        __m512 x = even ? load(even + i * along, along, n - i) : _mm512_setzero_ps();
        __m512 y = odd ? load(odd + i * along, along, n - i) : _mm512_setzero_ps();
        for (int t = 0; t < SPLIT_TERMS; t++) {
            const __m512i term = _mm512_permutexvar_epi16(zip, nearest(x, y));
            _mm512_mask_storeu_epi32(to + t * term_step, first(n - i), term);
            x = _mm512_sub_ps(x, (__m512)_mm512_slli_epi32(term, 16));
            y = _mm512_sub_ps(y, (__m512)_mm512_and_si512(term, upper));
        }
    }
}

static void pairs(char *to, int64_t term_step, const float *even, const float *odd, int64_t along,
                  int64_t n)
{
    if (along == 1 && even && odd)
        pairs_of(to, term_step, even, odd, 1, n);
    else
        pairs_of(to, term_step, even, odd, along, n);
}

/* Each step rotates the bits of (row, column) by one; four of them transpose. */
static void turn(char *to, int64_t to_row, const char *from, int64_t from_row)
{
    const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    __m512i r[SPLIT_SIDE], t[SPLIT_SIDE];
    for (int i = 0; i < SPLIT_SIDE; i++) r[i] = _mm512_loadu_si512(from + i * from_row);
#pragma GCC unroll 4
    for (int step = 0; step < 4; step++) {
#pragma GCC unroll 8
        for (int i = 0; i < SPLIT_SIDE / 2; i++) {
            t[2 * i] = _mm512_permutex2var_epi32(r[i], low, r[i + SPLIT_SIDE / 2]);
            t[2 * i + 1] = _mm512_permutex2var_epi32(r[i], high, r[i + SPLIT_SIDE / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < SPLIT_SIDE; i++) r[i] = t[i];
    }
    for (int i = 0; i < SPLIT_SIDE; i++) _mm512_storeu_si512(to + i * to_row, r[i]);
}

/* Up to 16 columns of a row, `column` elements apart. */
INLINE void put_line(const struct split_put *p, int64_t i, int64_t j, int64_t column)
{
    const int64_t n = p->columns - j, at = i * p->row + j * column;
    const __mmask16 there = first(n);
    __m512 x = _mm512_maskz_loadu_ps(there, p->sums + i * SPLIT_PANEL + j);
    if (p->row_bias) x = _mm512_add_ps(x, _mm512_set1_ps(p->row_bias[i]));
    if (p->column_bias) x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(there, p->column_bias + j));
    if (p->add) x = _mm512_add_ps(x, load(p->out + at, column, n));
    if (p->residual) x = _mm512_add_ps(x, load(p->residual + at, column, n));
    if (p->clamps) {
        const __m512 zero = _mm512_setzero_ps(), high = _mm512_set1_ps(p->high);
        x = _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, zero, _CMP_LT_OQ), zero);
        x = _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, high, _CMP_GT_OQ), high);
    }
    if (column == 1)
        _mm512_mask_storeu_ps(p->out + at, there, x);
    else
        _mm512_mask_i32scatter_ps(p->out + at, there, places(column), x, sizeof(float));
}

INLINE void put_lines(const struct split_put *p, int64_t column)
{
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = 0; j < p->columns; j += SPLIT_SIDE) put_line(p, i, j, column);
}

static void put(const struct split_put *p)
{
    if (p->column == 1)
        put_lines(p, 1);
    else
        put_lines(p, p->column);
}

extern const struct cvp_split_kernels cvp_split_amx;
const struct cvp_split_kernels cvp_split_amx = {begin, end, multiply, rows, pairs, turn, put};

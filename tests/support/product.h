/* Random matrix products for the tests of GEMM: any sizes and strides, every instruction set that
 * the CPU has, both types. Operands and workspace lie against guard pages; what is not an element
 * of them is NaN. Include cmocka.h first. */
#ifndef CVP_TESTS_PRODUCT_H
#define CVP_TESTS_PRODUCT_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/operator/gemm/gemm_kernels.h"
#include "tests/support/guard.h"
#include "tests/support/rng.h"

/* A matrix product whose operands each lie against a guard page, before or after. */
struct product {
    enum cvp_float type;
    enum cvp_isa isa;
    const struct cvp_gemm_kernels *kernels;
    struct cvp_gemm g;
    struct guard a, b, c, workspace;
    int64_t c_count;
};

static inline double get(enum cvp_float type, const void *x, int64_t i)
{
    return type == CVP_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static inline void put(enum cvp_float type, void *x, int64_t i, double value)
{
    if (type == CVP_F32)
        ((float *)x)[i] = (float)value;
    else
        ((double *)x)[i] = value;
}

enum { ROWS, COLUMNS, ROWS_GAP, COLUMNS_GAP, SCATTERED, STRIDE_KINDS };

/* Strides of a rows x cols matrix; returns how many elements it spans. */
static inline int64_t choose_strides(struct rng *r, int kind, int64_t rows, int64_t cols,
                                     int64_t *row, int64_t *col)
{
    const int64_t gap = kind == ROWS || kind == COLUMNS ? 0 : rng_int(r, 1, 5);
    if (kind == COLUMNS || kind == COLUMNS_GAP) {
        *row = 1;
        *col = rows + gap;
    } else if (kind == SCATTERED) {
        *col = rng_int(r, 2, 3);
        *row = cols * *col + gap;
    } else {
        *col = 1;
        *row = cols + gap;
    }
    return rows > 0 && cols > 0 ? (rows - 1) * *row + (cols - 1) * *col + 1 : 0;
}

static inline void set_up(struct product *t, struct rng *r, enum cvp_float type, enum cvp_isa isa,
                          int64_t m, int64_t n, int64_t k)
{
    memset(t, 0, sizeof *t);
    t->type = type;
    t->isa = isa;
    t->kernels = cvp_gemm_kernels(type, isa);
    const size_t size = type == CVP_F32 ? sizeof(float) : sizeof(double);
    struct cvp_gemm *g = &t->g;
    g->m = m;
    g->n = n;
    g->k = k;
    const int64_t a_count =
        choose_strides(r, (int)rng_int(r, 0, STRIDE_KINDS - 1), m, k, &g->a_row, &g->a_col);
    const int64_t b_count =
        choose_strides(r, (int)rng_int(r, 0, STRIDE_KINDS - 1), k, n, &g->b_row, &g->b_col);
    int64_t unit;
    t->c_count = choose_strides(r, rng_chance(r, 50) ? ROWS : ROWS_GAP, m, n, &g->c_row, &unit);
    g->accumulate = rng_chance(r, 50);
    g->halvings = rng_chance(r, 50) ? 0 : (int)rng_int(r, 1, CVP_GEMM_MAX_HALVINGS);
    t->a = guard_create((size_t)a_count * size, rng_chance(r, 50));
    t->b = guard_create((size_t)b_count * size, rng_chance(r, 50));
    t->c = guard_create((size_t)t->c_count * size, rng_chance(r, 50));
    t->workspace =
        guard_create(cvp_gemm_workspace(t->kernels, m, n, k, g->halvings), rng_chance(r, 50));
    g->a = t->a.data;
    g->b = t->b.data;
    g->c = t->c.data;
    for (int64_t i = 0; i < a_count; i++) put(type, t->a.data, i, NAN);
    for (int64_t i = 0; i < b_count; i++) put(type, t->b.data, i, NAN);
    for (int64_t i = 0; i < t->c_count; i++) put(type, t->c.data, i, NAN);
    memset(t->workspace.data, 0xff, t->workspace.bytes);
}

static inline void tear_down(struct product *t)
{
    guard_destroy(&t->a);
    guard_destroy(&t->b);
    guard_destroy(&t->c);
    guard_destroy(&t->workspace);
}

static inline double *a_values(struct product *t, struct rng *r, double (*draw)(struct rng *))
{
    double *x = malloc((size_t)(t->g.m * t->g.k + 1) * sizeof *x);
    for (int64_t i = 0; i < t->g.m; i++)
        for (int64_t p = 0; p < t->g.k; p++) {
            const int64_t at = i * t->g.a_row + p * t->g.a_col;
            put(t->type, t->a.data, at, draw(r));
            x[i * t->g.k + p] = get(t->type, t->a.data, at);
        }
    return x;
}

static inline double *b_values(struct product *t, struct rng *r, double (*draw)(struct rng *))
{
    double *x = malloc((size_t)(t->g.k * t->g.n + 1) * sizeof *x);
    for (int64_t p = 0; p < t->g.k; p++)
        for (int64_t j = 0; j < t->g.n; j++) {
            const int64_t at = p * t->g.b_row + j * t->g.b_col;
            put(t->type, t->b.data, at, draw(r));
            x[p * t->g.n + j] = get(t->type, t->b.data, at);
        }
    return x;
}

/* c before the product; NaN stays where it must not be read. */
static inline double *c_values(struct product *t, struct rng *r, double (*draw)(struct rng *))
{
    double *x = malloc((size_t)(t->g.m * t->g.n) * sizeof *x);
    for (int64_t i = 0; i < t->g.m; i++)
        for (int64_t j = 0; j < t->g.n; j++) {
            if (t->g.accumulate) put(t->type, t->c.data, i * t->g.c_row + j, draw(r));
            x[i * t->g.n + j] = get(t->type, t->c.data, i * t->g.c_row + j);
        }
    return x;
}

static inline void run(struct product *t)
{
    cvp_gemm(t->kernels, &t->g, t->workspace.data);
}

static inline void assert_gaps_untouched(const struct product *t)
{
    for (int64_t i = 0; i < t->g.m; i++)
        for (int64_t j = t->g.n; j < t->g.c_row && i * t->g.c_row + j < t->c_count; j++)
            assert_true(isnan(get(t->type, t->c.data, i * t->g.c_row + j)));
}

#define assert_at(t, condition, i, j)                                                              \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("%s f%d m %d n %d k %d a %d %d b %d %d c %d add %d: element %d %d",           \
                     (t)->kernels->isa, (t)->type == CVP_F32 ? 32 : 64, (int)(t)->g.m,             \
                     (int)(t)->g.n, (int)(t)->g.k, (int)(t)->g.a_row, (int)(t)->g.a_col,           \
                     (int)(t)->g.b_row, (int)(t)->g.b_col, (int)(t)->g.c_row, (t)->g.accumulate,   \
                     (int)(i), (int)(j));                                                          \
    } while (0)

static inline double draw_real(struct rng *r)
{
    return rng_real(r, -1, 1);
}
static inline double draw_small_int(struct rng *r)
{
    return (double)rng_int(r, -4, 4);
}

/* Sizes at, around and between the tile's. */
static inline int64_t draw_size(struct rng *r, int64_t unit)
{
    static const int64_t others[] = {1, 1, 2, 3, 5, 7, 11, 17, 23, 37, 61};
    if (rng_chance(r, 40)) return others[rng_int(r, 0, 10)];
    const int64_t size = rng_int(r, 1, 3) * unit + rng_int(r, -1, 1);
    return size < 1 ? 1 : size;
}

static inline int64_t draw_depth(struct rng *r)
{
    static const int64_t depths[] = {0,  1,  2,  3,   4,   5,   15,  16,  17,  31,
                                     33, 64, 97, 255, 256, 257, 258, 511, 512, 519};
    return depths[rng_int(r, 0, 19)];
}

typedef void body(struct rng *r, enum cvp_float type, enum cvp_isa isa);

static inline void for_each(uint64_t seed, body *one, int times)
{
    struct rng r = {test_seed(seed)};
    for (int isa = 0; isa <= (int)cvp_isa_vectors(cvp_isa_best()); isa++)
        for (int type = 0; type < CVP_FLOAT_COUNT; type++)
            for (int64_t i = 0; i < test_scaled(times); i++)
                one(&r, (enum cvp_float)type, (enum cvp_isa)isa);
}

#endif

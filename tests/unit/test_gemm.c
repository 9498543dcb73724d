/* convop's GEMM, for every instruction set that the CPU has and both types: against a scalar loop
 * that follows its rule of summation bit for bit, against exact integers and against long double;
 * operands and workspace lie between guard pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "src/operator/gemm/gemm_kernels.h"
#include "tests/support/guard.h"
#include "tests/support/rng.h"

/* Whether the compiler may contract there: FMA is part of the instruction set. */
static int is_fused(enum cvp_isa isa)
{
#if defined __aarch64__ || defined __FMA__
    (void)isa;
    return 1;
#else
    return isa != CVP_ISA_BASELINE;
#endif
}

/* A matrix product whose operands each lie against a guard page, before or after. */
struct product {
    enum cvp_float type;
    enum cvp_isa isa;
    const struct cvp_gemm_kernels *kernels;
    struct cvp_gemm g;
    struct guard a, b, c, workspace;
    int64_t c_count;
};

static double get(enum cvp_float type, const void *x, int64_t i)
{
    return type == CVP_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static void put(enum cvp_float type, void *x, int64_t i, double value)
{
    if (type == CVP_F32)
        ((float *)x)[i] = (float)value;
    else
        ((double *)x)[i] = value;
}

enum { ROWS, COLUMNS, ROWS_GAP, COLUMNS_GAP, SCATTERED, STRIDE_KINDS };

/* Strides of a rows x cols matrix; returns how many elements it spans. */
static int64_t choose_strides(struct rng *r, int kind, int64_t rows, int64_t cols, int64_t *row,
                              int64_t *col)
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

static void set_up(struct product *t, struct rng *r, enum cvp_float type, enum cvp_isa isa,
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
    t->a = guard_create((size_t)a_count * size, rng_chance(r, 50));
    t->b = guard_create((size_t)b_count * size, rng_chance(r, 50));
    t->c = guard_create((size_t)t->c_count * size, rng_chance(r, 50));
    t->workspace = guard_create(cvp_gemm_workspace(t->kernels, m, n, k), rng_chance(r, 50));
    g->a = t->a.data;
    g->b = t->b.data;
    g->c = t->c.data;
    for (int64_t i = 0; i < a_count; i++) put(type, t->a.data, i, NAN);
    for (int64_t i = 0; i < b_count; i++) put(type, t->b.data, i, NAN);
    for (int64_t i = 0; i < t->c_count; i++) put(type, t->c.data, i, NAN);
    memset(t->workspace.data, 0xff, t->workspace.bytes);
}

static void tear_down(struct product *t)
{
    guard_destroy(&t->a);
    guard_destroy(&t->b);
    guard_destroy(&t->c);
    guard_destroy(&t->workspace);
}

static double *a_values(struct product *t, struct rng *r, double (*draw)(struct rng *))
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

static double *b_values(struct product *t, struct rng *r, double (*draw)(struct rng *))
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
static double *c_values(struct product *t, struct rng *r, double (*draw)(struct rng *))
{
    double *x = malloc((size_t)(t->g.m * t->g.n) * sizeof *x);
    for (int64_t i = 0; i < t->g.m; i++)
        for (int64_t j = 0; j < t->g.n; j++) {
            if (t->g.accumulate) put(t->type, t->c.data, i * t->g.c_row + j, draw(r));
            x[i * t->g.n + j] = get(t->type, t->c.data, i * t->g.c_row + j);
        }
    return x;
}

static void run(struct product *t)
{
    cvp_gemm(t->kernels, &t->g, t->workspace.data);
}

static void assert_gaps_untouched(const struct product *t)
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

static double draw_real(struct rng *r)
{
    return rng_real(r, -1, 1);
}
static double draw_small_int(struct rng *r)
{
    return (double)rng_int(r, -4, 4);
}

/* Sizes at, around and between the tile's. */
static int64_t draw_size(struct rng *r, int64_t unit)
{
    static const int64_t others[] = {1, 1, 2, 3, 5, 7, 11, 17, 23, 37, 61};
    if (rng_chance(r, 40)) return others[rng_int(r, 0, 10)];
    const int64_t size = rng_int(r, 1, 3) * unit + rng_int(r, -1, 1);
    return size < 1 ? 1 : size;
}

static int64_t draw_depth(struct rng *r)
{
    static const int64_t depths[] = {0,  1,  2,  3,   4,   5,   15,  16,  17,  31,
                                     33, 64, 97, 255, 256, 257, 258, 511, 512, 519};
    return depths[rng_int(r, 0, 19)];
}

typedef void body(struct rng *r, enum cvp_float type, enum cvp_isa isa);

static void for_each(uint64_t seed, body *one, int times)
{
    struct rng r = {test_seed(seed)};
    for (int isa = 0; isa <= (int)cvp_cpu()->isa; isa++)
        for (int type = 0; type < CVP_FLOAT_COUNT; type++)
            for (int64_t i = 0; i < test_scaled(times); i++)
                one(&r, (enum cvp_float)type, (enum cvp_isa)isa);
}

/* The rule of gemm.h for one element, in the type's own arithmetic. volatile: rounded apart. */
static double chain(const struct product *t, const double *a, const double *b, double c, int64_t i,
                    int64_t j)
{
    const int fused = is_fused(t->isa);
    const int64_t n = t->g.n, k = t->g.k;
    int started = t->g.accumulate;
    for (int64_t p0 = 0; p0 < k; p0 += CVP_GEMM_KC) {
        const int64_t end = p0 + CVP_GEMM_KC < k ? p0 + CVP_GEMM_KC : k;
        if (t->type == CVP_F32) {
            float sum = 0;
            for (int64_t p = p0; p < end; p++) {
                const float x = (float)a[i * k + p], y = (float)b[p * n + j];
                volatile float product = x * y;
                sum = fused ? fmaf(x, y, sum) : sum + product;
            }
            c = started ? (double)((float)c + sum) : (double)sum;
        } else {
            double sum = 0;
            for (int64_t p = p0; p < end; p++) {
                const double x = a[i * k + p], y = b[p * n + j];
                volatile double product = x * y;
                sum = fused ? fma(x, y, sum) : sum + product;
            }
            c = started ? c + sum : sum;
        }
        started = 1;
    }
    return started ? c : 0;
}

static void one_chain(struct rng *r, enum cvp_float type, enum cvp_isa isa)
{
    struct product t;
    const struct cvp_gemm_kernels *ks = cvp_gemm_kernels(type, isa);
    set_up(&t, r, type, isa, draw_size(r, ks->mr),
           draw_size(r, rng_chance(r, 50) ? ks->nr : ks->lanes), draw_depth(r));
    double *a = a_values(&t, r, draw_real), *b = b_values(&t, r, draw_real);
    double *c = c_values(&t, r, draw_real);
    run(&t);
    for (int64_t i = 0; i < t.g.m; i++)
        for (int64_t j = 0; j < t.g.n; j++) {
            const double want = chain(&t, a, b, c[i * t.g.n + j], i, j);
            const double got = get(type, t.c.data, i * t.g.c_row + j);
            assert_at(&t, memcmp(&want, &got, sizeof want) == 0, i, j);
        }
    assert_gaps_untouched(&t);
    free(a);
    free(b);
    free(c);
    tear_down(&t);
}

static void elements_follow_the_rule_bit_for_bit(void **state)
{
    (void)state;
    for_each(1, one_chain, 150);
}

static void one_integer(struct rng *r, enum cvp_float type, enum cvp_isa isa)
{
    struct product t;
    const struct cvp_gemm_kernels *ks = cvp_gemm_kernels(type, isa);
    set_up(&t, r, type, isa, draw_size(r, 3 * ks->mr), draw_size(r, ks->nr), draw_depth(r));
    double *a = a_values(&t, r, draw_small_int), *b = b_values(&t, r, draw_small_int);
    double *c = c_values(&t, r, draw_small_int);
    run(&t);
    for (int64_t i = 0; i < t.g.m; i++)
        for (int64_t j = 0; j < t.g.n; j++) {
            int64_t want = t.g.accumulate ? (int64_t)c[i * t.g.n + j] : 0;
            for (int64_t p = 0; p < t.g.k; p++)
                want += (int64_t)a[i * t.g.k + p] * (int64_t)b[p * t.g.n + j];
            assert_at(&t, get(type, t.c.data, i * t.g.c_row + j) == (double)want, i, j);
        }
    free(a);
    free(b);
    free(c);
    tear_down(&t);
}

static void small_integers_are_exact(void **state)
{
    (void)state;
    for_each(2, one_integer, 40);
}

static void one_real(struct rng *r, enum cvp_float type, enum cvp_isa isa)
{
    struct product t;
    set_up(&t, r, type, isa, rng_int(r, 1, 40), rng_int(r, 1, 70), rng_int(r, 1, 700));
    double *a = a_values(&t, r, draw_real), *b = b_values(&t, r, draw_real);
    double *c = c_values(&t, r, draw_real);
    run(&t);
    const long double unit = type == CVP_F32 ? FLT_EPSILON / 2.0L : DBL_EPSILON / 2.0L;
    for (int64_t i = 0; i < t.g.m; i++)
        for (int64_t j = 0; j < t.g.n; j++) {
            long double want = t.g.accumulate ? (long double)c[i * t.g.n + j] : 0;
            long double size = fabsl(want);
            for (int64_t p = 0; p < t.g.k; p++) {
                const long double x = (long double)a[i * t.g.k + p] * b[p * t.g.n + j];
                want += x;
                size += fabsl(x);
            }
            const long double got = get(type, t.c.data, i * t.g.c_row + j);
            /* Higham, "Accuracy and Stability of Numerical Algorithms", 3.1; with c one term more.
             */
            assert_at(&t, fabsl(got - want) <= (long double)(t.g.k + 4) * unit * size, i, j);
        }
    free(a);
    free(b);
    free(c);
    tear_down(&t);
}

static void reals_are_within_the_bound(void **state)
{
    (void)state;
    for_each(3, one_real, 10);
}

/* A part of c computed alone has the bits that it has in the whole, across all blocks. */
static void one_part(struct rng *r, enum cvp_float type, enum cvp_isa isa)
{
    struct product t;
    const struct cvp_gemm_kernels *ks = cvp_gemm_kernels(type, isa);
    set_up(&t, r, type, isa, ks->a_block + rng_int(r, 1, 40), ks->b_block + rng_int(r, 1, 70),
           rng_int(r, 200, 300));
    double *a = a_values(&t, r, draw_real), *b = b_values(&t, r, draw_real);
    double *c = c_values(&t, r, draw_real);
    struct cvp_gemm part = t.g;
    const int64_t i0 = rng_int(r, 0, t.g.m - 1), j0 = rng_int(r, 0, t.g.n - 1);
    part.m = rng_int(r, 1, t.g.m - i0 < 50 ? t.g.m - i0 : 50);
    part.n = rng_int(r, 1, t.g.n - j0 < 90 ? t.g.n - j0 : 90);
    part.a = (const char *)t.g.a + i0 * t.g.a_row * ks->size;
    part.b = (const char *)t.g.b + j0 * t.g.b_col * ks->size;
    part.c_row = part.n;
    char *alone = malloc((size_t)(part.m * part.n * ks->size));
    for (int64_t i = 0; i < part.m; i++)
        for (int64_t j = 0; j < part.n; j++)
            put(type, alone, i * part.n + j, c[(i0 + i) * t.g.n + j0 + j]);
    part.c = alone;
    cvp_gemm(ks, &part, t.workspace.data);
    run(&t);
    for (int64_t i = 0; i < part.m; i++)
        assert_at(&t,
                  memcmp(alone + i * part.n * ks->size,
                         (char *)t.c.data + ((i0 + i) * t.g.c_row + j0) * ks->size,
                         (size_t)(part.n * ks->size)) == 0,
                  i0 + i, j0);
    assert_gaps_untouched(&t);
    free(alone);
    free(a);
    free(b);
    free(c);
    tear_down(&t);
}

static void a_part_has_the_bits_of_the_whole(void **state)
{
    (void)state;
    for_each(4, one_part, 4);
}

/* A NaN or an infinity of a or b reaches its row or column, also through a zero, and no other. */
static void one_special(struct rng *r, enum cvp_float type, enum cvp_isa isa)
{
    struct product t;
    const struct cvp_gemm_kernels *ks = cvp_gemm_kernels(type, isa);
    set_up(&t, r, type, isa, draw_size(r, ks->mr), draw_size(r, ks->nr), rng_int(r, 1, 300));
    double *a = a_values(&t, r, draw_small_int), *b = b_values(&t, r, draw_small_int);
    double *c = c_values(&t, r, draw_small_int);
    const int64_t i0 = rng_int(r, 0, t.g.m - 1), p0 = rng_int(r, 0, t.g.k - 1);
    const int64_t j0 = rng_int(r, 0, t.g.n - 1);
    const int in_a = rng_chance(r, 50);
    const double special = rng_chance(r, 50) ? NAN : INFINITY;
    if (in_a)
        put(type, t.a.data, i0 * t.g.a_row + p0 * t.g.a_col, special);
    else
        put(type, t.b.data, p0 * t.g.b_row + j0 * t.g.b_col, special);
    run(&t);
    for (int64_t i = 0; i < t.g.m; i++)
        for (int64_t j = 0; j < t.g.n; j++) {
            const double got = get(type, t.c.data, i * t.g.c_row + j);
            const double other = in_a ? b[p0 * t.g.n + j] : a[i * t.g.k + p0];
            if (in_a ? i != i0 : j != j0)
                assert_at(&t, isfinite(got), i, j);
            else if (isnan(special) || other == 0)
                assert_at(&t, isnan(got), i, j);
            else
                assert_at(&t, got == (other > 0 ? INFINITY : -INFINITY), i, j);
        }
    free(a);
    free(b);
    free(c);
    tear_down(&t);
}

static void nan_and_infinity_are_not_skipped(void **state)
{
    (void)state;
    for_each(5, one_special, 60);
}

static double draw_infinite(struct rng *r)
{
    (void)r;
    return INFINITY;
}

/* What fills up a tile beyond c must not do arithmetic that the operands do not ask for. */
static void one_exception(struct rng *r, enum cvp_float type, enum cvp_isa isa)
{
    struct product t;
    const struct cvp_gemm_kernels *ks = cvp_gemm_kernels(type, isa);
    set_up(&t, r, type, isa, draw_size(r, ks->mr), draw_size(r, ks->lanes), rng_int(r, 1, 40));
    t.g.accumulate = 0;
    double *a = a_values(&t, r, draw_infinite), *b = b_values(&t, r, draw_infinite);
    feclearexcept(FE_ALL_EXCEPT);
    run(&t);
    assert_false(fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW));
    for (int64_t i = 0; i < t.g.m; i++)
        for (int64_t j = 0; j < t.g.n; j++)
            assert_at(&t, get(type, t.c.data, i * t.g.c_row + j) == INFINITY, i, j);
    free(a);
    free(b);
    tear_down(&t);
}

static void padding_raises_no_exception(void **state)
{
    (void)state;
    for_each(6, one_exception, 40);
}

static void one_workspace(struct rng *r, enum cvp_float type, enum cvp_isa isa)
{
    const struct cvp_gemm_kernels *ks = cvp_gemm_kernels(type, isa);
    const int64_t m = rng_int(r, 1, 3000), n = rng_int(r, 1, 3000), k = rng_int(r, 0, 600);
    const size_t bytes = cvp_gemm_workspace(ks, m, n, k);
    assert_true(bytes % 64 == 0);
    assert_true(bytes <= cvp_gemm_workspace(ks, m + rng_int(r, 0, 99), n + rng_int(r, 0, 99),
                                            k + rng_int(r, 0, 99)));
    assert_true(cvp_gemm_workspace(ks, INT64_MAX, INT64_MAX, INT64_MAX) <= (size_t)4 << 20);
}

static void workspace_grows_with_the_sizes_and_is_bounded(void **state)
{
    (void)state;
    for_each(7, one_workspace, 200);
}

static void every_set_has_tables(void **state)
{
    (void)state;
    for (int isa = 0; isa < CVP_ISA_COUNT; isa++)
        for (int type = 0; type < CVP_FLOAT_COUNT; type++) {
            const struct cvp_gemm_kernels *ks =
                cvp_gemm_kernels((enum cvp_float)type, (enum cvp_isa)isa);
            assert_non_null(ks);
            assert_int_equal(ks->type, type);
            assert_int_equal(ks->nr, ks->vectors * ks->lanes);
            assert_true(ks->a_block % ks->mr == 0 && ks->a_block > 0);
            assert_true(ks->b_block % ks->nr == 0 && ks->b_block > 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_has_tables),
        cmocka_unit_test(elements_follow_the_rule_bit_for_bit),
        cmocka_unit_test(small_integers_are_exact),
        cmocka_unit_test(reals_are_within_the_bound),
        cmocka_unit_test(a_part_has_the_bits_of_the_whole),
        cmocka_unit_test(nan_and_infinity_are_not_skipped),
        cmocka_unit_test(padding_raises_no_exception),
        cmocka_unit_test(workspace_grows_with_the_sizes_and_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

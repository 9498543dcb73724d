/* The values of convop's GEMM: against a scalar loop that follows its rule of summation bit for
 * bit, against exact integers and against long double; a part against the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/support/product.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_follow_the_rule_bit_for_bit),
        cmocka_unit_test(small_integers_are_exact),
        cmocka_unit_test(reals_are_within_the_bound),
        cmocka_unit_test(a_part_has_the_bits_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

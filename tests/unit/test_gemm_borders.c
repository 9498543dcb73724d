/* The borders of convop's GEMM: special values, floating-point exceptions, workspace, tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <fenv.h>
#include <math.h>

#include "tests/support/product.h"

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
    const int halvings = (int)rng_int(r, 0, CVP_GEMM_MAX_HALVINGS);
    const size_t bytes = cvp_gemm_workspace(ks, m, n, k, halvings);
    assert_true(bytes % 64 == 0);
    assert_true(bytes <= cvp_gemm_workspace(ks, m + rng_int(r, 0, 99), n + rng_int(r, 0, 99),
                                            k + rng_int(r, 0, 99), halvings));
    assert_true(!halvings || bytes <= cvp_gemm_workspace(ks, m, n, k, halvings - 1));
    assert_true(cvp_gemm_workspace(ks, INT64_MAX, INT64_MAX, INT64_MAX, 0) <= (size_t)4 << 20);
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
        cmocka_unit_test(nan_and_infinity_are_not_skipped),
        cmocka_unit_test(padding_raises_no_exception),
        cmocka_unit_test(workspace_grows_with_the_sizes_and_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Kernels of the row `split` against loops in float64: the terms of a float32 are all of it, lie
 * where they are asked for and nowhere else, and nothing past an operand is read; products are as
 * exact as sums of float32 products, which takes all six of them.
 *
 *     CONVOP_SEED=<seed> test_split_kernels     another series */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "src/common/isa.h"
#include "src/operator/convolution/cpu/split_kernels.h"
#include "tests/support/guard.h"
#include "tests/support/rng.h"

#define PANEL     SPLIT_PANEL
#define MAX_STEPS 5
#define DEPTH     (MAX_STEPS * SPLIT_DEPTH)
#define UNTOUCHED 0x5a

static const struct cvp_split_kernels *kernels;

static float value_of(const void *term)
{
    uint16_t bits;
    memcpy(&bits, term, sizeof bits);
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* What the terms of an element add up to. */
static double sum_of(const char *term, int64_t term_step)
{
    double sum = 0;
    for (int t = 0; t < SPLIT_TERMS; t++) sum += (double)value_of(term + t * term_step);
    return sum;
}

/* Of any size between 2^-80 and 2^100, and small integers. */
static float any_value(struct rng *r)
{
    if (rng_chance(r, 20)) return (float)rng_int(r, -9, 9);
    return (float)ldexp(rng_real(r, -1, 1), (int)rng_int(r, -60, 100));
}

static struct guard values(struct rng *r, int64_t n)
{
    struct guard g = guard_create((size_t)n * sizeof(float), 1);
    for (int64_t i = 0; i < n; i++) ((float *)g.data)[i] = any_value(r);
    return g;
}

static void untouched(const char *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++) assert_int_equal(to[i], UNTOUCHED);
}

static void rows_are_whole(void **state)
{
    (void)state;
    struct rng r = {test_seed(1)};
    for (int n = 0; n < 200; n++) {
        const int64_t count = rng_int(&r, 1, 100),
                      along = rng_chance(&r, 50) ? 1 : rng_int(&r, 2, 9);
        const int64_t groups = (count + SPLIT_DEPTH - 1) / SPLIT_DEPTH;
        const int64_t step = SPLIT_LINE * rng_int(&r, SPLIT_TERMS, 5), bytes = groups * step;
        struct guard g = values(&r, (count - 1) * along + 1);
        struct guard to = guard_create((size_t)bytes, 1);
        memset(to.data, UNTOUCHED, (size_t)bytes);
        const int is_there = rng_chance(&r, 90);
        kernels->rows(to.data, step, SPLIT_LINE, is_there ? g.data : NULL, along, count);
        for (int64_t i = 0; i < groups * SPLIT_DEPTH; i++) {
            const char *at = (char *)to.data + i / SPLIT_DEPTH * step + i % SPLIT_DEPTH * 2;
            const double want = is_there && i < count ? (double)((float *)g.data)[i * along] : 0;
            assert_true(sum_of(at, SPLIT_LINE) == want);
        }
        for (int64_t i = 0; i < groups; i++)
            untouched((char *)to.data + i * step + SPLIT_TERMS * SPLIT_LINE,
                      step - SPLIT_TERMS * SPLIT_LINE);
        guard_destroy(&g);
        guard_destroy(&to);
    }
}

static void pairs_are_whole(void **state)
{
    (void)state;
    struct rng r = {test_seed(2)};
    for (int n = 0; n < 200; n++) {
        const int64_t count = rng_int(&r, 1, 70),
                      along = rng_chance(&r, 50) ? 1 : rng_int(&r, 2, 9);
        const int64_t term = count * 4 + rng_int(&r, 0, 3);
        struct guard even = values(&r, (count - 1) * along + 1);
        struct guard odd = values(&r, (count - 1) * along + 1);
        struct guard to = guard_create((size_t)(SPLIT_TERMS * term), 1);
        memset(to.data, UNTOUCHED, to.bytes);
        const int has_even = rng_chance(&r, 90), has_odd = rng_chance(&r, 90);
        kernels->pairs(to.data, term, has_even ? even.data : NULL, has_odd ? odd.data : NULL, along,
                       count);
        for (int64_t i = 0; i < count; i++) {
            const char *at = (char *)to.data + i * 4;
            const double x = has_even ? (double)((float *)even.data)[i * along] : 0;
            const double y = has_odd ? (double)((float *)odd.data)[i * along] : 0;
            assert_true(sum_of(at, term) == x);
            assert_true(sum_of(at + 2, term) == y);
        }
        for (int t = 0; t < SPLIT_TERMS; t++)
            untouched((char *)to.data + t * term + count * 4, term - count * 4);
        guard_destroy(&even);
        guard_destroy(&odd);
        guard_destroy(&to);
    }
}

static void turned_pairs_lie_across(void **state)
{
    (void)state;
    enum { FROM = SPLIT_LINE + 4, TO = SPLIT_LINE + 12 };
    char from[SPLIT_SIDE * FROM], to[SPLIT_SIDE * TO];
    struct rng r = {3};
    for (size_t i = 0; i < sizeof from; i++) from[i] = (char)rng_next(&r);
    memset(to, UNTOUCHED, sizeof to);
    kernels->turn(to, TO, from, FROM);
    for (int i = 0; i < SPLIT_SIDE; i++) {
        for (int j = 0; j < SPLIT_SIDE; j++)
            assert_memory_equal(to + i * TO + j * 4, from + j * FROM + i * 4, 4);
        untouched(to + i * TO + SPLIT_LINE, TO - SPLIT_LINE);
    }
}

/* ---- products -----------------------------------------------------------------------------------
 */

static float a[PANEL][DEPTH], b[DEPTH][PANEL];
static char a_terms[MAX_STEPS][SPLIT_TERMS][PANEL][SPLIT_LINE];
static char b_terms[MAX_STEPS][SPLIT_TERMS][SPLIT_SIDE][2 * SPLIT_LINE];
static float c[PANEL][PANEL];

static void make_operands(struct rng *r)
{
    for (int i = 0; i < PANEL; i++)
        for (int p = 0; p < DEPTH; p++) {
            a[i][p] = (float)rng_real(r, -1, 1);
            b[p][i] = (float)rng_real(r, -1, 1);
        }
    for (int i = 0; i < PANEL; i++)
        kernels->rows(a_terms[0][0][i], sizeof a_terms[0], sizeof a_terms[0][0], a[i], 1, DEPTH);
    for (int s = 0; s < MAX_STEPS; s++)
        for (int p = 0; p < SPLIT_SIDE; p++)
            kernels->pairs(b_terms[s][0][p], sizeof b_terms[0][0], b[s * SPLIT_DEPTH + 2 * p],
                           b[s * SPLIT_DEPTH + 2 * p + 1], 1, PANEL);
}

/* Roundoffs of the sum of the absolute products that the largest error is. */
static double error_of(int rows, int columns, int depth)
{
    double most = 0;
    for (int i = 0; i < rows * SPLIT_SIDE; i++)
        for (int j = 0; j < columns * SPLIT_SIDE; j++) {
            double sum = 0, size = 0;
            for (int p = 0; p < depth; p++) {
                const double product = (double)a[i][p] * (double)b[p][j];
                sum += product;
                size += fabs(product);
            }
            most = fmax(most, fabs((double)c[i][j] - sum) / (size * 0x1p-24));
        }
    return most;
}

/* Float32 chains of 160 products come to 3; a product that is left out to 30 and more. */
#define MOST_ROUNDOFFS 4

static void products_are_as_exact_as_float32(void **state)
{
    (void)state;
    struct rng r = {test_seed(4)};
    double most = 0;
    for (int n = 0; n < 100; n++) {
        const int rows = 1 + n % 2, columns = 1 + n / 2 % 2, steps = (int)rng_int(&r, 1, MAX_STEPS);
        const int first = (int)rng_int(&r, 0, steps);
        make_operands(&r);
        memset(c, UNTOUCHED, sizeof c);
        /* The second run begins where a_at and b_at, which count for both, take it. */
        const struct split_run runs[] = {{a_terms[0][0][0], b_terms[0][0][0], first},
                                         {a_terms[first < MAX_STEPS ? first : 0][0][0],
                                          b_terms[first < MAX_STEPS ? first : 0][0][0],
                                          steps - first}};
        const struct split_product p = {
            .runs = runs,
            .num_runs = 2,
            .a = {SPLIT_LINE, SPLIT_BYTES, sizeof a_terms[0][0], sizeof a_terms[0]},
            .b = {2 * SPLIT_LINE, SPLIT_LINE, sizeof b_terms[0][0], sizeof b_terms[0]},
            .rows = rows,
            .columns = columns,
            .c = c[0],
            .c_row = PANEL};
        kernels->begin();
        kernels->multiply(&p);
        kernels->end();
        most = fmax(most, error_of(rows, columns, steps * SPLIT_DEPTH));
        for (int i = 0; i < PANEL; i++)
            for (int j = 0; j < PANEL; j++)
                if (i >= rows * SPLIT_SIDE || j >= columns * SPLIT_SIDE)
                    untouched((const char *)&c[i][j], sizeof c[i][j]);
    }
    printf("largest error: %g roundoffs\n", most);
    assert_true(most < MOST_ROUNDOFFS);
}

/* ---- sums on their way out ----------------------------------------------------------------------
 */

static float put_value(const struct split_put *p, int64_t i, int64_t j, float before)
{
    float x = p->sums[i * PANEL + j];
    if (p->row_bias) x += p->row_bias[i];
    if (p->column_bias) x += p->column_bias[j];
    if (p->add) x += before;
    if (p->residual) x += p->residual[i * p->row + j * p->column];
    return !p->clamps || isnan(x) ? x : x < 0 ? 0 : x > p->high ? p->high : x;
}

static void sums_are_put(void **state)
{
    (void)state;
    struct rng r = {test_seed(5)};
    static float sums[PANEL][PANEL], bias[PANEL];
    for (int n = 0; n < 300; n++) {
        struct split_put p = {.sums = sums[0],
                              .rows = rng_int(&r, 1, PANEL),
                              .columns = rng_int(&r, 1, PANEL),
                              .column = rng_chance(&r, 60) ? 1 : rng_int(&r, 2, 5),
                              .add = rng_chance(&r, 50),
                              .clamps = rng_chance(&r, 50),
                              .high = rng_chance(&r, 50) ? 6 : INFINITY};
        for (int i = 0; i < PANEL; i++) {
            bias[i] = (float)rng_int(&r, -9, 9);
            for (int j = 0; j < PANEL; j++)
                sums[i][j] = rng_chance(&r, 2) ? NAN : (float)rng_int(&r, -9, 9);
        }
        p.row = (p.columns - 1) * p.column + rng_int(&r, 1, 9);
        const int64_t count = (p.rows - 1) * p.row + (p.columns - 1) * p.column + 1;
        struct guard out = values(&r, count), residual = values(&r, count);
        float *before = malloc((size_t)count * sizeof *before);
        memcpy(before, out.data, (size_t)count * sizeof *before);
        p.out = out.data;
        if (rng_chance(&r, 50)) p.residual = residual.data;
        if (rng_chance(&r, 30)) p.row_bias = bias;
        if (rng_chance(&r, 30)) p.column_bias = bias;
        kernels->put(&p);
        for (int64_t i = 0; i < p.rows; i++)
            for (int64_t j = 0; j < p.columns; j++) {
                float *at = before + i * p.row + j * p.column;
                *at = put_value(&p, i, j, *at);
            }
        for (int64_t i = 0; i < count; i++) {
            const float x = ((float *)out.data)[i];
            assert_true(x == before[i] || (isnan(x) && isnan(before[i])));
        }
        free(before);
        guard_destroy(&out);
        guard_destroy(&residual);
    }
}

int main(void)
{
    enum cvp_isa isa = CVP_ISA_BASELINE;
    if (cvp_isa_in_use(&isa) == CONVOP_OK) kernels = cvp_split_kernels(isa);
    if (!kernels) {
        printf("no tiles with the instruction set %s\n", cvp_isa_name(isa));
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(pairs_are_whole),
        cmocka_unit_test(turned_pairs_lie_across),
        cmocka_unit_test(products_are_as_exact_as_float32),
        cmocka_unit_test(sums_are_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

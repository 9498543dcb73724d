/* Tile kernels against loops in float64: every instruction set of this CPU, type, number of rows
 * and of columns, over runs, over a table and over panels, with forbidden pages behind every
 * operand and nothing written beside the tile.
 *
 *     CONVOP_SEED=<seed> test_tile     another series */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "src/operator/tile/tile.h"
#include "tests/support/guard.h"
#include "tests/support/rng.h"

#define MAX_RUNS  4
#define UNTOUCHED (-77)

/* Elements that end where a forbidden page begins. */
struct numbers {
    struct guard memory;
    int is_double;
    int64_t count;
};

static double get(const struct numbers *n, int64_t i)
{
    return n->is_double ? ((const double *)n->memory.data)[i] : ((const float *)n->memory.data)[i];
}

static void set(const struct numbers *n, int64_t i, double value)
{
    if (n->is_double)
        ((double *)n->memory.data)[i] = value;
    else
        ((float *)n->memory.data)[i] = (float)value;
}

static const void *at(const struct numbers *n, int64_t i)
{
    return (const char *)n->memory.data + i * (n->is_double ? 8 : 4);
}

static struct numbers numbers_create(const struct cvp_tile_kernels *k, struct rng *r, int64_t count)
{
    struct numbers n = {guard_create((size_t)(count * k->size), 1), k->size == 8, count};
    for (int64_t i = 0; i < count; i++) set(&n, i, (double)rng_int(r, -8, 8));
    return n;
}

/* How b lies. */
enum kind { RUNS, ALONG, TABLE, PANELS, KINDS };
static const char *const kind_names[] = {"runs", "runs along a", "table", "panels"};

/* A tile's operands. Run i of a begins at i * a_gap elements, of b at i * b_gap, or by the table.
 */
struct tile {
    int rows, columns;
    int64_t num_runs, n[MAX_RUNS], a_gap, b_gap, *table;
    struct numbers a, b, c, row_bias, column_bias, residual;
    struct cvp_tile_args args;
    struct cvp_tile_run runs[MAX_RUNS];
};

static void create(struct tile *t, const struct cvp_tile_kernels *k, struct rng *r, enum kind kind)
{
    const int64_t wide = (t->columns + k->lanes - 1) / k->lanes * k->lanes;
    struct cvp_tile_args *x = &t->args;
    int64_t most = 0;
    t->num_runs = kind <= ALONG ? rng_int(r, 1, MAX_RUNS) : 1;
    for (int i = 0; i < t->num_runs; i++) {
        t->n[i] = rng_int(r, 1, 9);
        most = t->n[i] > most ? t->n[i] : most;
    }
    *x = (struct cvp_tile_args){.runs = t->runs,
                                .num_runs = t->num_runs,
                                .a_at = rng_int(r, 0, 3),
                                .b_at = rng_int(r, 0, 3),
                                .a_row = rng_int(r, 1, 11),
                                .a_col = rng_int(r, 1, 11),
                                .b_row = rng_int(r, 1, 2 * wide),
                                .streams = rng_chance(r, 50),
                                .add = rng_chance(r, 50),
                                .row_bias_step = rng_int(r, 1, 3)};
    /* Past the caches go whole vectors that are aligned, as c then is. */
    x->c_row = x->streams ? wide : t->columns + rng_int(r, 0, 3);
    t->a_gap = rng_int(r, 0, 5);
    t->b_gap = rng_int(r, 0, 5);
    t->table = NULL;
    if (kind == ALONG) x->a_col = 1;
    if (kind == PANELS) {
        static const int64_t nowhere[9]; /* as many as a run has steps */
        x->is_panels = 1;
        x->a_row = 1;
        x->b_row = cvp_tile_columns(k);
        x->ahead = (const char *)nowhere;
        x->ahead_table = nowhere;
    }
    int64_t b_reach = (most - 1) * x->b_row;
    if (kind == TABLE) {
        x->b_table = t->table = malloc((size_t)most * sizeof *t->table);
        b_reach = 0;
        for (int64_t p = 0; p < most; p++) {
            t->table[p] = rng_int(r, 0, 40);
            b_reach = t->table[p] > b_reach ? t->table[p] : b_reach;
        }
    }
    /* The furthest run ends where the page does. */
    t->a = numbers_create(k, r,
                          (t->num_runs - 1) * t->a_gap + x->a_at + (t->rows - 1) * x->a_row +
                              (most - 1) * x->a_col + 1);
    t->b = numbers_create(k, r, (t->num_runs - 1) * t->b_gap + x->b_at + b_reach + wide);
    t->c = numbers_create(k, r, (t->rows - 1) * x->c_row + t->columns);
    t->row_bias = numbers_create(k, r, (t->rows - 1) * x->row_bias_step + 1);
    t->column_bias = numbers_create(k, r, t->columns);
    t->residual = numbers_create(k, r, t->c.count);
    for (int i = 0; i < t->num_runs; i++)
        t->runs[i] =
            (struct cvp_tile_run){at(&t->a, i * t->a_gap), at(&t->b, i * t->b_gap), t->n[i]};
    if (rng_chance(r, 50)) x->row_bias = t->row_bias.memory.data;
    if (rng_chance(r, 50)) x->column_bias = t->column_bias.memory.data;
    if (rng_chance(r, 50)) x->residual = t->residual.memory.data;
    x->c = t->c.memory.data;
    /* What is not added to is not read. */
    for (int64_t i = 0; i < t->c.count; i++)
        if (i % x->c_row >= t->columns)
            set(&t->c, i, UNTOUCHED);
        else if (!x->add)
            set(&t->c, i, (double)NAN);
}

static void destroy(struct tile *t)
{
    struct numbers *all[] = {&t->a, &t->b, &t->c, &t->row_bias, &t->column_bias, &t->residual};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) guard_destroy(&all[i]->memory);
    free(t->table);
}

static double expected(const struct tile *t, int64_t i, int64_t j)
{
    const struct cvp_tile_args *x = &t->args;
    double sum = x->add ? get(&t->c, i * x->c_row + j) : 0;
    if (x->row_bias) sum += get(&t->row_bias, i * x->row_bias_step);
    if (x->column_bias) sum += get(&t->column_bias, j);
    if (x->residual) sum += get(&t->residual, i * x->c_row + j);
    for (int64_t r = 0; r < t->num_runs; r++)
        for (int64_t p = 0; p < t->n[r]; p++) {
            const int64_t row = t->table ? t->table[p] : p * x->b_row;
            sum += get(&t->a, r * t->a_gap + x->a_at + i * x->a_row + p * x->a_col) *
                   get(&t->b, r * t->b_gap + x->b_at + row + j);
        }
    return sum;
}

static void check(const struct cvp_tile_kernels *k, struct rng *r, int rows, int columns,
                  enum kind kind)
{
    struct tile t = {.rows = rows, .columns = columns};
    create(&t, k, r, kind);
    double *want = malloc((size_t)t.c.count * sizeof *want);
    for (int64_t i = 0; i < t.c.count; i++) {
        const int64_t row = i / t.args.c_row, column = i % t.args.c_row;
        want[i] = column < columns ? expected(&t, row, column) : UNTOUCHED;
    }
    cvp_tile_run(k, &t.args, rows, columns);
    cvp_tile_end_stream();
    for (int64_t i = 0; i < t.c.count; i++)
        if (get(&t.c, i) != want[i])
            fail_msg("%d rows, %d columns, %d lanes of %d bytes, %s, add %d, streams %d: element "
                     "%lld is %g, "
                     "must be %g",
                     rows, columns, k->lanes, k->size, kind_names[kind], t.args.add, t.args.streams,
                     (long long)i, get(&t.c, i), want[i]);
    free(want);
    destroy(&t);
}

static void all_tiles(void **state)
{
    (void)state;
    struct rng r = {test_seed(14)};
    for (int isa = CVP_ISA_BASELINE; isa <= (int)cvp_isa_vectors(cvp_isa_best()); isa++)
        for (int type = 0; type < CVP_FLOAT_COUNT; type++) {
            const struct cvp_tile_kernels *k =
                cvp_tile_kernels((enum cvp_float)type, (enum cvp_isa)isa);
            for (int rows = 1; rows <= k->rows; rows++)
                for (int columns = 1; columns <= cvp_tile_columns(k); columns++)
                    for (int64_t n = test_scaled(2 * KINDS); n > 0; n--)
                        check(k, &r, rows, columns, (enum kind)(n % KINDS));
        }
}

/* An element has the same bits in a tile of any shape: each is one chain over its products. */
static void bits_of_any_shape(void **state)
{
    (void)state;
    struct rng r = {test_seed(15)};
    enum { SIZE = 16, DEPTH = 50, MOST = 64 };
    for (int isa = CVP_ISA_BASELINE; isa <= (int)cvp_isa_vectors(cvp_isa_best()); isa++) {
        const struct cvp_tile_kernels *k = cvp_tile_kernels(CVP_F32, (enum cvp_isa)isa);
        float a[SIZE * DEPTH], b[DEPTH * MOST], whole[SIZE * MOST], part[SIZE * MOST];
        for (int i = 0; i < SIZE * DEPTH; i++) a[i] = (float)rng_real(&r, -1, 1);
        for (int i = 0; i < DEPTH * MOST; i++) b[i] = (float)rng_real(&r, -1, 1);
        const struct cvp_tile_run run = {a, b, DEPTH};
        struct cvp_tile_args t = {.runs = &run,
                                  .num_runs = 1,
                                  .a_row = DEPTH,
                                  .a_col = 1,
                                  .b_row = MOST,
                                  .c = whole,
                                  .c_row = MOST};
        cvp_tile_run(k, &t, k->rows, cvp_tile_columns(k));
        t.c = part;
        for (int rows = 1; rows <= k->rows; rows++)
            for (int columns = 1; columns <= cvp_tile_columns(k); columns++) {
                cvp_tile_run(k, &t, rows, columns);
                for (int i = 0; i < rows; i++)
                    assert_memory_equal(part + i * MOST, whole + i * MOST,
                                        (size_t)columns * sizeof(float));
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_tiles),
        cmocka_unit_test(bits_of_any_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

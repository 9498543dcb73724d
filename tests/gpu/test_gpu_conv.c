/* Convolutions on a GPU against plain float64 loops: every row by name, one direction at a time,
 * and what is chosen, all at once; each on the default stream and on one of its own.
 *
 *     CONVOP_CASE=<seed> test_gpu_conv     repeats one random problem
 *     CONVOP_GRID=<n> test_gpu_conv        repeats one of the grid
 *     CONVOP_SEED=<seed> test_gpu_conv     another series */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <inttypes.h>
#include <string.h>

#include "convop/convop.h"
#include "src/operator/convolution/cuda/module.h"
#include "tests/gpu/gpu.h"

static const char *program;
/* convop has kernels of its own: else cuDNN is all, which takes aligned tensors alone, and has
 * nothing for the gradient of the bias. */
static int has_kernels;

/* Of chosen sizes, or random. */
struct problem {
    uint64_t number; /* the seed, or the number in the grid */
    const struct conv_size *size;
};

static void make(struct conv_case *c, const struct problem *p)
{
    if (p->size)
        conv_case_fixed(c, p->size, 1, p->number);
    else
        conv_case_create(c, p->number);
    if (!has_kernels) c->requests[2] = CONVOP_REQ_NULL;
}

/* How often a row ran, and how often cuDNN had no plan or took no such tensors. */
static struct tally {
    const char *row;
    int ran, refused;
} tallies[CONV_CASE_MAX_ROWS];

static struct tally *tally_of(const char *row)
{
    struct tally *t = tallies;
    while (t->row && strcmp(t->row, row) != 0) t++;
    t->row = row;
    return t;
}

/* ---- one call -------------------------------------------------------------------------------- */

/* row NULL: all directions, as chosen. */
struct way {
    const char *row;
    int direction;
    struct CUstream_st *stream;
};

static void leave_one_output(struct conv_case *c, int direction)
{
    if (direction != CONVOP_FWD) c->request = CONVOP_REQ_NULL;
    for (int i = 0; i < 3; i++)
        if (i != direction - 1) c->requests[i] = CONVOP_REQ_NULL;
}

static convop_status call(struct gpu_conv *g, const struct way *way)
{
    const convop_exec x = gpu_exec(way->stream);
    convop_status status = CONVOP_OK;
    if (!way->row || way->direction == CONVOP_FWD) status = placed_forward(&g->placed, &x);
    if (status == CONVOP_OK && (!way->row || way->direction != CONVOP_FWD))
        status = placed_backward(&g->placed, &x);
    return status;
}

/* 1 where a row may say that it does not run the problem after all. */
static int may_refuse(const struct conv_case *c, const struct way *way)
{
    /* Of an empty batch a gradient with gaps is not cleared on a GPU. */
    return c->mb == 0 || (way->row && strcmp(way->row, "cudnn") == 0);
}

static int is_right(const struct problem *p, const struct conv_expected *e, const struct way *way)
{
    struct conv_case c;
    struct gpu_conv g;
    make(&c, p);
    if (way->row) leave_one_output(&c, way->direction);
    gpu_put(&g, &c, !has_kernels || (way->row && strcmp(way->row, "cudnn") == 0));
    assert_int_equal(convop_set("impl", way->row), CONVOP_OK);
    const convop_status status = call(&g, way);
    const int refused = status == CONVOP_E_UNSUPPORTED && may_refuse(&c, way);
    int good = refused || status == CONVOP_OK;
    if (!good) printf("status %d: %s\n", (int)status, convop_last_error());
    if (status == CONVOP_OK) good = gpu_is_right(&g, e);
    struct tally *t = tally_of(way->row ? way->row : "as chosen");
    t->ran += status == CONVOP_OK;
    t->refused += refused;
    if (!good) {
        printf("row %s, direction %d, %s stream: ", t->row, way->direction,
               way->stream ? "own" : "default");
        conv_case_print(&c);
        printf("CONVOP_%s=%" PRIu64 " %s\n", p->size ? "GRID" : "CASE", p->number, program);
    }
    assert_int_equal(convop_set("impl", NULL), CONVOP_OK);
    gpu_free(&g);
    conv_case_destroy(&c);
    return good;
}

/* ---- one problem ----------------------------------------------------------------------------- */

/* The rows that apply to what the problem asks for. */
static int all_ways(const struct problem *p, struct way ways[4 * CONV_CASE_MAX_ROWS])
{
    struct conv_case c;
    struct gpu_conv g;
    int n = 0;
    make(&c, p);
    gpu_put(&g, &c, 1);
    ways[n++] = (struct way){0};
    for (int d = CONVOP_FWD; d <= CONVOP_BWD_B; d++) {
        convop_conv_row rows[CONV_CASE_MAX_ROWS];
        if (!placed_is_asked(&c, d)) continue;
        const int count = gpu_rows(&g, (convop_conv_direction)d, rows);
        for (int i = 0; i < count; i++) ways[n++] = (struct way){rows[i].name, d, NULL};
    }
    gpu_free(&g);
    conv_case_destroy(&c);
    return n;
}

static int problem_is_right(const struct problem *p)
{
    struct way ways[4 * CONV_CASE_MAX_ROWS];
    struct conv_case c;
    struct conv_expected e;
    int good = 1;
    make(&c, p);
    conv_case_expect(&c, &e);
    conv_case_destroy(&c);
    const int count = all_ways(p, ways);
    for (int i = 0; i < count; i++)
        for (int own = 0; own < 2; own++) {
            ways[i].stream = own ? gpu.stream : NULL;
            good &= is_right(p, &e, &ways[i]);
        }
    conv_expected_free(&e);
    return good;
}

static void random_problems(void **state)
{
    (void)state;
    const char *one = getenv("CONVOP_CASE");
    if (getenv("CONVOP_GRID")) skip();
    struct rng r = {one ? 0 : test_seed(20261130)};
    int bad = 0;
    for (int64_t n = one ? 1 : test_scaled(400); n > 0 && bad < 5; n--)
        bad += !problem_is_right(&(struct problem){one ? strtoull(one, NULL, 0) : rng_next(&r), 0});
    assert_int_equal(bad, 0);
}

/* ---- the grid -------------------------------------------------------------------------------- */

/* Each in two layouts and four types. Rows and channels about the kernels' blocks of 32 to 128;
 * what tensor cores take (multiples of 8) and what they do not. */
static const struct conv_size dense[] = {
    {.axes = 2, .mb = 2, .ic = 64, .oc = 96, .g = 1, .i = 9, .k = 3, .s = 1, .p = 1},
    {.axes = 2, .mb = 1, .ic = 129, .oc = 65, .g = 1, .i = 8, .k = 1, .s = 1},
    {.axes = 2, .mb = 3, .ic = 3, .oc = 33, .g = 1, .i = 23, .k = 7, .s = 2, .p = 3},
    {.axes = 2, .mb = 2, .ic = 12, .oc = 18, .g = 3, .i = 11, .k = 3, .s = 1, .d = 2, .p = 2},
    {.axes = 2, .mb = 2, .ic = 6, .oc = 6, .g = 1, .i = 13, .k = 2, .s = 5, .p = 1},
    {.axes = 2, .mb = 2, .ic = 8, .oc = 24, .g = 8, .i = 17, .k = 5, .s = 2, .p = 2},
    {.axes = 1, .mb = 2, .ic = 16, .oc = 40, .g = 2, .i = 65, .k = 5, .s = 1, .p = 2},
    {.axes = 3, .mb = 1, .ic = 8, .oc = 16, .g = 1, .i = 6, .k = 3, .s = 1, .p = 1},
};
#define DENSE ((int)(8 * sizeof dense / sizeof dense[0]))
#define GRID  (CONV_GRID_DEPTHWISE + DENSE)

static struct conv_size grid_size(int n)
{
    static const int types[] = {BOX_F32, BOX_F64, BOX_F16, BOX_BF16};
    const int at = n - CONV_GRID_DEPTHWISE;
    struct conv_size s = at < 0 ? conv_grid_depthwise(n) : dense[at / 8];
    if (at >= 0) s.channels_last = at & 1;
    s.type = types[at < 0 ? n % 4 : at / 2 % 4];
    return s;
}

static void grid(void **state)
{
    (void)state;
    const char *one = getenv("CONVOP_GRID");
    if (getenv("CONVOP_CASE")) skip();
    const int64_t wanted = test_scaled(GRID);
    const int step = one || wanted >= GRID ? 1 : GRID / (int)wanted;
    const int first = one ? atoi(one) : 0, last = one ? first : GRID - 1;
    int bad = 0;
    assert_in_range(last, 0, GRID - 1);
    for (int n = first; n <= last && bad < 5; n += step) {
        const struct conv_size s = grid_size(n);
        bad += !problem_is_right(&(struct problem){(uint64_t)n, &s});
    }
    assert_int_equal(bad, 0);
}

/* No row passes by refusing all that it was given. */
static void every_row_ran(void **state)
{
    (void)state;
    for (const struct tally *t = tallies; t->row; t++) {
        printf("%s: %d ran, %d refused\n", t->row, t->ran, t->refused);
        assert_true(t->ran > 0 || getenv("CONVOP_CASE") || getenv("CONVOP_GRID"));
    }
}

int main(int argc, char **argv)
{
    const char *why;
    (void)argc;
    has_kernels = cvp_cuda_has_kernels(&why);
    if (!has_kernels) printf("no kernels: %s\n", why);
    program = argv[0];
    setenv("CONVOP_CACHE_DIR", "none", 1);
    /* cuDNN's transforms round otherwise than sums of products. */
    setenv("CONVOP_MATH", "strict", 1);
    const int code = gpu_begin();
    if (code) return code;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems),
        cmocka_unit_test(grid),
        cmocka_unit_test(every_row_ran),
    };
    const int failed = cmocka_run_group_tests_name("gpu_conv", tests, NULL, NULL);
    gpu_end();
    return failed;
}

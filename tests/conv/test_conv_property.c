/* What must hold for convolutions whatever the numbers: adjoint directions, linearity, layouts that
 * agree, impulses and shifts. All on small integers, so that equality is exact.
 *
 *     CONVOP_CASE=<seed> test_conv_property     repeats one random problem
 *     CONVOP_SEED=<seed> test_conv_property     another series */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "convop/convop.h"
#include "tests/support/conv_fixed.h"

/* A random problem of float32 or float64, all outputs written, no bias. */
static void plain_case(struct conv_case *c, uint64_t seed)
{
    struct rng r = {seed ^ 0xabcdef};
    for (uint64_t s = seed;; s = rng_next(&r)) {
        conv_case_create(c, s);
        if (c->bits >= BOX_F32) break;
        conv_case_destroy(c);
    }
    c->seed = seed;
    c->integers = 1;
    c->params.no_bias = 1;
    c->request = CONVOP_REQ_WRITE;
    for (int i = 0; i < 3; i++) c->requests[i] = CONVOP_REQ_WRITE;
    struct box *inputs[] = {&c->src, &c->weights, &c->diff_dst};
    for (int i = 0; i < 3; i++) box_fill_int(inputs[i], &r, -3, 3);
}

static void each_random(int64_t count, uint64_t series, int (*holds)(struct conv_case *))
{
    const char *one = getenv("CONVOP_CASE");
    struct rng r = {test_seed(series)};
    int bad = 0;
    for (int64_t n = one ? 1 : test_scaled(count); n > 0 && bad < 5; n--) {
        struct conv_case c;
        plain_case(&c, one ? strtoull(one, NULL, 0) : rng_next(&r));
        if (!holds(&c)) {
            conv_case_print(&c);
            printf("repeat with CONVOP_CASE=%llu\n", (unsigned long long)c.seed);
            bad++;
        }
        conv_case_destroy(&c);
    }
    assert_int_equal(bad, 0);
}

/* A forward or a backward call that computes one direction, by a row or as chosen. */
static int compute(struct conv_case *c, convop_conv_direction direction, const char *row)
{
    convop_request all[3];
    memcpy(all, c->requests, sizeof all);
    for (int i = 0; i < 3; i++)
        if (i != (int)direction - 1) c->requests[i] = CONVOP_REQ_NULL;
    convop_set("impl", row);
    convop_status status =
        direction == CONVOP_FWD ? conv_case_forward(c, NULL) : conv_case_backward(c, NULL);
    convop_set("impl", NULL);
    memcpy(c->requests, all, sizeof all);
    if (status != CONVOP_OK) printf("row %s: %s\n", row ? row : "", convop_last_error());
    return status == CONVOP_OK;
}

/* ---- adjoint --------------------------------------------------------------------------------- */

static double dot(const struct box *a, const struct box *b)
{
    int64_t sizes[5], at[5];
    double sum = 0;
    box_sizes(a, sizes);
    BOX_FOR_EACH(sizes, at) sum += box_get(a, at) * box_get(b, at);
    return sum;
}

/* <conv(x, w), y> = <x, data gradient(y, w)> = <w, weight gradient(x, y)>, by every row. */
static int is_adjoint(struct conv_case *c)
{
    const struct box *with[] = {&c->diff_dst, &c->src, &c->weights};
    double first = 0;
    int known = 0, good = 1;
    for (int d = CONVOP_FWD; d <= CONVOP_BWD_W; d++) {
        convop_conv_row rows[CONV_CASE_MAX_ROWS];
        int count = conv_case_rows(c, (convop_conv_direction)d, rows);
        good &= count > 0;
        for (int r = 0; r < count; r++) {
            box_fill_value(conv_case_output(c, d), 1e6);
            good &= compute(c, (convop_conv_direction)d, rows[r].name);
            double product = dot(conv_case_output(c, d), with[d]);
            if (!known) first = product, known = 1;
            if (product == first) continue;
            printf("row %s, direction %d: %.17g, the first gave %.17g\n", rows[r].name, d, product,
                   first);
            good = 0;
        }
    }
    return good;
}

static void adjoint(void **state)
{
    (void)state;
    each_random(400, 31, is_adjoint);
}

/* ---- linear ---------------------------------------------------------------------------------- */

static double *values_of(const struct box *b)
{
    int64_t sizes[5], at[5], n = 0;
    box_sizes(b, sizes);
    double *v =
        calloc((size_t)(sizes[0] * sizes[1] * sizes[2] * sizes[3] * sizes[4]) + 1, sizeof *v);
    BOX_FOR_EACH(sizes, at) v[n++] = box_get(b, at);
    return v;
}

/* b = 2 b - 3 a */
static void combine(struct box *b, const double *a)
{
    int64_t sizes[5], at[5], n = 0;
    box_sizes(b, sizes);
    BOX_FOR_EACH(sizes, at) box_set(b, at, 2 * box_get(b, at) - 3 * a[n++]);
}

/* f(2 u - 3 v) = 2 f(u) - 3 f(v) in each argument of each direction. */
static int is_linear_in(struct conv_case *c, struct box *argument, int direction)
{
    struct rng r = {c->seed ^ 5};
    struct box *out = conv_case_output(c, direction);
    convop_conv_direction d = (convop_conv_direction)direction;
    double *v = values_of(argument);
    int good = compute(c, d, NULL);
    double *f_v = values_of(out);
    box_fill_int(argument, &r, -3, 3);
    good &= compute(c, d, NULL);
    double *f_u = values_of(out);
    combine(argument, v);
    good &= compute(c, d, NULL);
    double *f_both = values_of(out);
    int64_t sizes[5];
    box_sizes(out, sizes);
    for (int64_t i = 0; i < sizes[0] * sizes[1] * sizes[2] * sizes[3] * sizes[4]; i++)
        good &= f_both[i] == 2 * f_u[i] - 3 * f_v[i];
    free(v);
    free(f_v);
    free(f_u);
    free(f_both);
    struct rng again = {c->seed ^ 6};
    box_fill_int(argument, &again, -3, 3);
    return good;
}

static int is_linear(struct conv_case *c)
{
    return is_linear_in(c, &c->src, CONVOP_FWD) && is_linear_in(c, &c->weights, CONVOP_FWD) &&
           is_linear_in(c, &c->diff_dst, CONVOP_BWD_D) &&
           is_linear_in(c, &c->weights, CONVOP_BWD_D) && is_linear_in(c, &c->src, CONVOP_BWD_W) &&
           is_linear_in(c, &c->diff_dst, CONVOP_BWD_W);
}

static void linear(void **state)
{
    (void)state;
    each_random(200, 32, is_linear);
}

/* ---- impulse and shift ----------------------------------------------------------------------- */

/* One input element of 1: each output sees the weight that lies over it, or nothing. */
static int impulse_shows_weights(struct conv_case *c)
{
    struct rng r = {c->seed ^ 7};
    int64_t sizes[5], p[5], at[5];
    box_sizes(&c->src, sizes);
    if (sizes[0] == 0) return 1;
    for (int i = 0; i < 5; i++) p[i] = rng_int(&r, 0, sizes[i] - 1);
    box_fill_value(&c->src, 0);
    box_set(&c->src, p, 1);
    if (!compute(c, CONVOP_FWD, NULL)) return 0;
    box_sizes(&c->dst, sizes);
    int64_t group_in = c->ic / c->g, group_out = c->oc / c->g;
    BOX_FOR_EACH(sizes, at)
    {
        int64_t k[5] = {at[1], p[1] % group_in, 0, 0, 0};
        int seen = at[0] == p[0] && at[1] / group_out == p[1] / group_in;
        for (int a = 0; a < 3 && seen; a++) {
            int64_t off = p[2 + a] + c->p0[a] - at[2 + a] * c->s[a];
            seen = off >= 0 && off % c->d[a] == 0 && off / c->d[a] < c->k[a];
            k[2 + a] = seen ? off / c->d[a] : 0;
        }
        if (box_get(&c->dst, at) != (seen ? box_get(&c->weights, k) : 0)) return 0;
    }
    return 1;
}

static void impulse(void **state)
{
    (void)state;
    each_random(300, 33, impulse_shows_weights);
}

/* An input moved by one stride along the last axis moves the output by one. */
static int shift_moves(struct conv_case *c)
{
    int64_t sizes[5], at[5], p0 = c->p0[2];
    if (p0 != 0 || c->i[2] <= c->s[2]) return 1;
    if (!compute(c, CONVOP_FWD, NULL)) return 0;
    double *before = values_of(&c->dst), *x = values_of(&c->src);
    box_sizes(&c->src, sizes);
    int64_t n = 0;
    BOX_FOR_EACH(sizes, at)
    {
        int64_t to[5] = {at[0], at[1], at[2], at[3], at[4] + c->s[2]};
        if (at[4] < c->s[2]) box_set(&c->src, at, 0);
        if (to[4] < sizes[4]) box_set(&c->src, to, x[n]);
        n++;
    }
    int good = compute(c, CONVOP_FWD, NULL);
    box_sizes(&c->dst, sizes);
    n = 0;
    /* Windows that reach into the padding behind see what was moved out of the input. */
    BOX_FOR_EACH(sizes, at)
    {
        int64_t end = at[4] * c->s[2] + (c->k[2] - 1) * c->d[2];
        if (at[4] > 0 && end < c->i[2]) good &= box_get(&c->dst, at) == before[n - 1];
        n++;
    }
    free(before);
    free(x);
    return good;
}

static void shift(void **state)
{
    (void)state;
    each_random(400, 34, shift_moves);
}

/* ---- layouts --------------------------------------------------------------------------------- */

static void copy_box(struct box *to, const struct box *from)
{
    int64_t sizes[5], at[5];
    box_sizes(from, sizes);
    BOX_FOR_EACH(sizes, at) box_set(to, at, box_get(from, at));
}

static void layouts_agree_for(const struct conv_size *size, uint64_t seed)
{
    struct conv_case first, last;
    struct conv_size other = *size;
    other.channels_last = !size->channels_last;
    conv_case_fixed(&first, size, 1, seed);
    conv_case_fixed(&last, &other, 1, seed + 1);
    copy_box(&last.src, &first.src);
    copy_box(&last.weights, &first.weights);
    copy_box(&last.bias, &first.bias);
    copy_box(&last.diff_dst, &first.diff_dst);
    struct conv_case *both[] = {&first, &last};
    for (int i = 0; i < 2; i++) {
        if (conv_case_forward(both[i], NULL) != CONVOP_OK ||
            conv_case_backward(both[i], NULL) != CONVOP_OK)
            fail_msg("%s", convop_last_error());
    }
    for (int i = 0; i < 4; i++) {
        double *a = values_of(conv_case_output(&first, i));
        double *b = values_of(conv_case_output(&last, i));
        int64_t s[5];
        box_sizes(conv_case_output(&first, i), s);
        for (int64_t k = 0; k < s[0] * s[1] * s[2] * s[3] * s[4]; k++) {
            if (a[k] == b[k]) continue;
            conv_case_print(&first);
            fail_msg("output %d, element %lld: %g, in the other layout %g", i, (long long)k, a[k],
                     b[k]);
        }
        free(a);
        free(b);
    }
    conv_case_destroy(&first);
    conv_case_destroy(&last);
}

static void layouts(void **state)
{
    (void)state;
    static const int types[] = {BOX_F32, BOX_F64, BOX_F16, BOX_BF16};
    static const int64_t channels[][3] = {{4, 6, 2}, {4, 4, 4},   {1, 5, 1},
                                          {5, 1, 1}, {17, 33, 1}, {4, 8, 4}};
    struct rng r = {test_seed(35)};
    for (int axes = 1; axes <= 3; axes++)
        for (int t = 0; t < 4; t++)
            for (size_t n = 0; n < sizeof channels / sizeof channels[0]; n++) {
                struct conv_size s = {.axes = axes,
                                      .type = types[t],
                                      .mb = rng_int(&r, 1, 2),
                                      .ic = channels[n][0],
                                      .oc = channels[n][1],
                                      .g = channels[n][2],
                                      .i = rng_int(&r, 5, axes == 3 ? 6 : 9),
                                      .k = rng_int(&r, 1, 3),
                                      .s = rng_int(&r, 1, 2),
                                      .d = rng_int(&r, 1, 2),
                                      .p = rng_int(&r, 0, 1)};
                layouts_agree_for(&s, n);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adjoint), cmocka_unit_test(linear),  cmocka_unit_test(impulse),
        cmocka_unit_test(shift),   cmocka_unit_test(layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

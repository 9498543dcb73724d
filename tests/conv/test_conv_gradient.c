/* Finite differences in float64: with L = sum of dst * r for random r, conv_backward of r must be
 * the gradient of L. Convolution is linear in each argument, so a central difference is exact but
 * for rounding. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "../support/conv_case.h"
#include "convop/convop.h"

#define STEP 0x1p-4

static double loss(struct conv_case *c)
{
    assert_int_equal(conv_forward(&c->params, &c->src.tensor, &c->weights.tensor,
                                  c->params.no_bias ? NULL : &c->bias.tensor, &c->dst.tensor,
                                  CONVOP_REQ_WRITE, NULL),
                     CONVOP_OK);
    int64_t sizes[5], at[5];
    double sum = 0;
    box_sizes(&c->dst, sizes);
    BOX_FOR_EACH(sizes, at) sum += box_get(&c->dst, at) * box_get(&c->diff_dst, at);
    return sum;
}

/* Some elements of one input against its gradient. */
static void check(struct conv_case *c, struct rng *r, struct box *input, const struct box *gradient,
                  const char *name)
{
    int64_t sizes[5], at[5];
    box_sizes(input, sizes);
    for (int i = 0; i < 12; i++) {
        for (int j = 0; j < 5; j++) at[j] = rng_int(r, 0, sizes[j] - 1);
        double v = box_get(input, at);
        box_set(input, at, v + STEP);
        double above = loss(c);
        box_set(input, at, v - STEP);
        double below = loss(c);
        box_set(input, at, v);
        double want = (above - below) / (2 * STEP), got = box_get(gradient, at);
        if (fabs(want - got) > 1e-9 * (1 + fabs(want))) {
            conv_case_print(c);
            fail_msg("%s is %.17g, differences say %.17g: CONVOP_CASE=%llu", name, got, want,
                     (unsigned long long)c->seed);
        }
    }
}

/* With the row as chosen, or one of those that compute the problem: which turns with `turn`. */
static void check_case(uint64_t seed, size_t turn)
{
    struct conv_case c;
    const char *names[16] = {NULL};
    assert_int_equal(convop_set("impl", NULL), CONVOP_OK);
    conv_case_create(&c, seed);
    size_t rows = 1 + conv_case_row_names(&c, 0, names + 1, 15);
    assert_int_equal(convop_set("impl", names[turn % rows]), CONVOP_OK);
    struct rng r = {seed};
    /* The generator's problem with float64, real numbers and every gradient asked for. */
    if (c.bits == 64 && !c.integers && c.mb > 0) {
        const convop_request all[3] = {CONVOP_REQ_WRITE, CONVOP_REQ_WRITE, CONVOP_REQ_WRITE};
        assert_int_equal(conv_backward(&c.params, &c.diff_dst.tensor, &c.src.tensor,
                                       &c.weights.tensor, &c.diff_src.tensor,
                                       &c.diff_weights.tensor,
                                       c.params.no_bias ? NULL : &c.diff_bias.tensor, all, NULL),
                         CONVOP_OK);
        check(&c, &r, &c.src, &c.diff_src, "diff_src");
        check(&c, &r, &c.weights, &c.diff_weights, "diff_weights");
        if (!c.params.no_bias) check(&c, &r, &c.bias, &c.diff_bias, "diff_bias");
    }
    conv_case_destroy(&c);
}

static void finite_differences(void **state)
{
    (void)state;
    const char *one = getenv("CONVOP_CASE");
    struct rng r = {test_seed(3)};
    for (int64_t n = one ? 16 : test_scaled(600); n > 0; n--)
        check_case(one ? strtoull(one, NULL, 0) : rng_next(&r), (size_t)n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finite_differences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* clip and its gradient against plain float64 loops, finite differences, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/ops/ops.h"

#define LOW  (-0.75)
#define HIGH 1.5

static void set_bounds(struct op_case *c)
{
    op_param(c, "a_min", "%g", LOW);
    op_param(c, "a_max", "%g", HIGH);
}

/* Some numbers are at the bounds, far out, or none. */
static void fill(struct op_tensor *x, struct rng *r)
{
    static const double special[] = {LOW, HIGH, 0, -0.0, NAN, 1e30, -1e30};
    op_fill(x, r, -3, 3);
    for (int64_t i = 0; i < op_elements(x); i++)
        if (rng_chance(r, 15)) op_set(x, i, special[rng_int(r, 0, 6)]);
}

static void one_case(uint64_t seed)
{
    struct rng r = {seed};
    const int backward = rng_chance(&r, 50), bits = rng_chance(&r, 50) ? 32 : 64;
    struct op_case c = {.seed = seed, .op = backward ? "_backward_clip" : "clip"};
    int64_t shape[CONVOP_MAX_DIMS];
    const int ndim = op_random_shape(&r, 0, shape);
    set_bounds(&c);
    for (int i = 0; i <= backward; i++)
        fill(op_in(&c, &r, bits, ndim, shape, (enum op_layout)rng_int(&r, 0, OP_LAYOUTS - 1)), &r);
    op_out(&c, &r, bits, ndim, shape, (enum op_layout)rng_int(&r, 0, OP_LAYOUTS - 1),
           op_random_request(&r));
    if (rng_chance(&r, 25)) op_make_inplace(&c, 0, 0);
    struct op_expected e = op_expected(&c.in[0]);
    for (int64_t i = 0; i < op_elements(&c.in[0]); i++) {
        const double x = op_get(&c.in[backward], i), dy = op_get(&c.in[0], i);
        if (backward)
            e.value[i] = x < LOW || x > HIGH ? 0 : dy;
        else
            e.value[i] = x < LOW ? LOW : x > HIGH ? HIGH : x;
        e.magnitude[i] = fabs(e.value[i]);
    }
    op_check(&c, &e, 8);
    op_expected_free(&e);
    op_case_destroy(&c);
}

static void values(void **state)
{
    (void)state;
    op_for_seeds(21, 600, one_case);
}

static void gradient_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case f = {.seed = seed, .op = "clip"}, b = {.op = "_backward_clip"};
    int64_t shape[] = {3, 4};
    set_bounds(&f);
    set_bounds(&b);
    op_in(&f, &r, 64, 2, shape, OP_COMPACT);
    op_out(&f, &r, 64, 2, shape, OP_COMPACT, CONVOP_REQ_WRITE);
    op_in(&b, &r, 64, 2, shape, OP_COMPACT);
    op_in(&b, &r, 64, 2, shape, OP_COMPACT);
    op_out(&b, &r, 64, 2, shape, OP_COMPACT, CONVOP_REQ_WRITE);
    op_fill(&f.in[0], &r, -2, 3);
    for (int64_t i = 0; i < 12; i++) { /* away from the corners */
        const double x = op_get(&f.in[0], i);
        if (fabs(x - LOW) < 0.01 || fabs(x - HIGH) < 0.01) op_set(&f.in[0], i, 0);
        op_set(&b.in[1], i, op_get(&f.in[0], i));
    }
    expect_ok(op_run(&b));
    op_check_gradient(&f, &r, 0, &b.in[0], &b.out[0], 1e-5, 1e-8);
    op_case_destroy(&f);
    op_case_destroy(&b);
}

static void finite_differences(void **state)
{
    (void)state;
    op_for_seeds(22, 50, gradient_case);
}

static void refusals(void **state)
{
    (void)state;
    struct rng r = {1};
    int64_t shape[] = {4};
    struct op_case c = {.op = "clip"};
    op_param(&c, "a_min", "2");
    op_param(&c, "a_max", "1");
    op_in(&c, &r, 32, 1, shape, OP_COMPACT);
    op_out(&c, &r, 32, 1, shape, OP_COMPACT, CONVOP_REQ_WRITE);
    expect_text(CONVOP_E_INVALID, "clip: a_min=2 is above a_max=1", op_run(&c));
    op_case_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(finite_differences),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

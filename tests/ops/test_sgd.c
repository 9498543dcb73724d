/* sgd_update and sgd_mom_update against their formulas, element by element. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/ops/ops.h"

enum { WEIGHT, GRAD, MOM };

struct rates {
    double lr, wd, rescale, clip, momentum;
};

static double cut(double g, double clip)
{
    if (clip < 0) return g;
    return g > clip ? clip : g < -clip ? -clip : g;
}

/* Fractions of powers of two, so that they are the same in float32. */
static struct rates random_rates(struct op_case *c, struct rng *r, int with_momentum)
{
    struct rates p = {.lr = (double)rng_int(r, 0, 64) / 64,
                      .wd = rng_chance(r, 30) ? 0 : (double)rng_int(r, 0, 64) / 256,
                      .rescale = (double)rng_int(r, -16, 64) / 32,
                      .clip = rng_chance(r, 50) ? -1 : (double)rng_int(r, 0, 16) / 16,
                      .momentum = (double)rng_int(r, 0, 32) / 32};
    op_param(c, "lr", "%.17g", p.lr);
    op_param(c, "wd", "%.17g", p.wd);
    op_param(c, "rescale_grad", "%.17g", p.rescale);
    op_param(c, "clip_gradient", "%.17g", p.clip);
    if (with_momentum) op_param(c, "momentum", "%.17g", p.momentum);
    return p;
}

static void random_problem(uint64_t seed)
{
    struct rng r = {seed};
    int with_momentum = rng_chance(&r, 50), bits = rng_chance(&r, 50) ? 32 : 64;
    int64_t shape[CONVOP_MAX_DIMS];
    int ndim = op_random_shape(&r, 0, shape);
    if (ndim > 0 && rng_chance(&r, 5)) shape[0] = 0;
    struct op_case c = {.seed = seed, .op = with_momentum ? "sgd_mom_update" : "sgd_update"};
    struct rates p = random_rates(&c, &r, with_momentum);
    for (int i = 0; i < 2 + with_momentum; i++)
        op_in(&c, &r, bits, ndim, shape, (enum op_layout)rng_int(&r, 0, OP_LAYOUTS - 1));
    struct op_tensor *dst =
        op_out(&c, &r, bits, ndim, shape, (enum op_layout)rng_int(&r, 0, OP_LAYOUTS - 1),
               op_random_request(&r));
    if (rng_chance(&r, 30)) op_make_inplace(&c, 0, WEIGHT);
    if (with_momentum) c.mutated |= 1u << MOM;

    struct op_expected e = op_expected(dst), mom = op_expected(dst);
    for (int64_t i = 0; i < op_elements(dst); i++) {
        double w = op_get(&c.in[WEIGHT], i);
        double g = cut(p.rescale * op_get(&c.in[GRAD], i), p.clip);
        e.value[i] = (1 - p.lr * p.wd) * w - p.lr * g;
        e.magnitude[i] = fabs(w) + fabs(p.lr * g) + 1;
        if (!with_momentum) continue;
        mom.value[i] = p.momentum * op_get(&c.in[MOM], i) - p.lr * p.wd * w - p.lr * g;
        e.value[i] = w + mom.value[i];
    }
    struct op_memory before = op_save(&c);
    op_check(&c, &e, 8);
    for (int64_t i = 0; i < op_elements(dst) && with_momentum; i++) {
        double got = op_get(&c.in[MOM], i);
        if (fabs(got - mom.value[i]) <= 8 * (bits == 64 ? 0x1p-53 : 0x1p-24) * 4) continue;
        op_print(&c);
        fail_msg("mom[%lld] is %.17g, must be %.17g", (long long)i, got, mom.value[i]);
    }
    op_restore(&c, &before);
    op_check_threads(&c);
    op_forget(&c, &before);
    op_expected_free(&e);
    op_expected_free(&mom);
    op_case_destroy(&c);
}

static void random_problems(void **state)
{
    (void)state;
    op_for_seeds(11, 300, random_problem);
}

/* A vector of float32 for each argument. */
static void create_vectors(struct op_case *c, const char *op, int num_inputs, int64_t n)
{
    struct rng r = {test_seed(12)};
    *c = (struct op_case){.op = op};
    for (int i = 0; i < num_inputs; i++) op_in(c, &r, 32, 1, &n, OP_COMPACT);
    op_out(c, &r, 32, 1, &n, OP_COMPACT, CONVOP_REQ_WRITE);
    if (num_inputs > MOM) c->mutated = 1u << MOM;
}

enum { N = 1000 };
static const float lr = 0.1f, wd = 1e-4f, rescale = 1.f / 3, momentum = 0.9f;

static void set_inexact(struct op_case *c)
{
    op_param(c, "lr", "0.1");
    op_param(c, "wd", "0.0001");
    op_param(c, "rescale_grad", "0.3333333333333333");
}

/* The order of operations, each rounded: to the bit. */
static void order(void **state)
{
    (void)state;
    struct op_case c;
    create_vectors(&c, "sgd_update", 2, N);
    set_inexact(&c);
    expect_ok(op_run(&c));
    for (int i = 0; i < N; i++) {
        volatile float w = (float)op_get(&c.in[WEIGHT], i), g = (float)op_get(&c.in[GRAD], i);
        volatile float decay = lr * wd, keep = 1 - decay, kept = keep * w;
        volatile float scaled = rescale * g, step = lr * scaled, want = kept - step;
        assert_true((float)op_get(&c.out[0], i) == want);
    }
    op_case_destroy(&c);
}

static void order_with_momentum(void **state)
{
    (void)state;
    struct op_case c;
    create_vectors(&c, "sgd_mom_update", 3, N);
    set_inexact(&c);
    op_param(&c, "momentum", "0.9");
    float mom[N];
    for (int i = 0; i < N; i++) mom[i] = (float)op_get(&c.in[MOM], i);
    expect_ok(op_run(&c));
    for (int i = 0; i < N; i++) {
        volatile float w = (float)op_get(&c.in[WEIGHT], i), g = (float)op_get(&c.in[GRAD], i);
        volatile float kept = momentum * mom[i], decay = lr * wd, decayed = decay * w;
        volatile float scaled = rescale * g, step = lr * scaled;
        volatile float left = kept - decayed, want = left - step, sum = w + want;
        assert_true((float)op_get(&c.in[MOM], i) == want);
        assert_true((float)op_get(&c.out[0], i) == sum);
    }
    op_case_destroy(&c);
}

/* A NaN in the gradient is not hidden by the cut; clip_gradient=0 leaves no gradient. */
static void special_values(void **state)
{
    (void)state;
    struct op_case c;
    create_vectors(&c, "sgd_update", 2, 3);
    op_param(&c, "lr", "1");
    op_param(&c, "clip_gradient", "0");
    const double grad[3] = {NAN, INFINITY, -3};
    for (int i = 0; i < 3; i++) {
        op_set(&c.in[WEIGHT], i, 5);
        op_set(&c.in[GRAD], i, grad[i]);
    }
    expect_ok(op_run(&c));
    assert_true(isnan(op_get(&c.out[0], 0)));
    assert_true(op_get(&c.out[0], 1) == 5);
    assert_true(op_get(&c.out[0], 2) == 5);
    op_case_destroy(&c);
}

/* With a request of NULL the momentum moves on all the same. */
static void momentum_alone(void **state)
{
    (void)state;
    struct op_case c;
    create_vectors(&c, "sgd_mom_update", 3, 3);
    op_param(&c, "lr", "1");
    c.requests[0] = CONVOP_REQ_NULL;
    expect_ok(op_run(&c));
    for (int i = 0; i < 3; i++) assert_true(op_get(&c.in[MOM], i) == -op_get(&c.in[GRAD], i));
    op_case_destroy(&c);
}

static void memory(void **state)
{
    (void)state;
    struct op_case c;
    create_vectors(&c, "sgd_mom_update", 3, 30000);
    op_param(&c, "lr", "1");
    op_check_memory(&c);
    op_case_destroy(&c);
}

static void refusals(void **state)
{
    (void)state;
    struct op_case c;
    create_vectors(&c, "sgd_update", 2, 3);
    op_check_refusal(&c, CONVOP_E_INVALID, "sgd_update: parameter lr (number) is required");
    op_param(&c, "lr", "1");
    c.in[GRAD].shape[0] = 2;
    op_check_refusal(&c, CONVOP_E_INVALID,
                     "sgd_update: weight has shape (3), grad has shape (2): they must be equal");
    c.in[GRAD].shape[0] = 3;
    c.in[WEIGHT].t.dtype.bits = c.in[GRAD].t.dtype.bits = c.out[0].t.dtype.bits = 16;
    op_check_refusal(&c, CONVOP_E_UNSUPPORTED,
                     "sgd_update: no implementation for dtype float16; float32 and float64 have "
                     "one");
    op_case_destroy(&c);
}

static void inference(void **state)
{
    (void)state;
    convop_shape in[3] = {{.ndim = -1}, {.ndim = 2, .dim = {3, -1}}, {.ndim = 2, .dim = {-1, 4}}};
    convop_shape out = {.ndim = -1};
    const convop_op *op;
    expect_ok(convop_op_find("sgd_mom_update", &op));
    char params[256];
    const char *keys[] = {"lr"}, *values[] = {"1"};
    expect_ok(convop_params_parse(op, 1, keys, values, params, sizeof params));
    expect_ok(convop_infer(op, params, 3, in, 1, &out, NULL, NULL));
    for (int i = 0; i < 4; i++) {
        const convop_shape *s = i < 3 ? &in[i] : &out;
        assert_true(s->ndim == 2 && s->dim[0] == 3 && s->dim[1] == 4);
    }
    convop_op_release(&op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems),
        cmocka_unit_test(order),
        cmocka_unit_test(order_with_momentum),
        cmocka_unit_test(special_values),
        cmocka_unit_test(momentum_alone),
        cmocka_unit_test(memory),
        cmocka_unit_test(refusals),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

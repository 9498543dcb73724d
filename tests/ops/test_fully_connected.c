/* FullyConnected and its gradient against plain loops in float64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/ops/infer.h"

struct problem {
    int64_t m, n, k;
    int ndim, dst_ndim, no_bias, bits;
    int64_t src[CONVOP_MAX_DIMS], dst[CONVOP_MAX_DIMS], weights[2];
};

static void random_problem(struct op_case *c, struct problem *p, struct rng *r)
{
    int flatten = rng_chance(r, 50), large = rng_chance(r, 6);
    p->no_bias = rng_chance(r, 40);
    p->bits = rng_chance(r, 50) ? 32 : 64;
    p->ndim = (int)rng_int(r, 1, 5);
    p->n = large ? rng_int(r, 100, 700) : rng_int(r, 1, 40);
    for (int i = 0; i < p->ndim; i++) p->src[i] = rng_int(r, 1, 6);
    if (large) p->src[p->ndim - 1] = rng_int(r, 30, 300);
    if (p->ndim > 1 && rng_chance(r, 5)) p->src[0] = 0;
    int split = flatten ? 1 : p->ndim - 1;
    p->m = p->k = 1;
    for (int i = 0; i < p->ndim; i++) *(i < split ? &p->m : &p->k) *= p->src[i];
    p->dst_ndim = split + 1;
    for (int i = 0; i < split; i++) p->dst[i] = p->src[i];
    p->dst[split] = p->weights[0] = p->n;
    p->weights[1] = p->k;
    op_param(c, "num_hidden", "%lld", (long long)p->n);
    op_param(c, "no_bias", "%d", p->no_bias);
    op_param(c, "flatten", "%d", flatten);
}

static enum op_layout layout(struct rng *r)
{
    return (enum op_layout)rng_int(r, 0, OP_LAYOUTS - 1);
}

static void create_forward(struct op_case *c, struct problem *p, struct rng *r)
{
    c->op = "FullyConnected";
    op_in(c, r, p->bits, p->ndim, p->src, layout(r));
    op_in(c, r, p->bits, 2, p->weights, layout(r));
    if (!p->no_bias) op_in(c, r, p->bits, 1, p->weights, layout(r));
    op_out(c, r, p->bits, p->dst_ndim, p->dst, layout(r), op_random_request(r));
}

/* src and weights are those of the forward case where there is one. */
static void create_backward(struct op_case *c, struct problem *p, struct rng *r,
                            const struct op_case *forward)
{
    c->op = "_backward_FullyConnected";
    op_in(c, r, p->bits, p->dst_ndim, p->dst, layout(r));
    op_in(c, r, p->bits, p->ndim, p->src, layout(r));
    op_in(c, r, p->bits, 2, p->weights, layout(r));
    for (int i = 0; i < 2 && forward; i++)
        for (int64_t e = 0; e < op_elements(&forward->in[i]); e++)
            op_set(&c->in[1 + i], e, op_get(&forward->in[i], e));
    op_out(c, r, p->bits, p->ndim, p->src, layout(r), op_random_request(r));
    op_out(c, r, p->bits, 2, p->weights, layout(r), op_random_request(r));
    if (!p->no_bias) op_out(c, r, p->bits, 1, p->weights, layout(r), op_random_request(r));
}

static void add(const struct op_expected *e, int64_t i, double value)
{
    e->value[i] += value;
    e->magnitude[i] += fabs(value);
}

static void check(struct op_case *c, struct op_expected *e, const struct problem *p)
{
    op_check(c, e, 4 + (double)(p->m + p->n + p->k));
    op_check_threads(c);
    for (int i = 0; i < c->num_outputs; i++) op_expected_free(&e[i]);
    op_case_destroy(c);
}

static void forward_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case c = {.seed = seed};
    struct problem p;
    random_problem(&c, &p, &r);
    create_forward(&c, &p, &r);
    struct op_expected e = op_expected(&c.out[0]);
    for (int64_t i = 0; i < p.m; i++)
        for (int64_t j = 0; j < p.n; j++) {
            if (!p.no_bias) add(&e, i * p.n + j, op_get(&c.in[2], j));
            for (int64_t q = 0; q < p.k; q++)
                add(&e, i * p.n + j, op_get(&c.in[0], i * p.k + q) * op_get(&c.in[1], j * p.k + q));
        }
    check(&c, &e, &p);
}

static void backward_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case c = {.seed = seed};
    struct problem p;
    random_problem(&c, &p, &r);
    create_backward(&c, &p, &r, NULL);
    struct op_expected e[3];
    for (int i = 0; i < c.num_outputs; i++) e[i] = op_expected(&c.out[i]);
    for (int64_t i = 0; i < p.m; i++)
        for (int64_t j = 0; j < p.n; j++) {
            double g = op_get(&c.in[0], i * p.n + j);
            if (!p.no_bias) add(&e[2], j, g);
            for (int64_t q = 0; q < p.k; q++) {
                add(&e[0], i * p.k + q, g * op_get(&c.in[2], j * p.k + q));
                add(&e[1], j * p.k + q, g * op_get(&c.in[1], i * p.k + q));
            }
        }
    check(&c, e, &p);
}

/* Linear in each argument, so central differences are exact but for rounding. */
static void gradient_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case f = {.seed = seed}, b = {.seed = seed};
    struct problem p;
    random_problem(&f, &p, &r);
    struct rng again = {seed};
    random_problem(&b, &p, &again);
    p.bits = 64;
    create_forward(&f, &p, &r);
    create_backward(&b, &p, &r, &f);
    f.requests[0] = CONVOP_REQ_WRITE;
    for (int i = 0; i < b.num_outputs; i++) b.requests[i] = CONVOP_REQ_WRITE;
    expect_ok(op_run(&b));
    for (int i = 0; i < b.num_outputs; i++)
        op_check_gradient(&f, &r, i, &b.in[0], &b.out[i], 0x1p-4, 1e-9);
    op_case_destroy(&f);
    op_case_destroy(&b);
}

static void forward(void **state)
{
    (void)state;
    op_for_seeds(21, 200, forward_case);
}

static void backward(void **state)
{
    (void)state;
    op_for_seeds(22, 200, backward_case);
}

static void finite_differences(void **state)
{
    (void)state;
    op_for_seeds(23, 60, gradient_case);
}

static void fixed_case(struct op_case *c, struct rng *r, int bits, enum op_layout how)
{
    const int64_t src[3] = {5, 3, 7}, weights[2] = {6, 21}, dst[2] = {5, 6};
    *c = (struct op_case){.op = "FullyConnected"};
    op_param(c, "num_hidden", "6");
    op_in(c, r, bits, 3, src, how);
    op_in(c, r, bits, 2, weights, how);
    op_in(c, r, bits, 1, weights, how);
    op_out(c, r, bits, 2, dst, how, CONVOP_REQ_WRITE);
}

static void memory(void **state)
{
    (void)state;
    struct rng r = {24};
    struct op_case c;
    fixed_case(&c, &r, 32, OP_GAPS);
    op_check_memory(&c);
    op_case_destroy(&c);
}

/* Where neither copies nor the product's own scratch may be had, plain loops do it. */
static void small_workspace(void **state)
{
    (void)state;
    struct rng r = {25};
    for (int bits = 32; bits <= 64; bits += 32) {
        struct op_case c;
        fixed_case(&c, &r, bits, OP_GAPS);
        expect_ok(op_run(&c));
        double got[30];
        for (int i = 0; i < 30; i++) got[i] = op_get(&c.out[0], i);
        op_fill(&c.out[0], &r, -1, 1);
        const DLTensor *in[] = {&c.in[0].t, &c.in[1].t, &c.in[2].t};
        DLTensor *out[] = {&c.out[0].t};
        convop_instance *x = NULL;
        size_t bytes = 1;
        expect_ok(convop_instance_create("FullyConnected", 1, c.keys, c.values, 3, NULL, NULL, &x));
        expect_ok(convop_instance_reshape(x, in, out, NULL, SIZE_MAX, &bytes));
        assert_true(bytes > 0);
        expect_ok(convop_instance_reshape(x, in, out, NULL, 64, &bytes));
        assert_int_equal(bytes, 0);
        expect_ok(convop_instance_run(x, in, out, NULL));
        for (int i = 0; i < 30; i++)
            assert_true(fabs(got[i] - op_get(&c.out[0], i)) < (bits == 64 ? 1e-14 : 1e-5));
        assert_true(op_canaries_whole(&c.out[0]));
        convop_instance_destroy(&x);
        op_case_destroy(&c);
    }
}

static void inference(void **state)
{
    (void)state;
    convop_shape in[3] = {OP_SHAPE(4, 2, 3), OP_UNKNOWN, OP_UNKNOWN}, out[1] = {OP_UNKNOWN};
    expect_ok(op_infer("FullyConnected", "num_hidden=5", 3, in, 1, out));
    expect_shape(in[1], 5, 6);
    expect_shape(in[2], 5);
    expect_shape(out[0], 4, 5);

    convop_shape back[2] = {OP_SHAPE(-1, 2, -1), OP_SHAPE(-1, 6)};
    out[0] = OP_SHAPE(7, -1);
    expect_ok(op_infer("FullyConnected", "num_hidden=5;no_bias=1", 2, back, 1, out));
    expect_shape(back[0], 7, 2, 3);
    expect_shape(back[1], 5, 6);

    convop_shape last[2] = {OP_UNKNOWN, OP_SHAPE(5, 6)};
    out[0] = OP_SHAPE(7, 8, 5);
    expect_ok(op_infer("FullyConnected", "num_hidden=5;no_bias=1;flatten=0", 2, last, 1, out));
    expect_shape(last[0], 7, 8, 6);

    convop_shape vector[2] = {OP_SHAPE(6), OP_UNKNOWN};
    out[0] = OP_UNKNOWN;
    expect_ok(op_infer("FullyConnected", "num_hidden=5;no_bias=1;flatten=0", 2, vector, 1, out));
    expect_shape(vector[1], 5, 6);
    expect_shape(out[0], 5);
}

static void inference_backward(void **state)
{
    (void)state;
    convop_shape in[3] = {OP_UNKNOWN, OP_SHAPE(2, 3), OP_UNKNOWN};
    convop_shape out[3] = {OP_UNKNOWN, OP_UNKNOWN, OP_UNKNOWN};
    expect_ok(op_infer("_backward_FullyConnected", "num_hidden=5", 3, in, 3, out));
    expect_shape(in[0], 2, 5);
    expect_shape(in[2], 5, 3);
    expect_shape(out[0], 2, 3);
    expect_shape(out[1], 5, 3);
    expect_shape(out[2], 5);
}

static convop_status infer_two(const char *params, convop_shape src, convop_shape weights)
{
    convop_shape in[2] = {src, weights}, out[1] = {OP_UNKNOWN};
    return op_infer("FullyConnected", params, 2, in, 1, out);
}

static void refusals(void **state)
{
    (void)state;
    const char *params = "num_hidden=5;no_bias=1";
    expect_text(CONVOP_E_INVALID,
                "FullyConnected: weights has shape (5, 6), but its shape must be (5, 7): "
                "num_hidden, the size of a row of src",
                infer_two(params, OP_SHAPE(4, 7), OP_SHAPE(5, 6)));
    expect_text(CONVOP_E_INVALID,
                "FullyConnected: src has shape (4, 4, ?), of which a row cannot have the 6 "
                "elements that weights with shape (5, 6) wants",
                infer_two(params, OP_SHAPE(4, 4, -1), OP_SHAPE(5, 6)));
    expect_text(CONVOP_E_INVALID,
                "FullyConnected: src has shape (4, 0): dimension 1 is 0, only the batch may be",
                infer_two(params, OP_SHAPE(4, 0), OP_UNKNOWN));
    expect_text(CONVOP_E_INVALID, "FullyConnected: weights has shape (5, 0): dimension 1 is 0",
                infer_two(params, OP_UNKNOWN, OP_SHAPE(5, 0)));
    expect_text(CONVOP_E_INVALID, "FullyConnected: src has no dimensions, it must have 1 or more",
                infer_two(params, (convop_shape){.ndim = 0}, OP_UNKNOWN));
    expect_text(
        CONVOP_E_INVALID,
        "FullyConnected: src has shape (4, 4294967296, 4294967296): its size overflows 64 "
        "bits",
        infer_two(params, OP_SHAPE(4, INT64_C(4294967296), INT64_C(4294967296)), OP_UNKNOWN));
}

static void refusal_of_dtype(void **state)
{
    (void)state;
    struct rng r = {26};
    struct op_case c;
    fixed_case(&c, &r, 32, OP_COMPACT);
    for (int i = 0; i < 3; i++) c.in[i].t.dtype.code = kDLInt;
    c.out[0].t.dtype.code = kDLInt;
    op_check_refusal(&c, CONVOP_E_UNSUPPORTED,
                     "FullyConnected: no implementation for dtype int32; float32 and float64 have "
                     "one");
    op_case_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward),
        cmocka_unit_test(backward),
        cmocka_unit_test(finite_differences),
        cmocka_unit_test(memory),
        cmocka_unit_test(small_workspace),
        cmocka_unit_test(inference),
        cmocka_unit_test(inference_backward),
        cmocka_unit_test(refusals),
        cmocka_unit_test(refusal_of_dtype),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

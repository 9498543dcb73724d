/* Pooling and its gradient against plain loops in float64. */
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/ops/infer.h"

enum { MAX, AVG, SUM, TYPES };

/* Axes are depth, height, width; those that are not there have size 1. */
struct problem {
    int axes, last, type, full, include, bits;
    int64_t mb, c, in[3], out[3], k[3], s[3], p[3];
    int64_t src[5], dst[5]; /* as the layout has them */
};

static void tuple_param(struct op_case *c, const char *key, const int64_t *at, int axes)
{
    char text[32] = "(";
    for (int i = 3 - axes; i < 3; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%lld,", (long long)at[i]);
    op_param(c, key, "%s)", text);
}

static void set_shapes(struct problem *p)
{
    int spatial = p->last ? 1 : 2, channels = p->last ? p->axes + 1 : 1;
    p->src[0] = p->dst[0] = p->mb;
    p->src[channels] = p->dst[channels] = p->c;
    for (int a = 0; a < p->axes; a++) {
        p->src[spatial + a] = p->in[3 - p->axes + a];
        p->dst[spatial + a] = p->out[3 - p->axes + a];
    }
}

static void random_problem(struct op_case *c, struct problem *p, struct rng *r)
{
    static const char *const types[] = {"max", "avg", "sum"};
    static const char *const layouts[2][3] = {{"NCW", "NCHW", "NCDHW"}, {"NWC", "NHWC", "NDHWC"}};
    int global = rng_chance(r, 15);
    *p = (struct problem){.axes = (int)rng_int(r, 1, 3),
                          .last = rng_chance(r, 50),
                          .type = (int)rng_int(r, 0, TYPES - 1),
                          .full = rng_chance(r, 40),
                          .include = rng_chance(r, 50),
                          .bits = rng_chance(r, 50) ? 32 : 64,
                          .mb = rng_chance(r, 4) ? 0 : rng_int(r, 1, 3),
                          .c = rng_chance(r, 10) ? rng_int(r, 60, 150) : rng_int(r, 1, 7)};
    for (int a = 0; a < 3; a++) {
        p->in[a] = p->out[a] = p->k[a] = p->s[a] = 1;
        if (a < 3 - p->axes) continue;
        p->k[a] = rng_int(r, 1, 5);
        p->s[a] = rng_int(r, 1, 4);
        p->p[a] = rng_int(r, 0, p->k[a] - 1);
        int64_t least = p->k[a] - 2 * p->p[a];
        p->in[a] = rng_int(r, least > 1 ? least : 1, 12);
        if (a == 2 && rng_chance(r, 15)) p->in[a] = rng_int(r, 100, 300);
        if (global) {
            p->k[a] = p->in[a];
            p->s[a] = 1;
            p->p[a] = 0;
        }
        int64_t size = p->in[a] + 2 * p->p[a] - p->k[a];
        p->out[a] = (p->full ? (size + p->s[a] - 1) / p->s[a] : size / p->s[a]) + 1;
    }
    set_shapes(p);
    op_param(c, "pool_type", "%s", types[p->type]);
    op_param(c, "pooling_convention", "%s", p->full ? "full" : "valid");
    op_param(c, "count_include_pad", "%s",
             p->include ? (rng_chance(r, 50) ? "True" : "None") : "False");
    if (p->last || rng_chance(r, 50)) op_param(c, "layout", "%s", layouts[p->last][p->axes - 1]);
    if (global) {
        op_param(c, "global_pool", "1");
        return;
    }
    tuple_param(c, "kernel", p->k, p->axes);
    tuple_param(c, "stride", p->s, p->axes);
    tuple_param(c, "pad", p->p, p->axes);
}

/* The row-major index of an element in the layout. */
static int64_t at(const struct problem *p, const int64_t *size, int64_t n, int64_t c,
                  const int64_t y[3])
{
    int64_t pixels = size[0] * size[1] * size[2], pixel = (y[0] * size[1] + y[1]) * size[2] + y[2];
    return p->last ? (n * pixels + pixel) * p->c + c : (n * p->c + c) * pixels + pixel;
}

/* A window: where its elements are, in row-major order, and what an average divides by. */
struct window {
    int64_t element[12 * 12 * 300], count, divisor;
};

static void window_of(const struct problem *p, int64_t n, int64_t c, const int64_t o[3],
                      struct window *w)
{
    int64_t k[3];
    w->count = 0;
    w->divisor = 0;
    for (k[0] = 0; k[0] < p->k[0]; k[0]++)
        for (k[1] = 0; k[1] < p->k[1]; k[1]++)
            for (k[2] = 0; k[2] < p->k[2]; k[2]++) {
                int64_t y[3];
                int inside = 1, padded = 1;
                for (int a = 0; a < 3; a++) {
                    y[a] = o[a] * p->s[a] - p->p[a] + k[a];
                    inside &= y[a] >= 0 && y[a] < p->in[a];
                    padded &= y[a] < p->in[a] + p->p[a];
                }
                if (inside) w->element[w->count++] = at(p, p->in, n, c, y);
                w->divisor += p->include ? padded : inside;
            }
}

static double value_of(const struct problem *p, const struct op_tensor *src, const struct window *w,
                       double *magnitude)
{
    double sum = 0, max = -INFINITY;
    *magnitude = 0;
    for (int64_t i = 0; i < w->count; i++) {
        double v = op_get(src, w->element[i]);
        sum += v;
        *magnitude += fabs(v);
        if (isnan(v) || v > max) max = v;
    }
    if (p->type == MAX) return w->count ? max : src->t.dtype.bits == 64 ? -DBL_MAX : -FLT_MAX;
    if (p->type == SUM || w->count == 0) return sum;
    *magnitude /= (double)w->divisor;
    return sum / (double)w->divisor;
}

static enum op_layout layout(struct rng *r)
{
    return (enum op_layout)rng_int(r, 0, OP_LAYOUTS - 1);
}

/* Few different numbers, so that maxima are equal often. */
static void fill_ties(struct op_tensor *x, struct rng *r)
{
    for (int64_t i = 0; i < op_elements(x); i++) op_set(x, i, (double)rng_int(r, -2, 2));
}

#define FOR_WINDOWS(p, image, channel, o)                                                          \
    for (int64_t image = 0; image < (p)->mb; image++)                                              \
        for (int64_t channel = 0; channel < (p)->c; channel++)                                     \
            for ((o)[0] = 0; (o)[0] < (p)->out[0]; (o)[0]++)                                       \
                for ((o)[1] = 0; (o)[1] < (p)->out[1]; (o)[1]++)                                   \
                    for ((o)[2] = 0; (o)[2] < (p)->out[2]; (o)[2]++)

static void forward_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case c = {.seed = seed, .op = "Pooling"};
    struct problem p;
    random_problem(&c, &p, &r);
    struct op_tensor *src = op_in(&c, &r, p.bits, p.axes + 2, p.src, layout(&r));
    if (rng_chance(&r, 30)) fill_ties(src, &r);
    if (rng_chance(&r, 10) && op_elements(src) > 0)
        op_set(src, rng_int(&r, 0, op_elements(src) - 1), NAN);
    op_out(&c, &r, p.bits, p.axes + 2, p.dst, layout(&r), op_random_request(&r));
    struct op_expected e = op_expected(&c.out[0]);
    static struct window w;
    int64_t o[3];
    FOR_WINDOWS(&p, n, k, o)
    {
        int64_t i = at(&p, p.out, n, k, o);
        window_of(&p, n, k, o, &w);
        e.value[i] = value_of(&p, src, &w, &e.magnitude[i]);
        e.magnitude[i] += fabs(e.value[i]);
    }
    op_check(&c, &e, 4);
    op_check_threads(&c);
    op_expected_free(&e);
    op_case_destroy(&c);
}

/* src, and dst as plain loops say it is. */
static void backward_inputs(struct op_case *c, const struct problem *p, struct rng *r,
                            const struct op_tensor *src_of)
{
    op_in(c, r, p->bits, p->axes + 2, p->dst, layout(r));
    struct op_tensor *src = op_in(c, r, p->bits, p->axes + 2, p->src, layout(r));
    struct op_tensor *dst = op_in(c, r, p->bits, p->axes + 2, p->dst, layout(r));
    if (src_of)
        for (int64_t i = 0; i < op_elements(src); i++) op_set(src, i, op_get(src_of, i));
    else if (rng_chance(r, 30))
        fill_ties(src, r);
    if (!src_of && rng_chance(r, 10) && op_elements(src) > 0)
        op_set(src, rng_int(r, 0, op_elements(src) - 1), NAN);
    static struct window w;
    int64_t o[3];
    double unused;
    FOR_WINDOWS(p, n, k, o)
    {
        window_of(p, n, k, o, &w);
        op_set(dst, at(p, p->out, n, k, o), value_of(p, src, &w, &unused));
    }
}

static void backward_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case c = {.seed = seed, .op = "_backward_Pooling"};
    struct problem p;
    random_problem(&c, &p, &r);
    backward_inputs(&c, &p, &r, NULL);
    op_out(&c, &r, p.bits, p.axes + 2, p.src, layout(&r), op_random_request(&r));
    struct op_expected e = op_expected(&c.out[0]);
    static struct window w;
    int64_t o[3];
    FOR_WINDOWS(&p, n, k, o)
    {
        double g = op_get(&c.in[0], at(&p, p.out, n, k, o));
        window_of(&p, n, k, o, &w);
        if (p.type == AVG) g /= (double)(w.divisor ? w.divisor : 1);
        int64_t first = 0;
        while (p.type == MAX && first < w.count) {
            double v = op_get(&c.in[1], w.element[first]);
            double m = op_get(&c.in[2], at(&p, p.out, n, k, o));
            if (v == m || (isnan(v) && isnan(m))) break;
            first++;
        }
        for (int64_t i = first; i < w.count; i++) {
            e.value[w.element[i]] += g;
            e.magnitude[w.element[i]] += fabs(g);
            if (p.type == MAX) break;
        }
    }
    op_check(&c, &e, 40);
    op_check_threads(&c);
    op_expected_free(&e);
    op_case_destroy(&c);
}

static void gradient_case(uint64_t seed)
{
    struct rng r = {seed}, again = {seed};
    struct op_case f = {.seed = seed, .op = "Pooling"};
    struct op_case b = {.seed = seed, .op = "_backward_Pooling"};
    struct problem p;
    random_problem(&f, &p, &r);
    random_problem(&b, &p, &again);
    p.bits = 64;
    /* Far enough apart that a step changes no maximum. */
    struct op_tensor *src = op_in(&f, &r, 64, p.axes + 2, p.src, layout(&r));
    int64_t n = op_elements(src);
    for (int64_t i = 0; i < n; i++) op_set(src, i, (double)i / 1024);
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = rng_int(&r, 0, i);
        double v = op_get(src, i);
        op_set(src, i, op_get(src, j));
        op_set(src, j, v);
    }
    op_out(&f, &r, 64, p.axes + 2, p.dst, layout(&r), CONVOP_REQ_WRITE);
    backward_inputs(&b, &p, &r, src);
    op_out(&b, &r, 64, p.axes + 2, p.src, layout(&r), CONVOP_REQ_WRITE);
    expect_ok(op_run(&b));
    /* A window without elements is a number that swallows all differences. */
    int64_t o[3];
    static struct window w;
    int is_empty = 0;
    FOR_WINDOWS(&p, i, k, o)
    {
        window_of(&p, i, k, o, &w);
        is_empty |= w.count == 0;
    }
    if (!is_empty) op_check_gradient(&f, &r, 0, &b.in[0], &b.out[0], 0x1p-14, 1e-6);
    op_case_destroy(&f);
    op_case_destroy(&b);
}

static void forward(void **state)
{
    (void)state;
    op_for_seeds(41, 400, forward_case);
}

static void backward(void **state)
{
    (void)state;
    op_for_seeds(42, 400, backward_case);
}

static void finite_differences(void **state)
{
    (void)state;
    op_for_seeds(43, 80, gradient_case);
}

static void memory(void **state)
{
    (void)state;
    struct rng r = {44};
    const int64_t src[4] = {2, 8, 40, 40}, dst[4] = {2, 8, 20, 20};
    struct op_case c = {.op = "Pooling"};
    op_param(&c, "kernel", "(2,2)");
    op_param(&c, "stride", "(2,2)");
    op_in(&c, &r, 32, 4, src, OP_GAPS);
    op_out(&c, &r, 32, 4, dst, OP_GAPS, CONVOP_REQ_WRITE);
    op_check_memory(&c);
    op_case_destroy(&c);
}

static void inference(void **state)
{
    (void)state;
    convop_shape in[1] = {OP_SHAPE(2, 3, 7, 8)}, out[1] = {OP_UNKNOWN};
    expect_ok(op_infer("Pooling", "kernel=(3,3);stride=(2,2);pad=(1,1)", 1, in, 1, out));
    expect_shape(out[0], 2, 3, 4, 4);
    out[0] = OP_UNKNOWN;
    expect_ok(op_infer("Pooling",
                       "kernel=(3,3);stride=(2,2);pad=(1,1);pooling_convention=full;layout=NCHW", 1,
                       in, 1, out));
    expect_shape(out[0], 2, 3, 4, 5);

    in[0] = OP_UNKNOWN;
    out[0] = OP_SHAPE(2, 5, 6, 3);
    expect_ok(op_infer("Pooling", "kernel=(3,2);layout=NHWC", 1, in, 1, out));
    expect_shape(in[0], 2, 7, 7, 3);

    in[0] = OP_SHAPE(2, 3, -1, -1);
    out[0] = OP_UNKNOWN;
    expect_ok(op_infer("Pooling", "global_pool=1;pool_type=avg", 1, in, 1, out));
    expect_shape(out[0], 2, 3, 1, 1);

    convop_shape grad[3] = {OP_UNKNOWN, OP_SHAPE(2, 3, 8), OP_UNKNOWN};
    out[0] = OP_UNKNOWN;
    expect_ok(op_infer("_backward_Pooling", "kernel=2;stride=2", 3, grad, 1, out));
    expect_shape(grad[0], 2, 3, 4);
    expect_shape(grad[2], 2, 3, 4);
    expect_shape(out[0], 2, 3, 8);
}

static convop_status infer_one(const char *params, convop_shape src, convop_shape dst)
{
    return op_infer("Pooling", params, 1, &src, 1, &dst);
}

static void refusals(void **state)
{
    (void)state;
    const convop_shape src = OP_SHAPE(2, 3, 7, 8), unknown = OP_UNKNOWN;
    expect_text(CONVOP_E_INVALID,
                "Pooling: kernel has 0 entries, allowed is 1 to 3 (w; h, w; d, h, w), or none with "
                "global_pool",
                infer_one("pool_type=avg", src, unknown));
    expect_text(CONVOP_E_INVALID, "Pooling: pad[1]=2, it must be less than kernel[1]=2",
                infer_one("kernel=(2,2);pad=(1,2)", src, unknown));
    expect_text(CONVOP_E_INVALID,
                "Pooling: stride has 1 entries, kernel has 2: they must be as many",
                infer_one("kernel=(2,2);stride=1", src, unknown));
    expect_text(CONVOP_E_INVALID, "Pooling: layout=NCW has 1 spatial axes, kernel has 2 entries",
                infer_one("kernel=(2,2);layout=NCW", src, unknown));
    expect_text(CONVOP_E_INVALID,
                "Pooling: src has 4 dimensions, shape (2, 3, 7, 8); 1 spatial axes want 3",
                infer_one("kernel=2", src, unknown));
    expect_text(CONVOP_E_INVALID, "Pooling: src has 2 dimensions, shape (2, 3); allowed is 3 to 5",
                infer_one("global_pool=1", OP_SHAPE(2, 3), unknown));
    expect_text(CONVOP_E_INVALID,
                "Pooling: kernel 8 of axis 0 does not fit into the 7 elements of src with pad 0 at "
                "both sides",
                infer_one("kernel=(8,2)", src, unknown));
    expect_text(CONVOP_E_INVALID,
                "Pooling: src has shape (2, 0, 7, 8): dimension 1 is 0, only the batch may be",
                infer_one("kernel=(2,2)", OP_SHAPE(2, 0, 7, 8), unknown));
    expect_text(CONVOP_E_INVALID,
                "Pooling: dst (output) has shape (2, 3, 6, 8), but its shape must be (2, 3, 6, 7): "
                "the batch and channels of src, and the sizes that follow from src, kernel, "
                "stride, pad and pooling_convention",
                infer_one("kernel=(2,2)", src, OP_SHAPE(2, 3, 6, 8)));
    assert_int_equal(infer_one("kernel=(2,2);pool_type=lp", src, unknown), CONVOP_E_INVALID);
    assert_int_equal(infer_one("kernel=2;pooling_convention=same", OP_SHAPE(2, 3, 7), unknown),
                     CONVOP_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward),
        cmocka_unit_test(backward),
        cmocka_unit_test(finite_differences),
        cmocka_unit_test(memory),
        cmocka_unit_test(inference),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

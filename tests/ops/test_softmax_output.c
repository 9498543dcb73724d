/* SoftmaxOutput and its gradient against plain loops in float64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/ops/infer.h"

enum { PLAIN, MULTI, PRESERVE, MODES };
enum { BY_NONE, BY_BATCH, BY_VALID };

struct problem {
    int mode, bits, ndim, label_ndim;
    int64_t shape[CONVOP_MAX_DIMS], label[CONVOP_MAX_DIMS];
    int64_t rows, classes, positions;
    double scale, alpha, ignore;
    int normalization, use_ignore, out_grad;
};

static void random_problem(struct op_case *c, struct problem *p, struct rng *r, int is_backward)
{
    static const char *const by[] = {"null", "batch", "valid"};
    p->mode = (int)rng_int(r, 0, MODES - 1);
    p->bits = rng_chance(r, 50) ? 32 : 64;
    p->ndim = (int)rng_int(r, 2, 5);
    for (int i = 0; i < p->ndim; i++) p->shape[i] = rng_int(r, 1, 6);
    if (rng_chance(r, 15)) p->shape[rng_int(r, 0, p->ndim - 1)] = rng_int(r, 100, 300);
    if (rng_chance(r, 4)) p->shape[0] = 0;
    int begin = p->mode == PRESERVE ? p->ndim - 1 : 1, end = p->mode == MULTI ? 2 : p->ndim;
    p->rows = p->classes = p->positions = 1;
    p->label_ndim = 0;
    for (int i = 0; i < p->ndim; i++) {
        *(i < begin ? &p->rows : i < end ? &p->classes : &p->positions) *= p->shape[i];
        if (i < begin || i >= end) p->label[p->label_ndim++] = p->shape[i];
    }
    p->scale = (double)rng_int(r, -8, 8) / 4;
    p->alpha = rng_chance(r, 60) ? 0 : (double)rng_int(r, 0, 8) / 8;
    p->normalization = (int)rng_int(r, BY_NONE, BY_VALID);
    p->use_ignore = rng_chance(r, 50);
    p->ignore = rng_chance(r, 50) ? -1 : 0;
    p->out_grad = rng_chance(r, 30);
    if (p->mode == MULTI) op_param(c, "multi_output", "1");
    if (p->mode == PRESERVE) op_param(c, "preserve_shape", "True");
    if (!is_backward) return;
    op_param(c, "grad_scale", "%.17g", p->scale);
    op_param(c, "smooth_alpha", "%.17g", p->alpha);
    op_param(c, "normalization", "%s", by[p->normalization]);
    op_param(c, "use_ignore", "%d", p->use_ignore);
    op_param(c, "ignore_label", "%g", p->ignore);
    op_param(c, "out_grad", "%d", p->out_grad);
}

static enum op_layout layout(struct rng *r)
{
    return (enum op_layout)rng_int(r, 0, OP_LAYOUTS - 1);
}

/* Labels that are classes, some with a fraction, and what is ignored. */
static void fill_labels(struct op_tensor *label, const struct problem *p, struct rng *r)
{
    for (int64_t i = 0; i < op_elements(label); i++)
        op_set(label, i,
               p->use_ignore && rng_chance(r, 25)
                   ? p->ignore
                   : (double)rng_int(r, 0, p->classes - 1) + (rng_chance(r, 10) ? 0.25 : 0));
}

/* The element of row n, class c, position x. */
static int64_t at(const struct problem *p, int64_t n, int64_t c, int64_t x)
{
    return (n * p->classes + c) * p->positions + x;
}

static void forward_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case c = {.seed = seed, .op = "SoftmaxOutput"};
    struct problem p;
    random_problem(&c, &p, &r, 0);
    double range = rng_chance(&r, 20) ? 1000 : 5; /* exponentials that overflow */
    op_fill(op_in(&c, &r, p.bits, p.ndim, p.shape, layout(&r)), &r, -range, range);
    /* Labels play no part: NaN, as they were created. */
    op_in(&c, &r, p.bits, p.label_ndim, p.label, layout(&r));
    for (int64_t i = 0; i < op_elements(&c.in[1]); i++) op_set(&c.in[1], i, NAN);
    op_out(&c, &r, p.bits, p.ndim, p.shape, layout(&r), op_random_request(&r));
    if (rng_chance(&r, 25)) op_make_inplace(&c, 0, 0);
    struct op_expected e = op_expected(&c.in[0]);
    for (int64_t n = 0; n < p.rows; n++)
        for (int64_t x = 0; x < p.positions; x++)
            for (int64_t k = 0; k < p.classes; k++) {
                double sum = 0, v = op_get(&c.in[0], at(&p, n, k, x));
                for (int64_t j = 0; j < p.classes; j++)
                    sum += exp(op_get(&c.in[0], at(&p, n, j, x)) - v);
                e.value[at(&p, n, k, x)] = 1 / sum;
                e.magnitude[at(&p, n, k, x)] = 1 / sum + (p.bits == 64 ? 1e-290 : 1e-36);
            }
    /* The difference of two scores is rounded before its exponential, and the sum here too. */
    struct op_memory before = op_save(&c);
    op_check(&c, &e, 16 + 2 * range + (double)p.classes);
    op_restore(&c, &before);
    op_check_threads(&c);
    op_forget(&c, &before);
    op_expected_free(&e);
    op_case_destroy(&c);
}

static void backward_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case c = {.seed = seed, .op = "_backward_SoftmaxOutput"};
    struct problem p;
    random_problem(&c, &p, &r, 1);
    op_fill(op_in(&c, &r, p.bits, p.ndim, p.shape, layout(&r)), &r, 0, 1);
    fill_labels(op_in(&c, &r, p.bits, p.label_ndim, p.label, layout(&r)), &p, &r);
    if (p.out_grad) op_in(&c, &r, p.bits, p.ndim, p.shape, layout(&r));
    op_out(&c, &r, p.bits, p.ndim, p.shape, layout(&r), op_random_request(&r));
    if (rng_chance(&r, 25)) op_make_inplace(&c, 0, 0);
    int64_t valid = 0;
    for (int64_t i = 0; i < op_elements(&c.in[1]); i++)
        valid += !(p.use_ignore && op_get(&c.in[1], i) == p.ignore);
    double by = p.normalization == BY_VALID   ? (double)(valid ? valid : 1)
                : p.normalization == BY_BATCH ? (double)(p.rows * p.positions)
                                              : (double)p.positions;
    struct op_expected e = op_expected(&c.in[0]);
    for (int64_t n = 0; n < p.rows; n++)
        for (int64_t x = 0; x < p.positions; x++) {
            double label = op_get(&c.in[1], n * p.positions + x);
            for (int64_t k = 0; k < p.classes && !(p.use_ignore && label == p.ignore); k++) {
                int64_t i = at(&p, n, k, x);
                double g = op_get(&c.in[0], i);
                g -= floor(label) == (double)k ? 1 - p.alpha : p.alpha / (double)(p.classes - 1);
                g *= p.scale / by * (p.out_grad ? op_get(&c.in[2], i) : 1);
                e.value[i] = g;
                e.magnitude[i] = fabs(g) + fabs(p.scale / by);
            }
        }
    struct op_memory before = op_save(&c);
    op_check(&c, &e, 8);
    op_restore(&c, &before);
    op_check_threads(&c);
    op_forget(&c, &before);
    op_expected_free(&e);
    op_case_destroy(&c);
}

static void forward(void **state)
{
    (void)state;
    op_for_seeds(31, 200, forward_case);
}

static void backward(void **state)
{
    (void)state;
    op_for_seeds(32, 300, backward_case);
}

/* The loss that the gradient is of, by the probabilities that the operator gives. */
static double cross_entropy(struct op_case *f, const struct problem *p,
                            const struct op_tensor *label)
{
    double sum = 0;
    expect_ok(op_run(f));
    for (int64_t n = 0; n < p->rows; n++)
        for (int64_t x = 0; x < p->positions; x++)
            for (int64_t k = 0; k < p->classes; k++) {
                int is_label = (double)k == floor(op_get(label, n * p->positions + x));
                double target = is_label ? 1 - p->alpha : p->alpha / (double)(p->classes - 1);
                sum -= target * log(op_get(&f->out[0], at(p, n, k, x)));
            }
    return sum;
}

static void gradient_case(uint64_t seed)
{
    struct rng r = {seed};
    struct op_case f = {.seed = seed, .op = "SoftmaxOutput"};
    struct op_case b = {.seed = seed, .op = "_backward_SoftmaxOutput"};
    struct problem p;
    random_problem(&f, &p, &r, 0);
    if (p.classes == 1) p.alpha = 0;
    p.use_ignore = 0;
    struct op_tensor *src = op_in(&f, &r, 64, p.ndim, p.shape, layout(&r));
    struct op_tensor *label = op_in(&f, &r, 64, p.label_ndim, p.label, layout(&r));
    fill_labels(label, &p, &r);
    op_out(&f, &r, 64, p.ndim, p.shape, layout(&r), CONVOP_REQ_WRITE);
    expect_ok(op_run(&f));

    for (int i = 0; i < f.num_params; i++) op_param(&b, f.keys[i], "%s", f.values[i]);
    op_param(&b, "smooth_alpha", "%.17g", p.alpha);
    op_param(&b, "grad_scale", "%lld", (long long)p.positions); /* null divides by them */
    op_in(&b, &r, 64, p.ndim, p.shape, layout(&r));
    op_in(&b, &r, 64, p.label_ndim, p.label, layout(&r));
    for (int64_t i = 0; i < op_elements(src); i++) op_set(&b.in[0], i, op_get(&f.out[0], i));
    for (int64_t i = 0; i < op_elements(label); i++) op_set(&b.in[1], i, op_get(label, i));
    op_out(&b, &r, 64, p.ndim, p.shape, layout(&r), CONVOP_REQ_WRITE);
    expect_ok(op_run(&b));
    for (int n = 0; n < 8 && op_elements(src) > 0; n++) {
        int64_t i = rng_int(&r, 0, op_elements(src) - 1);
        double v = op_get(src, i), step = 1e-5;
        op_set(src, i, v + step);
        double above = cross_entropy(&f, &p, label);
        op_set(src, i, v - step);
        double below = cross_entropy(&f, &p, label);
        op_set(src, i, v);
        double want = (above - below) / (2 * step), got = op_get(&b.out[0], i);
        if (fabs(want - got) <= 1e-6) continue;
        op_print(&b);
        fail_msg("gradient [%lld] is %.12g, differences say %.12g", (long long)i, got, want);
    }
    op_case_destroy(&f);
    op_case_destroy(&b);
}

static void finite_differences(void **state)
{
    (void)state;
    op_for_seeds(33, 60, gradient_case);
}

static void fixed_backward(struct op_case *c, int64_t rows, int64_t classes)
{
    struct rng r = {34};
    const int64_t shape[2] = {rows, classes};
    *c = (struct op_case){.op = "_backward_SoftmaxOutput"};
    op_in(c, &r, 32, 2, shape, OP_GAPS);
    op_in(c, &r, 32, 1, shape, OP_GAPS);
    for (int64_t i = 0; i < rows; i++) op_set(&c->in[1], i, 0);
    op_out(c, &r, 32, 2, shape, OP_GAPS, CONVOP_REQ_WRITE);
}

static void memory(void **state)
{
    (void)state;
    struct op_case c;
    fixed_backward(&c, 30, 1000);
    op_check_memory(&c);
    op_case_destroy(&c);
}

/* The right class is checked before anything is written. */
static void wrong_labels(void **state)
{
    (void)state;
    static const struct {
        double label;
        const char *text;
    } cases[] = {
        {3, "_backward_SoftmaxOutput: label[1] is 3, allowed is 0..2"},
        {-1, "_backward_SoftmaxOutput: label[1] is -1, allowed is 0..2"},
        {-0.5, "_backward_SoftmaxOutput: label[1] is -0.5, allowed is 0..2"},
        {1e30, "_backward_SoftmaxOutput: label[1] is 1e+30, allowed is 0..2"},
        {NAN, "_backward_SoftmaxOutput: label[1] is nan, allowed is 0..2"},
    };
    struct op_case c;
    fixed_backward(&c, 2, 3);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_set(&c.in[1], 1, cases[i].label);
        op_check_refusal(&c, CONVOP_E_INVALID, cases[i].text);
    }
    op_set(&c.in[1], 1, -1);
    op_param(&c, "use_ignore", "1");
    expect_ok(op_run(&c));
    for (int k = 0; k < 3; k++) assert_true(op_get(&c.out[0], 3 + k) == 0);
    op_case_destroy(&c);
}

/* Scores that no exponential bears; infinity and NaN spoil their own row alone. */
static void special_values(void **state)
{
    (void)state;
    struct rng r = {35};
    const int64_t shape[2] = {4, 2};
    const double scores[8] = {1e30, -1e30, -INFINITY, 3, NAN, 1, INFINITY, 1};
    struct op_case c = {.op = "SoftmaxOutput"};
    op_in(&c, &r, 32, 2, shape, OP_COMPACT);
    op_in(&c, &r, 32, 1, shape, OP_COMPACT);
    op_out(&c, &r, 32, 2, shape, OP_COMPACT, CONVOP_REQ_WRITE);
    for (int i = 0; i < 8; i++) op_set(&c.in[0], i, scores[i]);
    expect_ok(op_run(&c));
    const double want[4] = {1, 0, 0, 1};
    for (int i = 0; i < 4; i++) assert_true(op_get(&c.out[0], i) == want[i]);
    for (int i = 4; i < 8; i++) assert_true(isnan(op_get(&c.out[0], i)));
    op_case_destroy(&c);
}

static void inference(void **state)
{
    (void)state;
    convop_shape in[2] = {OP_SHAPE(4, 10), OP_UNKNOWN}, out[1] = {OP_UNKNOWN};
    expect_ok(op_infer("SoftmaxOutput", "", 2, in, 1, out));
    expect_shape(in[1], 4);
    expect_shape(out[0], 4, 10);

    convop_shape multi[2] = {OP_SHAPE(-1, 10, -1, 7), OP_SHAPE(4, 6, -1)};
    out[0] = OP_UNKNOWN;
    expect_ok(op_infer("SoftmaxOutput", "multi_output=1", 2, multi, 1, out));
    expect_shape(multi[0], 4, 10, 6, 7);
    expect_shape(multi[1], 4, 6, 7);
    expect_shape(out[0], 4, 10, 6, 7);

    convop_shape keep[2] = {OP_UNKNOWN, OP_SHAPE(4, 6)};
    out[0] = OP_SHAPE(-1, -1, 10);
    expect_ok(op_infer("SoftmaxOutput", "preserve_shape=1", 2, keep, 1, out));
    expect_shape(keep[0], 4, 6, 10);

    convop_shape grad[3] = {OP_UNKNOWN, OP_SHAPE(4), OP_SHAPE(-1, 10)};
    out[0] = OP_UNKNOWN;
    expect_ok(op_infer("_backward_SoftmaxOutput", "out_grad=1", 3, grad, 1, out));
    expect_shape(grad[0], 4, 10);
    expect_shape(out[0], 4, 10);
}

static convop_status infer_two(const char *params, convop_shape src, convop_shape label)
{
    convop_shape in[2] = {src, label}, out[1] = {OP_UNKNOWN};
    return op_infer("SoftmaxOutput", params, 2, in, 1, out);
}

static void refusals(void **state)
{
    (void)state;
    expect_text(CONVOP_E_INVALID,
                "SoftmaxOutput: label has shape (5), but its shape must be (4): one label a row",
                infer_two("", OP_SHAPE(4, 3), OP_SHAPE(5)));
    expect_text(CONVOP_E_INVALID,
                "SoftmaxOutput: label has shape (4), but its shape must be (4, 6): that of src "
                "without the axis of classes",
                infer_two("multi_output=1", OP_SHAPE(4, 3, 6), OP_SHAPE(4)));
    expect_text(CONVOP_E_INVALID,
                "SoftmaxOutput: src has shape (4), it must have 2 dimensions or more",
                infer_two("", OP_SHAPE(4), OP_UNKNOWN));
    expect_text(CONVOP_E_INVALID,
                "SoftmaxOutput: src has shape (4, 0): dimension 1 is 0, only the batch may be",
                infer_two("", OP_SHAPE(4, 0), OP_UNKNOWN));
    expect_text(CONVOP_E_INVALID,
                "SoftmaxOutput: multi_output=1 and preserve_shape=1 exclude each other",
                infer_two("multi_output=1;preserve_shape=1", OP_SHAPE(4, 3), OP_UNKNOWN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward),
        cmocka_unit_test(backward),
        cmocka_unit_test(finite_differences),
        cmocka_unit_test(memory),
        cmocka_unit_test(wrong_labels),
        cmocka_unit_test(special_values),
        cmocka_unit_test(inference),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* activation(conv + bias + residual) in one call against the operators one after the other: the
 * same bits in float32 and float64, for every row, with any layout, gaps and number of threads;
 * 16-bit types within one rounding. Over its residual; by rows that know nothing of it; refusals.
 *
 *     CONVOP_CASE=<seed> test_conv_fused     repeats one problem
 *     CONVOP_SEED=<seed> test_conv_fused     another series */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "convop/convop.h"
#include "tests/support/conv_case.h"
#include "tests/support/sample_row.h"

static const char *program;

/* A random problem with what follows it. */
struct fused_case {
    struct conv_case c;
    struct box residual, separate; /* the second: by operators one after the other */
    int has_residual;
    int64_t sizes[5];
};

static void create(struct fused_case *f, uint64_t seed)
{
    conv_case_create(&f->c, seed);
    struct rng r = {seed ^ 0xf05ed};
    box_sizes(&f->c.dst, f->sizes);
    const int type = f->c.bits, axes = f->c.axes, last = f->c.channels_last;
    box_create(&f->residual, &r, type, axes, last, f->sizes,
               rng_chance(&r, 25) ? BOX_GAPS : BOX_DENSE, (int)rng_int(&r, 0, 3));
    box_create(&f->separate, &r, type, axes, last, f->sizes, BOX_DENSE, 0);
    if (f->c.integers)
        box_fill_int(&f->residual, &r, -20, 20);
    else
        box_fill_real(&f->residual, &r);
    f->has_residual = rng_chance(&r, 60);
    f->c.params.activation = (int)rng_int(&r, f->has_residual ? 0 : 1, 2);
    f->c.request = CONVOP_REQ_WRITE;
    box_fill_value(&f->c.dst, (double)NAN);
}

static void destroy(struct fused_case *f)
{
    box_destroy(&f->residual);
    box_destroy(&f->separate);
    conv_case_destroy(&f->c);
}

static const DLTensor *bias_of(const struct fused_case *f)
{
    return f->c.params.no_bias ? NULL : &f->c.bias.tensor;
}

static double activate(int activation, double x)
{
    if (activation == CONVOP_ACTIVATION_NONE) return x;
    const double high = activation == CONVOP_ACTIVATION_RELU6 ? 6 : (double)INFINITY;
    return x < 0 ? 0 : x > high ? high : x;
}

/* Convolution, then a sum, then an activation, each rounded to the tensors' type. */
static void compute_separately(struct fused_case *f, const convop_exec *x)
{
    convop_conv_params plain = f->c.params;
    int64_t at[5];
    plain.activation = CONVOP_ACTIVATION_NONE;
    expect_ok(convop_conv_forward(&plain, &f->c.src.tensor, &f->c.weights.tensor, bias_of(f),
                                  &f->separate.tensor, CONVOP_REQ_WRITE, x));
    BOX_FOR_EACH(f->sizes, at)
    {
        double y = box_get(&f->separate, at);
        if (f->has_residual) {
            y += box_get(&f->residual, at);
            if (f->c.bits == BOX_F32) y = (double)(float)y;
        }
        box_set(&f->separate, at, activate(f->c.params.activation, y));
    }
}

static convop_status call(struct fused_case *f, const DLTensor *residual, convop_request request,
                          const convop_exec *x)
{
    if (f->has_residual)
        return convop_conv_forward_add(&f->c.params, &f->c.src.tensor, &f->c.weights.tensor,
                                       bias_of(f), residual, &f->c.dst.tensor, request, x);
    return convop_conv_forward(&f->c.params, &f->c.src.tensor, &f->c.weights.tensor, bias_of(f),
                               &f->c.dst.tensor, request, x);
}

/* How far the two ways may be apart at one element. */
static double tolerance(const struct fused_case *f, double y, int is_inplace)
{
    if (f->c.integers && f->c.bits >= 32) return 0;
    if (f->c.bits == BOX_F64) return is_inplace ? 1e-12 : 0;
    if (f->c.bits == BOX_F32) return is_inplace ? 1e-4 : 0;
    /* The separate ones round to 8 or 11 bits on the way; rows of float32 sum in another order. */
    return (f->c.bits == BOX_BF16 ? 0x1p-7 : 0x1p-10) * (fabs(y) + 16);
}

static int agrees(const struct fused_case *f, int is_inplace)
{
    int64_t at[5];
    BOX_FOR_EACH(f->sizes, at)
    {
        const double y = box_get(&f->c.dst, at), want = box_get(&f->separate, at);
        if (fabs(y - want) <= tolerance(f, want, is_inplace)) continue;
        printf("dst[%d][%d][%d][%d][%d] is %.9g, separate operators give %.9g\n", (int)at[0],
               (int)at[1], (int)at[2], (int)at[3], (int)at[4], y, want);
        return 0;
    }
    if (box_canaries_whole(&f->c.dst)) return 1;
    printf("written beside dst\n");
    return 0;
}

/* dst begins as the residual, and is given as it. */
static int runs_over_its_residual(struct fused_case *f, const convop_exec *x)
{
    int64_t at[5];
    BOX_FOR_EACH(f->sizes, at) box_set(&f->c.dst, at, box_get(&f->residual, at));
    return call(f, &f->c.dst.tensor, CONVOP_REQ_INPLACE, x) == CONVOP_OK && agrees(f, 1);
}

/* A residual elsewhere, but with the request inplace. */
static int runs_beside_its_residual(struct fused_case *f, const convop_exec *x)
{
    box_fill_value(&f->c.dst, (double)NAN);
    return call(f, &f->residual.tensor, CONVOP_REQ_INPLACE, x) == CONVOP_OK && agrees(f, 1);
}

static int run_case(uint64_t seed, const char *impl, int threads)
{
    struct fused_case f;
    create(&f, seed);
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    options.num_threads = threads;
    convop_context *context = NULL;
    expect_ok(convop_context_create(&options, &context));
    convop_exec x = CONVOP_EXEC_INIT;
    x.context = context;
    expect_ok(convop_set("impl", impl));
    compute_separately(&f, &x);
    unsigned char *before = box_snapshot(&f.residual);
    int good = call(&f, &f.residual.tensor, CONVOP_REQ_WRITE, &x) == CONVOP_OK;
    if (!good) printf("%s\n", convop_last_error());
    good = good && agrees(&f, 0);
    if (good && f.has_residual)
        good = runs_over_its_residual(&f, &x) && runs_beside_its_residual(&f, &x);
    good &= box_unchanged(&f.residual, before);
    if (!good) {
        printf("row %s, %d threads, residual %d, activation %d: ", impl ? impl : "as chosen",
               threads, f.has_residual, f.c.params.activation);
        conv_case_print(&f.c);
        printf("CONVOP_CASE=%llu %s\n", (unsigned long long)seed, program);
    }
    destroy(&f);
    convop_context_destroy(&context);
    return good;
}

static int run_rows(uint64_t seed)
{
    static const int threads[] = {1, 2, 3, 7};
    const char *names[16];
    struct conv_case c;
    expect_ok(convop_set("impl", NULL));
    conv_case_create(&c, seed);
    const size_t whole = conv_case_row_names(&c, 0, names, 16);
    const size_t rows = whole + conv_case_row_names(&c, 1, names + whole, 16 - whole);
    conv_case_destroy(&c);
    int good = 1;
    for (size_t i = 0; i < rows; i++) good &= run_case(seed, names[i], threads[(seed >> i) % 4]);
    expect_ok(convop_set("impl", NULL));
    return good;
}

static void as_separate_operators(void **state)
{
    (void)state;
    const char *one = getenv("CONVOP_CASE");
    if (one) {
        assert_true(run_rows(strtoull(one, NULL, 0)));
        return;
    }
    struct rng r = {test_seed(61)};
    int bad = 0;
    for (int64_t n = test_scaled(1200); n > 0 && bad < 5; n--) bad += !run_rows(rng_next(&r));
    assert_int_equal(bad, 0);
}

/* A row without fuses() is given the sum alone; the rest is a pass after it. */
static void after_a_row_that_knows_nothing_of_it(void **state)
{
    (void)state;
    struct problem x;
    float residual[IMAGE];
    make_problem(&x);
    const convop_conv_impl row = row_of("all 42", 20);
    for (int i = 0; i < IMAGE; i++) residual[i] = (float)(i - 50);
    DLTensor r = view(residual, x.image, 4);
    x.params.activation = CONVOP_ACTIVATION_RELU6;
    expect_ok(convop_conv_impl_register(&row));
    expect_ok(
        convop_conv_forward_add(&x.params, &x.s, &x.w, NULL, &r, &x.d, CONVOP_REQ_WRITE, NULL));
    for (int i = 0; i < IMAGE; i++)
        assert_true((double)x.dst[i] == activate(CONVOP_ACTIVATION_RELU6, 42 + i - 50));
    expect_ok(convop_conv_impl_unregister(&row, NULL, NULL));
}

/* NaN stays NaN and -0 stays -0, as in Activation. */
static void special_values(void **state)
{
    (void)state;
    struct problem x;
    float residual[IMAGE] = {NAN, -INFINITY, INFINITY, -0.0F};
    make_problem(&x);
    memset(x.src, 0, sizeof x.src);
    DLTensor r = view(residual, x.image, 4);
    for (int activation = CONVOP_ACTIVATION_RELU; activation <= CONVOP_ACTIVATION_RELU6;
         activation++) {
        x.params.activation = activation;
        expect_ok(
            convop_conv_forward_add(&x.params, &x.s, &x.w, NULL, &r, &x.d, CONVOP_REQ_WRITE, NULL));
        assert_true(isnan(x.dst[0]));
        assert_true(x.dst[1] == 0);
        assert_true((double)x.dst[2] == activate(activation, (double)INFINITY));
    }
}

/* By name, and as an instance with constant weights. */
static void by_name_and_prepared(void **state)
{
    (void)state;
    struct problem x;
    float residual[IMAGE], bias[CHANNELS] = {-30, 2, -90, 4};
    int64_t channels[] = {CHANNELS};
    make_problem(&x);
    for (int i = 0; i < IMAGE; i++) residual[i] = (float)(i % 7);
    DLTensor r = view(residual, x.image, 4), b = view(bias, channels, 1);
    static const char *const keys[] = {"kernel", "num_filter", "activation"};
    static const char *const values[] = {"(1, 1)", "4", "relu"};
    const DLTensor *inputs[] = {&x.s, &r, &x.w, &b};
    DLTensor *outputs[] = {&x.d};
    for (int prepared = 0; prepared < 2; prepared++) {
        memset(x.dst, 0xff, sizeof x.dst);
        if (!prepared) {
            expect_ok(convop_invoke("FusedConvolutionAdd", 3, keys, values, 4, inputs, 1, outputs,
                                    NULL, NULL));
        } else {
            const DLTensor *constants[] = {NULL, NULL, &x.w, &b}, *free[] = {&x.s, &r, NULL, NULL};
            convop_instance *instance;
            expect_ok(convop_instance_create("FusedConvolutionAdd", 3, keys, values, 4, constants,
                                             NULL, &instance));
            expect_ok(convop_instance_reshape(instance, free, outputs, NULL, SIZE_MAX, NULL));
            expect_ok(convop_instance_run(instance, free, outputs, NULL));
            convop_instance_destroy(&instance);
        }
        for (int i = 0; i < IMAGE; i++)
            assert_true((double)x.dst[i] ==
                        fmax(0, i + (double)bias[i / (SIDE * SIDE)] + (double)residual[i]));
    }
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void refuses(convop_status status, const char *part)
{
    assert_int_equal(status, CONVOP_E_INVALID);
    if (!strstr(convop_last_error(), part)) fail_msg("%s", convop_last_error());
}

static void refusals(void **state)
{
    (void)state;
    struct problem x;
    float residual[2 * IMAGE] = {0};
    int64_t narrow[] = {1, CHANNELS, SIDE, SIDE - 1};
    make_problem(&x);
    DLTensor r = view(residual, x.image, 4), small = view(residual, narrow, 4), wide = r, over = r;
    wide.dtype.bits = 64;
    over.data = x.dst + 3;
#define ADD(residual, dst, request)                                                                \
    convop_conv_forward_add(&x.params, &x.s, &x.w, NULL, residual, dst, request, NULL)
    x.dst[0] = -5;
    refuses(ADD(NULL, &x.d, CONVOP_REQ_WRITE), "residual is NULL");
    refuses(ADD(&small, &x.d, CONVOP_REQ_WRITE), "residual has shape (1, 4, 5, 4)");
    refuses(ADD(&wide, &x.d, CONVOP_REQ_WRITE), "residual has dtype float64");
    refuses(ADD(&x.d, &x.d, CONVOP_REQ_WRITE), "overlap");
    refuses(ADD(&over, &x.d, CONVOP_REQ_INPLACE), "overlap");
    refuses(ADD(&r, &x.d, CONVOP_REQ_ADD), "request add with a residual");
    x.params.activation = CONVOP_ACTIVATION_RELU;
    refuses(convop_conv_forward(&x.params, &x.s, &x.w, NULL, &x.d, CONVOP_REQ_ADD, NULL),
            "request add with an activation");
    const convop_request requests[3] = {CONVOP_REQ_WRITE};
    refuses(convop_conv_backward(&x.params, &x.d, &x.s, &x.w, &r, NULL, NULL, requests, NULL),
            "activation is relu");
    x.params.activation = 3;
    refuses(convop_conv_forward(&x.params, &x.s, &x.w, NULL, &x.d, CONVOP_REQ_WRITE, NULL),
            "activation");
    assert_true(x.dst[0] == -5);
}

int main(int argc, char **argv)
{
    (void)argc;
    program = argv[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_separate_operators),
        cmocka_unit_test(after_a_row_that_knows_nothing_of_it),
        cmocka_unit_test(special_values),
        cmocka_unit_test(by_name_and_prepared),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Rows that are less exact than sums of products (convop_conv_impl.error_bound above 0): held to
 * their bound, with the row `reference` as the judge; taken out by math "strict"; the same bits for
 * any number of threads; within the workspace.
 *
 *     CONVOP_CASE=<seed> test_conv_bounds     repeats one random problem
 *     CONVOP_SEED=<seed> test_conv_bounds     another series */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "convop/convop.h"
#include "convop/instance.h"
#include "tests/support/conv_fixed.h"
#include "tests/support/expect.h"

enum { INTEGERS, REALS, POSITIVE, FILLS };

struct shape {
    int axes, channels_last, fill;
    int64_t mb, icg, ocg, g, d, h, w, h0, h1, w0, w1;
    convop_request request;
};

/* 3x3 windows at stride 1, which is what such rows are for. */
static void create(struct conv_case *c, const struct shape *s, uint64_t seed)
{
    struct rng r = {seed};
    const struct conv_size size = {
        s->axes, s->channels_last, BOX_F32, 1, s->g, s->g, s->g, 1, 1, 1, 1, 0};
    conv_case_fixed(c, &size, rng_chance(&r, 50), seed);
    conv_case_destroy(c);
    c->integers = s->fill == INTEGERS;
    c->mb = s->mb;
    c->ic = s->icg * s->g;
    c->oc = c->params.num_filter = s->ocg * s->g;
    const int64_t i[3] = {s->d, s->h, s->w}, k[3] = {1, 3, 3};
    const int64_t p0[3] = {0, s->h0, s->w0}, p1[3] = {0, s->h1, s->w1};
    for (int a = 3 - s->axes; a < 3; a++) {
        const int axis = a - (3 - s->axes);
        c->i[a] = i[a];
        c->k[a] = c->params.kernel.at[axis] = k[a];
        c->p0[a] = c->params.pad_begin.at[axis] = p0[a];
        c->p1[a] = c->params.pad_end.at[axis] = p1[a];
    }
    c->request = c->requests[0] = s->request;
    c->requests[1] = c->requests[2] = CONVOP_REQ_NULL;
    conv_case_create_tensors(c, &r, 0);
    struct box *inputs[] = {&c->src, &c->weights, &c->diff_dst};
    for (int n = 0; n < 3 && s->fill == POSITIVE; n++) {
        int64_t sizes[5], at[5];
        box_sizes(inputs[n], sizes);
        BOX_FOR_EACH(sizes, at) box_set(inputs[n], at, rng_real(&r, 0.5, 1));
    }
}

static convop_status call(struct conv_case *c, int d, const char *row, int threads)
{
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_exec x = CONVOP_EXEC_INIT;
    convop_context *context = NULL;
    options.num_threads = threads;
    expect_ok(convop_context_create(&options, &context));
    x.context = context;
    expect_ok(convop_set("impl", row));
    convop_status status = d == CONVOP_FWD ? conv_case_forward(c, &x) : conv_case_backward(c, &x);
    expect_ok(convop_set("impl", NULL));
    convop_context_destroy(&context);
    return status;
}

/* The rows of a direction that have a bound of their own. */
static int bounded_rows(struct conv_case *c, int d, convop_conv_row rows[CONV_CASE_MAX_ROWS])
{
    const int all = conv_case_rows(c, (convop_conv_direction)d, rows);
    int n = 0;
    for (int i = 0; i < all; i++)
        if (rows[i].error_bound > 0) rows[n++] = rows[i];
    return n;
}

/* ---- the bound ----------------------------------------------------------------------------------
 */

/* The largest error of an output, in units of what a bound of 1 would allow. */
static double error_of(const struct conv_case *c, int d, const float *want)
{
    const struct box *out = d == 0 ? &c->dst : &c->diff_src;
    const double unit = 0x1p-24 * conv_case_reach(c, d);
    int64_t sizes[5], at[5], n = 0;
    double most = 0;
    box_sizes(out, sizes);
    BOX_FOR_EACH(sizes, at)
    {
        const double off = fabs(box_get(out, at) - (double)want[n++]);
        most = off / unit > most || isnan(off) ? off / unit : most;
    }
    return most;
}

static float *values_of(const struct box *b)
{
    int64_t s[5], at[5], n = 0;
    box_sizes(b, s);
    float *v = malloc((size_t)(s[0] * s[1] * s[2] * s[3] * s[4] + 1) * sizeof *v);
    BOX_FOR_EACH(s, at) v[n++] = (float)box_get(b, at);
    return v;
}

static double worst;
static int num_ran;

static int is_within_bound(struct conv_case *c, struct rng *r, const char *judge)
{
    int good = 1;
    for (int d = CONVOP_FWD; d <= CONVOP_BWD_D; d++) {
        convop_conv_row rows[CONV_CASE_MAX_ROWS];
        const int n = bounded_rows(c, d, rows);
        struct box *out = conv_case_output(c, d);
        unsigned char *before = box_snapshot(out);
        expect_ok(call(c, d, judge, 1));
        float *want = values_of(out);
        for (int i = 0; i < n; i++, num_ran++) {
            const int threads = (int)rng_int(r, 1, 4);
            memcpy(out->memory, before, out->bytes);
            expect_ok(call(c, d, rows[i].name, threads));
            const double error = error_of(c, d, want);
            worst = error > worst ? error : worst;
            if (error <= rows[i].error_bound && box_canaries_whole(out)) continue;
            printf("row %s, direction %d, %d threads: off by %g, allowed is %g\n", rows[i].name, d,
                   threads, error, rows[i].error_bound);
            good = 0;
        }
        free(want);
        free(before);
    }
    return good;
}

static int random_case(uint64_t seed)
{
    struct rng r = {seed};
    struct shape s = {.axes = rng_chance(&r, 20) ? 3 : 2,
                      .channels_last = rng_chance(&r, 50),
                      .fill = (int)rng_int(&r, 0, FILLS - 1),
                      .mb = rng_int(&r, 1, 2),
                      .g = rng_chance(&r, 20) ? 2 : 1,
                      .icg = rng_chance(&r, 40) ? 32 : rng_int(&r, 32, 70),
                      .ocg = rng_chance(&r, 40) ? 32 : rng_int(&r, 32, 70),
                      .d = rng_int(&r, 1, 2),
                      .h0 = rng_int(&r, 0, 3),
                      .w0 = rng_int(&r, 0, 3),
                      .request = rng_chance(&r, 30) ? CONVOP_REQ_ADD : CONVOP_REQ_WRITE};
    s.h1 = rng_chance(&r, 50) ? s.h0 : rng_int(&r, 0, 6);
    s.w1 = rng_chance(&r, 50) ? s.w0 : rng_int(&r, 0, 6);
    s.h = rng_int(&r, 14, 20);
    s.w = rng_int(&r, 14, 30);
    struct conv_case c;
    create(&c, &s, rng_next(&r));
    c.seed = seed;
    const int good = is_within_bound(&c, &r, "reference");
    if (!good) {
        conv_case_print(&c);
        printf("CONVOP_CASE=%llu test_conv_bounds\n", (unsigned long long)seed);
    }
    conv_case_destroy(&c);
    return good;
}

static void within_the_bound(void **state)
{
    (void)state;
    const char *one = getenv("CONVOP_CASE");
    struct rng r = {test_seed(36)};
    int bad = 0;
    num_ran = 0;
    for (int64_t n = one ? 1 : test_scaled(30); n > 0 && bad < 5; n--)
        bad += !random_case(one ? strtoull(one, NULL, 0) : rng_next(&r));
    printf("largest error: %g\n", worst);
    assert_int_equal(bad, 0);
    assert_true(num_ran > 0);
}

/* ---- many blocks, many threads ------------------------------------------------------------------
 */

/* Large enough to be cut into blocks in every way. Rows that are as exact as sums judge. */
static void same_bits_for_any_threads(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 3, 16};
    struct rng r = {1};
    for (int n = 0; n < 4; n++) {
        const struct shape s = {.axes = 2,
                                .channels_last = n & 1,
                                .fill = REALS,
                                .mb = n & 2 ? 5 : 1,
                                .icg = n & 2 ? 40 : 150,
                                .ocg = n & 2 ? 32 : 70,
                                .g = 1,
                                .h = 41,
                                .w = n & 2 ? 62 : 29,
                                .h0 = 1,
                                .h1 = 1,
                                .w0 = 1,
                                .w1 = 1,
                                .request = CONVOP_REQ_WRITE};
        struct conv_case c;
        create(&c, &s, (uint64_t)n);
        expect_ok(convop_set("math", "strict"));
        convop_conv_row rows[CONV_CASE_MAX_ROWS];
        assert_true(conv_case_rows(&c, CONVOP_FWD, rows) > 0);
        expect_ok(convop_set("math", NULL));
        assert_true(is_within_bound(&c, &r, rows[0].name));
        for (int d = CONVOP_FWD; d <= CONVOP_BWD_W; d++) {
            struct box *out = conv_case_output(&c, d);
            const int count = bounded_rows(&c, d, rows);
            assert_true(count > 0 || d == CONVOP_BWD_W);
            for (int i = 0; i < count; i++) {
                unsigned char *first = NULL;
                for (int t = 0; t < 4; t++) {
                    box_fill_value(out, NAN);
                    expect_ok(call(&c, d, rows[i].name, threads[t]));
                    if (!first) first = box_snapshot(out);
                    if (memcmp(first, out->memory, out->bytes) != 0)
                        fail_msg("row %s, direction %d: other bits with %d threads", rows[i].name,
                                 d, threads[t]);
                }
                free(first);
            }
        }
        conv_case_destroy(&c);
    }
}

/* ---- settings
 * ------------------------------------------------------------------------------------ */

static const struct shape plain = {2, 0, REALS,           1, 36, 40, 1, 1, 16, 17, 1, 1,
                                   1, 1, CONVOP_REQ_WRITE};

/* Of the rows with a bound: how many there are, how many apply, and the reason of one that does
 * not. */
static int count_bounded(struct conv_case *c, const convop_exec *x, char why[120], int *applicable)
{
    convop_conv_row rows[CONV_CASE_MAX_ROWS];
    size_t count = CONV_CASE_MAX_ROWS;
    int n = 0;
    *applicable = 0;
    why[0] = '\0';
    expect_ok(convop_conv_explain(&c->params, CONVOP_FWD, &c->src.tensor, &c->weights.tensor,
                                  &c->dst.tensor, x, rows, &count));
    for (size_t i = 0; i < count; i++) {
        if (rows[i].error_bound == 0) continue;
        n++;
        *applicable += rows[i].applicable;
        assert_true(!rows[i].chosen || rows[i].applicable);
        /* What this machine lacks is no answer about the problem. */
        if (!rows[i].applicable && !strstr(rows[i].why_not, "instruction set"))
            strcpy(why, rows[i].why_not);
    }
    return n;
}

static void strict_takes_them_out(void **state)
{
    (void)state;
    struct conv_case c;
    char why[120];
    int before, applicable;
    create(&c, &plain, 1);
    assert_true(count_bounded(&c, NULL, why, &before) > 0);
    assert_true(before > 0);
    expect_ok(convop_set("math", "strict"));
    assert_true(count_bounded(&c, NULL, why, &applicable) > 0);
    assert_int_equal(applicable, 0);
    assert_string_equal(why, "math is strict");

    /* A context's own word counts above the setting, either way. */
    static const convop_math maths[] = {CONVOP_MATH_UNSET, CONVOP_MATH_STRICT, CONVOP_MATH_DEFAULT,
                                        CONVOP_MATH_TF32};
    for (int set = 0; set < 2; set++)
        for (int i = 0; i < 4; i++) {
            convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
            convop_context *context = NULL;
            convop_exec x = CONVOP_EXEC_INIT;
            options.math = maths[i];
            expect_ok(convop_context_create(&options, &context));
            x.context = context;
            expect_ok(convop_set("math", set ? "strict" : "tf32"));
            count_bounded(&c, &x, why, &applicable);
            const int strict = i == 0 ? set : i == 1;
            assert_int_equal(applicable, strict ? 0 : before);
            convop_context_destroy(&context);
        }
    expect_ok(convop_set("math", NULL));
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_context *context = NULL;
    options.math = (convop_math)4;
    assert_int_equal(convop_context_create(&options, &context), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "math is 4"));
    conv_case_destroy(&c);
}

/* Never for float64; and for the gradient by weights no transforms: tiles alone. */
static void float32_alone(void **state)
{
    (void)state;
    struct conv_case c;
    convop_conv_row rows[CONV_CASE_MAX_ROWS];
    create(&c, &plain, 1);
    const int count = bounded_rows(&c, CONVOP_BWD_W, rows);
    for (int i = 0; i < count; i++) assert_string_equal(rows[i].name, "split");
    conv_case_destroy(&c);
    const struct conv_size size = {2, 0, BOX_F64, 1, 40, 40, 1, 16, 3, 1, 1, 1};
    conv_case_fixed(&c, &size, 0, 1);
    for (int d = CONVOP_FWD; d <= CONVOP_BWD_W; d++) assert_int_equal(bounded_rows(&c, d, rows), 0);
    conv_case_destroy(&c);
}

/* ---- memory
 * -------------------------------------------------------------------------------------- */

/* A limit is kept, and where it leaves room for one lane the row runs on that. */
static void workspace_is_kept(void **state)
{
    (void)state;
    struct conv_case c;
    char why[120];
    int applicable;
    create(&c, &plain, 1);
    for (int d = CONVOP_FWD; d <= CONVOP_BWD_W; d++) {
        convop_conv_row rows[CONV_CASE_MAX_ROWS];
        struct box *out = conv_case_output(&c, d);
        c.params.workspace_bytes = (size_t)1 << 30;
        const int count = bounded_rows(&c, d, rows);
        assert_true(count > 0 || d == CONVOP_BWD_W);
        for (int i = 0; i < count; i++) {
            c.params.workspace_bytes = (size_t)1 << 30;
            expect_ok(call(&c, d, rows[i].name, 1));
            unsigned char *first = box_snapshot(out);
            size_t low = 0, high = rows[i].workspace_bytes;
            while (high - low > 1) { /* the least limit that the row fits */
                c.params.workspace_bytes = low + (high - low) / 2;
                (call(&c, d, rows[i].name, 1) == CONVOP_OK ? &high : &low)[0] =
                    c.params.workspace_bytes;
            }
            c.params.workspace_bytes = high;
            box_fill_value(out, NAN);
            expect_ok(call(&c, d, rows[i].name, 16));
            assert_memory_equal(first, out->memory, out->bytes);
            free(first);
        }
    }
    c.params.workspace_bytes = 1 << 10;
    count_bounded(&c, NULL, why, &applicable);
    assert_int_equal(applicable, 0);
    assert_non_null(strstr(why, "workspace"));
    conv_case_destroy(&c);
}

/* Weights that were transformed before give the bits of those that are in each call. */
static void prepared_weights_give_the_same_bits(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        struct shape s = plain;
        struct conv_case c;
        convop_conv_row rows[CONV_CASE_MAX_ROWS];
        s.channels_last = last;
        create(&c, &s, 3);
        const int count = bounded_rows(&c, CONVOP_FWD, rows);
        assert_true(count > 0);
        for (int i = 0; i < count; i++) {
            expect_ok(call(&c, CONVOP_FWD, rows[i].name, 1));
            unsigned char *first = box_snapshot(&c.dst);
            const DLTensor *constants[] = {NULL, &c.weights.tensor, &c.bias.tensor};
            const DLTensor *inputs[] = {&c.src.tensor, NULL, NULL};
            DLTensor *outputs[] = {&c.dst.tensor};
            const int num = c.params.no_bias ? 2 : 3;
            convop_instance *instance = NULL;
            expect_ok(convop_set("impl", rows[i].name));
            expect_ok(convop_instance_create_typed("Convolution", &c.params, num, constants, NULL,
                                                   &instance));
            expect_ok(
                convop_instance_reshape(instance, inputs, outputs, NULL, (size_t)1 << 30, NULL));
            expect_ok(convop_set("impl", NULL));
            for (int run = 0; run < 2; run++) {
                box_fill_value(&c.dst, NAN);
                expect_ok(convop_instance_run(instance, inputs, outputs, NULL));
                assert_memory_equal(first, c.dst.memory, c.dst.bytes);
            }
            convop_instance_destroy(&instance);
            free(first);
        }
        conv_case_destroy(&c);
    }
}

/* ---- what is not a number
 * ------------------------------------------------------------------------ */

/* A NaN reaches every output whose window has it, and none that is six pixels away or more. */
static void nan_stays_near(void **state)
{
    (void)state;
    struct shape s = plain;
    struct conv_case c;
    convop_conv_row rows[CONV_CASE_MAX_ROWS];
    s.h = s.w = 25;
    create(&c, &s, 4);
    const int64_t where[5] = {0, 7, 0, 13, 10};
    box_set(&c.src, where, NAN);
    const int count = bounded_rows(&c, CONVOP_FWD, rows);
    for (int i = 0; i < count; i++) {
        int64_t sizes[5], at[5];
        expect_ok(call(&c, CONVOP_FWD, rows[i].name, 1));
        box_sizes(&c.dst, sizes);
        BOX_FOR_EACH(sizes, at)
        {
            const int64_t h = llabs(at[3] - where[3]), w = llabs(at[4] - where[4]);
            const int is_nan = isnan(box_get(&c.dst, at));
            if (h <= 1 && w <= 1) assert_true(is_nan);
            if (h >= 6 || w >= 6) assert_false(is_nan);
        }
    }
    conv_case_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_the_bound),
        cmocka_unit_test(same_bits_for_any_threads),
        cmocka_unit_test(strict_takes_them_out),
        cmocka_unit_test(float32_alone),
        cmocka_unit_test(workspace_is_kept),
        cmocka_unit_test(prepared_weights_give_the_same_bits),
        cmocka_unit_test(nan_stays_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

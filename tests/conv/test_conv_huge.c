/* Strides, dilations and pads beyond the image, and up to the limit of 64 bits: steps that are
 * taken land far outside of the image, those that are not may be of any size. Every row that takes
 * such a problem computes it, and the one that is chosen needs no more memory than there is.
 * Tensors of up to 63 bits' bytes are planned alone.
 *
 *     CONVOP_CASE=<seed> test_conv_huge     repeats one problem
 *     CONVOP_SEED=<seed> test_conv_huge     another series */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "convop/convop.h"
#include "tests/support/conv_fixed.h"

/* A row that wants more is left out. */
#define MOST_WORKSPACE ((size_t)64 << 20)

/* About a power of two, also just beside it, up to `most`. */
static int64_t random_size(struct rng *r, int64_t most)
{
    int64_t size = (INT64_C(1) << rng_int(r, 0, 62)) + rng_int(r, -1, 1);
    return size < 1 ? 1 : size > most ? most : size;
}

static void random_axis(struct conv_case *c, struct rng *r, int a)
{
    const int64_t k = rng_int(r, 1, 3), o = rng_int(r, 1, 3), most = INT64_MAX - 1;
    int64_t i = rng_int(r, 1, 4);
    /* What k - 1 and o - 1 steps cover stays within 64 bits; with no step anything does. */
    int64_t d = k == 1 ? random_size(r, INT64_MAX) : random_size(r, (most - 8) / (k - 1));
    int64_t reach = k == 1 ? 1 : (k - 1) * d + 1;
    int64_t s = o == 1 ? random_size(r, INT64_MAX) : random_size(r, (most - reach) / (o - 1));
    int64_t padded = reach + (o == 1 ? 0 : (o - 1) * s);
    if (i > padded) i = padded;
    /* Mostly some tap of some output reads the image. */
    int64_t at = rng_int(r, 0, o - 1) * (o == 1 ? 0 : s) + rng_int(r, 0, k - 1) * (k == 1 ? 0 : d);
    int64_t p0 = at - rng_int(r, 0, i - 1);
    if (p0 < 0 || rng_chance(r, 10)) p0 = rng_chance(r, 50) ? 0 : padded - i;
    if (p0 > padded - i) p0 = padded - i;
    c->i[a] = i;
    c->k[a] = k;
    c->s[a] = s;
    c->d[a] = d;
    c->p0[a] = p0;
    c->p1[a] = padded - i - p0;
}

/* The parameters, from the axes. */
static void take_axes(struct conv_case *c)
{
    for (int axis = 0; axis < c->axes; axis++) {
        const int a = 3 - c->axes + axis;
        c->params.kernel.at[axis] = c->k[a];
        c->params.stride.at[axis] = c->s[a];
        c->params.dilate.at[axis] = c->d[a];
        c->params.pad_begin.at[axis] = c->p0[a];
        c->params.pad_end.at[axis] = c->p1[a];
    }
}

static void create(struct conv_case *c, uint64_t seed)
{
    struct rng r = {seed};
    const struct conv_size size = {.axes = (int)rng_int(&r, 1, 3),
                                   .channels_last = rng_chance(&r, 50),
                                   .type = rng_chance(&r, 50) ? BOX_F32 : BOX_F64,
                                   .mb = rng_int(&r, 1, 2),
                                   .g = rng_chance(&r, 70) ? 1 : rng_int(&r, 2, 3),
                                   .ic = rng_int(&r, 1, 3),
                                   .oc = rng_int(&r, 1, 3),
                                   .i = 1,
                                   .k = 1};
    struct conv_size grouped = size;
    grouped.ic *= size.g;
    grouped.oc *= size.g;
    conv_case_fixed(c, &grouped, rng_chance(&r, 50), seed);
    conv_case_destroy(c);
    c->seed = seed;
    for (int a = 3 - c->axes; a < 3; a++)
        if (rng_chance(&r, 80)) random_axis(c, &r, a);
    take_axes(c);
    if (rng_chance(&r, 30)) c->request = CONVOP_REQ_ADD;
    for (int i = 0; i < 3; i++)
        if (rng_chance(&r, 30)) c->requests[i] = CONVOP_REQ_ADD;
    conv_case_create_tensors(c, &r, 0);
}

static int run_row(struct conv_case *c, const struct conv_expected *e, int direction,
                   const char *row)
{
    assert_int_equal(convop_set("impl", row), CONVOP_OK);
    convop_status status =
        direction == CONVOP_FWD ? conv_case_forward(c, NULL) : conv_case_backward(c, NULL);
    assert_int_equal(convop_set("impl", NULL), CONVOP_OK);
    if (status == CONVOP_OK && conv_case_matches(c, e, direction)) return 1;
    printf("row %s, direction %d: %s\n", row ? row : "as chosen", direction,
           status == CONVOP_OK ? "" : convop_last_error());
    return 0;
}

/* Every row of every direction, from the same contents of the output. */
static int run_rows(struct conv_case *c)
{
    struct conv_expected e;
    convop_request asked[3];
    int good = 1;
    conv_case_expect(c, &e);
    memcpy(asked, c->requests, sizeof asked);
    for (int d = CONVOP_FWD; d <= CONVOP_BWD_B; d++) {
        struct box *out = conv_case_output(c, d);
        if (d == CONVOP_BWD_B && c->params.no_bias) continue;
        for (int i = 0; i < 3; i++) c->requests[i] = i == d - 1 ? asked[i] : CONVOP_REQ_NULL;
        convop_conv_row rows[CONV_CASE_MAX_ROWS];
        const int count = conv_case_rows(c, (convop_conv_direction)d, rows);
        if (count == 0) good = 0, printf("no row: %s\n", convop_last_error());
        unsigned char *fresh = box_snapshot(out);
        for (int row = -1; row < count; row++) {
            if (row >= 0 && rows[row].workspace_bytes > MOST_WORKSPACE) continue;
            memcpy(out->memory, fresh, out->bytes);
            good &= run_row(c, &e, d, row < 0 ? NULL : rows[row].name);
        }
        free(fresh);
    }
    if (!good) conv_case_print(c);
    conv_expected_free(&e);
    return good;
}

static int run_case(uint64_t seed)
{
    struct conv_case c;
    create(&c, seed);
    const int good = run_rows(&c);
    if (!good) printf("CONVOP_CASE=%llu test_conv_huge\n", (unsigned long long)seed);
    conv_case_destroy(&c);
    return good;
}

static void random_problems(void **state)
{
    (void)state;
    const char *one = getenv("CONVOP_CASE");
    struct rng r = {test_seed(62)};
    int bad = 0;
    for (int64_t n = one ? 1 : test_scaled(600); n > 0 && bad < 5; n--)
        bad += !run_case(one ? strtoull(one, NULL, 0) : rng_next(&r));
    assert_int_equal(bad, 0);
}

/* Backward, a stride beyond the image leaves one phase, which has some of the taps only. */
static void strides_beyond_the_image(void **state)
{
    (void)state;
    for (int channels_last = 0; channels_last < 2; channels_last++)
        for (int64_t channels = 1; channels <= 128; channels *= 2) {
            const struct conv_size size = {.axes = 2,
                                           .channels_last = channels_last,
                                           .type = BOX_F32,
                                           .mb = 2,
                                           .ic = channels,
                                           .oc = 4,
                                           .g = 1,
                                           .i = 32,
                                           .k = 1};
            struct conv_case c;
            conv_case_fixed(&c, &size, 1, (uint64_t)channels);
            conv_case_destroy(&c);
            struct rng r = {(uint64_t)channels};
            c.i[2] = 1;
            c.k[2] = 7;
            c.s[2] = 5;
            c.d[2] = 8;
            c.p0[2] = c.p1[2] = 25;
            take_axes(&c);
            conv_case_create_tensors(&c, &r, 0);
            assert_true(run_rows(&c));
            conv_case_destroy(&c);
        }
}

/* A problem of two axes by its shapes alone. */
struct shapes {
    convop_conv_params params;
    int64_t src[4], weights[4], dst[4];
};

/* One axis: sizes of up to `bits` bits; windows and steps that reach far, too. */
static void random_shape(struct shapes *s, struct rng *r, int axis, int at, int bits)
{
    const int64_t k = random_size(r, rng_chance(r, 10) ? 1 << 20 : 3), far = INT64_C(1) << 21;
    const int64_t d = rng_chance(r, 80) ? 1 : random_size(r, far), reach = (k - 1) * d + 1;
    const int64_t step = rng_chance(r, 60) ? rng_int(r, 1, 2) : random_size(r, far);
    const int64_t i = random_size(r, INT64_C(1) << bits);
    const int64_t p = rng_chance(r, 60) ? k / 2 : random_size(r, far);
    s->params.kernel.at[axis] = s->weights[at] = k;
    s->params.stride.at[axis] = step;
    s->params.dilate.at[axis] = d;
    s->params.pad_begin.at[axis] = p;
    s->params.pad_end.at[axis] = i + 2 * p < reach ? reach - i - p : p;
    s->src[at] = i;
    s->dst[at] = (i + p + s->params.pad_end.at[axis] - reach) / step + 1;
}

/* 0 if a tensor of them would have 2^63 bytes or more. */
static int random_shapes(struct shapes *s, struct rng *r)
{
    const convop_conv_params defaults = CONVOP_CONV_PARAMS_INIT;
    const int last = rng_chance(r, 50), large = (int)rng_int(r, 0, 4);
    const int64_t g = random_size(r, large == 2 ? INT64_C(1) << 58 : 32);
    const int64_t icg = random_size(r, 32), ocg = random_size(r, large == 3 ? 1 << 30 : 8);
    convop_conv_params *p = &s->params;
    *p = defaults;
    p->kernel.len = p->stride.len = p->dilate.len = p->pad_begin.len = p->pad_end.len = 2;
    p->layout = last ? CONVOP_LAYOUT_NHWC : CONVOP_LAYOUT_NCHW;
    p->num_group = g;
    if ((double)g * (double)(icg + ocg) > 0x1p60) return 0;
    p->num_filter = s->weights[0] = g * ocg;
    if (rng_chance(r, 50)) p->workspace_bytes = rng_chance(r, 50) ? SIZE_MAX : 1 << 16;
    s->src[0] = s->dst[0] = random_size(r, large == 4 ? INT64_C(1) << 58 : 5);
    s->src[last ? 3 : 1] = g * icg;
    s->weights[last ? 3 : 1] = icg;
    s->dst[last ? 3 : 1] = g * ocg;
    for (int axis = 0; axis < 2; axis++)
        random_shape(s, r, axis, 2 - last + axis, large == axis ? 58 : 5);
    double most[3] = {8, 8, 8};
    for (int a = 0; a < 4; a++) {
        most[0] *= (double)s->src[a];
        most[1] *= (double)s->weights[a];
        most[2] *= (double)s->dst[a];
    }
    return most[0] < 0x1p63 && most[1] < 0x1p63 && most[2] < 0x1p63;
}

/* Tensors that nobody has memory for: rows say what they would take, within the limit, and count
 * without overflow, which the sanitizer of undefined behaviour sees. */
static void tensors_up_to_the_limit(void **state)
{
    (void)state;
    struct rng r = {test_seed(63)};
    for (int64_t n = test_scaled(3000); n > 0;) {
        struct shapes s;
        if (!random_shapes(&s, &r)) continue;
        n--;
        DLTensor t[3] = {{.device = {kDLCPU, 0}, .ndim = 4, .dtype = {kDLFloat, 32, 1}}};
        t[1] = t[2] = t[0];
        t[0].shape = s.src;
        t[1].shape = s.weights;
        t[2].shape = s.dst;
        for (int d = CONVOP_FWD; d <= CONVOP_BWD_B; d++) {
            convop_conv_row rows[CONV_CASE_MAX_ROWS];
            const int count =
                conv_rows(&s.params, (convop_conv_direction)d, &t[0], &t[1], &t[2], rows);
            assert_true(count >= 0);
            for (int i = 0; i < count; i++)
                assert_true(rows[i].workspace_bytes <= s.params.workspace_bytes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems),
        cmocka_unit_test(strides_beyond_the_image),
        cmocka_unit_test(tensors_up_to_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

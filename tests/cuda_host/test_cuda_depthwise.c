/* The depthwise CUDA kernels of fixed windows, run on the host: MXNet's grid of 160 cases, the
 * layers of MobileNet v1 and v2 and EfficientNet-B0 with few channels, and random problems of odd
 * sizes, in each type and layout, against plain float64 loops.
 *
 *     CONVOP_SEED=<seed> test_cuda_depthwise     another series */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cuda_host/cuda_case.h"
#include "tests/support/conv_fixed.h"

static const int types[] = {BOX_F32, BOX_F16, BOX_BF16, BOX_F64};

/* In CI; make test-long runs more of each kind. */
static int is_short(void)
{
    return test_scaled(1) == 1;
}

static int is_right(struct conv_case *c, unsigned directions)
{
    struct conv_expected e;
    int good = 1;
    conv_case_expect(c, &e);
    for (convop_conv_direction d = CONVOP_FWD; d <= CONVOP_BWD_B; d++)
        if (directions >> d & 1)
            good &= cuda_case_is_right(c, d == CONVOP_BWD_B ? &cvp_cuda_bias : &cvp_cuda_depthwise,
                                       d, &e);
    if (!good) conv_case_print(c);
    conv_expected_free(&e);
    return good;
}

static int size_is_right(const struct conv_size *s, unsigned directions)
{
    struct conv_case c;
    conv_case_fixed(&c, s, 1, (uint64_t)(s->ic * 100 + s->i));
    const int good = is_right(&c, directions);
    conv_case_destroy(&c);
    return good;
}

static void grid(void **state)
{
    (void)state;
    int bad = 0;
    cuda_host_options.order = CUDA_HOST_FORWARD;
    for (int k = 0; k < 32; k++)
        for (int n = 0; n < 5; n++) {
            cuda_case_tile = (k / 4 + n) % CVP_CUDA_MOST_TILES;
            struct conv_size s = conv_grid_depthwise(5 * k + n);
            s.type = types[(k / 2 + n) % 3];
            if (k & 16 && is_short()) s.mb = 1;
            /* A direction in turn of the large ones. */
            bad += !size_is_right(&s, s.i * s.ic > 512 ? 1u << (k / 2 + n) % 3 : 15);
        }
    assert_int_equal(bad, 0);
}

/* Kernel, stride, image of the depthwise layers; channels, which blocks take a few of, are cut. */
static void layers(void **state)
{
    (void)state;
    static const struct {
        int64_t k, s, i;
    } all[] = {
        {3, 1, 112}, {3, 2, 112}, {3, 1, 56}, {3, 2, 56}, {3, 1, 28}, {3, 2, 28}, /* MobileNets */
        {3, 1, 14},  {3, 2, 14},  {3, 1, 7},  {5, 2, 56}, {5, 1, 28}, {5, 1, 14}, /* EfficientNet */
        {5, 2, 14},  {5, 1, 7},
    };
    int bad = 0, i = 0;
    cuda_host_options.order = CUDA_HOST_BACKWARD;
    for (size_t n = 0; n < sizeof all / sizeof all[0]; n++)
        for (int last = 0; last < 2; last++, i++) {
            const int64_t channels = all[n].i > 20 ? (last ? 4 : 2) : 20;
            struct conv_size s = {.axes = 2,
                                  .channels_last = last,
                                  .type = types[i % 3],
                                  .mb = all[n].i > 20 ? 1 : 2,
                                  .ic = channels,
                                  .oc = channels,
                                  .g = channels,
                                  .k = all[n].k,
                                  .s = all[n].s,
                                  .p = all[n].k / 2,
                                  .i = all[n].i};
            /* Each layer in another cut; in the long form in all of them. */
            for (int tile = 0; tile < (is_short() ? 1 : CVP_CUDA_MOST_TILES); tile++) {
                cuda_case_tile = i / 2 + tile;
                bad += !size_is_right(&s, 7);
            }
        }
    assert_int_equal(bad, 0);
}

static void random_sizes(void **state)
{
    (void)state;
    const uint64_t first = test_seed(20261130);
    const int64_t count = test_scaled(96);
    int bad = 0;
    for (int64_t i = 0; i < count; i++) {
        struct rng r = {first + (uint64_t)i};
        struct conv_case c = {.seed = r.state, .axes = 2};
        /* Every kernel's turn comes, in the first 32 with what it needs. */
        const int kind = (int)(r.state % 32);
        const int64_t k = kind & 1 ? 3 : 5, s = kind & 2 ? 1 : 2;
        c.channels_last = kind >> 2 & 1;
        c.bits = types[kind >> 3];
        c.integers = rng_chance(&r, 50);
        c.aligned = i < 32 || rng_chance(&r, 70);
        c.mb = rng_int(&r, 1, 3);
        c.ic = c.oc = c.g = c.channels_last ? 4 * rng_int(&r, 1, 9) : rng_int(&r, 1, 40);
        c.params = (convop_conv_params)CONVOP_CONV_PARAMS_INIT;
        c.params.kernel.len = c.params.stride.len = c.params.dilate.len = 2;
        c.params.pad_begin.len = c.params.pad_end.len = 2;
        /* Now and then an image so wide that columns are cut. */
        const int wide = rng_chance(&r, 5), same = i < 32 || rng_chance(&r, 60);
        if (wide) c.mb = c.ic = c.oc = c.g = c.channels_last ? 4 : 1;
        for (int a = 0; a < 3; a++) c.i[a] = c.k[a] = c.s[a] = c.d[a] = 1;
        for (int a = 1; a < 3; a++) {
            c.k[a] = k, c.s[a] = s;
            c.p0[a] = same ? k / 2 : rng_int(&r, 0, 4);
            c.p1[a] = rng_chance(&r, 60) ? c.p0[a] : rng_int(&r, 0, 4);
            const int64_t least = k > c.p0[a] + c.p1[a] ? k - c.p0[a] - c.p1[a] : 1;
            c.i[a] = rng_int(&r, least, wide ? (a == 2 ? 7000 : 9) : 25) + least;
            c.params.kernel.at[a - 1] = k, c.params.stride.at[a - 1] = s;
            c.params.dilate.at[a - 1] = 1;
            c.params.pad_begin.at[a - 1] = c.p0[a], c.params.pad_end.at[a - 1] = c.p1[a];
        }
        c.params.num_filter = c.params.num_group = (int)c.oc;
        c.params.no_bias = rng_chance(&r, 30);
        c.params.layout = c.channels_last ? CONVOP_LAYOUT_NHWC : CONVOP_LAYOUT_NCHW;
        static const convop_request kinds[] = {CONVOP_REQ_WRITE, CONVOP_REQ_ADD};
        c.request = kinds[rng_chance(&r, 30)];
        for (int d = 0; d < 3; d++) c.requests[d] = kinds[rng_chance(&r, 30)];
        conv_case_create_tensors(&c, &r, 0);
        cuda_host_options.order = (enum cuda_host_order)(i % 3);
        cuda_host_options.seed = c.seed;
        cuda_case_tile = (int)(c.seed / 32 % CVP_CUDA_MOST_TILES);
        if (!is_right(&c, 15)) {
            printf("repeat: CONVOP_SEED=%llu\n", (unsigned long long)c.seed);
            bad++;
        }
        conv_case_destroy(&c);
    }
    assert_int_equal(bad, 0);
}

/* The tests above leave no kernel out. */
static void all_ran(void **state)
{
    (void)state;
    int missing = 0;
    for (int k = 0; k < CVP_CUDA_gemm_128x128_f32; k++)
        if (cuda_case_launches[k] == 0) {
            printf("%s did not run\n", cvp_cuda_kernel_name((enum cvp_cuda_kernel)k));
            missing++;
        }
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(grid), cmocka_unit_test(layers),
                                       cmocka_unit_test(random_sizes), cmocka_unit_test(all_ran)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

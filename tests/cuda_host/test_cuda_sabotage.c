/* What the host harness is for: a kernel that lacks a barrier, or reads the element beside the
 * right one, must fail there. Both are done to each kind of kernel on purpose. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/cuda_host/cuda_case.h"
#include "tests/support/conv_fixed.h"

/* A direction of a convolution of reals, so that no two elements are alike. */
struct trial {
    struct conv_size size;
    convop_conv_direction direction;
    const struct cvp_cuda_way *way;
    const char *kernel;
    int barriers[4]; /* that must not be missing, each thread's from 1; 0 ends the list */
};

/* Depthwise NC*: 1 after the copy. Its filter gradient: 2 after the copies, 4 and 6 before sums are
 * read, 5 before they are overwritten. N*C: 2 and 4, 3. GEMM: 1 after the places, 2 after the first
 * slice, 3 after the next. */
#define SIZE(last, channels, out, groups, image, kernel, s, pad)                                   \
    {                                                                                              \
        2, last, BOX_F32, 2, channels, out, groups, image, kernel, s, 1, pad                       \
    }
static const struct trial trials[] = {
    {SIZE(0, 5, 5, 5, 14, 3, 1, 1), CONVOP_FWD, &cvp_cuda_depthwise, "cvp_dw_first_k3s1_f32", {1}},
    {SIZE(0, 5, 5, 5, 14, 5, 2, 2),
     CONVOP_BWD_D,
     &cvp_cuda_depthwise,
     "cvp_dw_first_back_k5s2_f32",
     {1}},
    {SIZE(0, 5, 5, 5, 14, 3, 1, 1),
     CONVOP_BWD_W,
     &cvp_cuda_depthwise,
     "cvp_dw_first_filter_k3s1_f32",
     {2, 4, 5, 6}},
    {SIZE(1, 8, 8, 8, 14, 3, 1, 1),
     CONVOP_BWD_W,
     &cvp_cuda_depthwise,
     "cvp_dw_last_filter_k3s1_f32",
     {2, 3, 4}},
    {SIZE(0, 6, 10, 1, 7, 3, 1, 1), CONVOP_FWD, &cvp_cuda_gemm, "cvp_gemm_64x64_f32", {1, 2, 3}},
    {SIZE(1, 6, 10, 1, 7, 3, 1, 1), CONVOP_BWD_D, &cvp_cuda_gemm, "cvp_gemm_64x64_f32", {1, 2, 3}},
    {SIZE(0, 80, 80, 1, 6, 3, 1, 0),
     CONVOP_BWD_W,
     &cvp_cuda_gemm,
     "cvp_gemm_128x128_f32",
     {1, 2, 3}},
};

static int is_wrong(struct conv_case *c, const struct trial *t, const struct conv_expected *e)
{
    box_fill_value(conv_case_output(c, (int)t->direction), NAN);
    return !cuda_case_is_right(c, t->way, t->direction, e);
}

/* In one of the orders. */
static int is_noticed(struct conv_case *c, const struct trial *t, const struct conv_expected *e)
{
    for (int order = 0; order < 3; order++) {
        cuda_host_options.order = (enum cuda_host_order)order;
        if (is_wrong(c, t, e)) return 1;
    }
    return 0;
}

static int count_misses(const struct trial *t)
{
    struct conv_case c;
    struct conv_expected e;
    struct rng r = {1};
    struct conv_size size = t->size;
    int missed = 0;
    conv_case_fixed(&c, &size, 1, 1);
    conv_case_destroy(&c);
    c.integers = 0, c.aligned = 1;
    conv_case_create_tensors(&c, &r, 0);
    conv_case_expect(&c, &e);
    if (is_noticed(&c, t, &e)) {
        printf("%s is wrong unharmed\n", t->kernel);
        missed++;
    }
    for (int i = 0; i < 4 && t->barriers[i]; i++) {
        cuda_host_options.skip_barrier = t->barriers[i];
        if (is_noticed(&c, t, &e)) continue;
        printf("%s without barrier %d passes\n", t->kernel, t->barriers[i]);
        missed++;
    }
    cuda_host_options.skip_barrier = 0;
    /* The first loads are of the image; later ones may be of taps that a border leaves out. */
    for (int i = 1; i < 12; i += 2) {
        cuda_host_options.shift_load = i;
        if (is_wrong(&c, t, &e)) continue;
        printf("%s with load %d shifted passes\n", t->kernel, i);
        missed++;
    }
    cuda_host_options.shift_load = 0;
    conv_expected_free(&e);
    conv_case_destroy(&c);
    return missed;
}

static void harm_is_noticed(void **state)
{
    (void)state;
    int missed = 0;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++)
        missed += count_misses(&trials[i]);
    assert_int_equal(missed, 0);
}

/* Each trial is of the kernel that it names. */
static void all_kinds_ran(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        int ran = 0;
        for (int k = 0; k < CVP_CUDA_KERNELS; k++)
            ran += cuda_case_launches[k] > 0 &&
                   strcmp(cvp_cuda_kernel_name((enum cvp_cuda_kernel)k), trials[i].kernel) == 0;
        assert_int_equal(ran, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(harm_is_noticed),
                                       cmocka_unit_test(all_kinds_ran)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

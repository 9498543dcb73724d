/* Random convolutions through the CUDA kernels, run on the host, against plain float64 loops: every
 * direction, layout, dtype, request, strides; threads of a block in any order.
 *
 *     CONVOP_SEED=<seed> test_cuda_random     another series */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/cuda_host/cuda_case.h"

static void random_cases(void **state)
{
    (void)state;
    const uint64_t first = test_seed(20261130);
    const int64_t count = test_scaled(120);
    int bad = 0;
    for (int64_t i = 0; i < count; i++) {
        struct conv_case c;
        struct conv_expected e;
        conv_case_create(&c, first + (uint64_t)i);
        conv_case_expect(&c, &e);
        cuda_host_options.order = (enum cuda_host_order)(i % 3);
        cuda_host_options.seed = first + (uint64_t)i;
        cuda_case_tile = (int)(i / 3);
        int good = 1;
        /* What has been added to cannot be added to again. */
        for (convop_conv_direction d = CONVOP_FWD; d <= CONVOP_BWD_W; d++) {
            const int adds = cuda_case_problem(&c, d).add;
            if (!adds || i % 2) good &= cuda_case_is_right(&c, &cvp_cuda_gemm, d, &e);
            if (!adds || i % 2 == 0) good &= cuda_case_is_right(&c, &cvp_cuda_depthwise, d, &e);
        }
        good &= cuda_case_is_right(&c, &cvp_cuda_bias, CONVOP_BWD_B, &e);
        if (!good) {
            conv_case_print(&c);
            printf("repeat: CONVOP_SEED=%llu\n", (unsigned long long)c.seed);
            bad++;
        }
        conv_expected_free(&e);
        conv_case_destroy(&c);
    }
    assert_int_equal(bad, 0);
}

/* Forward twice, the second time with the first result as residual and relu6 after it: of small
 * integers each element must be twice the first, between 0 and 6. */
static int epilogue_is_right(struct conv_case *c, const struct cvp_cuda_way *way)
{
    const convop_conv_problem p = cuda_case_problem(c, CONVOP_FWD);
    char why[CONVOP_WHY_SIZE];
    int64_t sizes[5], at[5];
    int good = 1;
    if (!way->takes(&p, why)) return 1;
    if (cuda_case_run(c, way, CONVOP_FWD, CONVOP_ACTIVATION_NONE, NULL)) return 0;
    struct box first = c->dst;
    first.memory = box_snapshot(&c->dst);
    first.tensor.data = first.memory + ((unsigned char *)c->dst.tensor.data - c->dst.memory);
    if (cuda_case_run(c, way, CONVOP_FWD, CONVOP_ACTIVATION_RELU6, &first)) good = 0;
    box_sizes(&c->dst, sizes);
    BOX_FOR_EACH(sizes, at)
    {
        const double sum = 2 * box_get(&first, at), want = sum < 0 ? 0 : sum > 6 ? 6 : sum;
        good &= box_get(&c->dst, at) == want;
    }
    free(first.memory);
    return good;
}

static void what_follows_the_sum(void **state)
{
    (void)state;
    const uint64_t seed = test_seed(20261201);
    const int64_t count = test_scaled(60);
    int bad = 0, ran = 0;
    for (int64_t i = 0; i < count; i++) {
        struct conv_case c;
        conv_case_create(&c, seed + (uint64_t)i);
        if (c.integers && c.mb > 0) {
            c.request = CONVOP_REQ_WRITE;
            ran++;
            if (!epilogue_is_right(&c, &cvp_cuda_gemm) ||
                !epilogue_is_right(&c, &cvp_cuda_depthwise)) {
                conv_case_print(&c);
                printf("repeat: CONVOP_SEED=%llu\n", (unsigned long long)c.seed);
                bad++;
            }
        }
        conv_case_destroy(&c);
    }
    assert_true(ran > 0);
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_cases),
                                       cmocka_unit_test(what_follows_the_sum)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

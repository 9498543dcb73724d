/* Convolution on the stand-in's GPU through convop's own calls: results, and what is planned when.
 * Argument real: planned by the cuDNN of the machine; else by the stand-in, which takes all.
 *
 *     CONVOP_CASE=<seed> test_standin_conv     repeats one problem */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tests/standin/set_up.h"
#include "tests/support/expect.h"

#define CASES      120
#define CASES_REAL 30

/* ---- results --------------------------------------------------------------------------------- */

/* 0: wrong; -1: a part of it is not run at all, by this cuDNN or for an empty batch. */
static int run_random(uint64_t seed)
{
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    conv_case_create(&c, seed);
    if (!set_up.has_bias_gradient) c.requests[2] = CONVOP_REQ_NULL;
    conv_case_expect(&c, &e);
    set_up_enter(set_up.contexts[0]);
    on_gpu_put(&g, &set_up.gpu, &c, 0);
    convop_status status = placed_forward(&g.placed, NULL);
    if (status == CONVOP_OK) status = placed_backward(&g.placed, NULL);
    int good = status == CONVOP_OK ? on_gpu_is_right(&g, &e)
               : (set_up.is_real || c.mb == 0) && status == CONVOP_E_UNSUPPORTED ? -1
                                                                                 : 0;
    if (good == 0) {
        if (status != CONVOP_OK) printf("status %d: %s\n", (int)status, convop_last_error());
        conv_case_print(&c);
        printf("CONVOP_CASE=%" PRIu64 "\n", seed);
    }
    on_gpu_free(&g);
    set_up_leave();
    conv_expected_free(&e);
    conv_case_destroy(&c);
    return good;
}

static void random_problems(void **state)
{
    (void)state;
    const char *one = getenv("CONVOP_CASE");
    int bad = 0, ran = 0;
    struct rng r = {one ? 0 : test_seed(20261130)};
    for (int64_t n = one ? 1 : test_scaled(set_up.is_real ? CASES_REAL : CASES); n > 0 && bad < 5;
         n--) {
        const int good = run_random(one ? strtoull(one, NULL, 0) : rng_next(&r));
        bad += good == 0;
        ran += good > 0;
    }
    printf("%d ran\n", ran);
    assert_int_equal(bad, 0);
    assert_true(ran > 0);
}

/* ---- planning -------------------------------------------------------------------------------- */

static long planned(void)
{
    return set_up.gpu.standin->calls("heuristics");
}

static void a_call_like_an_earlier_one_is_not_planned(void **state)
{
    (void)state;
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    plain_make(&c, &e, 1);
    set_up_enter(set_up.contexts[0]);
    on_gpu_put(&g, &set_up.gpu, &c, 0);
    (void)convop_trim();
    const long before = planned();
    expect_ok(placed_forward(&g.placed, NULL));
    const long first = planned(), plans = set_up.gpu.standin->calls("plans");
    assert_true(first > before);
    for (int i = 0; i < 3; i++) expect_ok(placed_forward(&g.placed, NULL));
    assert_int_equal(planned(), first);
    assert_int_equal(set_up.gpu.standin->calls("plans"), plans);
    expect_ok(placed_backward(&g.placed, NULL));
    assert_true(planned() > first);
    assert_true(on_gpu_is_right(&g, &e));
    on_gpu_free(&g);
    set_up_leave();
    conv_expected_free(&e);
    conv_case_destroy(&c);
}

/* The plan that is chosen first has a workspace of 64 KiB. */
static void without_memory_for_the_workspace_a_smaller_plan_runs(void **state)
{
    (void)state;
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    size_t available, total;
    if (set_up.is_real) skip();
    plain_make(&c, &e, 2);
    set_up_enter(set_up.contexts[0]);
    on_gpu_put(&g, &set_up.gpu, &c, 0);
    MUST(set_up.gpu.driver->mem_info(&available, &total));
    set_up.gpu.standin->limit_memory(0, total - available + 1024);
    const convop_status forward = placed_forward(&g.placed, NULL),
                        backward = placed_backward(&g.placed, NULL);
    set_up.gpu.standin->limit_memory(0, total);
    expect_ok(forward);
    expect_ok(backward);
    assert_true(on_gpu_is_right(&g, &e));
    on_gpu_free(&g);
    set_up_leave();
    conv_expected_free(&e);
    conv_case_destroy(&c);
}

int main(int argc, char **argv)
{
    const int code = set_up_begin(argc, argv);
    if (code) return code;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems),
        cmocka_unit_test(a_call_like_an_earlier_one_is_not_planned),
        cmocka_unit_test(without_memory_for_the_workspace_a_smaller_plan_runs),
    };
    return set_up_end(cmocka_run_group_tests_name("conv", tests, NULL, NULL));
}

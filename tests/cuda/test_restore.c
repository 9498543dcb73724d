/* Plans that were kept, met again: for other problems and GPUs, damaged, with less workspace; and
 * the properties of GPUs as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <stdlib.h>

#include "convop/convop.h"
#include "convop/cuda.h"
#include "src/common/alloc.h"
#include "tests/cuda/planning.h"
#include "tests/support/expect.h"

static const struct cvp_cudnn *cudnn;
static struct cvp_gpu h200, a100;

static void problem_of(const char *text, const struct cvp_gpu *gpu, convop_conv_problem *p)
{
    struct descriptor d;
    struct descriptor_error error;
    assert_true(descriptor_parse(text, &d, &error));
    expect_ok(make_problem(&d, FWD_D, F16, NHWC, gpu, p));
}

static void plan_of(const convop_conv_problem *p, struct conv_cudnn_plan *plan)
{
    int count;
    expect_ok(cvp_conv_cudnn_offer(cudnn, p->gpu, p, 1, plan, &count));
    assert_int_equal(count, 1);
}

#define ONE   "mb4ic64ih28oc128kh3ph1"
#define OTHER "mb2ic256ih14oc64kh1"

static void what_is_damaged_is_refused(void **state)
{
    (void)state;
    convop_conv_problem p;
    struct conv_cudnn_plan plan, restored;
    problem_of(ONE, &h200, &p);
    plan_of(&p, &plan);
    const size_t length = strlen(plan.json);
    for (size_t cut = 0; cut < length; cut += 97) {
        char *text = cvp_strdup(plan.json);
        text[cut] = '\0';
        assert_int_equal(cvp_conv_cudnn_restore(cudnn, &h200, &p, text, &restored),
                         CONVOP_E_UNSUPPORTED);
        cvp_free(text);
    }
    static const char *const texts[] = {"{}", "[]", "nonsense", "{\"engine\": 1}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(cvp_conv_cudnn_restore(cudnn, &h200, &p, texts[i], &restored),
                         CONVOP_E_UNSUPPORTED);
    cvp_conv_cudnn_plan_end(&plan);
}

static int answer_damaged(void *user, convop_tune_record *r)
{
    (void)user;
    r->impl = "cudnn";
    r->impl_version = 1;
    r->ms = 5;
    r->plan = "nonsense";
    return 1;
}

/* Nor is its time that of what is chosen instead. */
static void another_choice_has_no_time(void **state)
{
    (void)state;
    const convop_tune_callbacks callbacks = {.struct_size = sizeof callbacks,
                                             .lookup = answer_damaged};
    char json[8192];
    convop_cuda_target *target;
    struct descriptor d;
    struct descriptor_error error;
    struct query q;
    convop_conv_row rows[16];
    size_t count = 16, chosen = 0;
    assert_true(read_text(TEST_DEVICES "/h200.json", json, sizeof json));
    expect_ok(convop_cuda_target_create(json, &target));
    assert_true(descriptor_parse(ONE, &d, &error));
    query_make(&d, &(struct post_ops){ADD_NOTHING, CONVOP_ACTIVATION_NONE}, FWD_D, F16, NHWC, &q);
    expect_ok(convop_set("cache_dir", "none"));
    expect_ok(convop_tune_set_callbacks(&callbacks));
    expect_ok(convop_cuda_plan_conv(target, &q.params, CONVOP_FWD, &q.src, &q.weights, &q.dst, NULL,
                                    rows, &count));
    expect_ok(convop_tune_set_callbacks(NULL));
    while (chosen < count && !rows[chosen].chosen) chosen++;
    assert_true(chosen < count);
    assert_int_equal(rows[chosen].choice, CONVOP_CHOICE_ESTIMATED);
    assert_true(rows[chosen].ms == 0);
    convop_cuda_target_destroy(&target);
    expect_ok(convop_tune_forget(NULL, NULL));
}

/* A plan of the file could name larger tensors than the caller's. */
static void a_plan_of_another_problem_becomes_one_of_this(void **state)
{
    (void)state;
    convop_conv_problem p, other;
    struct conv_cudnn_plan plan, own, restored;
    problem_of(ONE, &h200, &p);
    problem_of(OTHER, &h200, &other);
    plan_of(&other, &plan);
    plan_of(&p, &own);
    if (cvp_conv_cudnn_restore(cudnn, &h200, &p, plan.json, &restored) == CONVOP_OK) {
        const char *graph = strstr(own.json, "\"operationGraph\"");
        assert_non_null(graph);
        const size_t length = (size_t)(strstr(own.json, "\"GPUProfile\"") - graph);
        assert_memory_equal(strstr(restored.json, "\"operationGraph\""), graph, length);
        assert_int_equal(restored.engine, plan.engine);
        cvp_conv_cudnn_plan_end(&restored);
    }
    cvp_conv_cudnn_plan_end(&plan);
    cvp_conv_cudnn_plan_end(&own);
}

static void a_plan_for_another_gpu_is_refused_or_made_anew(void **state)
{
    (void)state;
    convop_conv_problem here, there;
    struct conv_cudnn_plan plan, restored;
    problem_of(ONE, &a100, &there);
    problem_of(ONE, &h200, &here);
    plan_of(&there, &plan);
    if (cvp_conv_cudnn_restore(cudnn, &h200, &here, plan.json, &restored) == CONVOP_OK) {
        assert_non_null(strstr(restored.json, "\"deviceName\":\"NVIDIA H200\""));
        cvp_conv_cudnn_plan_end(&restored);
    }
    cvp_conv_cudnn_plan_end(&plan);
}

/* As the build node's file of properties and the GPU itself may differ in clocks. */
static void other_clocks_make_no_difference(void **state)
{
    (void)state;
    char path[512], json[8192];
    struct cvp_gpu slower;
    convop_conv_problem p, q;
    struct conv_cudnn_plan plan, restored;
    snprintf(path, sizeof path, TEST_DEVICES "/h200.json");
    assert_true(read_text(path, json, sizeof json));
    char *clock = strstr(json, "\"smClockRateKHz\": 1980000");
    assert_non_null(clock);
    memcpy(clock, "\"smClockRateKHz\": 1755000", strlen("\"smClockRateKHz\": 1755000"));
    expect_ok(cvp_gpu_absent(cudnn, json, &slower));
    assert_string_equal(slower.key, h200.key);
    problem_of(ONE, &h200, &p);
    problem_of(ONE, &slower, &q);
    plan_of(&p, &plan);
    expect_ok(cvp_conv_cudnn_restore(cudnn, &slower, &q, plan.json, &restored));
    assert_int_equal(restored.engine, plan.engine);
    assert_int_equal(restored.workspace, plan.workspace);
    cvp_conv_cudnn_plan_end(&restored);
    cvp_conv_cudnn_plan_end(&plan);
    cvp_gpu_absent_end(cudnn, &slower);
}

static void the_limits_of_the_problem_hold(void **state)
{
    (void)state;
    enum { MOST = 64 };
    static struct conv_cudnn_plan plans[MOST];
    convop_conv_problem p;
    struct conv_cudnn_plan restored;
    int all = 0, few = 0, large = -1;
    problem_of(ONE, &h200, &p);
    expect_ok(cvp_conv_cudnn_offer(cudnn, &h200, &p, MOST, plans, &all));
    for (int i = 0; i < all; i++) {
        assert_true(plans[i].workspace <= p.workspace_limit);
        if (plans[i].workspace > 0) large = i;
        for (int j = 0; j < i; j++) assert_string_not_equal(plans[i].json, plans[j].json);
    }
    p.workspace_limit = 0;
    if (large >= 0)
        assert_int_equal(cvp_conv_cudnn_restore(cudnn, &h200, &p, plans[large].json, &restored),
                         CONVOP_E_UNSUPPORTED);
    for (int i = 0; i < all; i++) cvp_conv_cudnn_plan_end(&plans[i]);
    if (cvp_conv_cudnn_offer(cudnn, &h200, &p, MOST, plans, &few) == CONVOP_OK)
        for (int i = 0; i < few; i++) {
            assert_int_equal(plans[i].workspace, 0);
            cvp_conv_cudnn_plan_end(&plans[i]);
        }
    assert_true(all >= 1 && few <= all);
}

static void properties_that_are_wrong_are_named(void **state)
{
    (void)state;
    struct cvp_gpu gpu;
    expect_text(CONVOP_E_INVALID,
                "the properties of a GPU: not JSON as cuDNN writes it: the end at byte 0",
                cvp_gpu_parse("", &gpu));
    expect_text(CONVOP_E_INVALID,
                "the properties of a GPU: not JSON as cuDNN writes it: an error at byte 13",
                cvp_gpu_parse("{\"warpSize\": x}", &gpu));
    expect_text(CONVOP_E_INVALID, "the properties of a GPU: maxGridSize is missing",
                cvp_gpu_parse("{\"warpSize\": 32}", &gpu));
    expect_text(CONVOP_E_INVALID,
                "the properties of a GPU: not JSON as cuDNN writes it: an error at byte 17",
                cvp_gpu_parse("{\"warpSize\": 32} 1", &gpu));
}

int main(void)
{
    const char *why;
    const convop_context *context; /* the process's stays */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_that_are_wrong_are_named),
        cmocka_unit_test(what_is_damaged_is_refused),
        cmocka_unit_test(another_choice_has_no_time),
        cmocka_unit_test(a_plan_of_another_problem_becomes_one_of_this),
        cmocka_unit_test(a_plan_for_another_gpu_is_refused_or_made_anew),
        cmocka_unit_test(other_clocks_make_no_difference),
        cmocka_unit_test(the_limits_of_the_problem_hold),
    };
    ignore_foreign_leaks();
    cudnn = cvp_cudnn_get(&why);
    if (!cudnn) {
        printf("SKIP: no cuDNN: %s\n", why);
        return 77;
    }
    if (cvp_context_get(NULL, &context) != CONVOP_OK) return 1;
    const uint64_t before = cvp_alloc_live();
    if (!read_gpu(cudnn, "h200", &h200) || !read_gpu(cudnn, "a100", &a100)) return 1;
    const int failed = cmocka_run_group_tests_name("restore", tests, NULL, NULL);
    cvp_gpu_absent_end(cudnn, &h200);
    cvp_gpu_absent_end(cudnn, &a100);
    return failed || cvp_alloc_live() != before;
}

/* convop's own rows for GPUs through the public calls, on a driver whose kernels run on the host:
 * every direction against plain float64 loops, and which row is chosen.
 *
 *     CONVOP_SEED=<seed> test_cuda_rows     another series */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <limits.h>

#include "convop/convop.h"
#include "src/cuda/context.h"
#include "src/operator/convolution/cuda/module.h"
#include "tests/cuda_host/cuda_host.h"
#include "tests/standin/open.h"
#include "tests/support/conv_fixed.h"

#define BOXES 8

static const struct standin *standin;

static void boxes_of(struct conv_case *c, struct box *boxes[BOXES])
{
    struct box *const all[BOXES] = {&c->src,      &c->weights,  &c->bias,         &c->dst,
                                    &c->diff_dst, &c->diff_src, &c->diff_weights, &c->diff_bias};
    memcpy(boxes, all, sizeof all);
}

/* All tensors of a case in the memory of the GPU, from move to move_back. */
struct moved {
    struct cvp_gpu_scope scope;
    void *data[BOXES], *device[BOXES];
};

static void move(struct conv_case *c, struct moved *m)
{
    const char *why;
    struct box *boxes[BOXES];
    boxes_of(c, boxes);
    assert_int_equal(cvp_gpu_enter(cvp_gpu_get(0, &why), NULL, &m->scope), CONVOP_OK);
    for (int i = 0; i < BOXES; i++) {
        struct box *b = boxes[i];
        m->data[i] = b->tensor.data;
        m->device[i] = cvp_gpu_alloc(&m->scope, b->bytes);
        assert_non_null(m->device[i]);
        assert_int_equal(
            m->scope.driver->copy_to_device((uintptr_t)m->device[i], b->memory, b->bytes, NULL), 0);
        b->tensor.data = (char *)m->device[i] + ((unsigned char *)m->data[i] - b->memory);
        b->tensor.device = (DLDevice){kDLCUDA, 0};
    }
}

static void move_back(struct conv_case *c, struct moved *m)
{
    struct box *boxes[BOXES];
    boxes_of(c, boxes);
    for (int i = 0; i < BOXES; i++) {
        struct box *b = boxes[i];
        assert_int_equal(
            m->scope.driver->copy_to_host(b->memory, (uintptr_t)m->device[i], b->bytes, NULL), 0);
        cvp_gpu_free(&m->scope, m->device[i]);
        b->tensor.data = m->data[i];
        b->tensor.device = (DLDevice){kDLCPU, 0};
    }
    cvp_gpu_leave(&m->scope);
}

static int case_is_right(struct conv_case *c)
{
    struct conv_expected e;
    struct moved m;
    conv_case_expect(c, &e);
    move(c, &m);
    convop_status status = conv_case_forward(c, NULL);
    if (status == CONVOP_OK) status = conv_case_backward(c, NULL);
    /* Of an empty batch a gradient with gaps is not cleared on a GPU. */
    int good = status == CONVOP_OK || (c->mb == 0 && status == CONVOP_E_UNSUPPORTED);
    if (!good) printf("%s\n", convop_last_error());
    move_back(c, &m);
    if (good && status != CONVOP_OK) {
        conv_expected_free(&e);
        return 1;
    }
    for (int i = 0; i < 4 && good; i++) {
        const convop_request request = i == 0 ? c->request : c->requests[i - 1];
        if (request == CONVOP_REQ_NULL || (i == 3 && c->params.no_bias)) continue;
        good = conv_case_matches(c, &e, i);
    }
    conv_expected_free(&e);
    return good;
}

static void random_cases(void **state)
{
    (void)state;
    const uint64_t first = test_seed(20261130);
    const int64_t count = test_scaled(60);
    int bad = 0;
    for (int64_t i = 0; i < count; i++) {
        struct conv_case c;
        conv_case_create(&c, first + (uint64_t)i);
        c.params.cudnn_off = 1;
        if (!case_is_right(&c)) {
            conv_case_print(&c);
            printf("repeat: CONVOP_SEED=%llu\n", (unsigned long long)c.seed);
            bad++;
        }
        conv_case_destroy(&c);
    }
    assert_int_equal(bad, 0);
}

/* Kernels that were loaded into a context end with it, also where another one gets its address. */
static void a_context_in_the_place_of_another(void **state)
{
    (void)state;
    const char *why;
    const struct cvp_driver *d = cvp_driver_get(&why);
    struct CUctx_st *context = NULL, *left;
    for (int i = 0; i < 2; i++) {
        struct conv_case c;
        const struct conv_size size = {2, 0, BOX_F32, 2, 6, 6, 6, 14, 3, 1, 1, 1};
        if (context) standin->context_reuse(context);
        context = standin->context_create(0);
        assert_int_equal(d->context_push(context), 0);
        conv_case_fixed(&c, &size, 1, 1);
        assert_true(case_is_right(&c));
        conv_case_destroy(&c);
        assert_int_equal(d->context_pop(&left), 0);
        standin->context_destroy(context);
    }
}

/* The row that runs forward, "" if none does. */
static const char *chosen(struct conv_case *c)
{
    static char name[32];
    convop_conv_row rows[CONV_CASE_MAX_ROWS];
    size_t count = CONV_CASE_MAX_ROWS;
    name[0] = '\0';
    assert_int_equal(convop_conv_explain(&c->params, CONVOP_FWD, &c->src.tensor, &c->weights.tensor,
                                         &c->dst.tensor, NULL, rows, &count),
                     CONVOP_OK);
    for (size_t i = 0; i < count; i++)
        if (rows[i].chosen) snprintf(name, sizeof name, "%s", rows[i].name);
    return name;
}

/* Depthwise where that is what it is, then cuDNN, then GEMM; each can be switched off. */
static void rule(void **state)
{
    (void)state;
    static const struct {
        int g, depthwise_off, cudnn_off;
        const char *row;
    } rules[] = {
        {6, 0, 0, "depthwise"}, {6, 0, 1, "depthwise"}, {6, 1, 0, "cudnn"}, {6, 1, 1, "gemm"},
        {1, 0, 0, "cudnn"},     {1, 1, 0, "cudnn"},     {1, 0, 1, "gemm"},  {1, 1, 1, "gemm"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        struct conv_case c;
        struct moved m;
        const struct conv_size size = {2, 0, BOX_F32, 2, 6, 6, rules[i].g, 14, 3, 1, 1, 1};
        conv_case_fixed(&c, &size, 1, 1);
        c.params.depthwise_conv_off = rules[i].depthwise_off;
        c.params.cudnn_off = rules[i].cudnn_off;
        move(&c, &m);
        assert_string_equal(chosen(&c), rules[i].row);
        move_back(&c, &m);
        conv_case_destroy(&c);
    }
}

/* A thread less is faster here, and depthwise kernels are. */
static double time_of(const char *kernel, unsigned threads)
{
    return strncmp(kernel, "cvp_dw", 6) == 0 ? 0.001 * threads : 9;
}

static unsigned least_threads, most_threads;

static int launch(const char *kernel, const unsigned grid[3], unsigned threads, size_t shared,
                  const void *args, const char **error)
{
    if (threads < least_threads) least_threads = threads;
    if (threads > most_threads) most_threads = threads;
    return cuda_host_launch(kernel, grid, threads, shared, args, error);
}

static const struct standin_kernels kernels = {cuda_host_args_size, launch, &cuda_host_translate};

/* Runs forward; the threads of the blocks that it launched. */
static unsigned threads_of_forward(struct conv_case *c)
{
    struct conv_expected e;
    struct moved m;
    conv_case_expect(c, &e);
    move(c, &m);
    least_threads = UINT_MAX, most_threads = 0;
    assert_int_equal(conv_case_forward(c, NULL), CONVOP_OK);
    move_back(c, &m);
    assert_true(conv_case_matches(c, &e, 0));
    conv_expected_free(&e);
    assert_true(most_threads > 0);
    return most_threads;
}

/* Cuts compete by measurement; the winner is kept, and is what runs. */
static void cuts_compete(void **state)
{
    (void)state;
    static const struct conv_size size = {2, 0, BOX_F32, 1, 32, 32, 32, 28, 3, 1, 1, 1};
    struct conv_case c;
    convop_tune_listing *listing = NULL;
    conv_case_fixed(&c, &size, 1, 1);
    standin->launches_take(time_of);
    assert_int_equal(convop_set("tune_budget", "60000"), CONVOP_OK);
    const unsigned before = threads_of_forward(&c);
    c.params.cudnn_tune = CONVOP_TUNE_LIMITED_WORKSPACE;
    (void)threads_of_forward(&c);
    assert_true(least_threads < before);
    const unsigned won = least_threads;
    assert_int_equal(convop_tune_list(NULL, &listing), CONVOP_OK);
    assert_int_equal(convop_tune_listing_count(listing), 1);
    const convop_tune_record *r = convop_tune_listing_at(listing, 0);
    assert_string_equal(r->impl, "depthwise");
    assert_memory_equal(r->plan, "tile=", 5);
    convop_tune_listing_destroy(&listing);
    (void)convop_trim(); /* forgets the plan: the cache is asked */
    assert_int_equal(threads_of_forward(&c), won);
    standin->launches_take(NULL);
    assert_int_equal(convop_tune_forget(NULL, NULL), CONVOP_OK);
    conv_case_destroy(&c);
}

/* As cuDNN asks of addresses. */
static void make_aligned(struct conv_case *c, const struct conv_size *size)
{
    struct rng r = {1};
    conv_case_fixed(c, size, 1, 1);
    conv_case_destroy(c);
    c->aligned = 1;
    conv_case_create_tensors(c, &r, 0);
}

/* The direction, of so many bytes of memory: by how many plans of cuDNN and launches. */
static void run_within(const struct conv_size *size, convop_conv_direction d, size_t left,
                       int executions, int launched)
{
    struct conv_case c;
    struct conv_expected e;
    struct moved m;
    size_t available, total;
    make_aligned(&c, size);
    c.requests[0] = c.requests[2] = CONVOP_REQ_NULL;
    conv_case_expect(&c, &e);
    (void)convop_trim();
    move(&c, &m);
    assert_int_equal(m.scope.driver->mem_info(&available, &total), 0);
    standin->limit_memory(0, total - available + left);
    const long launches = standin->calls("cuLaunchKernel"),
               executed = standin->calls("cudnnBackendExecute");
    const convop_status status =
        d == CONVOP_FWD ? conv_case_forward(&c, NULL) : conv_case_backward(&c, NULL);
    standin->limit_memory(0, total);
    assert_int_equal(status, CONVOP_OK);
    assert_int_equal(standin->calls("cudnnBackendExecute") - executed, executions);
    assert_int_equal(standin->calls("cuLaunchKernel") - launches, launched);
    move_back(&c, &m);
    assert_true(conv_case_matches(&c, &e, (int)d));
    conv_expected_free(&e);
    conv_case_destroy(&c);
}

/* The first plan has 72 KiB of workspace, the next one 8 KiB, convop's own row none. */
static void without_memory_smaller_plans_run_and_then_the_own_row(void **state)
{
    (void)state;
    static const struct conv_size size = {2, 0, BOX_F32, 2, 8, 8, 1, 6, 3, 1, 1, 1};
    static const convop_conv_direction directions[] = {CONVOP_FWD, CONVOP_BWD_W};
    standin->engines_need(8 << 10);
    for (int i = 0; i < 2; i++) {
        run_within(&size, directions[i], 1 << 20, 1, 0);
        run_within(&size, directions[i], 16 << 10, 1, 0);
        run_within(&size, directions[i], 0, 0, 1);
    }
    standin->engines_need(0);
}

/* cuDNN's plan has 64 KiB of workspace and refuses the addresses; the row after it needs more. */
static void what_cudnn_refuses_runs_with_memory_of_its_own(void **state)
{
    (void)state;
    static const struct conv_size size = {2, 1, BOX_F32, 1, 64, 64, 1, 4, 3, 1, 1, 1};
    struct conv_case c;
    conv_case_fixed(&c, &size, 1, 1);
    const long executed = standin->calls("cudnnBackendExecute");
    assert_true(case_is_right(&c));
    assert_int_equal(standin->calls("cudnnBackendExecute"), executed);
    conv_case_destroy(&c);
}

/* What one gradient has no memory for is not missing for another, that needs less. */
static void a_gradient_has_the_memory_that_it_needs(void **state)
{
    (void)state;
    static const struct conv_size size = {2, 0, BOX_F32, 2, 8, 8, 1, 6, 3, 1, 1, 1};
    struct conv_case c;
    struct conv_expected e;
    struct moved m;
    size_t available, total;
    make_aligned(&c, &size);
    conv_case_expect(&c, &e);
    move(&c, &m);
    assert_int_equal(m.scope.driver->stream_synchronize(NULL), 0);
    assert_int_equal(m.scope.driver->mem_info(&available, &total), 0);
    standin->limit_memory(0, total - available + 1024);
    const convop_status status = conv_case_backward(&c, NULL);
    standin->limit_memory(0, total - available);
    const convop_status none = conv_case_backward(&c, NULL);
    standin->limit_memory(0, total);
    move_back(&c, &m);
    assert_int_equal(status, CONVOP_OK);
    for (int i = 1; i < 4; i++) assert_true(conv_case_matches(&c, &e, i));
    assert_int_equal(none, CONVOP_E_NO_MEMORY);
    conv_expected_free(&e);
    conv_case_destroy(&c);
}

/* A residual with strides of its own, which convop's own rows find by the offsets in dst: each row
 * says so. */
static void a_residual_with_other_strides_is_refused_by_each_row(void **state)
{
    (void)state;
    static const struct conv_size size = {2, 0, BOX_F32, 2, 8, 8, 8, 6, 3, 1, 1, 1};
    struct conv_case c;
    struct moved m;
    conv_case_fixed(&c, &size, 0, 1);
    c.params.cudnn_off = 1;
    move(&c, &m);
    DLTensor residual = c.diff_dst.tensor;
    int64_t strides[4] = {8 * 6 * 6, 6 * 6, 6, 1};
    residual.strides = strides;
    convop_status status =
        convop_conv_forward_add(&c.params, &c.src.tensor, &c.weights.tensor, NULL, &residual,
                                &c.dst.tensor, CONVOP_REQ_WRITE, NULL);
    assert_int_equal(status, CONVOP_OK);
    strides[0] = 0;
    status = convop_conv_forward_add(&c.params, &c.src.tensor, &c.weights.tensor, NULL, &residual,
                                     &c.dst.tensor, CONVOP_REQ_WRITE, NULL);
    assert_int_equal(status, CONVOP_E_UNSUPPORTED);
    assert_non_null(strstr(convop_last_error(), "depthwise: it computes no activation"));
    assert_non_null(strstr(convop_last_error(), "gemm: it computes no activation"));
    move_back(&c, &m);
    conv_case_destroy(&c);
}

int main(void)
{
    const char *why;
    if (!cvp_cuda_has_kernels(&why)) {
        printf("skipped: %s\n", why);
        return 77;
    }
    setenv("CONVOP_CACHE_DIR", "none", 1);
    standin = standin_open();
    standin->set_kernels(&kernels);
    standin->plan_here(1);
    /* What is loaded once for a context stays, and the context with it. */
    static const enum standin_kind kept[] = {STANDIN_MODULE,  STANDIN_FUNCTION, STANDIN_PRIMARY,
                                             STANDIN_CONTEXT, STANDIN_HANDLE,   STANDIN_DESCRIPTOR};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) standin->keeps(kept[i]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_cases),
        cmocka_unit_test(rule),
        cmocka_unit_test(cuts_compete),
        cmocka_unit_test(without_memory_smaller_plans_run_and_then_the_own_row),
        cmocka_unit_test(what_cudnn_refuses_runs_with_memory_of_its_own),
        cmocka_unit_test(a_gradient_has_the_memory_that_it_needs),
        cmocka_unit_test(a_residual_with_other_strides_is_refused_by_each_row),
        cmocka_unit_test(a_context_in_the_place_of_another)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

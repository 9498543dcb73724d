/* Random convolutions against plain float64 loops: every direction, layout, dtype and request,
 * every row by name, several numbers of threads, workspaces of any alignment and size.
 *
 *     CONVOP_CASE=<seed> test_conv_random     repeats one problem
 *     CONVOP_SEED=<seed> test_conv_random     another series */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "../support/conv_case.h"
#include "convop/convop.h"

static const char *program;

/* Runs both calls on the case's tensors. */
static convop_status call(struct conv_case *c, const convop_exec *x, int forward)
{
    if (forward)
        return conv_forward(&c->params, &c->src.tensor, &c->weights.tensor,
                            c->params.no_bias ? NULL : &c->bias.tensor,
                            c->request == CONVOP_REQ_NULL ? NULL : &c->dst.tensor, c->request, x);
    DLTensor *bias =
        c->params.no_bias || c->requests[2] == CONVOP_REQ_NULL ? NULL : &c->diff_bias.tensor;
    return conv_backward(
        &c->params, &c->diff_dst.tensor,
        c->requests[1] == CONVOP_REQ_NULL && c->seed % 2 ? NULL : &c->src.tensor,
        c->requests[0] == CONVOP_REQ_NULL && c->seed % 3 ? NULL : &c->weights.tensor,
        c->requests[0] == CONVOP_REQ_NULL ? NULL : &c->diff_src.tensor,
        c->requests[1] == CONVOP_REQ_NULL ? NULL : &c->diff_weights.tensor, bias, c->requests, x);
}

static int output_is_asked_for(const struct conv_case *c, int output)
{
    if (output == 0) return c->request != CONVOP_REQ_NULL;
    if (output == 3 && c->params.no_bias) return 0;
    return c->requests[output - 1] != CONVOP_REQ_NULL;
}

/* One problem in one setting. 0 and a printed reason if anything is wrong. */
static int run_case(uint64_t seed, const char *impl, int without_filter, int threads)
{
    struct conv_case c;
    conv_case_create(&c, seed);
    if (without_filter) c.requests[1] = CONVOP_REQ_NULL;
    struct rng r = {seed ^ 0x5eed};
    struct conv_expected e;
    conv_case_expect(&c, &e);

    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    options.num_threads = threads;
    convop_context *context = NULL;
    assert_int_equal(convop_context_create(&options, &context), CONVOP_OK);
    convop_exec x = CONVOP_EXEC_INIT;
    x.context = context;
    /* With a row by name the workspace must be able to hold what the row needs. */
    size_t room = impl ? 0 : rng_chance(&r, 30) ? (size_t)rng_int(&r, 0, 4 << 20) : 0;
    char *scratch = room ? malloc(room + 7) : NULL;
    if (scratch) {
        x.workspace = scratch + rng_int(&r, 0, 7);
        x.workspace_bytes = room;
    }

    struct box *inputs[] = {&c.src, &c.weights, &c.bias, &c.diff_dst};
    unsigned char *before[4];
    for (int i = 0; i < 4; i++) before[i] = box_snapshot(inputs[i]);

    assert_int_equal(convop_set("impl", impl), CONVOP_OK);
    conv_case_find_bounds(&c, &x);
    convop_status forward = call(&c, &x, 1), backward = call(&c, &x, 0);
    int good = forward == CONVOP_OK && backward == CONVOP_OK;
    if (!good) printf("status %d and %d: %s\n", (int)forward, (int)backward, convop_last_error());
    for (int i = 0; i < 4; i++) {
        if (!box_unchanged(inputs[i], before[i])) good = 0, printf("input %d was changed\n", i);
    }
    for (int i = 0; good && i < 4; i++) {
        if (output_is_asked_for(&c, i) && !conv_case_matches(&c, &e, i)) good = 0;
        if (!box_canaries_whole(conv_case_output(&c, i)))
            good = 0, printf("output %d: written beside its elements\n", i);
    }
    if (!good) {
        printf("row %s, %d threads, workspace %zu: ", impl ? impl : "as chosen", threads, room);
        conv_case_print(&c);
        printf("CONVOP_CASE=%llu %s\n", (unsigned long long)seed, program);
    }
    conv_expected_free(&e);
    conv_case_destroy(&c);
    convop_context_destroy(&context);
    free(scratch);
    return good;
}

static int run_settings(uint64_t seed)
{
    static const int threads[] = {1, 2, 3, 7};
    const char *names[16];
    struct conv_case c;
    assert_int_equal(convop_set("impl", NULL), CONVOP_OK);
    conv_case_create(&c, seed);
    const size_t whole = conv_case_row_names(&c, 0, names, 16);
    const size_t rows = whole + conv_case_row_names(&c, 1, names + whole, 16 - whole);
    conv_case_destroy(&c);
    assert_true(whole > 0);
    int good = run_case(seed, NULL, 0, threads[seed % 4]);
    for (size_t i = 0; i < rows; i++)
        good &= run_case(seed, names[i], i >= whole, threads[(seed >> (2 * i + 2)) % 4]);
    return good;
}

static void random_problems(void **state)
{
    (void)state;
    const char *one = getenv("CONVOP_CASE");
    if (one) {
        assert_true(run_settings(strtoull(one, NULL, 0)));
        return;
    }
    struct rng r = {test_seed(20261130)};
    int bad = 0;
    for (int64_t n = test_scaled(2000); n > 0 && bad < 5; n--) bad += !run_settings(rng_next(&r));
    assert_int_equal(bad, 0);
}

/* The same bits whatever the number of threads, for rows that round. */
static void same_bits_for_any_threads(void **state)
{
    (void)state;
    struct rng r = {test_seed(7)};
    for (int64_t n = test_scaled(150); n > 0; n--) {
        uint64_t seed = rng_next(&r);
        unsigned char *first[4] = {NULL};
        for (int threads = 1; threads <= 5; threads++) {
            struct conv_case c;
            conv_case_create(&c, seed);
            convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
            options.num_threads = threads;
            convop_context *context = NULL;
            assert_int_equal(convop_context_create(&options, &context), CONVOP_OK);
            convop_exec x = CONVOP_EXEC_INIT;
            x.context = context;
            assert_int_equal(convop_set("impl", NULL), CONVOP_OK);
            assert_int_equal(call(&c, &x, 1), CONVOP_OK);
            assert_int_equal(call(&c, &x, 0), CONVOP_OK);
            for (int i = 0; i < 4; i++) {
                struct box *b = conv_case_output(&c, i);
                if (!first[i])
                    first[i] = box_snapshot(b);
                else if (memcmp(first[i], b->memory, b->bytes) != 0)
                    fail_msg("output %d differs with %d threads: CONVOP_CASE=%llu", i, threads,
                             (unsigned long long)seed);
            }
            conv_case_destroy(&c);
            convop_context_destroy(&context);
        }
        for (int i = 0; i < 4; i++) free(first[i]);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    program = argv[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems),
        cmocka_unit_test(same_bits_for_any_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tuning in many threads and processes, and what a process is started with.
 *
 *     test_conv_tune_threads [ID]     all, or the one of that name; 77: skipped */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/conv_fixed.h"
#include "tests/support/one_test.h"
#include "tests/support/tune_rows.h"

#define THREADS 16

static atomic_int wrong, begun, measured;
static pthread_barrier_t barrier;
static const char *self; /* this program */

static void count_lines(void *user, const char *line)
{
    (void)user;
    if (strncmp(line, "convop,v1,tune,", 15) == 0 && strstr(line, ",begin,"))
        atomic_fetch_add(&begun, 1);
    if (strncmp(line, "convop,v1,exec,", 15) == 0 && strstr(line, ",measured,"))
        atomic_fetch_add(&measured, 1);
}

static void *one_call(void *arg)
{
    const struct conv_size *size = arg;
    struct conv_case c;
    struct conv_expected e;
    conv_case_fixed(&c, size, 1, 5);
    conv_case_expect(&c, &e);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 3; i++) {
        box_fill_value(&c.dst, 77);
        if (conv_case_forward(&c, NULL) != CONVOP_OK || !conv_case_matches(&c, &e, 0))
            atomic_fetch_add(&wrong, 1);
    }
    conv_expected_free(&e);
    conv_case_destroy(&c);
    return NULL;
}

/* All threads at once, each with one of the sizes. */
static void call_at_once(struct conv_size *sizes, int num_sizes)
{
    pthread_t threads[THREADS];
    atomic_store(&wrong, 0);
    atomic_store(&begun, 0);
    atomic_store(&measured, 0);
    convop_set_log_sink(count_lines, NULL);
    expect_ok(convop_set("verbose", "1"));
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, one_call, &sizes[i % num_sizes]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    expect_ok(convop_set("verbose", NULL));
    convop_set_log_sink(NULL, NULL);
    assert_int_equal(wrong, 0);
}

static struct conv_size sizes[] = {{2, 0, BOX_F32, 1, 8, 8, 8, 14, 3, 1, 1, 1},
                                   {2, 1, BOX_F32, 2, 16, 16, 16, 10, 3, 1, 1, 1},
                                   {2, 0, BOX_F32, 1, 4, 4, 1, 12, 3, 2, 1, 1}};

/* Those that wait find the record of the one that measured. */
static void race_first_use(void **state)
{
    (void)state;
    cvp_conv_measure_clock(NULL);
    expect_ok(convop_set("autotune", "1"));
    call_at_once(sizes, 1);
    assert_int_equal(begun, 1);
    expect_ok(convop_tune_forget(NULL, NULL));
    call_at_once(sizes, 3);
    assert_int_equal(begun, 3);
    convop_tune_listing *listing = NULL;
    expect_ok(convop_tune_list(NULL, &listing));
    assert_int_equal(convop_tune_listing_count(listing), 3);
    convop_tune_listing_destroy(&listing);
}

/* ---- tune_wait ------------------------------------------------------------------------------- */

static atomic_int is_measuring, may_end;

/* A slot's row computes, but its first run ends only when it may. */
static convop_status slow_first_run(const convop_conv_problem *p, const convop_conv_operands *t,
                                    const convop_context *context, void *workspace)
{
    (void)context, (void)workspace;
    if (!atomic_exchange(&is_measuring, 1))
        while (!atomic_load(&may_end)) usleep(200);
    compute_pointwise(p, t);
    return CONVOP_OK;
}

static void *call_pointwise(void *arg)
{
    struct problem *x = arg;
    if (forward(x) != CONVOP_OK || x->dst[3] != 3) atomic_fetch_add(&wrong, 1);
    return NULL;
}

/* While one thread measures, another that needs the same problem takes the estimate: it ends, and
 * the first one has not. With tune_wait it would not end before. */
static void others_do_not_wait_if_told_not_to(void **state)
{
    (void)state;
    struct problem x, y;
    pthread_t thread;
    make_problem(&x);
    make_problem(&y);
    cvp_conv_measure_clock(NULL);
    convop_conv_impl row = {.struct_size = sizeof row,
                            .name = "held",
                            .direction = CONVOP_FWD,
                            .version = 1,
                            .level = 20,
                            .applicable = takes_0,
                            .run = slow_first_run};
    expect_ok(convop_conv_impl_register(&row));
    expect_ok(convop_set("autotune", "1"));
    expect_ok(convop_set("tune_wait", "0"));
    atomic_store(&wrong, 0);
    assert_int_equal(pthread_create(&thread, NULL, call_pointwise, &x), 0);
    while (!atomic_load(&is_measuring)) usleep(200);
    convop_set_log_sink(count_lines, NULL);
    atomic_store(&begun, 0);
    expect_ok(convop_set("verbose", "1"));
    expect_ok(forward(&y));
    expect_ok(convop_set("verbose", NULL));
    convop_set_log_sink(NULL, NULL);
    assert_int_equal(begun, 0);
    assert_true(y.dst[3] == 3);
    /* Another problem is measured meanwhile, whoever waits for what. */
    expect_ok(convop_set("tune_wait", "1"));
    struct conv_case c;
    conv_case_fixed(&c, &sizes[0], 0, 1);
    expect_ok(conv_case_forward(&c, NULL));
    conv_case_destroy(&c);
    convop_tune_listing *listing = NULL;
    expect_ok(convop_tune_list(NULL, &listing));
    assert_int_equal(convop_tune_listing_count(listing), 1);
    convop_tune_listing_destroy(&listing);
    atomic_store(&may_end, 1);
    pthread_join(thread, NULL);
    assert_int_equal(wrong, 0);
    expect_ok(convop_conv_impl_unregister(&row, NULL, NULL));
}

/* ---- fresh processes --------------------------------------------------------------------------
 */

/* What a child prints: rows that ran, and a hash of all bits that they gave. */
static int print_choices(void)
{
    static const struct conv_size all[] = {{2, 0, BOX_F32, 2, 16, 16, 16, 20, 3, 1, 1, 1},
                                           {2, 0, BOX_F32, 1, 1, 32, 1, 28, 5, 1, 1, 2},
                                           {2, 1, BOX_F32, 2, 24, 48, 24, 11, 3, 2, 1, 1},
                                           {2, 0, BOX_F32, 2, 20, 36, 1, 15, 3, 1, 1, 1}};
    uint64_t hash = 1;
    struct rng r = {1};
    for (size_t i = 0; i < 4; i++) {
        struct conv_case c;
        conv_case_fixed(&c, &all[i], 1, 9);
        struct box *inputs[] = {&c.src, &c.weights, &c.bias, &c.diff_dst};
        for (int k = 0; k < 4; k++) box_fill_real(inputs[k], &r);
        c.params.cudnn_tune = getenv("TEST_TUNES") ? CONVOP_TUNE_FASTEST : CONVOP_TUNE_DEFAULT;
        if (conv_case_forward(&c, NULL) || conv_case_backward(&c, NULL)) return 1;
        for (int d = 0; d < 3; d++) {
            convop_conv_row rows[CONV_CASE_MAX_ROWS];
            int n = conv_case_rows(&c, (convop_conv_direction)d, rows);
            for (int k = 0; k < n; k++)
                if (rows[k].chosen) printf("%s ", rows[k].name);
        }
        for (int k = 0; k < 4; k++) {
            const struct box *b = conv_case_output(&c, k);
            for (size_t at = 0; at < b->bytes; at++) hash = hash * 31 + b->memory[at];
        }
        conv_case_destroy(&c);
    }
    printf("%016llx\n", (unsigned long long)hash);
    return 0;
}

/* Output of a fresh process: what it printed and logged. In a cross build meson names what runs it.
 */
static void run_child(const char *environment, char *text, size_t size)
{
    char command[1024];
    snprintf(command, sizeof command,
             "CONVOP_CACHE_DIR=none %s $MESON_EXE_WRAPPER '%s' print-choices 2>&1", environment,
             self);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, size - 1, f);
    text[n] = '\0';
    assert_int_equal(pclose(f), 0);
}

static void deterministic_flag(void **state)
{
    (void)state;
    char first[4096], next[4096];
    run_child("", first, sizeof first);
    for (int i = 0; i < 3; i++) {
        /* Nor does it matter on how many threads. */
        run_child(i < 2 ? "CONVOP_VERBOSE=0" : "CONVOP_NUM_THREADS=5", next, sizeof next);
        assert_string_equal(first, next);
    }
}

static void autotune_off_env(void **state)
{
    (void)state;
    static char text[1 << 16];
    run_child("CONVOP_AUTOTUNE=0 CONVOP_VERBOSE=2 TEST_TUNES=1", text, sizeof text);
    assert_non_null(strstr(text, ",exec,"));
    assert_null(strstr(text, ",tune,"));
    assert_null(strstr(text, ",lookup,"));
    run_child("CONVOP_VERBOSE=2 TEST_TUNES=1", text, sizeof text);
    assert_non_null(strstr(text, ",tune,"));
}

#define TUNE_TEST(name, f)                                                                         \
    {                                                                                              \
        name, f, tune_set_up, tune_tear_down, NULL                                                 \
    }

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc > 1 && strcmp(argv[1], "print-choices") == 0) return print_choices();
    const struct CMUnitTest tests[] = {
        TUNE_TEST("cache.race_first_use", race_first_use),
        TUNE_TEST("cache.wait_or_not", others_do_not_wait_if_told_not_to),
        TUNE_TEST("cache.deterministic_flag", deterministic_flag),
        TUNE_TEST("cache.autotune_off_env", autotune_off_env),
    };
    return run_one_or_all(tests, sizeof tests / sizeof tests[0], argc, argv);
}

/* Forks around convolutions. A child that hangs is ended by an alarm, and the test fails.
 *
 *     test_conv_fork [ID]     all, or the one of that name; 77: skipped */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "convop/convop.h"
#include "tests/support/child.h"
#include "tests/support/conv_fixed.h"
#include "tests/support/one_test.h"

#define CHILD_SECONDS                                                                              \
    15 /* far beyond what a child needs, also with a sanitizer on a busy machine */

static const struct conv_size size = {2, 0, BOX_F32, 2, 12, 16, 1, 17, 3, 1, 1, 1};

/* Convolutions of both directions, compared with plain loops; 0 if all are right. The argument is a
 * context, or NULL. */
static int convolve(void *context)
{
    convop_exec exec = CONVOP_EXEC_INIT;
    exec.context = context;
    struct conv_case c;
    struct conv_expected e;
    conv_case_fixed(&c, &size, 1, 11);
    conv_case_expect(&c, &e);
    int good = 1;
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 4; k++) box_fill_value(conv_case_output(&c, k), 77);
        good &= conv_case_forward(&c, &exec) == CONVOP_OK;
        good &= conv_case_backward(&c, &exec) == CONVOP_OK;
        for (int k = 0; k < 4; k++) good &= conv_case_matches(&c, &e, k);
    }
    conv_expected_free(&e);
    conv_case_destroy(&c);
    return !good;
}

static int convolve_in_time(void *arg)
{
    alarm(CHILD_SECONDS);
    return convolve(arg);
}

static int nothing(void *unused)
{
    (void)unused;
    return 0;
}

/* Must be first: the library has not been used yet in this process. */
static void before_first_use(void **state)
{
    (void)state;
    pid_t child = test_fork(convolve_in_time, NULL);
    assert_int_equal(convolve(NULL), 0);
    assert_int_equal(test_reap(child), 0);
}

static void after_use(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(convolve(NULL), 0);
        assert_int_equal(test_reap(test_fork(nothing, NULL)), 0);
    }
    assert_int_equal(convolve(NULL), 0);
    if (!TEST_CHILD_MAY_THREAD) return;
    for (int i = 0; i < 5; i++) assert_int_equal(test_reap(test_fork(convolve_in_time, NULL)), 0);
    assert_int_equal(convolve(NULL), 0);
}

static convop_context *new_context(int threads)
{
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_context *context = NULL;
    options.num_threads = threads;
    return convop_context_create(&options, &context) == CONVOP_OK ? context : NULL;
}

/* The parent's context, and one of its own; both are destroyed here. */
static int both_contexts(void *inherited)
{
    convop_context *theirs = inherited, *own = new_context(3);
    int bad = own == NULL || convolve_in_time(theirs) || convolve(own);
    convop_context_destroy(&theirs);
    return bad | convolve(own) | (convop_context_destroy(&own), 0) | convolve(NULL);
}

static void contexts(void **state)
{
    (void)state;
    if (!TEST_CHILD_MAY_THREAD) skip_test("a sanitizer does not survive it");
    convop_context *context = new_context(4);
    assert_non_null(context);
    assert_int_equal(convolve(context), 0);
    for (int i = 0; i < 5; i++) assert_int_equal(test_reap(test_fork(both_contexts, context)), 0);
    assert_int_equal(convolve(context), 0);
    convop_context_destroy(&context);
}

/* ---- while others work ----------------------------------------------------------------------- */

static atomic_int stop, wrong;

/* With a context of its own each time, so that pools come and go as well. */
static void *keep_convolving(void *unused)
{
    while (!atomic_load(&stop)) {
        convop_context *context = new_context(2);
        atomic_fetch_or(&wrong, context == NULL || convolve(context) || convolve(unused));
        convop_context_destroy(&context);
    }
    return NULL;
}

static void *keep_forking(void *unused)
{
    (void)unused;
    for (int i = 0; i < 25; i++)
        atomic_fetch_or(&wrong, test_reap(test_fork(convolve_in_time, NULL)) != 0);
    return NULL;
}

static void forks_beside_work(int forkers)
{
    if (!TEST_CHILD_MAY_THREAD) skip_test("a sanitizer does not survive it");
    pthread_t working[3], forking[2];
    atomic_store(&stop, 0);
    atomic_store(&wrong, 0);
    for (int i = 0; i < 3; i++) pthread_create(&working[i], NULL, keep_convolving, NULL);
    for (int i = 0; i < forkers; i++) pthread_create(&forking[i], NULL, keep_forking, NULL);
    for (int i = 0; i < forkers; i++) pthread_join(forking[i], NULL);
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++) pthread_join(working[i], NULL);
    assert_int_equal(wrong, 0);
}

static void during_op(void **state)
{
    (void)state;
    forks_beside_work(1);
}

static void two_threads_fork(void **state)
{
    (void)state;
    forks_beside_work(2);
}

static int chain_link(void *depth)
{
    int left = *(int *)depth - 1, bad = convolve_in_time(NULL);
    if (left > 0) bad |= test_reap(test_fork(chain_link, &left)) != 0;
    return bad | convolve(NULL);
}

static void chain(void **state)
{
    (void)state;
    if (!TEST_CHILD_MAY_THREAD) skip_test("a sanitizer does not survive it");
    int depth = 4;
    assert_int_equal(convolve(NULL), 0);
    assert_int_equal(test_reap(test_fork(chain_link, &depth)), 0);
    assert_int_equal(convolve(NULL), 0);
}

/* Training: 500 steps, another program every 100. */
static void subprocesses(void **state)
{
    (void)state;
    struct conv_case c;
    struct conv_expected e;
    conv_case_fixed(&c, &size, 1, 12);
    conv_case_expect(&c, &e);
    for (int step = 0; step < 500; step++) {
        assert_int_equal(conv_case_forward(&c, NULL), CONVOP_OK);
        assert_int_equal(conv_case_backward(&c, NULL), CONVOP_OK);
        if (step % 100 != 0) continue;
        pid_t child = fork();
        if (child == 0) {
            alarm(CHILD_SECONDS);
            execlp("true", "true", (char *)NULL);
            _exit(127);
        }
        assert_int_equal(test_reap(child), 0);
    }
    for (int k = 0; k < 4; k++) assert_true(conv_case_matches(&c, &e, k));
    conv_expected_free(&e);
    conv_case_destroy(&c);
}

int main(int argc, char **argv)
{
    setenv("CONVOP_NUM_THREADS", "4", 0); /* loops have company also on a small machine */
    const struct CMUnitTest tests[] = {
        {"fork.before_first_use", before_first_use, NULL, NULL, NULL},
        {"fork.after_use_parent_conv", after_use, NULL, NULL, NULL},
        {"fork.contexts", contexts, NULL, NULL, NULL},
        {"fork.during_op", during_op, NULL, NULL, NULL},
        {"fork.two_threads_fork", two_threads_fork, NULL, NULL, NULL},
        {"fork.chain", chain, NULL, NULL, NULL},
        {"fork.subprocess_500", subprocesses, NULL, NULL, NULL},
    };
    return run_one_or_all(tests, sizeof tests / sizeof tests[0], argc, argv);
}

/* Registration: levels, references, threads, forks, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/common/alloc.h"
#include "src/registry/registry_internal.h"
#include "tests/support/expect.h"
#include "tests/support/sample_op.h"

static void count_release(void *user)
{
    ++*(int *)user;
}

static void levels_and_restoring(void **state)
{
    (void)state;
    convop_op low = sample_op("Sample", 5), high = sample_op("Sample", 20);
    const convop_op *found;
    expect_ok(convop_op_register(&low));
    expect_ok(convop_op_register(&high));
    expect_ok(convop_op_find("Sample", &found));
    assert_ptr_equal(found, &high);
    convop_op_release(&found);
    assert_null(found);

    convop_op same = sample_op("Sample", 20);
    expect_text(CONVOP_E_STATE,
                "Sample: an operator of this name is registered at level 20; a higher level "
                "overrides it",
                convop_op_register(&same));
    expect_ok(convop_op_unregister(&high, NULL, NULL));
    expect_ok(convop_op_find("Sample", &found));
    assert_ptr_equal(found, &low);
    convop_op_release(&found);
    expect_ok(convop_op_register(&same));
    expect_ok(convop_op_unregister(&same, NULL, NULL));
    expect_ok(convop_op_unregister(&low, NULL, NULL));
    expect_text(CONVOP_E_NOT_FOUND, "convop_op_unregister: the descriptor is not registered",
                convop_op_unregister(&low, NULL, NULL));
}

static void builtin_is_overridden_and_comes_back(void **state)
{
    (void)state;
    const convop_op *builtin, *found;
    expect_ok(convop_op_find("Convolution", &builtin));
    assert_int_equal(builtin->level, CONVOP_LEVEL_BUILTIN);
    convop_op mine = sample_op("Convolution", CONVOP_LEVEL_BUILTIN);
    assert_int_equal(convop_op_register(&mine), CONVOP_E_STATE);
    mine.level = CONVOP_LEVEL_BUILTIN + 1;
    expect_ok(convop_op_register(&mine));
    expect_ok(convop_op_find("Convolution", &found));
    assert_ptr_equal(found, &mine);
    convop_op_release(&found);
    expect_ok(convop_op_unregister(&mine, NULL, NULL));
    expect_ok(convop_op_find("Convolution", &found));
    assert_ptr_equal(found, builtin);
    expect_text(CONVOP_E_STATE, "convop_op_unregister: Convolution is built in and stays",
                convop_op_unregister(builtin, NULL, NULL));
    convop_op_release(&found);
    convop_op_release(&builtin);
}

static void released_comes_with_the_last_reference(void **state)
{
    (void)state;
    convop_op op = sample_op("Sample", 1);
    const convop_op *a, *b;
    int released = 0;
    expect_ok(convop_op_register(&op));
    expect_ok(convop_op_find("Sample", &a));
    expect_ok(convop_op_find("Sample", &b));
    expect_ok(convop_op_unregister(&op, count_release, &released));
    const convop_op *none = &op;
    assert_int_equal(convop_op_find("Sample", &none), CONVOP_E_NOT_FOUND);
    assert_null(none);
    expect_text(CONVOP_E_NOT_FOUND, "convop_op_unregister: the descriptor is not registered",
                convop_op_unregister(&op, count_release, &released));
    convop_op_release(&a);
    convop_op_release(&a);
    assert_int_equal(released, 0);
    expect_text(CONVOP_E_STATE,
                "Sample: it was unregistered and is still referenced; wait for its released "
                "callback",
                convop_op_register(&op));
    convop_op_release(&b);
    assert_int_equal(released, 1);

    expect_ok(convop_op_register(&op));
    a = &op; /* given back without having been taken: the registration stays */
    convop_op_release(&a);
    expect_ok(convop_op_unregister(&op, count_release, &released));
    assert_int_equal(released, 2);
    convop_op_release(NULL);
}

/* The callback may use the registry: no lock is held. */
static void release_and_register(void *user)
{
    const convop_op *found;
    expect_ok(convop_op_register(user));
    expect_ok(convop_op_find("Sample", &found));
    convop_op_release(&found);
}

static void released_runs_without_a_lock(void **state)
{
    (void)state;
    convop_op op = sample_op("Sample", 1), next = sample_op("Sample", 1);
    expect_ok(convop_op_register(&op));
    expect_ok(convop_op_unregister(&op, release_and_register, &next));
    expect_ok(convop_op_unregister(&next, NULL, NULL));
}

static void not_found_names_the_nearest(void **state)
{
    (void)state;
    const convop_op *found = NULL;
    expect_text(CONVOP_E_NOT_FOUND,
                "convop_op_find: there is no operator \"Convolutoin\"; did you mean "
                "\"Convolution\"?",
                convop_op_find("Convolutoin", &found));
    expect_text(CONVOP_E_NOT_FOUND, "convop_op_find: there is no operator \"zzzzzzzzzz\"",
                convop_op_find("zzzzzzzzzz", &found));
    expect_text(CONVOP_E_INVALID, "convop_op_find: name is NULL", convop_op_find(NULL, &found));
    expect_text(CONVOP_E_INVALID, "convop_op_find: op is NULL", convop_op_find("x", NULL));
    expect_text(CONVOP_E_INVALID, "convop_op_unregister: op is NULL",
                convop_op_unregister(NULL, NULL, NULL));
}

static int number_of_inputs;
static int any_number(const void *params)
{
    return (void)params, number_of_inputs;
}

static void counts_stay_within_the_maximum(void **state)
{
    (void)state;
    convop_op op = sample_op("Sample", 1);
    struct sample_params p = {.struct_size = sizeof p, .count = 1};
    assert_int_equal(cvp_op_num_inputs(&op, &p), 1);
    assert_int_equal(cvp_op_num_outputs(&op, &p), 1);
    op.num_inputs = op.num_outputs = any_number;
    number_of_inputs = 9;
    assert_int_equal(cvp_op_num_inputs(&op, &p), 2);
    assert_int_equal(cvp_op_num_outputs(&op, &p), 1);
    number_of_inputs = -9;
    assert_int_equal(cvp_op_num_inputs(&op, &p), 0);
    assert_int_equal(cvp_op_num_outputs(&op, &p), 0);
    op.num_inputs = NULL;
    assert_int_equal(cvp_op_num_inputs(&op, &p), 2);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    convop_op op = sample_op("Sample", 1);
    const uint64_t live = cvp_alloc_live();
    cvp_alloc_fail_at(1);
    expect_text(CONVOP_E_NO_MEMORY, "Sample: no memory to register it", convop_op_register(&op));
    cvp_alloc_fail_at(0);
    assert_int_equal(cvp_alloc_live(), live);
    /* The nearest name is a courtesy: without memory the answer is the same. */
    for (uint64_t n = 1;; n++) {
        const convop_op *found;
        cvp_alloc_fail_at(n);
        assert_int_equal(convop_op_find("Convolutio", &found), CONVOP_E_NOT_FOUND);
        const uint64_t calls = cvp_alloc_calls();
        cvp_alloc_fail_at(0);
        assert_int_equal(cvp_alloc_live(), live);
        if (calls < n) break;
        assert_null(strstr(convop_last_error(), "mean"));
    }
}

#define ROUNDS 300
static atomic_int releases;

static void count_atomic(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

/* What a thread has, and the call that went wrong, if any. */
struct churner {
    pthread_t thread;
    int id;
    const char *wrong;
};

#define DO(expr)                                                                                   \
    do {                                                                                           \
        if ((expr) != CONVOP_OK) {                                                                 \
            churner->wrong = #expr;                                                                \
            return NULL;                                                                           \
        }                                                                                          \
    } while (0)

/* Each thread has a level of its own for the shared name, so that its own registration succeeds. */
static void *churn(void *arg)
{
    struct churner *churner = arg;
    const int level = 1 + churner->id;
    convop_op op = sample_op("Shared", 100 + level);
    static const convop_attr attr = {sizeof attr, "color", "text", "red"};
    for (int i = 0; i < ROUNDS; i++) {
        /* While somebody still holds the descriptor, it must not be registered again. */
        while (convop_op_register(&op) == CONVOP_E_STATE) sched_yield();
        const convop_op *found;
        const void *value;
        convop_op_listing *listing;
        DO(convop_op_find("Shared", &found));
        DO(strcmp(found->name, "Shared"));
        DO(convop_attr_register("Shared", &attr, level));
        DO(convop_op_attr(found, "color", "text", &value));
        if (i % 8 == 0) {
            DO(convop_op_list(&listing));
            convop_op_listing_destroy(&listing);
        }
        convop_op_release(&found);
        DO(convop_attr_unregister("Shared", "color", level));
        DO(convop_op_unregister(&op, count_atomic, &releases));
    }
    /* The descriptor is on this stack: nobody may have it when the thread ends. */
    while (convop_op_register(&op) == CONVOP_E_STATE) sched_yield();
    DO(convop_op_unregister(&op, NULL, NULL));
    return NULL;
}

static void threads_register_find_and_unregister(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    struct churner churners[THREADS];
    for (int i = 0; i < THREADS; i++) {
        churners[i].id = i;
        churners[i].wrong = NULL;
        assert_int_equal(pthread_create(&churners[i].thread, NULL, churn, &churners[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(churners[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        if (churners[i].wrong) fail_msg("thread %d: %s", i, churners[i].wrong);
    assert_int_equal(atomic_load(&releases), THREADS * ROUNDS);
}

static atomic_int stop;

static void *find_all_the_time(void *arg)
{
    while (!atomic_load(&stop)) {
        const convop_op *found;
        if (convop_op_find("Convolution", &found) == CONVOP_OK) convop_op_release(&found);
    }
    return arg;
}

static void forked_child_can_look_up(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, find_all_the_time, NULL), 0);
    for (int i = 0; i < 40; i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            const convop_op *found;
            alarm(20); /* a lock that somebody held at the fork would never come free */
            _exit(convop_op_find("Convolution", &found) != CONVOP_OK);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_and_restoring),
        cmocka_unit_test(builtin_is_overridden_and_comes_back),
        cmocka_unit_test(released_comes_with_the_last_reference),
        cmocka_unit_test(released_runs_without_a_lock),
        cmocka_unit_test(not_found_names_the_nearest),
        cmocka_unit_test(counts_stay_within_the_maximum),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(threads_register_find_and_unregister),
        cmocka_unit_test(forked_child_can_look_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

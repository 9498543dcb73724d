/* How long implementation rows stay: plans, memory, threads, forks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>

#include "convop/convop.h"
#include "src/common/alloc.h"
#include "tests/support/child.h"
#include "tests/support/sample_row.h"

/* ---- how long a row stays ---------------------------------------------------------------------
 */

static convop_instance *instance_of(struct problem *x)
{
    convop_instance *instance;
    const DLTensor *in[] = {&x->s, &x->w};
    expect_ok(convop_instance_create_typed("Convolution", &x->params, 2, NULL, NULL, &instance));
    expect_ok(convop_instance_reshape(instance, in, NULL, NULL, SIZE_MAX, NULL));
    return instance;
}

static void run_instance(const convop_instance *instance, struct problem *x)
{
    const DLTensor *in[] = {&x->s, &x->w};
    DLTensor *out[] = {&x->d};
    expect_ok(convop_instance_run(instance, in, out, NULL));
}

static void plan_keeps_its_row(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    convop_instance *before = instance_of(&x);
    convop_conv_impl a = row_of("a", 20), b = row_of("b", 30);
    atomic_int a_released = 0, b_released = 0;
    expect_ok(convop_conv_impl_register(&a));
    convop_instance *with_a = instance_of(&x);
    expect_ok(convop_conv_impl_register(&b));
    convop_instance *with_b = instance_of(&x);
    expect_ok(convop_conv_impl_unregister(&a, count, &a_released));
    expect_ok(convop_conv_impl_unregister(&b, count, &b_released));
    assert_string_equal(order(CONVOP_FWD), builtin_order);
    assert_int_equal(a_released + b_released, 0);
    run_instance(with_a, &x);
    assert_true(x.dst[3] == 42);
    run_instance(before, &x);
    assert_true(x.dst[3] == 3);
    convop_instance_destroy(&with_b);
    assert_int_equal(b_released, 1);
    assert_int_equal(a_released, 0);
    convop_instance_destroy(&with_a);
    assert_int_equal(a_released, 1);
    convop_instance_destroy(&before);

    /* Registered anew while an old plan has it: another life. */
    expect_ok(convop_conv_impl_register(&a));
    with_a = instance_of(&x);
    expect_ok(convop_conv_impl_unregister(&a, count, &a_released));
    expect_ok(convop_conv_impl_register(&a));
    expect_ok(convop_conv_impl_unregister(&a, count, &a_released));
    assert_int_equal(a_released, 2);
    convop_instance_destroy(&with_a);
    assert_int_equal(a_released, 3);
}

/* The callback may register: no lock is held. */
static void register_again(void *row)
{
    expect_ok(convop_conv_impl_register(row));
}

static void released_runs_without_a_lock(void **state)
{
    (void)state;
    convop_conv_impl a = row_of("a", 20);
    expect_ok(convop_conv_impl_register(&a));
    expect_ok(convop_conv_impl_unregister(&a, register_again, &a));
    expect_ok(convop_conv_impl_unregister(&a, NULL, NULL));
}

static void registering_may_fail_for_memory_and_unregistering_not(void **state)
{
    (void)state;
    convop_conv_impl rows[] = {row_of("a", 20), row_of("b", 30), row_of("c", 5), row_of("d", 7)};
    (void)order(CONVOP_FWD);
    const uint64_t live = cvp_alloc_live();
    /* All orders of taking them back. */
    for (int code = 0; code < 256; code++) {
        int at[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 & 3};
        if ((1 << at[0] | 1 << at[1] | 1 << at[2] | 1 << at[3]) != 15) continue;
        for (int i = 0; i < 4; i++) expect_ok(convop_conv_impl_register(&rows[i]));
        cvp_alloc_fail_at(1);
        for (int i = 0; i < 4; i++) {
            if (i == 2) { /* and one in between */
                cvp_alloc_fail_at(0);
                convop_conv_impl extra = row_of("extra", 50);
                expect_ok(convop_conv_impl_register(&extra));
                cvp_alloc_fail_at(1);
                expect_ok(convop_conv_impl_unregister(&extra, NULL, NULL));
            }
            expect_ok(convop_conv_impl_unregister(&rows[at[i]], NULL, NULL));
        }
        assert_int_equal(cvp_alloc_calls(), 0);
        cvp_alloc_fail_at(0);
        assert_int_equal(cvp_alloc_live(), live);
    }
    for (uint64_t n = 1;; n++) {
        cvp_alloc_fail_at(n);
        convop_status status = convop_conv_impl_register(&rows[0]);
        const int failed = cvp_alloc_calls() >= n;
        cvp_alloc_fail_at(0);
        if (!failed) {
            assert_true(n > 3);
            expect_ok(status);
            break;
        }
        assert_int_equal(status, CONVOP_E_NO_MEMORY);
        assert_int_equal(cvp_alloc_live(), live);
        assert_string_equal(order(CONVOP_FWD), builtin_order);
    }
    expect_ok(convop_conv_impl_unregister(&rows[0], NULL, NULL));
    assert_int_equal(cvp_alloc_live(), live);
}

/* ---- threads and forks ------------------------------------------------------------------------
 */

static atomic_int stop, num_released, bad;

static void *convolve(void *nothing)
{
    (void)nothing;
    struct problem x;
    make_problem(&x);
    while (!atomic_load(&stop))
        if (forward(&x) != CONVOP_OK || (x.dst[3] != 42 && x.dst[3] != 3))
            atomic_fetch_add(&bad, 1);
    return NULL;
}

/* A row that goes when it is released: whoever uses it after that is caught by the sanitizers. */
static void free_row(void *row)
{
    memset(row, 0x5a, sizeof(convop_conv_impl));
    free(row);
    atomic_fetch_add(&num_released, 1);
}

static void come_and_go(const char *name, int times)
{
    for (int i = 0; times ? i < times : !atomic_load(&stop); i++) {
        convop_conv_impl *row = malloc(sizeof *row);
        if (!row) abort();
        *row = row_of(name, 20 + i % 2);
        if (convop_conv_impl_register(row) != CONVOP_OK ||
            convop_conv_impl_unregister(row, free_row, row) != CONVOP_OK)
            atomic_fetch_add(&bad, 1);
    }
}

static void *come_and_go_there(void *name)
{
    come_and_go(name, 300);
    return NULL;
}

/* Until `stop`. */
static void *come_and_go_on(void *name)
{
    come_and_go(name, 0);
    return NULL;
}

static void rows_come_and_go_under_use(void **state)
{
    (void)state;
    pthread_t users[2], changer;
    char name[] = "there";
    atomic_store(&stop, 0);
    atomic_store(&num_released, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&users[i], NULL, convolve, NULL), 0);
    assert_int_equal(pthread_create(&changer, NULL, come_and_go_there, name), 0);
    come_and_go("here", 300);
    pthread_join(changer, NULL);
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++) pthread_join(users[i], NULL);
    assert_int_equal(num_released, 600);
    assert_int_equal(bad, 0);
}

static int register_in_child(void *nothing)
{
    (void)nothing;
    convop_conv_impl row = row_of("child", 50);
    return convop_conv_impl_register(&row) != CONVOP_OK ||
           convop_conv_impl_unregister(&row, NULL, NULL) != CONVOP_OK;
}

static void forks_find_the_table_whole(void **state)
{
    (void)state;
    /* The child allocates, and the other thread may have held a sanitizer's locks. */
    if (!TEST_CHILD_MAY_THREAD) skip();
    pthread_t changer;
    char name[] = "there";
    atomic_store(&stop, 0);
    assert_int_equal(pthread_create(&changer, NULL, come_and_go_on, name), 0);
    for (int i = 0; i < 20; i++) assert_int_equal(test_reap(test_fork(register_in_child, NULL)), 0);
    atomic_store(&stop, 1);
    pthread_join(changer, NULL);
    assert_int_equal(bad, 0);
}

int main(void)
{
    builtin_order = strdup(order(CONVOP_FWD));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_keeps_its_row),
        cmocka_unit_test(released_runs_without_a_lock),
        cmocka_unit_test(registering_may_fail_for_memory_and_unregistering_not),
        cmocka_unit_test(rows_come_and_go_under_use),
        cmocka_unit_test(forks_find_the_table_whole),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(builtin_order);
    return failed;
}

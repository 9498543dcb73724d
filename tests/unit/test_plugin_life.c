/* How long plug-ins stay: references, memory, threads, forks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "src/common/alloc.h"
#include "tests/support/child.h"
#include "tests/support/plugins.h"

/* ---- how long it stays ------------------------------------------------------------------------
 */

static void override_is_held_by_an_instance(void **state)
{
    (void)state;
    convop_plugin_handle *plugin, *again;
    struct problem x;
    make_problem(&x);
    expect_ok(convop_plugin_load(PATH("override"), &plugin));
    const char *key = "value", *value = "8";
    const DLTensor *in[] = {&x.s};
    DLTensor *out[] = {&x.d};
    convop_instance *instance;
    expect_ok(convop_instance_create("Convolution", 1, &key, &value, 1, NULL, NULL, &instance));
    expect_ok(convop_instance_reshape(instance, in, NULL, NULL, SIZE_MAX, NULL));
    exits = 0;
    convop_plugin_unload(&plugin);
    assert_int_equal(exits, 0);
    const convop_op *op;
    expect_ok(convop_op_find("Convolution", &op));
    assert_int_equal(op->level, CONVOP_LEVEL_BUILTIN);
    convop_op_release(&op);

    convop_plugin_info info;
    size_t n = 1;
    expect_ok(convop_plugin_list(&info, &n));
    assert_int_equal(n, 1);
    assert_true(info.unloaded);
    assert_int_equal(info.num_ops, 0);
    assert_int_equal(convop_plugin_load(PATH("override"), &again), CONVOP_E_STATE);

    expect_ok(convop_instance_run(instance, in, out, NULL));
    assert_true(x.dst[3] == 11);
    convop_instance_destroy(&instance);
    assert_int_equal(exits, 1);
    expect_nothing_loaded();
    expect_ok(convop_plugin_load(PATH("override"), &again));
    convop_plugin_unload(&again);
    expect_nothing_loaded();
}

static void row_is_held_by_a_plan_and_an_operator_by_a_listing(void **state)
{
    (void)state;
    convop_plugin_handle *plugin;
    struct problem x;
    make_problem(&x);
    expect_ok(convop_plugin_load(PATH("good"), &plugin));
    convop_instance *instance;
    const DLTensor *in[] = {&x.s, &x.w};
    DLTensor *out[] = {&x.d};
    expect_ok(convop_instance_create_typed("Convolution", &x.params, 2, NULL, NULL, &instance));
    expect_ok(convop_instance_reshape(instance, in, NULL, NULL, SIZE_MAX, NULL));
    convop_op_listing *listing;
    expect_ok(convop_op_list(&listing));
    exits = 0;
    convop_plugin_unload(&plugin);
    expect_ok(convop_instance_run(instance, in, out, NULL));
    assert_true(x.dst[3] == 42);
    convop_instance_destroy(&instance);
    assert_int_equal(exits, 0);
    convop_op_listing_destroy(&listing);
    assert_int_equal(exits, 1);
    expect_nothing_loaded();
}

static void program_may_take_an_operator_back_itself(void **state)
{
    (void)state;
    /* In a child: the plug-in then stays for good, as nobody says when the operator is free. */
    convop_plugin_handle *plugin;
    const convop_op *op;
    pid_t child = fork();
    if (child == 0) {
        int ok = convop_plugin_load(PATH("good"), &plugin) == CONVOP_OK &&
                 convop_op_find("Plus", &op) == CONVOP_OK &&
                 convop_op_unregister(op, NULL, NULL) == CONVOP_OK;
        exits = 0;
        convop_plugin_unload(&plugin);
        ok = ok && strcmp(op->name, "Plus") == 0 && exits == 0;
        convop_op_release(&op);
        _exit(!ok);
    }
    assert_int_equal(test_reap(child), 0);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    convop_plugin_handle *plugin;
    expect_nothing_loaded();
    const uint64_t live = cvp_alloc_live();
    int failures = 0;
    for (uint64_t n = 1;; n++) {
        exits = 0;
        cvp_alloc_fail_at(n);
        convop_status status = convop_plugin_load(PATH("good"), &plugin);
        const int failed = cvp_alloc_calls() >= n;
        cvp_alloc_fail_at(0);
        if (!failed) {
            expect_ok(status);
            break;
        }
        failures++;
        assert_int_equal(status, CONVOP_E_NO_MEMORY);
        assert_null(plugin);
        assert_int_equal(cvp_alloc_live(), live);
        expect_nothing_loaded();
    }
    assert_true(failures >= 8);
    cvp_alloc_fail_at(1);
    convop_plugin_unload(&plugin); /* needs no memory */
    assert_int_equal(cvp_alloc_calls(), 0);
    cvp_alloc_fail_at(0);
    assert_int_equal(cvp_alloc_live(), live);
    assert_int_equal(exits, 1);
    expect_nothing_loaded();
}

/* ---- threads and forks ---------------------------------------------------------------------- */

static atomic_int stop, bad, used;

static void *use(void *nothing)
{
    (void)nothing;
    struct problem x;
    make_problem(&x);
    while (!atomic_load(&stop)) {
        float y = 0;
        convop_status status = invoke_plus("3", 4, &y);
        if (status == CONVOP_OK) atomic_fetch_add(&used, 1);
        if (status != CONVOP_OK ? status != CONVOP_E_NOT_FOUND : y != 7) atomic_fetch_add(&bad, 1);
        if (forward(&x) != CONVOP_OK || (x.dst[3] != 42 && x.dst[3] != 3))
            atomic_fetch_add(&bad, 1);
    }
    return NULL;
}

static void unloads_under_use(void **state)
{
    (void)state;
    pthread_t users[3];
    int loads = 0;
    atomic_store(&stop, 0);
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&users[i], NULL, use, NULL), 0);
    exits = 0;
    for (int i = 0; i < 2000 && loads < 60; i++) {
        convop_plugin_handle *plugin;
        convop_status status = convop_plugin_load(PATH("good"), &plugin);
        usleep(1000);
        if (status != CONVOP_OK) continue; /* the one before is still in use */
        loads++;
        convop_plugin_unload(&plugin);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++) pthread_join(users[i], NULL);
    assert_int_equal(bad, 0);
    assert_int_equal(loads, 60);
    assert_true(used > 0);
    assert_int_equal(exits, loads);
    expect_nothing_loaded();
}

static void *load_often(void *nothing)
{
    (void)nothing;
    while (!atomic_load(&stop)) {
        convop_plugin_handle *plugin;
        if (convop_plugin_load(PATH("good"), &plugin) != CONVOP_OK) atomic_fetch_add(&bad, 1);
        convop_plugin_unload(&plugin);
    }
    return NULL;
}

/* It does not load: whether the system's loader is whole in such a child is not for us to say. */
static int list_in_child(void *nothing)
{
    (void)nothing;
    size_t n = 0;
    struct problem x;
    make_problem(&x);
    return convop_plugin_list(NULL, &n) != CONVOP_OK || n > 1 ||
           (TEST_CHILD_MAY_THREAD && forward(&x) != CONVOP_OK);
}

static int unload_in_child(void *plugin)
{
    float y = 0;
    convop_plugin_handle *handle = plugin;
    if (invoke_plus("3", 4, &y) != CONVOP_OK || y != 7) return 1;
    exits = 0;
    convop_plugin_unload(&handle);
    if (exits != 1 || invoke_plus("3", 4, &y) != CONVOP_E_NOT_FOUND) return 2;
    if (convop_plugin_load(PATH("good"), &handle) != CONVOP_OK) return 3;
    convop_plugin_unload(&handle);
    return 0;
}

static void forks_find_the_list_whole(void **state)
{
    (void)state;
    /* The child allocates, and the other thread may have held a sanitizer's locks. */
    if (!TEST_CHILD_MAY_THREAD) skip();
    pthread_t loader;
    atomic_store(&stop, 0);
    assert_int_equal(pthread_create(&loader, NULL, load_often, NULL), 0);
    for (int i = 0; i < 20; i++) assert_int_equal(test_reap(test_fork(list_in_child, NULL)), 0);
    atomic_store(&stop, 1);
    pthread_join(loader, NULL);
    assert_int_equal(bad, 0);

    convop_plugin_handle *plugin;
    float y = 0;
    expect_ok(convop_plugin_load(PATH("good"), &plugin));
    assert_int_equal(test_reap(test_fork(unload_in_child, plugin)), 0);
    expect_ok(invoke_plus("3", 4, &y));
    convop_plugin_unload(&plugin);
    expect_nothing_loaded();
}

int main(void)
{
    watch_plugins();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(override_is_held_by_an_instance),
        cmocka_unit_test(row_is_held_by_a_plan_and_an_operator_by_a_listing),
        cmocka_unit_test(program_may_take_an_operator_back_itself),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(unloads_under_use),
        cmocka_unit_test(forks_find_the_list_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

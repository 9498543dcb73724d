/* Contexts: what is refused, what is shared, what a bad setting does. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "convop/settings.h"
#include "src/common/alloc.h"
#include "src/engine/context.h"
#include "src/engine/pool.h"

/* Must be first: the process default is made once. */
static void bad_setting_is_an_error_until_it_is_mended(void **state)
{
    (void)state;
    convop_context *context = (convop_context *)state;
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    setenv("CONVOP_NUM_THREADS", "many", 1);
    assert_int_equal(convop_context_num_threads(NULL), 0);
    assert_non_null(strstr(convop_last_error(), "many"));
    assert_int_equal(convop_context_create(NULL, &context), CONVOP_E_INVALID);
    assert_null(context);
    options.num_threads = 2; /* needs no setting */
    assert_int_equal(convop_context_create(&options, &context), CONVOP_OK);
    convop_context_destroy(&context);
    assert_int_equal(convop_set("num_threads", "3"), CONVOP_OK);
}

static pthread_barrier_t barrier;

static void *get_default(void *arg)
{
    pthread_barrier_wait(&barrier);
    const convop_context **out = arg;
    if (cvp_context_get(NULL, out) != CONVOP_OK) *out = NULL;
    return NULL;
}

static void default_is_made_once(void **state)
{
    (void)state;
    enum { N = 16 };
    pthread_t thread[N];
    const convop_context *made[N];
    pthread_barrier_init(&barrier, NULL, N);
    for (int i = 0; i < N; i++) pthread_create(&thread[i], NULL, get_default, &made[i]);
    for (int i = 0; i < N; i++) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&barrier);
    for (int i = 0; i < N; i++) {
        assert_non_null(made[i]);
        assert_ptr_equal(made[i], made[0]);
    }
    assert_int_equal(convop_context_num_threads(NULL), 3);
    assert_int_equal(convop_set("num_threads", "2"), CONVOP_OK);
    assert_int_equal(convop_context_num_threads(NULL), 3);
}

static void pools_are_shared_where_they_are_equal(void **state)
{
    (void)state;
    const convop_context *standard;
    assert_int_equal(cvp_context_get(NULL, &standard), CONVOP_OK);
    const int threads[] = {0, 3, 4};
    for (int i = 0; i < 3; i++) {
        convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
        convop_context *context;
        options.num_threads = threads[i];
        assert_int_equal(convop_context_create(&options, &context), CONVOP_OK);
        assert_int_equal(convop_context_num_threads(context), threads[i] == 4 ? 4 : 3);
        assert_int_equal(context->own_pool, threads[i] == 4);
        assert_int_equal(context->pool == standard->pool, threads[i] != 4);
        assert_int_equal(cvp_pool_threads(context->pool), context->num_threads);
        const convop_context *got;
        assert_int_equal(cvp_context_get(context, &got), CONVOP_OK);
        assert_ptr_equal(got, context);
        convop_context_destroy(&context);
        assert_null(context);
        convop_context_destroy(&context);
    }
    convop_context_destroy(NULL);
}

static void *hook_alloc(void *user, size_t bytes, size_t alignment)
{
    (void)user, (void)bytes, (void)alignment;
    return NULL;
}

static void hook_release(void *user, void *memory, size_t bytes)
{
    (void)user, (void)memory, (void)bytes;
}

static void loop(void *user, int64_t n, convop_parallel_body body, void *arg)
{
    (void)user;
    for (int64_t i = 0; i < n; i++) body(arg, i);
}

static void sink(void *user, const char *line)
{
    (void)user, (void)line;
}

static void options_are_kept(void **state)
{
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_context *context;
    options.num_threads = 9;
    options.allocator = (convop_allocator){hook_alloc, hook_release, state};
    options.parallel_for = loop;
    options.parallel_for_user = &options;
    options.log = sink;
    options.log_user = &context;
    assert_int_equal(convop_context_create(&options, &context), CONVOP_OK);
    assert_int_equal(convop_context_num_threads(context), 9);
    assert_null(context->pool);
    assert_ptr_equal(context->allocator.alloc, hook_alloc);
    assert_ptr_equal(context->allocator.release, hook_release);
    assert_ptr_equal(context->allocator.user, state);
    assert_ptr_equal(context->parallel_for, loop);
    assert_ptr_equal(context->parallel_for_user, &options);
    assert_ptr_equal(context->sink.write, sink);
    assert_ptr_equal(context->sink.user, &context);
    convop_context_destroy(&context);

    options.num_threads = 0; /* the setting, which is 2 by now */
    assert_int_equal(convop_context_create(&options, &context), CONVOP_OK);
    assert_int_equal(convop_context_num_threads(context), 2);
    convop_context_destroy(&context);
}

static void refuse(const convop_context_options *options, convop_status status, const char *word)
{
    convop_context *context = (convop_context *)(uintptr_t)8;
    assert_int_equal(convop_context_create(options, &context), status);
    assert_null(context);
    assert_non_null(strstr(convop_last_error(), word));
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    const convop_context_options good = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_context_options options = good;
    options.num_threads = -1;
    refuse(&options, CONVOP_E_INVALID, "-1");
    options.num_threads = 4097;
    refuse(&options, CONVOP_E_INVALID, "4096");
    options = good;
    options.allocator.alloc = hook_alloc;
    refuse(&options, CONVOP_E_INVALID, "release");
    options = good;
    options.allocator.release = hook_release;
    refuse(&options, CONVOP_E_INVALID, "alloc");
    options = good;
    options.struct_size = 0;
    refuse(&options, CONVOP_E_INVALID, "struct_size");
    struct {
        convop_context_options known;
        char later[8];
    } larger = {.known = good, .later = {1}};
    larger.known.struct_size = sizeof(larger);
    refuse(&larger.known, CONVOP_E_INVALID, "options");
    assert_int_equal(convop_context_create(&good, NULL), CONVOP_E_INVALID);
}

/* A program compiled against the first version, whose struct ended with num_threads. */
static void smaller_options_have_defaults(void **state)
{
    (void)state;
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_context *context;
    options.struct_size = offsetof(convop_context_options, allocator);
    options.num_threads = 5;
    options.parallel_for = loop;
    assert_int_equal(convop_context_create(&options, &context), CONVOP_OK);
    assert_int_equal(convop_context_num_threads(context), 5);
    assert_null(context->parallel_for);
    convop_context_destroy(&context);
}

static void no_memory_leaves_nothing(void **state)
{
    (void)state;
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    options.num_threads = 6;
    uint64_t live = cvp_alloc_live();
    for (uint64_t n = 1;; n++) {
        convop_context *context;
        cvp_alloc_fail_at(n);
        convop_status status = convop_context_create(&options, &context);
        uint64_t calls = cvp_alloc_calls();
        cvp_alloc_fail_at(0);
        convop_context_destroy(&context);
        assert_int_equal(cvp_alloc_live(), live);
        if (calls < n) {
            assert_int_equal(status, CONVOP_OK);
            assert_true(n > 2);
            break;
        }
        assert_int_equal(status, CONVOP_E_NO_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_setting_is_an_error_until_it_is_mended),
        cmocka_unit_test(default_is_made_once),
        cmocka_unit_test(pools_are_shared_where_they_are_equal),
        cmocka_unit_test(options_are_kept),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(smaller_options_have_defaults),
        cmocka_unit_test(no_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

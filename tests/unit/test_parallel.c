/* The parallel loop: every item once, whoever provides the threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/common/alloc.h"
#include "src/engine/parallel.h"
#include "src/engine/thread.h"

#define MAX_LANES 64

static convop_context *context_of(int threads, convop_parallel_for parallel_for, void *user)
{
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_context *context = NULL;
    options.num_threads = threads;
    options.parallel_for = parallel_for;
    options.parallel_for_user = user;
    assert_int_equal(convop_context_create(&options, &context), CONVOP_OK);
    return context;
}

struct cover {
    atomic_uchar *seen;
    int64_t n;
    int lanes;
    atomic_int busy[MAX_LANES];
    atomic_int bad;
    atomic_llong first_size; /* of the range that begins at 0 */
};

static void cover_range(void *arg, int lane, int64_t begin, int64_t end)
{
    struct cover *cover = arg;
    int bad = lane < 0 || lane >= cover->lanes || begin < 0 || begin >= end || end > cover->n;
    if (!bad && atomic_exchange(&cover->busy[lane], 1) != 0) bad = 1;
    if (bad) {
        atomic_fetch_add(&cover->bad, 1);
        return;
    }
    if (begin == 0) cover->first_size = end;
    for (int64_t i = begin; i < end; i++) atomic_fetch_add(&cover->seen[i], 1);
    atomic_store(&cover->busy[lane], 0);
}

static void check_cover(const convop_context *context, int64_t n)
{
    struct cover cover = {.n = n, .lanes = cvp_lanes(context)};
    cover.seen = calloc((size_t)n + 1, sizeof(*cover.seen));
    assert_non_null(cover.seen);
    cvp_parallel(context, n, cover_range, &cover);
    assert_int_equal(cover.bad, 0);
    for (int64_t i = 0; i < n; i++) assert_int_equal(cover.seen[i], 1);
    int lanes = (int)(n < cover.lanes ? n : cover.lanes);
    if (lanes > 1) {
        int64_t half = (n + lanes - 1) / lanes / 2;
        assert_true(cover.first_size == (half > 1 ? half : 1));
    }
    free(cover.seen);
}

static void lanes_may_be_bounded(void **state)
{
    (void)state;
    convop_context *context = context_of(7, NULL, NULL);
    for (int most = 1; most <= 9; most++) {
        struct cover cover = {.n = 1009, .lanes = most};
        cover.seen = calloc(1009, sizeof(*cover.seen));
        cvp_parallel_on(context, most, 1009, cover_range, &cover);
        assert_int_equal(cover.bad, 0);
        const int lanes = most < 7 ? most : 7;
        if (most > 1) assert_int_equal(cover.first_size, (1009 + lanes - 1) / lanes / 2);
        for (int i = 0; i < 1009; i++) assert_int_equal(cover.seen[i], 1);
        free(cover.seen);
    }
    convop_context_destroy(&context);
}

/* One lane alone, the last: nobody else takes part. */
static void run_last_lane(void *user, int64_t n, convop_parallel_body body, void *arg)
{
    (void)user;
    body(arg, n - 1);
}

struct starts {
    int64_t begin[32];
    int count;
};

static void keep_start(void *arg, int lane, int64_t begin, int64_t end)
{
    struct starts *starts = arg;
    (void)lane, (void)end;
    if (starts->count < 32) starts->begin[starts->count++] = begin;
}

static void a_lane_does_its_own_share_first(void **state)
{
    (void)state;
    convop_context *context = context_of(4, run_last_lane, NULL);
    struct starts starts = {.count = 0};
    cvp_parallel(context, 400, keep_start, &starts);
    int of_own = 0;
    while (of_own < starts.count && starts.begin[of_own] >= 300) of_own++;
    assert_int_equal(starts.begin[0], 300);
    assert_true(of_own < 10);                  /* halves of what is left */
    assert_int_equal(starts.begin[of_own], 0); /* then those of the others, in a circle */
    for (int i = of_own; i < starts.count; i++) assert_true(starts.begin[i] < 300);
    convop_context_destroy(&context);
}

static const int64_t sizes[] = {0, 1, 2, 3, 5, 7, 11, 31, 97, 101, 1009, 65537};
#define NUM_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void every_item_once(void **state)
{
    (void)state;
    const int threads[] = {1, 2, 3, 4, 7};
    for (size_t t = 0; t < sizeof(threads) / sizeof(threads[0]); t++) {
        convop_context *context = context_of(threads[t], NULL, NULL);
        assert_int_equal(cvp_lanes(context), threads[t]);
        for (size_t i = 0; i < NUM_SIZES; i++) check_cover(context, sizes[i]);
        convop_context_destroy(&context);
    }
}

static void fail_if_called(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane, (void)begin, (void)end;
    *(int *)arg = 1;
}

static void nothing_to_do(void **state)
{
    (void)state;
    int called = 0;
    cvp_parallel(NULL, 0, fail_if_called, &called);
    cvp_parallel(NULL, -5, fail_if_called, &called);
    cvp_parallel(NULL, INT64_MIN, fail_if_called, &called);
    assert_int_equal(called, 0);
}

struct sum {
    atomic_ullong items;
    atomic_int bad;
};

static void add_length(void *arg, int lane, int64_t begin, int64_t end)
{
    struct sum *sum = arg;
    (void)lane;
    if (begin < 0 || end <= begin) atomic_fetch_add(&sum->bad, 1);
    atomic_fetch_add(&sum->items, (unsigned long long)(end - begin));
}

static void largest_n(void **state)
{
    (void)state;
    const int64_t n[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2 + 1};
    convop_context *context = context_of(4, NULL, NULL);
    for (size_t i = 0; i < 3; i++) {
        struct sum sum = {0};
        cvp_parallel(context, n[i], add_length, &sum);
        assert_int_equal(sum.bad, 0);
        assert_true(sum.items == (unsigned long long)n[i]);
    }
    convop_context_destroy(&context);
}

struct nested {
    const convop_context *context;
    atomic_int outer, inner, bad;
};

struct inner_call {
    pthread_t thread;
    int calls, bad;
};

static void inner_body(void *arg, int lane, int64_t begin, int64_t end)
{
    struct inner_call *call = arg;
    call->calls++;
    call->bad |=
        lane != 0 || begin != 0 || end != 100 || !pthread_equal(call->thread, pthread_self());
}

static void outer_body(void *arg, int lane, int64_t begin, int64_t end)
{
    struct nested *nested = arg;
    (void)lane;
    for (int64_t i = begin; i < end; i++) {
        struct inner_call call = {.thread = pthread_self()};
        cvp_parallel(nested->context, 100, inner_body, &call);
        atomic_fetch_add(&nested->outer, 1);
        atomic_fetch_add(&nested->inner, call.calls);
        if (call.bad) atomic_fetch_add(&nested->bad, 1);
    }
}

static void check_nested(const convop_context *context)
{
    struct nested nested = {.context = context};
    cvp_parallel(context, 50, outer_body, &nested);
    assert_int_equal(nested.outer, 50);
    assert_int_equal(nested.inner, 50);
    assert_int_equal(nested.bad, 0);
}

static void nested_loops_run_in_their_thread(void **state)
{
    (void)state;
    convop_context *context = context_of(3, NULL, NULL);
    check_nested(context);
    check_nested(context);
    convop_context_destroy(&context);
}

/* ---- loops of the host: the ways in which one may be written ------------------------------- */

struct host {
    int64_t most;
    int calls;
};

static void note(struct host *host, int64_t n)
{
    host->calls++;
    if (n > host->most) host->most = n;
}

static void host_ascending(void *user, int64_t n, convop_parallel_body body, void *arg)
{
    note(user, n);
    for (int64_t i = 0; i < n; i++) body(arg, i);
}

static void host_descending(void *user, int64_t n, convop_parallel_body body, void *arg)
{
    note(user, n);
    for (int64_t i = n - 1; i >= 0; i--) body(arg, i);
}

struct host_part {
    convop_parallel_body body;
    void *arg;
    int64_t begin, end;
};

static void *run_part(void *arg)
{
    struct host_part *part = arg;
    for (int64_t i = part->begin; i < part->end; i++) part->body(part->arg, i);
    return NULL;
}

static void host_threads(void *user, int64_t n, convop_parallel_body body, void *arg)
{
    pthread_t thread[MAX_LANES];
    struct host_part part[MAX_LANES];
    note(user, n);
    for (int64_t i = 0; i < n; i++) {
        part[i] = (struct host_part){body, arg, i, i + 1};
        pthread_create(&thread[i], NULL, run_part, &part[i]);
    }
    for (int64_t i = 0; i < n; i++) pthread_join(thread[i], NULL);
}

static void host_other_thread(void *user, int64_t n, convop_parallel_body body, void *arg)
{
    pthread_t thread;
    struct host_part part = {body, arg, 0, n};
    note(user, n);
    pthread_create(&thread, NULL, run_part, &part);
    pthread_join(thread, NULL);
}

static void host_loops(void **state)
{
    (void)state;
    const convop_parallel_for loops[] = {host_ascending, host_descending, host_threads,
                                         host_other_thread};
    for (size_t k = 0; k < 4; k++) {
        struct host host = {0, 0};
        convop_context *context = context_of(5, loops[k], &host);
        assert_int_equal(cvp_lanes(context), 5);
        for (size_t i = 0; i < NUM_SIZES; i++) check_cover(context, sizes[i]);
        assert_int_equal(host.most, 5);
        host.calls = 0;
        check_nested(context);
        assert_int_equal(host.calls, 1);
        convop_context_destroy(&context);
    }
}

/* ---- threads of the host ------------------------------------------------------------------- */

static void square(void *arg, int lane, int64_t begin, int64_t end)
{
    uint64_t *out = arg;
    (void)lane;
    for (int64_t i = begin; i < end; i++) out[i] = (uint64_t)(i * i) + 1;
}

static void *squares(void *arg)
{
    uint64_t out[101];
    for (int k = 0; k < 20; k++) {
        memset(out, 0, sizeof(out));
        cvp_parallel(NULL, 101, square, out);
        for (int i = 0; i < 101; i++) {
            if (out[i] != (uint64_t)(i * i) + 1) atomic_fetch_add((atomic_int *)arg, 1);
        }
    }
    return NULL;
}

static void application_threads_256(void **state)
{
    (void)state;
    static pthread_t thread[256];
    atomic_int bad = 0;
    for (int i = 0; i < 256; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, squares, &bad), 0);
    for (int i = 0; i < 256; i++) pthread_join(thread[i], NULL);
    assert_int_equal(bad, 0);
}

static void short_lived_threads_leave_nothing(void **state)
{
    (void)state;
    atomic_int bad = 0;
    squares(&bad);
    uint64_t live = cvp_alloc_live();
    for (int i = 0; i < 500; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, squares, &bad), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(bad, 0);
    assert_int_equal(cvp_alloc_live(), live);
}

static void add_range(void *sum, int lane, int64_t begin, int64_t end)
{
    assert_in_range(lane, 0, 2);
    for (int64_t i = begin; i < end; i++) atomic_fetch_add((atomic_int *)sum, (int)i);
}

static void public_name(void **state)
{
    (void)state;
    convop_context *context = context_of(3, NULL, NULL);
    atomic_int sum = 0;
    convop_parallel(context, 100, add_range, &sum);
    assert_int_equal(sum, 4950);
    convop_parallel(NULL, 0, add_range, &sum);
    convop_parallel(NULL, 5, NULL, NULL);
    assert_int_equal(sum, 4950);
    convop_context_destroy(&context);
}

static void no_threads_to_be_had(void **state)
{
    (void)state;
    convop_context *context = context_of(6, NULL, NULL);
    cvp_thread_refuse_after(0);
    check_cover(context, 1009);
    cvp_thread_refuse_after(-1);
    convop_context_destroy(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_once),
        cmocka_unit_test(lanes_may_be_bounded),
        cmocka_unit_test(a_lane_does_its_own_share_first),
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(largest_n),
        cmocka_unit_test(nested_loops_run_in_their_thread),
        cmocka_unit_test(host_loops),
        cmocka_unit_test(application_threads_256),
        cmocka_unit_test(short_lived_threads_leave_nothing),
        cmocka_unit_test(public_name),
        cmocka_unit_test(no_threads_to_be_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Convolutions in many threads: shared weights, mixed directions, more threads than anybody counts
 * with, inside OpenMP regions, threads that come and go.
 *
 *     test_conv_threads [ID]     all, or the one of that name; 77: skipped */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "convop/convop.h"
#include "tests/support/conv_fixed.h"
#include "tests/support/one_test.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static atomic_int wrong;

static const struct conv_size small = {2, 0, BOX_F32, 1, 8, 8, 1, 14, 3, 1, 1, 1};

/* A worker's own problem, and what it must give. */
struct job {
    struct conv_case c;
    const DLTensor *weights;
    const convop_instance *instance;
    unsigned char *serial; /* the memory of dst after a call in the main thread */
    int repeats;
};

static convop_status forward(struct job *j)
{
    if (j->instance != NULL) {
        const DLTensor *inputs[] = {&j->c.src.tensor, NULL};
        DLTensor *outputs[] = {&j->c.dst.tensor};
        return convop_instance_run(j->instance, inputs, outputs, NULL);
    }
    return conv_forward(&j->c.params, &j->c.src.tensor, j->weights, NULL, &j->c.dst.tensor,
                        CONVOP_REQ_WRITE, NULL);
}

static void *repeat_forward(void *arg)
{
    struct job *j = arg;
    for (int i = 0; i < j->repeats; i++) {
        memset(j->c.dst.memory + 64, 0xff, j->c.dst.bytes - 128);
        if (forward(j) != CONVOP_OK ||
            memcmp(j->c.dst.memory + 64, j->serial + 64, j->c.dst.bytes - 128) != 0)
            atomic_fetch_add(&wrong, 1);
    }
    return NULL;
}

/* n threads with inputs of their own and the weights of the first. */
static void many_forwards(int n, int repeats, const convop_instance *instance,
                          const struct conv_case *weights_of)
{
    struct job *jobs = calloc((size_t)n, sizeof *jobs);
    pthread_t *threads = calloc((size_t)n, sizeof *threads);
    atomic_store(&wrong, 0);
    for (int i = 0; i < n; i++) {
        struct job *j = &jobs[i];
        conv_case_fixed(&j->c, &small, 0, 100 + (uint64_t)i);
        j->weights = weights_of ? &weights_of->weights.tensor : &jobs[0].c.weights.tensor;
        j->instance = instance;
        j->repeats = repeats;
        memset(j->c.dst.memory + 64, 0xff, j->c.dst.bytes - 128);
        if (forward(j) != CONVOP_OK) fail_msg("%s", convop_last_error());
        j->serial = box_snapshot(&j->c.dst);
    }
    int started = 0;
    while (started < n &&
           pthread_create(&threads[started], NULL, repeat_forward, &jobs[started]) == 0)
        started++;
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < n; i++) {
        conv_case_destroy(&jobs[i].c);
        free(jobs[i].serial);
    }
    free(jobs);
    free(threads);
    assert_int_equal(started, n);
    assert_int_equal(wrong, 0);
}

static void same_weights(void **state)
{
    (void)state;
    many_forwards(8, SANITIZED ? 50 : 500, NULL, NULL);
}

static void more_than_max(void **state)
{
    (void)state;
    many_forwards(256, 3, NULL, NULL);
}

/* One instance, its weights packed, run by 8 threads at once. */
static void handle_shared(void **state)
{
    (void)state;
    struct conv_case c;
    conv_case_fixed(&c, &small, 0, 7);
    const DLTensor *constants[] = {NULL, &c.weights.tensor}, *inputs[] = {&c.src.tensor, NULL};
    convop_instance *instance = NULL;
    if (convop_instance_create_typed("Convolution", &c.params, 2, constants, NULL, &instance) !=
            CONVOP_OK ||
        convop_instance_reshape(instance, inputs, NULL, NULL, SIZE_MAX, NULL) != CONVOP_OK)
        fail_msg("%s", convop_last_error());
    /* What it gives is right to begin with. */
    struct conv_expected e;
    conv_case_expect(&c, &e);
    DLTensor *outputs[] = {&c.dst.tensor};
    assert_int_equal(convop_instance_run(instance, inputs, outputs, NULL), CONVOP_OK);
    assert_true(conv_case_matches(&c, &e, 0));
    conv_expected_free(&e);
    many_forwards(8, SANITIZED ? 50 : 500, instance, &c);
    convop_instance_destroy(&instance);
    conv_case_destroy(&c);
}

/* ---- different problems at once -------------------------------------------------------------- */

struct mixed {
    struct conv_size size;
    int backward;
};

static void *repeat_mixed(void *arg)
{
    const struct mixed *m = arg;
    struct conv_case c;
    struct conv_expected e;
    conv_case_fixed(&c, &m->size, 1, 5);
    conv_case_expect(&c, &e);
    for (int i = 0; i < (SANITIZED ? 20 : 100); i++) {
        for (int k = 0; k < 4; k++) box_fill_value(conv_case_output(&c, k), 77);
        convop_status status =
            m->backward ? conv_case_backward(&c, NULL) : conv_case_forward(&c, NULL);
        int good = status == CONVOP_OK;
        for (int k = m->backward ? 1 : 0; good && k < (m->backward ? 4 : 1); k++)
            good = conv_case_matches(&c, &e, k);
        if (!good) atomic_fetch_add(&wrong, 1);
    }
    conv_expected_free(&e);
    conv_case_destroy(&c);
    return NULL;
}

static void mixed_ops(void **state)
{
    (void)state;
    static struct mixed kinds[] = {
        {{2, 0, BOX_F32, 2, 64, 96, 1, 14, 1, 1, 1, 0}, 0},
        {{2, 1, BOX_F32, 2, 33, 33, 33, 15, 3, 1, 1, 1}, 0},
        {{2, 0, BOX_F32, 2, 12, 20, 2, 11, 3, 2, 1, 1}, 1},
    };
    pthread_t threads[3];
    atomic_store(&wrong, 0);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, repeat_mixed, &kinds[i]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    assert_int_equal(wrong, 0);
}

/* ---- inside OpenMP --------------------------------------------------------------------------- */

#ifdef _OPENMP
#include <omp.h>

static void inside_openmp(void **state)
{
    (void)state;
    if (SANITIZED) skip_test("OpenMP's own threads are not known to the sanitizers");
    atomic_store(&wrong, 0);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(4)
    {
        struct mixed m = {{2, 0, BOX_F32, 1, 8, 8, 1, 9, 3, 1, 1, 1}, 0};
        struct conv_case c;
        struct conv_expected e;
        conv_case_fixed(&c, &m.size, 0, (uint64_t)omp_get_thread_num());
        conv_case_expect(&c, &e);
#pragma omp for
        for (int i = 0; i < 1000; i++) {
            box_fill_value(&c.dst, 77);
            if (conv_case_forward(&c, NULL) != CONVOP_OK || !conv_case_matches(&c, &e, 0))
                atomic_fetch_add(&wrong, 1);
        }
        conv_expected_free(&e);
        conv_case_destroy(&c);
#pragma omp parallel num_threads(2)
        repeat_mixed(&m);
    }
    assert_int_equal(wrong, 0);
}
#else
static void inside_openmp(void **state)
{
    (void)state;
    skip_test("this compiler has no OpenMP");
}
#endif

/* ---- threads that come and go ---------------------------------------------------------------- */

/* Pages of this process that are in memory. */
static long resident_bytes(void)
{
    long total, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%ld %ld", &total, &resident) != 2) resident = 0;
    if (f != NULL) fclose(f);
    return resident * sysconf(_SC_PAGESIZE);
}

static void *one_forward(void *arg)
{
    struct job *j = arg;
    if (forward(j) != CONVOP_OK) atomic_fetch_add(&wrong, 1);
    /* A thread's error text goes with it too. */
    if (conv_forward(NULL, NULL, NULL, NULL, NULL, CONVOP_REQ_WRITE, NULL) == CONVOP_OK)
        atomic_fetch_add(&wrong, 1);
    return NULL;
}

static void *nothing(void *arg)
{
    return arg;
}

/* What is left in memory of a thread that did nothing: about 300 KB in an emulator (qemu-user 7.2).
 */
static long thread_remains(void)
{
    enum { FIRST = 50, ALL = 100 };
    long early = 0;
    for (int i = 0; i < ALL; i++) {
        pthread_t thread;
        if (i == FIRST) early = resident_bytes();
        assert_int_equal(pthread_create(&thread, NULL, nothing, NULL), 0);
        pthread_join(thread, NULL);
    }
    return (resident_bytes() - early) / (ALL - FIRST);
}

static void thread_memory(void **state)
{
    (void)state;
    if (thread_remains() > 1 << 14) skip_test("threads leave memory behind here whatever they do");
    struct job j = {.repeats = 1};
    const int all = SANITIZED ? 300 : 10000;
    long early = 0;
    conv_case_fixed(&j.c, &small, 0, 3);
    j.weights = &j.c.weights.tensor;
    atomic_store(&wrong, 0);
    for (int i = 0; i < all; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, one_forward, &j), 0);
        pthread_join(thread, NULL);
        if (i == all / 10) early = resident_bytes();
    }
    assert_int_equal(wrong, 0);
    long grown = resident_bytes() - early;
    if (!SANITIZED && grown > 1 << 20) fail_msg("%ld bytes more after %d threads", grown, all);
    conv_case_destroy(&j.c);
}

static void any_number_of_threads(void **state)
{
    (void)state;
    static const int counts[] = {1, 2, 3, 4, 7, 7, 1};
    static const struct conv_size sizes[] = {{2, 0, BOX_F32, 3, 17, 19, 1, 21, 3, 1, 1, 1},
                                             {2, 1, BOX_F32, 2, 24, 24, 24, 19, 5, 2, 1, 2},
                                             {1, 0, BOX_F64, 2, 70, 33, 1, 50, 1, 1, 1, 0}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct conv_case c;
        struct rng r = {s + 1};
        conv_case_fixed(&c, &sizes[s], 1, s);
        struct box *inputs[] = {&c.src, &c.weights, &c.bias, &c.diff_dst};
        for (int i = 0; i < 4; i++) box_fill_real(inputs[i], &r);
        unsigned char *first[4] = {NULL};
        for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) {
            convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
            convop_exec x = CONVOP_EXEC_INIT;
            convop_context *context = NULL;
            options.num_threads = counts[n];
            assert_int_equal(convop_context_create(&options, &context), CONVOP_OK);
            x.context = context;
            assert_int_equal(conv_case_forward(&c, &x), CONVOP_OK);
            assert_int_equal(conv_case_backward(&c, &x), CONVOP_OK);
            for (int i = 0; i < 4; i++) {
                struct box *b = conv_case_output(&c, i);
                if (first[i] == NULL) first[i] = box_snapshot(b);
                assert_memory_equal(first[i], b->memory, b->bytes);
            }
            convop_context_destroy(&context);
        }
        for (int i = 0; i < 4; i++) free(first[i]);
        conv_case_destroy(&c);
    }
}

/* ---- light work ------------------------------------------------------------------------------ */

static void count_loop(void *user, int64_t n, convop_parallel_body body, void *arg)
{
    ++*(int *)user;
    for (int64_t i = 0; i < n; i++) body(arg, i);
}

/* Loops of the host that a forward of about 160 microseconds runs. */
static int loops_with(const char *light_work)
{
    int loops = 0;
    struct conv_case c;
    convop_context *context = NULL;
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_exec exec = CONVOP_EXEC_INIT;
    options.num_threads = 4;
    options.parallel_for = count_loop;
    options.parallel_for_user = &loops;
    assert_int_equal(convop_set("light_work", light_work), CONVOP_OK);
    assert_int_equal(convop_context_create(&options, &context), CONVOP_OK);
    exec.context = context;
    conv_case_fixed(&c, &(struct conv_size){2, 0, BOX_F32, 1, 32, 32, 1, 64, 3, 1, 1, 1}, 0, 1);
    assert_int_equal(conv_case_forward(&c, &exec), CONVOP_OK);
    conv_case_destroy(&c);
    convop_context_destroy(&context);
    assert_int_equal(convop_set("light_work", NULL), CONVOP_OK);
    return loops;
}

static void light_work_stays_on_the_calling_thread(void **state)
{
    (void)state;
    assert_true(loops_with("0") > 0);
    assert_true(loops_with("20") > 0);
    assert_int_equal(loops_with("1000000"), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        {"thr.same_weights_8", same_weights, NULL, NULL, NULL},
        {"thr.mixed_ops", mixed_ops, NULL, NULL, NULL},
        {"thr.handle_shared", handle_shared, NULL, NULL, NULL},
        {"thr.more_than_max", more_than_max, NULL, NULL, NULL},
        {"thr.inside_openmp", inside_openmp, NULL, NULL, NULL},
        {"thr.tls_leak", thread_memory, NULL, NULL, NULL},
        {"thr.count_invariance", any_number_of_threads, NULL, NULL, NULL},
        {"light_work", light_work_stays_on_the_calling_thread, NULL, NULL, NULL},
    };
    return run_one_or_all(tests, sizeof tests / sizeof tests[0], argc, argv);
}

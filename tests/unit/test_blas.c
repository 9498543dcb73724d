/* OpenBLAS: found, refused, forked, wrong. It is opened once a process, so every case that opens it
 * runs in a child of its own; the parent opens nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "convop/settings.h"
#include "src/common/alloc.h"
#include "src/operator/gemm/blas_table.h"
#include "tests/support/child_check.h"
#include "tests/support/rng.h"

static struct rng seeded;

#define MOST 80

/* A product of small integers with random strides that OpenBLAS takes: 1 if it gave what convop's
 * own kernels give. */
static int product_is_right(const struct cvp_blas *blas, struct rng *r, enum cvp_float type)
{
    static double a[MOST * MOST], b[MOST * MOST], c[MOST * MOST], own_c[MOST * MOST];
    struct cvp_gemm g = {.m = rng_int(r, 1, 70), .n = rng_int(r, 1, 70), .k = rng_int(r, 1, 70)};
    const int ta = rng_chance(r, 50), tb = rng_chance(r, 50);
    const int64_t lda = (ta ? g.m : g.k) + rng_int(r, 0, 9),
                  ldb = (tb ? g.k : g.n) + rng_int(r, 0, 9);
    g.a = a;
    g.b = b;
    g.a_row = ta ? 1 : lda;
    g.a_col = ta ? lda : 1;
    g.b_row = tb ? 1 : ldb;
    g.b_col = tb ? ldb : 1;
    g.c_row = g.n + rng_int(r, 0, 9);
    g.accumulate = rng_chance(r, 50);
    for (int i = 0; i < MOST * MOST; i++) {
        const double x = (double)rng_int(r, -4, 4), y = (double)rng_int(r, -4, 4);
        const double z = g.accumulate ? (double)rng_int(r, -4, 4) : NAN;
        if (type == CVP_F32) {
            ((float *)(void *)a)[i] = (float)x;
            ((float *)(void *)b)[i] = (float)y;
            ((float *)(void *)c)[i] = ((float *)(void *)own_c)[i] = (float)z;
        } else {
            a[i] = x;
            b[i] = y;
            c[i] = own_c[i] = z;
        }
    }
    if (!cvp_blas_takes(&g)) return 0;
    const struct cvp_gemm_kernels *own = cvp_gemm_kernels(type, cvp_isa_best());
    const size_t bytes = cvp_gemm_workspace(own, g.m, g.n, g.k, 0);
    void *workspace = cvp_buffer_alloc(NULL, bytes);
    g.c = own_c;
    cvp_gemm(own, &g, workspace);
    cvp_buffer_free(NULL, workspace, bytes);
    g.c = c;
    cvp_blas_gemm(blas, type, &g);
    for (int64_t i = 0; i < g.m; i++)
        for (int64_t j = 0; j < g.n; j++) {
            const int64_t at = i * g.c_row + j;
            const double got = type == CVP_F32 ? (double)((float *)(void *)c)[at] : c[at];
            const double want = type == CVP_F32 ? (double)((float *)(void *)own_c)[at] : own_c[at];
            if (got != want) return 0;
        }
    return 1;
}

static int finds(void *arg)
{
    (void)arg;
    const char *why = NULL;
    char text[512];
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    const struct cvp_blas *blas = cvp_blas_get(4, 1, &why);
    if (!blas) {
        CHECK(why != NULL);
        fprintf(stderr, "%s\n", why);
        return ABSENT;
    }
    CHECK(!cvp_blas_is_threaded(blas));
    CHECK(cvp_blas_get(1, 0, &why) == blas);
    cvp_blas_describe(text, sizeof text);
    CHECK(strstr(text, "OpenBLAS") && strstr(text, ", 1 thread"));
    CHECK(!strstr(text, "not used"));
    for (int i = 0; i < 60; i++) CHECK(product_is_right(blas, &seeded, (enum cvp_float)(i % 2)));
    return RIGHT;
}

static void what_is_found_computes_rightly(void **state)
{
    (void)state;
    seeded.state = test_seed(11);
    run_child(finds, NULL);
}

static int threads_must_fit(void *arg)
{
    (void)arg;
    const char *why = NULL;
#ifdef TEST_HAVE_TSAN
    return ABSENT; /* ThreadSanitizer does not see how OpenBLAS's threads wait for each other */
#endif
    setenv("OPENBLAS_NUM_THREADS", "2", 1);
    const struct cvp_blas *blas = cvp_blas_get(2, 0, &why);
    if (!blas || !cvp_blas_is_threaded(blas)) return ABSENT; /* or one processor only */
    CHECK(product_is_right(blas, &seeded, CVP_F64));
    CHECK(cvp_blas_get(2, 1, &why) == NULL);
    CHECK(strstr(why, "several threads"));
    CHECK(cvp_blas_get(3, 0, &why) == NULL);
    CHECK(strstr(why, "another number"));
    CHECK(blas->num_threads() == 2);
    return RIGHT;
}

static void its_threads_must_fit(void **state)
{
    (void)state;
    seeded.state = test_seed(12);
    run_child(threads_must_fit, NULL);
}

struct refusal {
    const char *setting, *why;
};

static int refuses(void *arg)
{
    const struct refusal *refusal = arg;
    const char *why = NULL;
    char text[512];
    CHECK(convop_set("openblas_library", refusal->setting) == CONVOP_OK);
    CHECK(cvp_blas_get(1, 0, &why) == NULL);
    CHECK(why && strstr(why, refusal->why));
    cvp_blas_describe(text, sizeof text);
    CHECK(strstr(text, "none") && strstr(text, refusal->why));
    /* What was first used counts. */
    CHECK(convop_set("openblas_library", "") == CONVOP_OK);
    CHECK(cvp_blas_get(1, 0, &why) == NULL);
    CHECK(strstr(why, refusal->why));
    return RIGHT;
}

static void a_setting_that_gives_none_says_why(void **state)
{
    (void)state;
    static struct refusal refusals[] = {
        {"none", "\"none\""},
        {"/nonexistent/libopenblas.so", "openblas_library names cannot be opened"},
        {"libm.so.6", "not an OpenBLAS"},
    };
    for (int i = 0; i < 3; i++) run_child(refuses, &refusals[i]);
}

static int forked_child(void *arg)
{
    (void)arg;
    const char *why = NULL;
    const struct cvp_blas *blas = cvp_blas_get(1, 1, &why);
    CHECK(cvp_blas_was_forked());
    if (!blas) {
        CHECK(cvp_blas_found()->parallel() == 2 && strstr(why, "forked"));
        return RIGHT;
    }
    CHECK(product_is_right(blas, &seeded, CVP_F32));
    return RIGHT;
}

static int forks(void *arg)
{
    (void)arg;
    const char *why = NULL;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    if (!cvp_blas_get(1, 1, &why)) return ABSENT;
    CHECK(!cvp_blas_was_forked());
    CHECK(test_reap(test_fork(forked_child, NULL)) == RIGHT);
    CHECK(!cvp_blas_was_forked());
    return RIGHT;
}

static void a_forked_child_can_use_it_or_says_why(void **state)
{
    (void)state;
    seeded.state = test_seed(13);
    run_child(forks, NULL);
}

static void *opens(void *arg)
{
    const char *why;
    *(const struct cvp_blas **)arg = cvp_blas_get(1, 1, &why);
    return NULL;
}

static int race(void *arg)
{
    (void)arg;
    pthread_t threads[4];
    const struct cvp_blas *got[4];
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, opens, &got[i]) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    if (!got[0]) return ABSENT;
    for (int i = 0; i < 4; i++) CHECK(got[i] == got[0]);
    return RIGHT;
}

static void threads_may_open_it_together(void **state)
{
    (void)state;
    run_child(race, NULL);
}

static int no_memory(void *arg)
{
    (void)arg;
    const char *why = NULL;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    cvp_alloc_fail_at(1);
    const struct cvp_blas *blas = cvp_blas_get(1, 1, &why);
    cvp_alloc_fail_at(0);
    CHECK(blas == NULL);
    if (!strstr(why, "no memory")) return ABSENT;
    CHECK(cvp_blas_get(1, 1, &why) != NULL); /* the next call tries again */
    return RIGHT;
}

static void without_memory_the_next_call_tries_again(void **state)
{
    (void)state;
    run_child(no_memory, NULL);
}

static void takes_what_blas_can_express(void **state)
{
    (void)state;
    const int64_t large = (int64_t)INT32_MAX + 1;
    const struct cvp_gemm good = {
        .m = 3, .n = 5, .k = 7, .a_row = 7, .a_col = 1, .b_row = 5, .b_col = 1, .c_row = 5};
    assert_true(cvp_blas_takes(&good));
    struct cvp_gemm g = good;
    g.a_row = 1, g.a_col = 3, g.b_row = 1, g.b_col = 7;
    assert_true(cvp_blas_takes(&g));
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        g = good;                                                                                  \
        change;                                                                                    \
        assert_false(cvp_blas_takes(&g));                                                          \
    } while (0)
    REFUSED(g.a_row = 6);
    REFUSED(g.a_row = 0);
    REFUSED(g.a_col = 0);
    REFUSED(g.a_col = 2);
    REFUSED((g.a_row = 1, g.a_col = 2));
    REFUSED(g.b_row = 4);
    REFUSED(g.b_row = 0);
    REFUSED(g.b_col = 0);
    REFUSED(g.b_col = 2);
    REFUSED((g.b_row = 1, g.b_col = 6));
    REFUSED(g.c_row = 4);
    REFUSED(g.k = 0);
    REFUSED((g.k = large, g.a_row = large));
    REFUSED(g.m = large);
    REFUSED((g.n = large, g.b_row = large, g.c_row = large));
    REFUSED(g.a_row = large);
    REFUSED(g.b_row = large);
    REFUSED(g.c_row = large);
#undef REFUSED
}

/* Stand-ins for OpenBLAS. fault 0: none, 1: reads c with beta 0, 2: forgets the last step of depth
 * of large products, 3: ignores the transposition of a. */
static int fault;

#define STAND_IN(name, scalar)                                                                     \
    static void name(int order, int trans_a, int trans_b, int m, int n, int k, scalar alpha,       \
                     const scalar *a, int lda, const scalar *b, int ldb, scalar beta, scalar *c,   \
                     int ldc)                                                                      \
    {                                                                                              \
        const int ta = trans_a == CVP_CBLAS_TRANS && fault != 3, tb = trans_b == CVP_CBLAS_TRANS;  \
        const int depth = fault == 2 && k > 100 ? k - 1 : k;                                       \
        (void)order;                                                                               \
        for (int i = 0; i < m; i++)                                                                \
            for (int j = 0; j < n; j++) {                                                          \
                scalar sum = 0, *to = &c[i * ldc + j];                                             \
                for (int p = 0; p < depth; p++)                                                    \
                    sum += a[ta ? p * lda + i : i * lda + p] * b[tb ? j * ldb + p : p * ldb + j];  \
                *to = alpha * sum + (beta != 0 || fault == 1 ? beta * *to : 0);                    \
            }                                                                                      \
    }
STAND_IN(stand_in_sgemm, float)
STAND_IN(stand_in_dgemm, double)

static void the_test_finds_wrong_answers(void **state)
{
    (void)state;
    const struct cvp_blas blas = {.sgemm = stand_in_sgemm, .dgemm = stand_in_dgemm};
    for (fault = 0; fault < 4; fault++)
        assert_int_equal(cvp_blas_check(&blas), fault == 0 ? CONVOP_OK : CONVOP_E_INTERNAL);
    fault = 0;
    cvp_alloc_fail_at(1);
    assert_int_equal(cvp_blas_check(&blas), CONVOP_E_NO_MEMORY);
    cvp_alloc_fail_at(0);
    assert_int_equal(cvp_alloc_live(), 0);
}

int main(void)
{
    unsetenv("CONVOP_OPENBLAS_LIBRARY");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_blas_can_express),
        cmocka_unit_test(the_test_finds_wrong_answers),
        cmocka_unit_test(what_is_found_computes_rightly),
        cmocka_unit_test(its_threads_must_fit),
        cmocka_unit_test(a_setting_that_gives_none_says_why),
        cmocka_unit_test(a_forked_child_can_use_it_or_says_why),
        cmocka_unit_test(threads_may_open_it_together),
        cmocka_unit_test(without_memory_the_next_call_tries_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The queue of tasks that can run: highest priority first, oldest among equals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "src/engine/ready_queue.h"
#include "tests/support/rng.h"

#define MANY 3000

static int goes_before(const struct cvp_ready *a, const struct cvp_ready *b)
{
    if (a->priority != b->priority) return a->priority > b->priority;
    return a->age < b->age;
}

static void extremes(void **state)
{
    (void)state;
    struct cvp_ready_queue queue = {0};
    struct cvp_ready low = {.priority = INT32_MIN, .age = 1},
                     high = {.priority = INT32_MAX, .age = 2};
    struct cvp_ready middle = {.priority = 0, .age = 3}, later = {.priority = 0, .age = 4};
    assert_null(cvp_ready_pop(&queue));
    cvp_ready_push(&queue, &low);
    cvp_ready_push(&queue, &later);
    cvp_ready_push(&queue, &high);
    cvp_ready_push(&queue, &middle);
    assert_ptr_equal(cvp_ready_pop(&queue), &high);
    assert_ptr_equal(cvp_ready_pop(&queue), &middle);
    assert_ptr_equal(cvp_ready_pop(&queue), &later);
    assert_ptr_equal(cvp_ready_pop(&queue), &low);
    assert_null(cvp_ready_pop(&queue));
}

static void mixed_pushes_and_pops(void **state)
{
    (void)state;
    struct rng random = {test_seed((uint64_t)time(NULL))};
    static struct cvp_ready ready[MANY];
    static int inside[MANY];
    struct cvp_ready_queue queue = {0};
    int pushed = 0, popped = 0;
    while (popped < MANY) {
        if (pushed < MANY && (pushed == popped || (int)rng_int(&random, 0, 2) > 0)) {
            ready[pushed] = (struct cvp_ready){.priority = (int)rng_int(&random, 0, 6) - 3,
                                               .age = (uint64_t)pushed};
            inside[pushed] = 1;
            cvp_ready_push(&queue, &ready[pushed++]);
            continue;
        }
        int best = -1;
        for (int i = 0; i < pushed; i++) {
            if (inside[i] && (best < 0 || goes_before(&ready[i], &ready[best]))) best = i;
        }
        assert_ptr_equal(cvp_ready_pop(&queue), &ready[best]);
        inside[best] = 0;
        popped++;
    }
    assert_null(cvp_ready_pop(&queue));
}

/* Equal priorities pushed in order make the top a parent of all: no recursion may follow. */
static void a_million_children(void **state)
{
    (void)state;
    enum { N = 1000000 };
    struct cvp_ready *ready = calloc(N, sizeof(*ready));
    struct cvp_ready_queue queue = {0};
    assert_non_null(ready);
    for (int i = 0; i < N; i++) {
        ready[i].age = (uint64_t)i;
        cvp_ready_push(&queue, &ready[i]);
    }
    for (int i = 0; i < N; i++) assert_ptr_equal(cvp_ready_pop(&queue), &ready[i]);
    free(ready);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extremes),
        cmocka_unit_test(mixed_pushes_and_pops),
        cmocka_unit_test(a_million_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

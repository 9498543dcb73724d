/* The queue of a variable, by hand and against a model that looks at every pair of uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "src/engine/var_queue.h"
#include "tests/support/rng.h"

static void by_hand(void **state)
{
    (void)state;
    struct cvp_var_queue queue = {0};
    struct cvp_use r1 = {0}, r2 = {0}, r3 = {0}, r4 = {0}, w1 = {.writes = 1}, w2 = {.writes = 1};
    assert_int_equal(cvp_var_queue_enter(&queue, &r1), 1);
    assert_int_equal(cvp_var_queue_enter(&queue, &r2), 1);
    assert_int_equal(cvp_var_queue_enter(&queue, &w1), 0);
    assert_int_equal(cvp_var_queue_enter(&queue, &r3), 0); /* not past the writer */
    assert_int_equal(cvp_var_queue_enter(&queue, &r4), 0);
    assert_int_equal(cvp_var_queue_enter(&queue, &w2), 0);
    assert_int_equal(queue.entered, 2);
    assert_null(cvp_var_queue_leave(&queue, &r2));
    assert_ptr_equal(cvp_var_queue_leave(&queue, &r1), &w1);
    assert_null(w1.next);
    assert_int_equal(queue.version, 0);
    struct cvp_use *released = cvp_var_queue_leave(&queue, &w1);
    assert_int_equal(queue.version, 1);
    assert_ptr_equal(released, &r3);
    assert_ptr_equal(r3.next, &r4);
    assert_null(r4.next);
    assert_null(cvp_var_queue_leave(&queue, &r3));
    assert_ptr_equal(cvp_var_queue_leave(&queue, &r4), &w2);
    assert_null(cvp_var_queue_leave(&queue, &w2));
    assert_int_equal(queue.version, 2);
    assert_int_equal(cvp_var_queue_enter(&queue, &w1), 1);
    assert_int_equal(cvp_var_queue_enter(&queue, &w2), 0);
    assert_ptr_equal(cvp_var_queue_leave(&queue, &w1), &w2);
}

#define USES 400

/* A use may go ahead when no earlier one that has not ended conflicts with it. */
struct model {
    struct cvp_use use[USES];
    enum { ABSENT, WAITS, GOES, ENDED } now[USES];
    int pushed;
};

static int model_may_go(const struct model *model, int i)
{
    for (int j = 0; j < i; j++) {
        if (model->now[j] != ENDED && (model->use[i].writes || model->use[j].writes)) return 0;
    }
    return 1;
}

static int some_that_goes(const struct model *model, struct rng *random)
{
    int goes[USES], count = 0;
    for (int i = 0; i < model->pushed; i++) {
        if (model->now[i] == GOES) goes[count++] = i;
    }
    return count > 0 ? goes[(int)rng_int(random, 0, count - 1)] : -1;
}

static void end_one(struct cvp_var_queue *queue, struct model *model, int ended)
{
    uint64_t version = queue->version;
    struct cvp_use *released = cvp_var_queue_leave(queue, &model->use[ended]);
    model->now[ended] = ENDED;
    assert_int_equal(queue->version, version + (uint64_t)model->use[ended].writes);
    for (int i = 0; i < model->pushed; i++) {
        if (model->now[i] != WAITS || !model_may_go(model, i)) continue;
        assert_ptr_equal(released, &model->use[i]);
        released = released->next;
        model->now[i] = GOES;
    }
    assert_null(released);
}

static void against_model(void **state)
{
    (void)state;
    struct rng random = {test_seed((uint64_t)time(NULL))};
    for (int round = 0; round < 40; round++) {
        struct cvp_var_queue queue = {0};
        static struct model model;
        memset(&model, 0, sizeof(model));
        int percent_writes = (int)rng_int(&random, 0, 100),
            percent_push = 30 + (int)rng_int(&random, 0, 59);
        for (;;) {
            int goes = some_that_goes(&model, &random);
            if (goes < 0 && model.pushed == USES) break;
            if (model.pushed < USES && (goes < 0 || (int)rng_int(&random, 0, 99) < percent_push)) {
                int i = model.pushed++;
                model.use[i].writes = (int)rng_int(&random, 0, 99) < percent_writes;
                model.now[i] = model_may_go(&model, i) ? GOES : WAITS;
                assert_int_equal(cvp_var_queue_enter(&queue, &model.use[i]), model.now[i] == GOES);
            } else {
                end_one(&queue, &model, goes);
            }
        }
        for (int i = 0; i < USES; i++) assert_int_equal(model.now[i], ENDED);
        assert_int_equal(queue.version, queue.entered);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(against_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The pipeline of the image iterator and of im2rec. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdatomic.h>

#include "io/pipeline.h"
#include "tests/support/expect.h"

/* Tickets come in order, no slot is written while the consumer has it. */
struct numbers {
    atomic_int held; /* the slot of the consumer, -1 */
    int64_t at[5];
    atomic_int wrong, worked;
};

static void number(void *user, int worker, int slot, int64_t ticket)
{
    struct numbers *n = user;
    (void)worker;
    if (atomic_load(&n->held) == slot) atomic_store(&n->wrong, 1);
    n->at[slot] = ticket;
    atomic_fetch_add(&n->worked, 1);
}

static void pipeline_order(void **state)
{
    (void)state;
    for (int threads = 0; threads <= 3; threads++) {
        struct numbers n = {.held = -1};
        struct cvp_io_pipeline *p = NULL;
        expect_ok(cvp_io_pipeline_create(threads, 5, number, &n, &p));
        assert_int_equal(cvp_io_pipeline_take(p), -1); /* not begun */
        for (int round = 0; round < 3; round++) {
            cvp_io_pipeline_start(p, 100);
            for (int64_t i = 0; i < 150; i++) {
                if (i == 100) {
                    atomic_store(&n.held, -1);
                    assert_int_equal(cvp_io_pipeline_take(p), -1);
                    cvp_io_pipeline_extend(p, 150);
                }
                atomic_store(&n.held, -1);
                const int slot = cvp_io_pipeline_take(p);
                assert_int_equal(slot, i % 5);
                atomic_store(&n.held, slot);
                assert_true(n.at[slot] == i);
                if (round == 1 && i == 37) break;
            }
            atomic_store(&n.held, -1);
        }
        assert_int_equal(cvp_io_pipeline_take(p), -1);
        cvp_io_pipeline_destroy(&p);
        assert_int_equal(atomic_load(&n.wrong), 0);
        assert_true(atomic_load(&n.worked) <= 150 + 43 + 150);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipeline_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

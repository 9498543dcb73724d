/* The engine's error rule, on both kinds. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/common/alloc.h"
#include "tests/support/engine.h"

static void every_wait_reports_until_rewritten(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var v = new_var(e);
    expect_ok(push(e, "bad", slow_bad, "rain", NULL, VARS(v)));
    for (int i = 0; i < 3; i++) {
        expect_text(CONVOP_E_UNSUPPORTED, TEXT("rain"), convop_engine_wait(e, v));
        expect_text(CONVOP_E_UNSUPPORTED, TEXT("rain"), convop_engine_wait_all(e));
    }
    expect_ok(push(e, "good", good, NULL, NULL, VARS(v)));
    expect_ok(convop_engine_wait(e, v));
    expect_ok(convop_engine_wait_all(e));
    uint64_t version;
    expect_ok(convop_var_version(e, v, &version));
    assert_int_equal(version, 2);
}

static void readers_pass_errors_on(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var a = new_var(e), b = new_var(e), c = new_var(e), d = new_var(e);
    int ran = 0;
    expect_ok(push(e, "bad", slow_bad, "snow", NULL, VARS(a)));
    expect_ok(push(e, "copy", good, &ran, VARS(a), VARS(b)));
    expect_ok(push(e, "copy", good, &ran, VARS(b), VARS(c)));
    expect_ok(push(e, "update", good, &ran, VARS(c), VARS(c)));
    expect_ok(push(e, "free", good, NULL, NULL, VARS(d)));
    expect_text(CONVOP_E_UNSUPPORTED, TEXT("snow"), convop_engine_wait(e, c));
    expect_text(CONVOP_E_UNSUPPORTED, TEXT("snow"), convop_engine_wait(e, b));
    expect_text(CONVOP_E_UNSUPPORTED, TEXT("snow"), convop_engine_wait(e, a));
    expect_ok(convop_engine_wait(e, d));
    assert_int_equal(ran, 0);
    uint64_t version;
    expect_ok(convop_var_version(e, c, &version));
    assert_int_equal(version, 2); /* writes that did not happen end as well */
    /* a is mended; b and c keep theirs until they are written without being read */
    expect_ok(push(e, "good", good, &ran, NULL, VARS(a)));
    expect_ok(convop_engine_wait(e, a));
    expect_text(CONVOP_E_UNSUPPORTED, TEXT("snow"), convop_engine_wait(e, b));
    expect_ok(push(e, "copy", good, &ran, VARS(a), VARS(b, c)));
    expect_ok(convop_engine_wait_all(e));
    assert_int_equal(ran, 2);
}

static void wait_all_reports_the_first_that_is_left(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var a = new_var(e), b = new_var(e), order = new_var(e);
    expect_ok(push(e, "bad", slow_bad, "first", NULL, VARS(a, order)));
    expect_ok(push(e, "bad", bad, "second", NULL, VARS(order, b)));
    expect_text(CONVOP_E_UNSUPPORTED, TEXT("first"), convop_engine_wait_all(e));
    expect_text(CONVOP_E_UNSUPPORTED, TEXT("second"), convop_engine_wait(e, b));
    expect_text(CONVOP_E_UNSUPPORTED, TEXT("second"), convop_engine_wait(e, order));
    expect_ok(push(e, "good", good, NULL, NULL, VARS(a)));
    expect_text(CONVOP_E_UNSUPPORTED, TEXT("second"), convop_engine_wait_all(e));
    convop_var doomed = b;
    expect_ok(convop_var_delete(e, &doomed));
    expect_text(CONVOP_E_UNSUPPORTED, TEXT("second"), convop_engine_wait_all(e));
    expect_ok(convop_var_delete(e, &order));
    expect_ok(convop_engine_wait_all(e));
}

static void first_read_error_counts(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var a = new_var(e), b = new_var(e), out = new_var(e);
    expect_ok(push(e, "bad", slow_bad, "a", NULL, VARS(a)));
    expect_ok(push(e, "bad", bad, "b", NULL, VARS(b)));
    expect_ok(push(e, "both", good, NULL, VARS(b, a), VARS(out)));
    expect_text(CONVOP_E_UNSUPPORTED, TEXT("b"), convop_engine_wait(e, out));
}

static void a_failure_without_text_gets_one(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var v = new_var(e);
    convop_fail(CONVOP_E_INVALID, "an earlier text of this thread");
    expect_ok(push(e, "quiet", silent, NULL, NULL, VARS(v)));
    assert_string_equal(convop_last_error(), "an earlier text of this thread");
    expect_text(CONVOP_E_IO, "task 'quiet' failed and did not say why: input/output error",
                convop_engine_wait(e, v));
    expect_ok(push(e, NULL, silent, NULL, NULL, VARS(v)));
    assert_int_equal(convop_engine_wait(e, v), CONVOP_E_IO);
    assert_non_null(strstr(convop_last_error(), "'task'"));
}

static convop_status many_failures(void *user)
{
    (void)user;
    convop_fail(CONVOP_E_INVALID, "noise");
    return CONVOP_OK;
}

static void push_leaves_the_text_of_the_thread(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var v = new_var(e);
    convop_fail(CONVOP_E_INVALID, "mine");
    expect_ok(push(e, "noise", many_failures, NULL, NULL, VARS(v)));
    expect_ok(push(e, "bad", bad, "hail", NULL, VARS(v)));
    assert_string_equal(convop_last_error(), "mine");
}

static void no_memory_for_an_error_keeps_the_status(void **state)
{
    convop_engine *e = ((struct fixture *)*state)->engine;
    convop_var v = new_var(e), w = new_var(e);
    expect_ok(push(e, "ok", good, NULL, NULL, VARS(v)));
    cvp_alloc_fail_at(2); /* 1 is the task, 2 the error */
    convop_status status = push(e, "bad", bad, "fog", NULL, VARS(v));
    convop_status waited = convop_engine_wait(e, v);
    cvp_alloc_fail_at(0);
    assert_int_equal(status, CONVOP_OK);
    assert_int_equal(waited, CONVOP_E_UNSUPPORTED);
    assert_non_null(strstr(convop_last_error(), "no memory"));
    expect_ok(push(e, "bad", bad, "sleet", NULL, VARS(w)));
    expect_text(CONVOP_E_UNSUPPORTED, TEXT("sleet"), convop_engine_wait_all(e));
    expect_ok(push(e, "ok", good, NULL, NULL, VARS(v)));
    expect_ok(convop_engine_wait(e, v));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(every_wait_reports_until_rewritten),      BOTH(readers_pass_errors_on),
        BOTH(wait_all_reports_the_first_that_is_left), BOTH(first_read_error_counts),
        BOTH(a_failure_without_text_gets_one),         BOTH(push_leaves_the_text_of_the_thread),
        BOTH(no_memory_for_an_error_keeps_the_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

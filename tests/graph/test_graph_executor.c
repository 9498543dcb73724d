/* Running: errors and what comes after them, order of calls, traces, engines, forked children. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "random_graph.h"
#include "tests/support/child.h"
#include "tests/support/expect.h"

#define NONE CVP_NO_ENTRY

/* Two branches that can fail, on an auxiliary state and an added gradient:
 * sum = fail1(stat(x)) + fail2(x) */
static struct cvp_executor *bind_failing(convop_engine *engine)
{
    struct cvp_symbol *s;
    struct cvp_executor *x;
    expect_ok(cvp_symbol_create(&s));
    struct cvp_entry e = graph_variable(s, "x");
    struct cvp_entry stat = graph_node(s, "t_stat", "stat", e, NONE, NULL);
    struct cvp_entry left = graph_node(s, "t_fail", "left", stat, NONE, "1");
    struct cvp_entry right = graph_node(s, "t_fail", "right", e, NONE, "2");
    struct cvp_entry sum = graph_node(s, "t_add", "sum", left, right, NULL);
    expect_ok(cvp_symbol_output(s, sum));
    struct cvp_bind_input input = graph_input("x", 2);
    struct cvp_bind_request request = {"x", CONVOP_REQ_ADD};
    struct cvp_bind_options o = {.inputs = &input,
                                 .num_inputs = 1,
                                 .requests = &request,
                                 .num_requests = 1,
                                 .engine = engine};
    expect_ok(cvp_executor_bind(s, &o, &x));
    cvp_symbol_release(&s); /* the executor holds its own reference */
    graph_data(cvp_executor_find(x, "x")->value)[0] = 3;
    return x;
}

static convop_engine *make_engine(int kind)
{
    convop_engine *engine = NULL;
    convop_engine_options o = CONVOP_ENGINE_OPTIONS_INIT;
    if (kind == 0) return NULL;
    o.kind = kind == 1 ? CONVOP_ENGINE_NAIVE : CONVOP_ENGINE_THREADED;
    o.num_workers = 3;
    expect_ok(convop_engine_create(&o, &engine));
    return engine;
}

static void errors_name_the_node_and_pass(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        convop_engine *engine = make_engine(kind);
        struct cvp_executor *x = bind_failing(engine);
        const struct cvp_bound *b = cvp_executor_find(x, "x");
        for (int i = 0; i < 20; i++) {
            /* Of both that fail, always the first. */
            graph_ops_fail = 2 | 4;
            expect_text(CONVOP_E_DEVICE, "node left: t_fail: told to fail, 1",
                        cvp_executor_forward(x, 1));
            assert_int_equal(cvp_executor_backward(x), CONVOP_E_STATE);
            graph_ops_fail = 4;
            expect_text(CONVOP_E_DEVICE, "node right: t_fail: told to fail, 2",
                        cvp_executor_forward(x, 1));
            graph_ops_fail = 0;
            expect_ok(cvp_executor_forward(x, 1));
            assert_true(graph_data(cvp_executor_output(x, 0))[0] == 6);
            graph_ops_fail = 2;
            expect_text(CONVOP_E_DEVICE, "gradient of node left: t_fail: told to fail, 1",
                        cvp_executor_backward(x));
            graph_ops_fail = 0;
            graph_data(b->gradient)[0] = 10;
            expect_ok(cvp_executor_forward(x, 1));
            expect_ok(cvp_executor_backward(x));
            assert_true(graph_data(b->gradient)[0] == 12);
        }
        cvp_executor_destroy(&x);
        /* Nothing is left on the engine. */
        if (engine) expect_ok(convop_engine_wait_all(engine));
        convop_engine_destroy(&engine);
    }
}

static void calls_in_the_wrong_order(void **state)
{
    (void)state;
    struct cvp_executor *x = bind_failing(NULL);
    const char *const late = "executor: backward needs a forward to train right before it";
    expect_text(CONVOP_E_STATE, late, cvp_executor_backward(x));
    expect_ok(cvp_executor_forward(x, 0));
    expect_text(CONVOP_E_STATE, late, cvp_executor_backward(x));
    expect_ok(cvp_executor_forward(x, 1));
    expect_ok(cvp_executor_backward(x));
    expect_text(CONVOP_E_STATE, late, cvp_executor_backward(x));
    /* Statistics move only in training: once of two. */
    assert_true(graph_data(cvp_executor_find(x, "stat_moving")->value)[0] == 3);
    cvp_executor_destroy(&x);
    cvp_executor_destroy(&x);
    cvp_executor_destroy(NULL);
}

static void bind_says_what_is_wrong(void **state)
{
    (void)state;
    struct cvp_symbol *s;
    struct cvp_executor *x;
    expect_ok(cvp_symbol_create(&s));
    struct cvp_bind_input inputs[2] = {graph_input("x", 2), graph_input("x", 2)};
    struct cvp_bind_options o = {.inputs = inputs, .num_inputs = 2};
    expect_text(CONVOP_E_INVALID, "executor: the symbol has no output",
                cvp_executor_bind(s, &o, &x));
    expect_ok(
        cvp_symbol_output(s, graph_node(s, "t_tanh", "y", graph_variable(s, "x"), NONE, NULL)));
    expect_text(CONVOP_E_INVALID, "executor: input x is given twice", cvp_executor_bind(s, &o, &x));
    inputs[1].name = "y";
    expect_text(CONVOP_E_INVALID, "executor: y is no variable of the symbol",
                cvp_executor_bind(s, &o, &x));
    o.num_inputs = 1;
    inputs[0].shape.dim[0] = INT64_MAX / 4;
    assert_int_equal(cvp_executor_bind(s, &o, &x), CONVOP_E_INVALID);
    inputs[0].shape.dim[0] = 2;
    expect_ok(cvp_executor_bind(s, &o, &x));
    expect_text(CONVOP_E_STATE, "executor: it was bound without gradients",
                cvp_executor_backward(x));
    assert_null(cvp_executor_find(x, "y"));
    assert_null(cvp_executor_output(x, 1));
    assert_null(cvp_executor_head(x, 0));
    cvp_executor_destroy(&x);
    cvp_symbol_release(&s);
}

struct traced {
    _Atomic int count;
    char names[200];
};

static void trace(void *user, const struct cvp_trace *t)
{
    struct traced *to = user;
    to->count++;
    assert_true(t->ms >= 0);
    strcat(to->names, t->is_backward ? "-" : "+");
    strcat(to->names, t->node);
}

static void traces(void **state)
{
    (void)state;
    struct cvp_executor *x = bind_failing(NULL);
    struct traced got = {0};
    cvp_executor_set_trace(x, trace, &got);
    expect_ok(cvp_executor_forward(x, 1));
    expect_ok(cvp_executor_backward(x));
    assert_string_equal(got.names, "+stat+left+right+sum-sum-right-left-stat");
    cvp_executor_set_trace(x, NULL, NULL);
    expect_ok(cvp_executor_forward(x, 1));
    assert_int_equal(got.count, 8);
    cvp_executor_destroy(&x);
}

static convop_status run_inside(void *user)
{
    return cvp_executor_forward(user, 1);
}

static void inside_a_task(void **state)
{
    (void)state;
    convop_engine *engine = make_engine(2);
    struct cvp_executor *x = bind_failing(engine);
    convop_var var;
    expect_ok(convop_var_create(engine, &var));
    convop_task task = CONVOP_TASK_INIT;
    task.run = run_inside;
    task.user = x;
    task.writes = &var;
    task.num_writes = 1;
    expect_ok(convop_engine_push(engine, &task));
    expect_text(CONVOP_E_STATE,
                "executor: called from a task of its engine, which would wait for itself",
                convop_engine_wait(engine, var));
    expect_ok(cvp_executor_forward(x, 1));
    cvp_executor_destroy(&x);
    convop_engine_destroy(&engine);
}

/* ---- forks ---------------------------------------------------------------------------------- */

struct forked {
    convop_engine *engine;
    struct cvp_executor *x;
};

static int in_child(void *user)
{
    struct forked *f = user;
    if (cvp_executor_forward(f->x, 1) != CONVOP_E_STATE) return 1;
    cvp_executor_destroy(&f->x);
    convop_engine_destroy(&f->engine);
    struct cvp_executor *own = bind_failing(NULL);
    if (cvp_executor_forward(own, 1) != CONVOP_OK) return 2;
    cvp_executor_destroy(&own);
    return 0;
}

static void forked_child(void **state)
{
    (void)state;
    struct forked f = {.engine = make_engine(2)};
    f.x = bind_failing(f.engine);
    expect_ok(cvp_executor_forward(f.x, 1));
    assert_int_equal(test_reap(test_fork(in_child, &f)), 0);
    expect_ok(cvp_executor_forward(f.x, 1));
    expect_ok(cvp_executor_backward(f.x));
    cvp_executor_destroy(&f.x);
    convop_engine_destroy(&f.engine);
}

/* Branches that could overlap all update one state and share scratch: no update is lost, and nobody
 * computes in scratch that another one is using. */
static void shared_state(void **state)
{
    (void)state;
    enum { BRANCHES = 8, N = 2000 };
    convop_engine *engine = make_engine(2);
    struct cvp_symbol *s;
    struct cvp_executor *x;
    expect_ok(cvp_symbol_create(&s));
    struct cvp_entry e = graph_variable(s, "x"), moving = graph_variable(s, "moving");
    for (int i = 0; i < BRANCHES; i++)
        expect_ok(cvp_symbol_output(s, graph_node(s, "t_stat", NULL, e, moving, NULL)));
    for (int i = 0; i < 3 * BRANCHES; i++)
        expect_ok(cvp_symbol_output(s, graph_node(s, "t_tanh", NULL, e, CVP_NO_ENTRY, NULL)));
    struct cvp_bind_input input = graph_input("x", N);
    struct cvp_bind_options o = {.inputs = &input, .num_inputs = 1, .engine = engine};
    expect_ok(cvp_executor_bind(s, &o, &x));
    for (int k = 0; k < N; k++) graph_data(cvp_executor_find(x, "x")->value)[k] = k;
    for (int i = 1; i <= 20; i++) {
        expect_ok(cvp_executor_forward(x, 1));
        for (int k = 0; k < N; k++)
            assert_true(graph_data(cvp_executor_find(x, "moving")->value)[k] ==
                        (double)i * BRANCHES * k);
        for (int b = BRANCHES; b < 4 * BRANCHES; b++)
            for (int k = 0; k < N; k += 100)
                assert_true(graph_data(cvp_executor_output(x, b))[k] == tanh(k));
    }
    cvp_executor_destroy(&x);
    cvp_symbol_release(&s);
    convop_engine_destroy(&engine);
}

static int set_up(void **state)
{
    (void)state;
    graph_ops_register();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    graph_ops_unregister();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_name_the_node_and_pass),
        cmocka_unit_test(calls_in_the_wrong_order),
        cmocka_unit_test(bind_says_what_is_wrong),
        cmocka_unit_test(traces),
        cmocka_unit_test(inside_a_task),
        cmocka_unit_test(shared_state),
        cmocka_unit_test(forked_child),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

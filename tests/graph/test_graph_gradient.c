/* Gradients of random graphs against finite differences; requests; what happens to the bits when
 * memory is reused or another engine runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "random_graph.h"
#include "src/common/alloc.h"
#include "tests/support/expect.h"

/* The sum over outputs of head times output, from a fresh forward. */
static double weighted(struct cvp_executor *x, double heads[][GRAPH_ELEMENTS])
{
    double sum = 0;
    expect_ok(cvp_executor_forward(x, 0));
    for (int i = 0; i < cvp_executor_num_outputs(x); i++) {
        const DLTensor *t = cvp_executor_output(x, i);
        for (int64_t k = 0; k < t->shape[0]; k++) sum += heads[i][k] * graph_data(t)[k];
    }
    return sum;
}

static void check_against_differences(const struct random_graph *g, uint64_t seed)
{
    struct cvp_executor *x = random_graph_bind(g, NULL, 0, NULL);
    double heads[64][GRAPH_ELEMENTS] = {{0}}, before[GRAPH_MAX_ARGS][GRAPH_ELEMENTS];
    random_graph_fill(g, x);
    assert_true(cvp_executor_num_outputs(x) <= 64);
    for (int i = 0; i < cvp_executor_num_outputs(x); i++) {
        const DLTensor *h = cvp_executor_head(x, i);
        /* An output that no wanted gradient lies behind has no head. */
        for (int64_t k = 0; h && k < h->shape[0]; k++) heads[i][k] = graph_data(h)[k];
    }
    for (int i = 0; i < g->num_args; i++) {
        const struct cvp_bound *b = cvp_executor_find(x, g->names[i]);
        assert_int_equal(b->request, g->requests[i].request);
        assert_int_equal(b->gradient != NULL, b->request != CONVOP_REQ_NULL);
        for (int k = 0; k < GRAPH_ELEMENTS && b->gradient; k++)
            before[i][k] = b->request == CONVOP_REQ_ADD ? graph_data(b->gradient)[k] : 0;
    }
    expect_ok(cvp_executor_forward(x, 1));
    if (cvp_executor_backward(x) != CONVOP_OK) {
        for (int i = 0; i < g->num_args; i++)
            assert_int_equal(g->requests[i].request, CONVOP_REQ_NULL);
        cvp_executor_destroy(&x);
        return;
    }
    for (int i = 0; i < g->num_args; i++) {
        const struct cvp_bound *b = cvp_executor_find(x, g->names[i]);
        for (int k = 0; k < GRAPH_ELEMENTS && b->gradient; k++) {
            double *at = graph_data(b->value) + k, old = *at;
            const double step = 1e-5;
            *at = old + step;
            const double up = weighted(x, heads);
            *at = old - step;
            const double down = weighted(x, heads);
            *at = old;
            const double want = before[i][k] + (up - down) / (2 * step);
            const double got = graph_data(b->gradient)[k];
            if (!(fabs(got - want) <= 1e-5 * (1 + fabs(want) + fabs(up))))
                fail_msg("seed %llu: gradient by %s[%d] is %.12g, differences say %.12g",
                         (unsigned long long)seed, b->name, k, got, want);
        }
    }
    cvp_executor_destroy(&x);
}

static void random_graphs(void **state)
{
    (void)state;
    struct rng seeds = {test_seed(11)};
    for (int64_t i = 0; i < test_scaled(400); i++) {
        const uint64_t seed = rng_next(&seeds);
        struct rng r = {seed};
        struct random_graph g;
        random_graph_create(&g, &r);
        check_against_differences(&g, seed);
        random_graph_destroy(&g);
    }
}

/* ---- the same bits -------------------------------------------------------------------------- */

/* Runs forward and backward twice and copies outputs, gradients and auxiliary states. */
static size_t run_and_copy(const struct random_graph *g, struct cvp_executor *x, double *to)
{
    size_t n = 0;
    int args, aux;
    random_graph_fill(g, x);
    for (int i = 0; i < 2; i++) {
        expect_ok(cvp_executor_forward(x, 1));
        (void)cvp_executor_backward(x);
    }
    const struct cvp_bound *b = cvp_executor_arguments(x, &args);
    (void)cvp_executor_auxiliary(x, &aux);
    for (int i = 0; i < args + aux; i++)
        for (int64_t k = 0; k < GRAPH_ELEMENTS; k++) {
            to[n++] = graph_data(b[i].value)[k];
            to[n++] = b[i].gradient ? graph_data(b[i].gradient)[k] : 0;
        }
    for (int i = 0; i < cvp_executor_num_outputs(x); i++)
        for (int64_t k = 0; k < cvp_executor_output(x, i)->shape[0]; k++)
            to[n++] = graph_data(cvp_executor_output(x, i))[k];
    assert_true(n < 1000);
    return n;
}

static void same_bits(void **state)
{
    (void)state;
    struct rng seeds = {test_seed(12)};
    convop_engine *engines[3] = {NULL};
    for (int i = 1; i < 3; i++) {
        convop_engine_options o = CONVOP_ENGINE_OPTIONS_INIT;
        o.kind = i == 1 ? CONVOP_ENGINE_NAIVE : CONVOP_ENGINE_THREADED;
        o.num_workers = 3;
        expect_ok(convop_engine_create(&o, &engines[i]));
    }
    int shared = 0, inplace = 0;
    for (int64_t i = 0; i < test_scaled(100); i++) {
        const uint64_t seed = rng_next(&seeds);
        struct rng r = {seed};
        struct random_graph g;
        static double want[1000], got[1000];
        size_t n = 0;
        random_graph_create(&g, &r);
        for (int way = 0; way < 6; way++) {
            struct cvp_executor *x = random_graph_bind(&g, engines[way / 2], way % 2 == 0, NULL);
            struct cvp_executor_usage u;
            cvp_executor_usage(x, &u);
            assert_true(way % 2 || u.planned_bytes == u.planned_unshared_bytes);
            shared += u.planned_bytes < u.planned_unshared_bytes;
            inplace += u.num_inplace;
            const size_t m = run_and_copy(&g, x, way ? got : want);
            if (way == 0) n = m;
            if (m != n || memcmp(want, got, way ? n * sizeof *want : 0) != 0)
                fail_msg("seed %llu, way %d: other bits", (unsigned long long)seed, way);
            cvp_executor_destroy(&x);
        }
        random_graph_destroy(&g);
    }
    assert_true(shared > 0 && inplace > 0);
    for (int i = 1; i < 3; i++) convop_engine_destroy(&engines[i]);
}

/* ---- single cases --------------------------------------------------------------------------- */

struct small {
    struct cvp_symbol *s;
    struct cvp_executor *x;
};

static void bind_small(struct small *t, const struct cvp_bind_request *requests, size_t n)
{
    struct cvp_bind_input inputs[4];
    const char **names;
    int count;
    expect_ok(cvp_symbol_list(t->s, CVP_ARGUMENTS, &names, &count));
    for (int i = 0; i < count; i++) inputs[i] = graph_input(names[i], 2);
    cvp_free(names);
    struct cvp_bind_options o = {
        .inputs = inputs, .num_inputs = (size_t)count, .requests = requests, .num_requests = n};
    expect_ok(cvp_executor_bind(t->s, &o, &t->x));
    for (int i = 0; i < count; i++) {
        const struct cvp_bound *b = cvp_executor_arguments(t->x, &count) + i;
        for (int k = 0; k < 2; k++) graph_data(b->value)[k] = 1 + k + 2 * i;
        for (int k = 0; k < 2 && b->gradient; k++) graph_data(b->gradient)[k] = 100;
    }
    expect_ok(cvp_executor_forward(t->x, 1));
    expect_ok(cvp_executor_backward(t->x));
}

static double gradient(struct small *t, const char *name, int k)
{
    return graph_data(cvp_executor_find(t->x, name)->gradient)[k];
}

static void end_small(struct small *t)
{
    cvp_executor_destroy(&t->x);
    cvp_symbol_release(&t->s);
}

/* y = x * x + x, with x written by three steps, twice by one of them. */
static void variable_used_thrice(void **state)
{
    (void)state;
    for (int add = 0; add < 2; add++) {
        struct small t;
        expect_ok(cvp_symbol_create(&t.s));
        struct cvp_entry x = graph_variable(t.s, "x");
        struct cvp_entry square = graph_node(t.s, "t_mul", "square", x, x, NULL);
        expect_ok(cvp_symbol_output(t.s, graph_node(t.s, "t_add", "y", square, x, NULL)));
        bind_small(&t, &(struct cvp_bind_request){"x", add ? CONVOP_REQ_ADD : CONVOP_REQ_WRITE}, 1);
        assert_true(gradient(&t, "x", 0) == 100 * add + 3);
        assert_true(gradient(&t, "x", 1) == 100 * add + 5);
        end_small(&t);
    }
}

/* s = 2a is an output and used inside; another output is the variable itself. */
static void output_used_inside(void **state)
{
    (void)state;
    struct small t;
    expect_ok(cvp_symbol_create(&t.s));
    struct cvp_entry a = graph_variable(t.s, "a");
    struct cvp_entry s = graph_node(t.s, "t_scale", "s", a, CVP_NO_ENTRY, "2");
    struct cvp_entry y = graph_node(t.s, "t_mul", "y", s, s, NULL);
    expect_ok(cvp_symbol_output(t.s, s));
    expect_ok(cvp_symbol_output(t.s, y));
    expect_ok(cvp_symbol_output(t.s, a));
    expect_ok(cvp_symbol_output(t.s, s));
    bind_small(&t, &(struct cvp_bind_request){"a", CONVOP_REQ_WRITE}, 1);
    /* 2 + 8 a + 1 + 2 */
    assert_true(gradient(&t, "a", 0) == 13);
    assert_true(gradient(&t, "a", 1) == 21);
    assert_true(graph_data(cvp_executor_output(t.x, 0))[1] == 4);
    assert_true(graph_data(cvp_executor_output(t.x, 1))[1] == 16);
    assert_ptr_equal(cvp_executor_output(t.x, 2), cvp_executor_find(t.x, "a")->value);
    /* the heads are the caller's and stay as they are */
    for (int i = 0; i < 4; i++) assert_true(graph_data(cvp_executor_head(t.x, i))[0] == 1);
    end_small(&t);
}

static void requests(void **state)
{
    (void)state;
    struct small t;
    expect_ok(cvp_symbol_create(&t.s));
    struct cvp_entry a = graph_variable(t.s, "a"), b = graph_variable(t.s, "b");
    struct cvp_entry c = graph_variable(t.s, "c");
    expect_ok(cvp_symbol_output(t.s, graph_node(t.s, "t_mul", "y", a, b, NULL)));
    expect_ok(cvp_symbol_output(t.s, graph_node(t.s, "t_nograd", "z", c, CVP_NO_ENTRY, NULL)));
    const struct cvp_bind_request r[] = {{"a", CONVOP_REQ_ADD}, {"b", CONVOP_REQ_NULL}};
    bind_small(&t, r, 2);
    assert_true(gradient(&t, "a", 0) == 103);
    assert_null(cvp_executor_find(t.x, "b")->gradient);
    assert_null(cvp_executor_find(t.x, "c")->gradient);
    end_small(&t);
}

/* A loss asks for no gradient from above; its label gets zeros when asked for. */
static void loss(void **state)
{
    (void)state;
    struct small t;
    expect_ok(cvp_symbol_create(&t.s));
    struct cvp_entry a = graph_variable(t.s, "a");
    struct cvp_entry y = graph_node(t.s, "t_loss", "softmax", a, CVP_NO_ENTRY, NULL);
    expect_ok(cvp_symbol_output(t.s, y));
    const struct cvp_bind_request r[] = {{"a", CONVOP_REQ_WRITE},
                                         {"softmax_label", CONVOP_REQ_WRITE}};
    bind_small(&t, r, 2);
    assert_null(cvp_executor_head(t.x, 0));
    assert_true(gradient(&t, "a", 0) == 1 - 3);
    assert_true(gradient(&t, "softmax_label", 0) == 0 && gradient(&t, "softmax_label", 1) == 0);
    end_small(&t);
}

/* Only one output of t_split is used: the gradient by the other is zero. */
static void unused_output(void **state)
{
    (void)state;
    struct small t;
    expect_ok(cvp_symbol_create(&t.s));
    struct cvp_entry a = graph_variable(t.s, "a");
    struct cvp_entry s = graph_node(t.s, "t_split", "s", a, CVP_NO_ENTRY, NULL);
    s.index = 1;
    expect_ok(cvp_symbol_output(t.s, s));
    bind_small(&t, &(struct cvp_bind_request){"a", CONVOP_REQ_WRITE}, 1);
    assert_true(gradient(&t, "a", 1) == cos(2));
    end_small(&t);
}

/* Arguments that are not inputs get gradients by default; shapes follow. */
static void parameters_by_default(void **state)
{
    (void)state;
    struct cvp_symbol *s;
    struct cvp_executor *x;
    expect_ok(cvp_symbol_create(&s));
    struct cvp_entry a = graph_variable(s, "data");
    struct cvp_entry y = graph_node(s, "t_mul", "scale", a, CVP_NO_ENTRY, NULL);
    y = graph_node(s, "t_loss", "softmax", y, CVP_NO_ENTRY, NULL);
    expect_ok(cvp_symbol_output(s, y));
    struct cvp_bind_input input = graph_input("data", 4);
    struct cvp_bind_options o = {.inputs = &input, .num_inputs = 1, .request = CONVOP_REQ_WRITE};
    expect_ok(cvp_executor_bind(s, &o, &x));
    assert_non_null(cvp_executor_find(x, "scale_b")->gradient);
    assert_int_equal(cvp_executor_find(x, "scale_b")->value->shape[0], 4);
    assert_null(cvp_executor_find(x, "data")->gradient);
    assert_true(cvp_executor_find(x, "data")->is_input);
    assert_null(cvp_executor_find(x, "softmax_label")->gradient);
    cvp_executor_destroy(&x);
    cvp_symbol_release(&s);
}

static void refusals(void **state)
{
    (void)state;
    struct cvp_symbol *s;
    struct cvp_executor *x;
    expect_ok(cvp_symbol_create(&s));
    struct cvp_entry a = graph_variable(s, "a");
    struct cvp_entry y = graph_node(s, "t_stat", "st", a, CVP_NO_ENTRY, NULL);
    y = graph_node(s, "t_nograd", "wall", y, CVP_NO_ENTRY, NULL);
    expect_ok(cvp_symbol_output(s, graph_node(s, "t_tanh", "y", y, CVP_NO_ENTRY, NULL)));
    struct cvp_bind_input input = graph_input("a", 4);
    struct cvp_bind_request r = {"a", CONVOP_REQ_WRITE};
    struct cvp_bind_options o = {
        .inputs = &input, .num_inputs = 1, .requests = &r, .num_requests = 1};
    expect_text(CONVOP_E_INVALID,
                "node wall: operator t_nograd has no attribute \"gradient\", and gradients of "
                "what it depends on are asked for",
                cvp_executor_bind(s, &o, &x));
    assert_null(x);
    r.request = CONVOP_REQ_INPLACE;
    expect_text(CONVOP_E_INVALID,
                "executor: request 2 for the gradient by a, allowed are 0 (null), 1 (write) and 3 "
                "(add)",
                cvp_executor_bind(s, &o, &x));
    r = (struct cvp_bind_request){"st_moving", CONVOP_REQ_WRITE};
    expect_text(CONVOP_E_INVALID, "executor: st_moving is an auxiliary state and has no gradient",
                cvp_executor_bind(s, &o, &x));
    r.name = "nobody";
    expect_text(CONVOP_E_INVALID, "executor: nobody is no variable of the symbol",
                cvp_executor_bind(s, &o, &x));
    cvp_symbol_release(&s);
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
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(variable_used_thrice),
        cmocka_unit_test(output_used_inside),
        cmocka_unit_test(requests),
        cmocka_unit_test(loss),
        cmocka_unit_test(unused_output),
        cmocka_unit_test(parameters_by_default),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

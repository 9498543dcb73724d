/* The memory plan against an oracle that follows, step by step, which value each place holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "random_graph.h"
#include "src/common/alloc.h"
#include "src/graph/gradient.h"
#include "src/graph/memory.h"
#include "tests/support/expect.h"

static void make_program(const struct random_graph *g, struct cvp_program *p)
{
    convop_shape shapes[128];
    DLDataType types[128] = {{0}};
    struct cvp_want wants[128] = {{0}};
    assert_true(g->symbol->num_entries <= 128);
    for (int i = 0; i < 128; i++) shapes[i].ndim = -1;
    for (int i = 0; i < g->num_args; i++) {
        const int node = cvp_symbol_find(g->symbol, g->names[i]);
        shapes[g->symbol->nodes[node]->first_entry] = g->inputs[i].shape;
        types[g->symbol->nodes[node]->first_entry] = g->inputs[i].dtype;
        wants[node].request = g->requests[i].request;
    }
    expect_ok(cvp_program_init(p, g->symbol, shapes, types));
    expect_ok(cvp_program_differentiate(p, wants));
}

static int is_allowed_inplace(const struct cvp_step *step, int i, int j)
{
    for (size_t k = 0; k < step->op->num_inplace; k++)
        if (step->op->inplace[k].output == i && step->op->inplace[k].input == j) return 1;
    return 0;
}

static void check_reads(const struct cvp_program *p, const struct cvp_memory_plan *plan,
                        const int *holds, const struct cvp_step *step)
{
    for (int i = 0; i < step->num_inputs; i++) {
        const int v = step->inputs[i];
        if (cvp_value_is_fixed(&p->values[v]))
            assert_int_equal(plan->place[v], -1);
        else
            assert_int_equal(holds[plan->place[v]], v);
    }
}

static void check_writes(const struct cvp_program *p, const struct cvp_memory_plan *plan,
                         int *holds, const struct cvp_step *step)
{
    for (int i = 0; i < step->num_outputs; i++) {
        const int v = step->outputs[i];
        if (v < 0 || cvp_value_is_fixed(&p->values[v])) continue;
        const int place = plan->place[v];
        assert_true(place >= 0 && place < plan->num_places);
        assert_true(plan->size[place] >= p->values[v].bytes);
        if (step->requests[i] == CONVOP_REQ_ADD) assert_int_equal(holds[place], v);
        for (int j = 0; j < step->num_inputs; j++) {
            const int in = step->inputs[j];
            if (cvp_value_is_fixed(&p->values[in]) || plan->place[in] != place) continue;
            assert_int_equal(step->requests[i], CONVOP_REQ_INPLACE);
            assert_true(is_allowed_inplace(step, i, j));
        }
        for (int j = 0; j < i; j++)
            if (step->outputs[j] >= 0)
                assert_true(plan->place[step->outputs[j]] != place || place < 0);
        holds[place] = v;
    }
}

static void check_plan(const struct cvp_program *p, const struct cvp_memory_plan *plan)
{
    int holds[512];
    assert_true(plan->num_places < 512);
    for (int i = 0; i < plan->num_places; i++) holds[i] = -1;
    for (int s = 0; s < p->num_steps; s++) {
        check_reads(p, plan, holds, &p->steps[s]);
        check_writes(p, plan, holds, &p->steps[s]);
    }
    for (int v = 0; v < p->num_values; v++)
        if (p->values[v].is_output && !cvp_value_is_fixed(&p->values[v]))
            assert_int_equal(holds[plan->place[v]], v);
    size_t end = 0;
    for (int i = 0; i < plan->num_places; i++) {
        assert_int_equal(plan->offset[i] % CVP_BUFFER_ALIGN, 0);
        assert_true(plan->offset[i] >= end);
        end = plan->offset[i] + plan->size[i];
    }
    assert_true(end <= plan->bytes && plan->bytes <= plan->bytes_unshared);
}

static void never_overlaps(void **state)
{
    (void)state;
    struct rng seeds = {test_seed(21)};
    for (int64_t i = 0; i < test_scaled(1000); i++) {
        struct rng r = {rng_next(&seeds)};
        struct random_graph g;
        struct cvp_program p;
        struct cvp_memory_plan plan;
        random_graph_create(&g, &r);
        make_program(&g, &p);
        /* Sizes that differ, so that places grow. */
        static const size_t sizes[] = {0, 1, 64, 65, 1000, 5000};
        for (int v = 0; v < p.num_values; v++)
            if (p.values[v].bytes) p.values[v].bytes = sizes[rng_int(&r, 0, 5)];
        expect_ok(cvp_memory_plan_init(&plan, &p, i % 4 != 0));
        check_plan(&p, &plan);
        cvp_memory_plan_free(&plan);
        cvp_program_free(&p);
        random_graph_destroy(&g);
    }
}

/* A chain without gradients takes two places, or one where it runs in place. */
static void chain(void **state)
{
    (void)state;
    for (int inplace = 0; inplace < 2; inplace++) {
        struct cvp_symbol *s;
        struct cvp_executor *x;
        struct cvp_executor_usage u;
        expect_ok(cvp_symbol_create(&s));
        struct cvp_entry e = graph_variable(s, "x");
        for (int i = 0; i < 50; i++)
            e = inplace ? graph_node(s, "t_tanh", NULL, e, CVP_NO_ENTRY, NULL)
                        : graph_node(s, "t_stat", NULL, e, CVP_NO_ENTRY, NULL);
        expect_ok(cvp_symbol_output(s, e));
        struct cvp_bind_input input = graph_input("x", 100);
        struct cvp_bind_options o = {.inputs = &input, .num_inputs = 1};
        expect_ok(cvp_executor_bind(s, &o, &x));
        cvp_executor_usage(x, &u);
        assert_int_equal(u.num_places, inplace ? 1 : 2);
        assert_int_equal(u.num_inplace, inplace ? 49 : 0);
        assert_int_equal(u.planned_bytes, (inplace ? 1 : 2) * 832);
        assert_int_equal(u.planned_unshared_bytes, 50 * 832);
        assert_int_equal(u.workspace_bytes, inplace ? 800 : 0);
        cvp_executor_destroy(&x);
        cvp_symbol_release(&s);
    }
}

/* ---- allocations ---------------------------------------------------------------------------- */

static void runs_allocate_nothing(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        convop_engine *engine = NULL;
        convop_engine_options o = CONVOP_ENGINE_OPTIONS_INIT;
        o.kind = kind == 1 ? CONVOP_ENGINE_NAIVE : CONVOP_ENGINE_THREADED;
        o.num_workers = 2;
        if (kind) expect_ok(convop_engine_create(&o, &engine));
        struct rng r = {5};
        struct random_graph g;
        random_graph_create(&g, &r);
        struct cvp_executor *x = random_graph_bind(&g, engine, 0, NULL);
        random_graph_fill(&g, x);
        cvp_alloc_fail_at(0);
        for (int i = 0; i < 5; i++) {
            expect_ok(cvp_executor_forward(x, 1));
            expect_ok(cvp_executor_backward(x));
        }
        assert_int_equal(cvp_alloc_calls(), 0);
        cvp_executor_destroy(&x);
        random_graph_destroy(&g);
        convop_engine_destroy(&engine);
    }
}

/* Builds a symbol and binds it. */
static convop_status build_and_bind(convop_engine *engine)
{
    struct cvp_symbol *s = NULL;
    struct cvp_executor *x = NULL;
    struct cvp_entry a, y;
    struct cvp_bind_input input = graph_input("a", 4);
    struct cvp_bind_request request = {"a", CONVOP_REQ_WRITE};
    struct cvp_bind_options o = {.inputs = &input,
                                 .num_inputs = 1,
                                 .requests = &request,
                                 .num_requests = 1,
                                 .engine = engine,
                                 .request = CONVOP_REQ_WRITE};
    const char *key = "factor", *value = "0.25";
    convop_status status = cvp_symbol_create(&s);
    if (status == CONVOP_OK) status = cvp_symbol_variable(s, "a", &a);
    if (status == CONVOP_OK)
        status = cvp_symbol_apply(s, "t_scale", NULL, 1, &key, &value, 1, &a, &y);
    if (status == CONVOP_OK) {
        const int nodes = s->num_nodes, entries = s->num_entries;
        status = cvp_symbol_apply(s, "t_mul", "m", 0, NULL, NULL, 1, &y, &y);
        if (status != CONVOP_OK) {
            assert_int_equal(s->num_nodes, nodes);
            assert_int_equal(s->num_entries, entries);
        }
    }
    if (status == CONVOP_OK)
        status =
            cvp_symbol_apply(s, "t_mul", "n", 0, NULL, NULL, 2, (struct cvp_entry[]){y, y}, &y);
    if (status == CONVOP_OK) status = cvp_symbol_apply(s, "t_tanh", NULL, 0, NULL, NULL, 1, &y, &y);
    if (status == CONVOP_OK) status = cvp_symbol_apply(s, "t_stat", NULL, 0, NULL, NULL, 1, &y, &y);
    if (status == CONVOP_OK) status = cvp_symbol_output(s, y);
    if (status == CONVOP_OK) status = cvp_executor_bind(s, &o, &x);
    if (status == CONVOP_OK) status = cvp_executor_forward(x, 1);
    if (status == CONVOP_OK) status = cvp_executor_backward(x);
    cvp_executor_destroy(&x);
    cvp_symbol_release(&s);
    return status;
}

static void every_allocation_fails(void **state)
{
    (void)state;
    for (int threaded = 0; threaded < 2; threaded++) {
        convop_engine *engine = NULL;
        convop_engine_options o = CONVOP_ENGINE_OPTIONS_INIT;
        o.kind = CONVOP_ENGINE_THREADED;
        o.num_workers = 2;
        if (threaded) expect_ok(convop_engine_create(&o, &engine));
        expect_ok(build_and_bind(engine));
        const uint64_t live = cvp_alloc_live();
        uint64_t n = 1;
        for (;; n++) {
            cvp_alloc_fail_at(n);
            const convop_status status = build_and_bind(engine);
            const int was_reached = cvp_alloc_calls() >= n;
            cvp_alloc_fail_at(0);
            assert_int_equal(cvp_alloc_live(), live);
            assert_int_equal(status, was_reached ? CONVOP_E_NO_MEMORY : CONVOP_OK);
            if (!was_reached) break;
            assert_true(n < 2000);
        }
        assert_true(n > 50);
        expect_ok(build_and_bind(engine));
        convop_engine_destroy(&engine);
    }
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
        cmocka_unit_test(never_overlaps),
        cmocka_unit_test(chain),
        cmocka_unit_test(runs_allocate_nothing),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

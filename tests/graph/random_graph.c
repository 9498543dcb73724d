/* See random_graph.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "random_graph.h"
#include "tests/support/expect.h"

#define MAX_NODES 24

static struct cvp_entry add_random(struct cvp_symbol *s, struct rng *r,
                                   const struct cvp_entry *have, int n)
{
    static const char *const names[] = {"t_add",  "t_add",   "t_mul",   "t_mul", "t_tanh",
                                        "t_tanh", "t_scale", "t_split", "t_stat"};
    const int which = (int)rng_int(r, 0, 8);
    const struct cvp_entry a = have[rng_int(r, 0, n - 1)], b = have[rng_int(r, 0, n - 1)];
    return graph_node(s, names[which], NULL, a, which < 4 ? b : CVP_NO_ENTRY,
                      which == 6 ? "0.75" : NULL);
}

void random_graph_create(struct random_graph *g, struct rng *r)
{
    struct cvp_entry have[2 * MAX_NODES + GRAPH_MAX_ARGS];
    int n = 0;
    memset(g, 0, sizeof *g);
    expect_ok(cvp_symbol_create(&g->symbol));
    g->num_args = (int)rng_int(r, 1, GRAPH_MAX_ARGS);
    for (int i = 0; i < g->num_args; i++) {
        static const convop_request requests[] = {CONVOP_REQ_NULL, CONVOP_REQ_WRITE,
                                                  CONVOP_REQ_WRITE, CONVOP_REQ_ADD};
        snprintf(g->names[i], sizeof g->names[i], "x%d", i);
        have[n++] = graph_variable(g->symbol, g->names[i]);
        g->inputs[i] = graph_input(g->names[i], GRAPH_ELEMENTS);
        g->requests[i] = (struct cvp_bind_request){g->names[i], requests[rng_int(r, 0, 3)]};
    }
    const int nodes = (int)rng_int(r, 1, MAX_NODES);
    for (int i = 0; i < nodes; i++) {
        have[n] = add_random(g->symbol, r, have, n);
        if (g->symbol->nodes[have[n].node]->num_outputs == 2) {
            have[n + 1] = (struct cvp_entry){have[n].node, 1};
            n++;
        }
        n++;
    }
    if (rng_chance(r, 30))
        have[n - 1] = graph_node(g->symbol, "t_total", NULL, have[n - 1], CVP_NO_ENTRY, NULL);
    expect_ok(cvp_symbol_output(g->symbol, have[n - 1]));
    while (rng_chance(r, 60)) expect_ok(cvp_symbol_output(g->symbol, have[rng_int(r, 0, n - 1)]));
    /* Every argument counts, so that bind knows its shape. */
    struct cvp_entry all = have[0];
    for (int i = 1; i < g->num_args; i++)
        all = graph_node(g->symbol, "t_add", NULL, all, have[i], NULL);
    expect_ok(cvp_symbol_output(g->symbol, all));
    g->fill_seed = rng_next(r);
}

void random_graph_destroy(struct random_graph *g)
{
    cvp_symbol_release(&g->symbol);
}

struct cvp_executor *random_graph_bind(const struct random_graph *g, convop_engine *engine,
                                       int no_reuse, const convop_context *context)
{
    struct cvp_bind_options o = {.inputs = g->inputs,
                                 .num_inputs = (size_t)g->num_args,
                                 .requests = g->requests,
                                 .num_requests = (size_t)g->num_args,
                                 .engine = engine,
                                 .no_reuse = no_reuse,
                                 .context = context};
    struct cvp_executor *x = NULL;
    expect_ok(cvp_executor_bind(g->symbol, &o, &x));
    return x;
}

static void fill(const DLTensor *t, struct rng *r)
{
    for (int64_t i = 0; t && i < t->shape[0]; i++) graph_data(t)[i] = rng_real(r, -1, 1);
}

void random_graph_fill(const struct random_graph *g, struct cvp_executor *x)
{
    struct rng r = {g->fill_seed};
    int n, aux;
    const struct cvp_bound *b = cvp_executor_arguments(x, &n);
    (void)cvp_executor_auxiliary(x, &aux);
    for (int i = 0; i < n + aux; i++) {
        fill(b[i].value, &r);
        fill(b[i].gradient, &r);
    }
    for (int i = 0; i < cvp_executor_num_outputs(x); i++) fill(cvp_executor_head(x, i), &r);
}

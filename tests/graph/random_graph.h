/* A random graph of the operators of ops.h: variables x0.., results used any number of times, also
 * twice by one node, and also as outputs, of which one may be there twice, or be a variable. */
#ifndef TEST_RANDOM_GRAPH_H
#define TEST_RANDOM_GRAPH_H

#include "ops.h"
#include "tests/support/rng.h"

#define GRAPH_ELEMENTS 3
#define GRAPH_MAX_ARGS 4

struct random_graph {
    struct cvp_symbol *symbol;
    int num_args;
    char names[GRAPH_MAX_ARGS][16];
    struct cvp_bind_input inputs[GRAPH_MAX_ARGS];
    struct cvp_bind_request requests[GRAPH_MAX_ARGS];
    uint64_t fill_seed; /* of values, old gradients and heads */
};

void random_graph_create(struct random_graph *g, struct rng *r);
void random_graph_destroy(struct random_graph *g);

struct cvp_executor *random_graph_bind(const struct random_graph *g, convop_engine *engine,
                                       int no_reuse, const convop_context *context);

/* Sets arguments, gradients, auxiliary states and heads by fill_seed. */
void random_graph_fill(const struct random_graph *g, struct cvp_executor *x);

#endif

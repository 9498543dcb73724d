/* Small float64 operators for the tests of graphs, registered under names that begin with "t_".
 *
 *     t_add(a, b)  t_mul(a, b)  t_tanh(a)  t_scale(a; factor)  t_split(a) -> 2a, sin a
 *     t_total(a) -> {1}         t_stat(a, moving) -> a, and moving += a when training
 *     t_loss(a, label) -> a, whose gradient is a - label whatever comes from above
 *     t_nograd(a) -> a          t_fail(a) -> a, or an error when told so
 * t_tanh takes scratch and spoils it; t_add, t_tanh and t_scale run in place, forwards or
 * backwards. */
#ifndef TEST_GRAPH_OPS_H
#define TEST_GRAPH_OPS_H

#include "src/graph/executor.h"

void graph_ops_register(void);
void graph_ops_unregister(void);

/* Bit i: t_fail nodes with factor i fail. */
extern _Atomic unsigned graph_ops_fail;

/* A node with inputs a and b (CVP_NO_ENTRY: left out) and, if factor is not NULL, that parameter;
 * fails the test on an error. */
struct cvp_entry graph_node(struct cvp_symbol *s, const char *op, const char *name,
                            struct cvp_entry a, struct cvp_entry b, const char *factor);
struct cvp_entry graph_variable(struct cvp_symbol *s, const char *name);

/* An input of n float64 elements. */
struct cvp_bind_input graph_input(const char *name, int64_t n);

static inline double *graph_data(const DLTensor *t)
{
    return t->data;
}

#endif

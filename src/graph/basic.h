/* The two operators that the gradient pass itself needs. They have no names in the registry. */
#ifndef CVP_GRAPH_BASIC_H
#define CVP_GRAPH_BASIC_H

#include "convop/registry.h"

/* One input, one output of the same shape: a copy, or a sum by request ADD. */
extern const convop_op cvp_graph_copy;

/* No input, one output: zeros. */
extern const convop_op cvp_graph_zeros;

/* What both take as parameters. */
extern const void *const cvp_graph_no_params;

/* Fills a compact tensor of a floating-point type with ones. */
convop_status cvp_graph_fill_ones(const DLTensor *t);

#endif

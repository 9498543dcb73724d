/* Shapes and dtypes of a whole graph. */
#ifndef CVP_GRAPH_INFER_H
#define CVP_GRAPH_INFER_H

#include "src/graph/symbol.h"

/* Completes shapes and types, by entry (cvp_entry_id), which hold what is known: sweeps over the
 * nodes of `order`, forwards and backwards in turn, until nothing changes.
 * INVALID for a contradiction, which names the node ("node conv_3: Convolution: ..."), and if
 * something stays unknown, which names the variables. */
convop_status cvp_graph_infer(const struct cvp_symbol *symbol, const int *order, int count,
                              convop_shape *shapes, DLDataType *types);

#endif

/* The gradient pass: adds the backward steps to a program. */
#ifndef CVP_GRAPH_GRADIENT_H
#define CVP_GRAPH_GRADIENT_H

#include "src/graph/program.h"

/* What is wanted of an argument's gradient. */
struct cvp_want {
    convop_request request; /* NULL, WRITE or ADD */
    int only_if_reached;    /* an argument that no gradient reaches gets none, instead of zeros */
};

/* wants: by node; those of operators and auxiliary states do not count.
 * INVALID, naming node and operator, if a gradient would have to pass an operator that has none. */
convop_status cvp_program_differentiate(struct cvp_program *program, const struct cvp_want *wants);

#endif

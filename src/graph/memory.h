/* The memory plan: which values share a place.
 *
 * A place is a piece of the arena that values hold one after the other: from the step that writes
 * a value first to the last step that touches it. Outputs of the symbol hold theirs to the end. */
#ifndef CVP_GRAPH_MEMORY_H
#define CVP_GRAPH_MEMORY_H

#include "src/graph/program.h"

struct cvp_memory_plan {
    int *place;     /* by value: its place, -1 if it is fixed or never written */
    size_t *offset; /* by place, in the arena; multiples of CVP_BUFFER_ALIGN */
    size_t *size;   /* by place, as its largest value needs */
    int num_places;
    size_t bytes;          /* of the arena */
    size_t bytes_unshared; /* what it would be if every value had its own place */
};

/* Plans by the order of the steps. Where a step may write over an input that dies with it, and no
 * other input lies there, the request becomes INPLACE.
 * reuse 0: every value has its own place, nothing is in place (to compare with). */
convop_status cvp_memory_plan_init(struct cvp_memory_plan *plan, struct cvp_program *program,
                                   int reuse);
void cvp_memory_plan_free(struct cvp_memory_plan *plan);

#endif

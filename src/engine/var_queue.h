/* Who may use a variable: readers together, a writer alone, all in the order of their pushes. A
 * pure data structure: it knows neither threads nor tasks, and allocates nothing. */
#ifndef CVP_ENGINE_VAR_QUEUE_H
#define CVP_ENGINE_VAR_QUEUE_H

#include "convop/base.h"

/* One use of a variable by one task. Lives as long as the use. */
struct cvp_use {
    struct cvp_use *next; /* while it waits; and in the list that leave() returns */
    int writes;
};

/* All zero is a queue that nobody uses. */
struct cvp_var_queue {
    uint64_t version;             /* writes that have left */
    uint64_t entered;             /* writes that have entered */
    int64_t running;              /* readers that may run now; -1: a writer */
    struct cvp_use *first, *last; /* those that wait, oldest first */
};

/* Puts a use in line. 1 if it may go ahead at once, else leave() will name it. */
int cvp_var_queue_enter(struct cvp_var_queue *queue, struct cvp_use *use);

/* A use that may go ahead has ended. Returns those that may go ahead now, linked by next. */
struct cvp_use *cvp_var_queue_leave(struct cvp_var_queue *queue, const struct cvp_use *use);

#endif

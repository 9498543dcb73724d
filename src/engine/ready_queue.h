/* Tasks that can run: the highest priority first, the oldest among equals. Allocates nothing, so
 * that a task that becomes ready cannot fail to be queued. */
#ifndef CVP_ENGINE_READY_QUEUE_H
#define CVP_ENGINE_READY_QUEUE_H

#include "convop/base.h"

/* Embedded in the task. */
struct cvp_ready {
    int priority;
    uint64_t age; /* smaller is older; unique in a queue */
    struct cvp_ready *child, *sibling;
};

/* A pairing heap (Fredman, Sedgewick, Sleator, Tarjan, "The pairing heap", 1986). */
struct cvp_ready_queue {
    struct cvp_ready *top;
};

void cvp_ready_push(struct cvp_ready_queue *queue, struct cvp_ready *ready);

/* NULL if it is empty. */
struct cvp_ready *cvp_ready_pop(struct cvp_ready_queue *queue);

#endif

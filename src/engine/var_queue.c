/* See var_queue.h. A use waits if one waits before it, so a stream of readers starves no writer. */
#include "src/engine/var_queue.h"

#include <stddef.h>

static int may_go(const struct cvp_var_queue *queue, const struct cvp_use *use)
{
    return use->writes ? queue->running == 0 : queue->running >= 0;
}

static void go(struct cvp_var_queue *queue, const struct cvp_use *use)
{
    queue->running = use->writes ? -1 : queue->running + 1;
}

int cvp_var_queue_enter(struct cvp_var_queue *queue, struct cvp_use *use)
{
    use->next = NULL;
    if (use->writes) queue->entered++;
    if (queue->first == NULL && may_go(queue, use)) {
        go(queue, use);
        return 1;
    }
    if (queue->first == NULL) {
        queue->first = use;
    } else {
        queue->last->next = use;
    }
    queue->last = use;
    return 0;
}

struct cvp_use *cvp_var_queue_leave(struct cvp_var_queue *queue, const struct cvp_use *use)
{
    if (use->writes) {
        queue->running = 0;
        queue->version++;
    } else {
        queue->running--;
    }
    struct cvp_use *released = NULL, **end = &released;
    while (queue->first != NULL && may_go(queue, queue->first)) {
        struct cvp_use *next = queue->first;
        queue->first = next->next;
        next->next = NULL;
        go(queue, next);
        *end = next;
        end = &next->next;
    }
    return released;
}

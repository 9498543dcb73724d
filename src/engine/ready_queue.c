/* See ready_queue.h. */
#include "src/engine/ready_queue.h"

#include <stddef.h>

static int goes_before(const struct cvp_ready *a, const struct cvp_ready *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->age < b->age;
}

static struct cvp_ready *meld(struct cvp_ready *a, struct cvp_ready *b)
{
    if (a == NULL) return b;
    if (b == NULL) return a;
    if (goes_before(b, a)) {
        struct cvp_ready *swap = a;
        a = b;
        b = swap;
    }
    b->sibling = a->child;
    a->child = b;
    return a;
}

void cvp_ready_push(struct cvp_ready_queue *queue, struct cvp_ready *ready)
{
    ready->child = ready->sibling = NULL;
    queue->top = meld(queue->top, ready);
}

struct cvp_ready *cvp_ready_pop(struct cvp_ready_queue *queue)
{
    struct cvp_ready *top = queue->top;
    if (top == NULL) return NULL;
    /* Pairs from left to right, kept in a list that is then melded from right to left: without
     * recursion, for a heap may have as many children as there are tasks. */
    struct cvp_ready *pairs = NULL;
    for (struct cvp_ready *a = top->child; a != NULL;) {
        struct cvp_ready *b = a->sibling;
        struct cvp_ready *rest = b != NULL ? b->sibling : NULL;
        a->sibling = NULL;
        if (b != NULL) b->sibling = NULL;
        struct cvp_ready *pair = meld(a, b);
        pair->sibling = pairs;
        pairs = pair;
        a = rest;
    }
    struct cvp_ready *melded = NULL;
    while (pairs != NULL) {
        struct cvp_ready *rest = pairs->sibling;
        pairs->sibling = NULL;
        melded = meld(melded, pairs);
        pairs = rest;
    }
    queue->top = melded;
    return top;
}

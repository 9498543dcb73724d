/* What a symbol says of itself: the order of its nodes, and its names. */
#include <stdio.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/graph/symbol.h"

/* A node that is being walked, and which input comes next. */
struct walk {
    int node, next;
};

/* Depth first from one node, without recursion: a network may be thousands of nodes deep. */
static void visit(const struct cvp_symbol *symbol, int root, unsigned char *seen,
                  struct walk *stack, int *order, int *count)
{
    int depth = 0;
    if (seen[root]) return;
    seen[root] = 1;
    stack[depth++] = (struct walk){root, 0};
    while (depth > 0) {
        struct walk *top = &stack[depth - 1];
        const struct cvp_node *node = symbol->nodes[top->node];
        if (top->next == node->num_inputs) {
            order[(*count)++] = top->node;
            depth--;
            continue;
        }
        int input = node->inputs[top->next++].node;
        if (seen[input]) continue;
        seen[input] = 1;
        stack[depth++] = (struct walk){input, 0};
    }
}

convop_status cvp_symbol_order(const struct cvp_symbol *symbol, int *order, int *count)
{
    size_t n = (size_t)symbol->num_nodes;
    *count = 0;
    struct walk *stack = cvp_calloc(n + 1, sizeof *stack + 1);
    if (!stack) return convop_fail(CONVOP_E_NO_MEMORY, "symbol: no memory to order %zu nodes", n);
    unsigned char *seen = (unsigned char *)(stack + n + 1);
    for (int i = 0; i < symbol->num_outputs; i++)
        visit(symbol, symbol->outputs[i].node, seen, stack, order, count);
    cvp_free(stack);
    return CONVOP_OK;
}

convop_status cvp_symbol_list(const struct cvp_symbol *symbol, enum cvp_list what,
                              const char ***names, int *count)
{
    size_t n = (size_t)symbol->num_nodes + 1;
    int num_ordered;
    *names = NULL;
    *count = 0;
    int *order = cvp_malloc(n * sizeof *order);
    const char **list = cvp_malloc(n * sizeof *list);
    convop_status status =
        order && list ? cvp_symbol_order(symbol, order, &num_ordered)
                      : convop_fail(CONVOP_E_NO_MEMORY, "symbol: no memory for %zu names", n);
    if (status == CONVOP_OK) {
        for (int i = 0; i < num_ordered; i++) {
            const struct cvp_node *node = symbol->nodes[order[i]];
            if (!node->op && node->is_auxiliary == (what == CVP_AUXILIARY))
                list[(*count)++] = node->name;
        }
        *names = list;
        list = NULL;
    }
    cvp_free(list);
    cvp_free(order);
    return status;
}

size_t cvp_symbol_output_name(const struct cvp_symbol *symbol, int index, char *text, size_t size)
{
    struct cvp_entry e = symbol->outputs[index];
    const struct cvp_node *node = symbol->nodes[e.node];
    if (!node->op) return (size_t)snprintf(text, size, "%s", node->name);
    const char *name = node->op->outputs[e.index].name;
    int is_first = e.index == 0 || strcmp(name, "dst") == 0;
    return (size_t)snprintf(text, size, "%s_%s", node->name, is_first ? "output" : name);
}

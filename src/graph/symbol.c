/* Building a symbol. Every call leaves it as it was if it fails. */
#include "src/graph/symbol.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/operator/call.h"
#include "src/registry/registry_internal.h"

/* Longest name of a node, so that error texts have room for it. */
#define MAX_NAME 255

convop_status cvp_node_fail(convop_status status, const char *what, const char *name)
{
    char text[1024];
    snprintf(text, sizeof text, "%s", convop_last_error());
    return convop_fail(status, "%s %s: %s", what, name, text);
}

static convop_status no_memory(const char *name)
{
    return convop_fail(CONVOP_E_NO_MEMORY, "node %s: no memory for it", name);
}

convop_status cvp_symbol_create(struct cvp_symbol **out)
{
    *out = cvp_calloc(1, sizeof **out);
    if (!*out) return convop_fail(CONVOP_E_NO_MEMORY, "symbol: no memory");
    atomic_init(&(*out)->references, 1);
    return CONVOP_OK;
}

struct cvp_symbol *cvp_symbol_retain(struct cvp_symbol *symbol)
{
    atomic_fetch_add_explicit(&symbol->references, 1, memory_order_relaxed);
    return symbol;
}

static void free_node(struct cvp_node *node)
{
    convop_op_release(&node->op);
    cvp_free(node->params);
    cvp_free(node->keys);
    cvp_free(node->inputs);
    cvp_free(node->name);
    cvp_free(node);
}

/* Takes back the nodes from `count` on. */
static void drop_nodes(struct cvp_symbol *symbol, int count)
{
    while (symbol->num_nodes > count) {
        struct cvp_node *node = symbol->nodes[--symbol->num_nodes];
        symbol->num_entries -= node->num_outputs;
        free_node(node);
    }
}

void cvp_symbol_release(struct cvp_symbol **symbol)
{
    if (!symbol || !*symbol) return;
    struct cvp_symbol *s = *symbol;
    *symbol = NULL;
    if (atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) > 1) return;
    drop_nodes(s, 0);
    cvp_free(s->nodes);
    cvp_free(s->outputs);
    cvp_free(s);
}

int cvp_symbol_find(const struct cvp_symbol *symbol, const char *name)
{
    for (int i = 0; i < symbol->num_nodes; i++)
        if (strcmp(symbol->nodes[i]->name, name) == 0) return i;
    return -1;
}

/* Room for one more element of `size` bytes. 0 without memory. */
static int grow(void **array, int count, int *room, size_t size)
{
    if (count < *room) return 1;
    int more = *room ? 2 * *room : 16;
    void *at = cvp_realloc(*array, (size_t)more * size);
    if (!at) return 0;
    *array = at;
    *room = more;
    return 1;
}

/* Checks the name and makes a node that has nothing but it, not yet part of the symbol. */
static convop_status new_node(const struct cvp_symbol *symbol, const char *name,
                              struct cvp_node **out)
{
    if (!name || !name[0]) return convop_fail(CONVOP_E_INVALID, "symbol: the name is empty");
    if (strlen(name) > MAX_NAME)
        return convop_fail(CONVOP_E_INVALID, "symbol: a name of %zu characters, allowed is %d",
                           strlen(name), MAX_NAME);
    if (cvp_symbol_find(symbol, name) >= 0)
        return convop_fail(CONVOP_E_INVALID, "node %s: another node has this name", name);
    struct cvp_node *node = cvp_calloc(1, sizeof *node);
    if (node) node->name = cvp_strdup(name);
    if (!node || !node->name) {
        cvp_free(node);
        return no_memory(name);
    }
    *out = node;
    return CONVOP_OK;
}

/* Takes the node over, unless it fails. */
static convop_status append(struct cvp_symbol *symbol, struct cvp_node *node, int num_outputs)
{
    void *nodes = symbol->nodes;
    if (!grow(&nodes, symbol->num_nodes, &symbol->nodes_room, sizeof(struct cvp_node *)))
        return no_memory(node->name);
    symbol->nodes = nodes;
    symbol->nodes[symbol->num_nodes++] = node;
    node->first_entry = symbol->num_entries;
    node->num_outputs = num_outputs;
    symbol->num_entries += num_outputs;
    return CONVOP_OK;
}

convop_status cvp_symbol_variable(struct cvp_symbol *symbol, const char *name,
                                  struct cvp_entry *out)
{
    struct cvp_node *node;
    CVP_RETURN_IF_ERROR(new_node(symbol, name, &node));
    convop_status status = append(symbol, node, 1);
    if (status != CONVOP_OK) {
        free_node(node);
        return status;
    }
    *out = (struct cvp_entry){symbol->num_nodes - 1, 0};
    return CONVOP_OK;
}

/* ---- operator nodes ------------------------------------------------------------------------- */

/* The parameters as text, kept in one block with the two arrays. */
static int keep_text(struct cvp_node *node, size_t n, const char *const *keys,
                     const char *const *values)
{
    size_t bytes = 2 * n * sizeof(char *);
    for (size_t i = 0; i < n; i++) bytes += strlen(keys[i]) + strlen(values[i]) + 2;
    node->keys = cvp_malloc(bytes ? bytes : 1);
    if (!node->keys) return 0;
    node->values = node->keys + n;
    node->num_params = n;
    char *at = (char *)(node->values + n);
    for (size_t i = 0; i < 2 * n; i++) {
        const char *from = i < n ? keys[i] : values[i - n];
        size_t size = strlen(from) + 1;
        node->keys[i] = memcpy(at, from, size);
        at += size;
    }
    return 1;
}

static convop_status set_operator(struct cvp_node *node, const char *op, size_t n,
                                  const char *const *keys, const char *const *values)
{
    CVP_RETURN_IF_ERROR(convop_op_find(op, &node->op));
    node->params = cvp_calloc(1, node->op->params_size ? node->op->params_size : 1);
    if (!node->params) return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory", op);
    CVP_RETURN_IF_ERROR(
        convop_params_parse(node->op, n, keys, values, node->params, node->op->params_size));
    if (!keep_text(node, n, keys, values))
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory", op);
    int num_inputs = cvp_op_num_inputs(node->op, node->params);
    if (num_inputs > CVP_MAX_ARGS || cvp_op_num_outputs(node->op, node->params) > CVP_MAX_ARGS)
        return convop_fail(CONVOP_E_UNSUPPORTED, "%s: more than %d inputs or outputs", op,
                           CVP_MAX_ARGS);
    node->inputs = cvp_calloc((size_t)num_inputs + 1, sizeof *node->inputs);
    if (!node->inputs) return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory", op);
    node->num_inputs = num_inputs;
    return CONVOP_OK;
}

/* What MXNet calls this argument. */
static const char *argument_name(const char *name)
{
    return strcmp(name, "weights") == 0 ? "weight" : strcmp(name, "src") == 0 ? "data" : name;
}

static convop_status add_input_variable(struct cvp_symbol *symbol, const char *node,
                                        const char *argument, struct cvp_entry *out)
{
    char name[2 * MAX_NAME];
    snprintf(name, sizeof name, "%s_%s", node, argument_name(argument));
    return cvp_symbol_variable(symbol, name, out);
}

/* Checks what is given and makes variables of the rest. */
static convop_status set_inputs(struct cvp_symbol *symbol, struct cvp_node *node, int given,
                                const struct cvp_entry *inputs)
{
    const convop_op *op = node->op;
    const int num_before = symbol->num_nodes;
    if (given < 0 || given > node->num_inputs)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %d inputs were given, with these parameters it takes %d", op->name,
                           given, node->num_inputs);
    for (int i = 0; i < node->num_inputs; i++) {
        struct cvp_entry e = i < given ? inputs[i] : CVP_NO_ENTRY;
        if (e.node < 0) {
            CVP_RETURN_IF_ERROR(
                add_input_variable(symbol, node->name, op->inputs[i].name, &node->inputs[i]));
            continue;
        }
        if (e.node >= num_before || e.index < 0 || e.index >= symbol->nodes[e.node]->num_outputs)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: input %s is output %d of node number %d, which there is not",
                               op->name, op->inputs[i].name, e.index, e.node);
        if ((op->mutated_inputs >> i & 1) && symbol->nodes[e.node]->op)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: it writes input %s, which must be a variable and not the "
                               "result of %s",
                               op->name, op->inputs[i].name, symbol->nodes[e.node]->name);
        node->inputs[i] = e;
    }
    return CONVOP_OK;
}

/* The operator's name in lower case and the first number that is free. */
static const char *default_name(const struct cvp_symbol *symbol, const char *op, char *text,
                                size_t size)
{
    for (int i = 0;; i++) {
        snprintf(text, size, "%.200s%d", op, i);
        for (char *c = text; *c; c++) *c = (char)tolower((unsigned char)*c);
        if (cvp_symbol_find(symbol, text) < 0) return text;
    }
}

convop_status cvp_symbol_apply(struct cvp_symbol *symbol, const char *op, const char *name,
                               size_t num_params, const char *const *keys,
                               const char *const *values, int num_inputs,
                               const struct cvp_entry *inputs, struct cvp_entry *out)
{
    char text[MAX_NAME + 1];
    if (!op) return convop_fail(CONVOP_E_INVALID, "symbol: op is NULL");
    if (!name) name = default_name(symbol, op, text, sizeof text);
    int before = symbol->num_nodes;
    struct cvp_node *node;
    CVP_RETURN_IF_ERROR(new_node(symbol, name, &node));
    convop_status status = set_operator(node, op, num_params, keys, values);
    if (status == CONVOP_OK) status = set_inputs(symbol, node, num_inputs, inputs);
    if (status == CONVOP_OK)
        status = append(symbol, node, cvp_op_num_outputs(node->op, node->params));
    if (status != CONVOP_OK) {
        status = cvp_node_fail(status, "node", node->name);
        drop_nodes(symbol, before);
        free_node(node);
        return status;
    }
    for (int i = 0; i < node->num_inputs; i++)
        if (node->op->mutated_inputs >> i & 1)
            symbol->nodes[node->inputs[i].node]->is_auxiliary = 1;
    *out = (struct cvp_entry){symbol->num_nodes - 1, 0};
    return CONVOP_OK;
}

convop_status cvp_symbol_output(struct cvp_symbol *symbol, struct cvp_entry e)
{
    if (e.node < 0 || e.node >= symbol->num_nodes || e.index < 0 ||
        e.index >= symbol->nodes[e.node]->num_outputs)
        return convop_fail(CONVOP_E_INVALID,
                           "symbol: output %d of node number %d is to be an output, but there are "
                           "%d nodes",
                           e.index, e.node, symbol->num_nodes);
    void *outputs = symbol->outputs;
    if (!grow(&outputs, symbol->num_outputs, &symbol->outputs_room, sizeof e))
        return no_memory(symbol->nodes[e.node]->name);
    symbol->outputs = outputs;
    symbol->outputs[symbol->num_outputs++] = e;
    return CONVOP_OK;
}

/* A symbol: a graph of operators as it is written down, before shapes and memory. Nodes are
 * variables and operators; a node may use only nodes made before it, so there are no cycles.
 *
 * An input that is left out becomes a variable <node>_<argument>, under the name that MXNet gives
 * it (weights: _weight, src: _data), so that saved parameters keep their names. A variable that an
 * operator writes (running statistics) is an auxiliary state; the other variables are arguments.
 *
 * Threads: building is for one thread at a time; what is built may be read from many. */
#ifndef CVP_GRAPH_SYMBOL_H
#define CVP_GRAPH_SYMBOL_H

#include <stdatomic.h>

#include "convop/registry.h"

/* An output of a node. node -1: none. */
struct cvp_entry {
    int node, index;
};

#define CVP_NO_ENTRY ((struct cvp_entry){-1, 0})

struct cvp_node {
    char *name;
    const convop_op *op; /* a reference; NULL: a variable */
    void *params;        /* the operator's typed struct, checked */
    size_t num_params;   /* the same as text, as given */
    char **keys, **values;
    struct cvp_entry *inputs;
    int num_inputs, num_outputs; /* a variable has one output: itself */
    int first_entry;             /* entries of all nodes are numbered through */
    int is_auxiliary;
};

struct cvp_symbol {
    atomic_size_t references;
    struct cvp_node **nodes;
    int num_nodes, nodes_room;
    int num_entries;
    struct cvp_entry *outputs;
    int num_outputs, outputs_room;
};

enum cvp_list { CVP_ARGUMENTS, CVP_AUXILIARY };

/* An empty symbol with one reference. */
convop_status cvp_symbol_create(struct cvp_symbol **out);
struct cvp_symbol *cvp_symbol_retain(struct cvp_symbol *symbol);
/* Drops a reference and sets *symbol to NULL. Accepts NULL. */
void cvp_symbol_release(struct cvp_symbol **symbol);

/* A variable of that name. INVALID if the name is empty or taken. */
convop_status cvp_symbol_variable(struct cvp_symbol *symbol, const char *name,
                                  struct cvp_entry *out);

/* An operator node; *out is its first output, the others follow by index.
 * name NULL: the operator's name in lower case and a number. inputs: up to as many as the operator
 * takes with these parameters; those left out, or CVP_NO_ENTRY, become variables.
 * On failure the symbol is as it was, and the text names the node. */
convop_status cvp_symbol_apply(struct cvp_symbol *symbol, const char *op, const char *name,
                               size_t num_params, const char *const *keys,
                               const char *const *values, int num_inputs,
                               const struct cvp_entry *inputs, struct cvp_entry *out);

/* Adds an output. What no output needs is never computed. */
convop_status cvp_symbol_output(struct cvp_symbol *symbol, struct cvp_entry entry);

/* The node of that name, -1 if there is none. */
int cvp_symbol_find(const struct cvp_symbol *symbol, const char *name);

/* The nodes that the outputs need, inputs before users, in MXNet's order: depth first, inputs from
 * left to right. order: room for num_nodes. */
convop_status cvp_symbol_order(const struct cvp_symbol *symbol, int *order, int *count);

/* The names of arguments or auxiliary states in that order. *names is freed by cvp_free, the names
 * are the symbol's. */
convop_status cvp_symbol_list(const struct cvp_symbol *symbol, enum cvp_list what,
                              const char ***names, int *count);

/* The name of output `index` as MXNet writes it: conv_output. Returns the length, as snprintf. */
size_t cvp_symbol_output_name(const struct cvp_symbol *symbol, int index, char *text, size_t size);

/* Puts "node <name>: " in front of this thread's error text. Returns status. */
convop_status cvp_node_fail(convop_status status, const char *what, const char *name);

static inline int cvp_entry_id(const struct cvp_symbol *symbol, struct cvp_entry entry)
{
    return symbol->nodes[entry.node]->first_entry + entry.index;
}

#endif

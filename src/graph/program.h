/* A program: what an executor runs, as steps over values. Forward steps are the symbol's nodes;
 * backward steps compute gradients. Each step writes its outputs by the requests it has, so that
 * several gradients of one value are summed by ADD into one place, in the order of the steps. */
#ifndef CVP_GRAPH_PROGRAM_H
#define CVP_GRAPH_PROGRAM_H

#include "src/graph/symbol.h"
#include "src/operator/call.h"

enum cvp_value_kind {
    CVP_VALUE_VARIABLE, /* an argument or an auxiliary state */
    CVP_VALUE_RESULT,   /* an output of an operator node */
    CVP_VALUE_HEAD,     /* the gradient by an output of the symbol, which the caller gives */
    CVP_VALUE_GRADIENT, /* the gradient by an argument, which the caller gets */
    CVP_VALUE_PARTIAL   /* any other gradient */
};

/* A tensor of the program. Values 0..num_entries-1 are the symbol's entries. */
struct cvp_value {
    enum cvp_value_kind kind;
    int entry; /* the entry that it is, or is a gradient by; -1: no output needs it */
    int is_output;
    int is_constant; /* see cvp_program_set_constants */
    size_t bytes;
};

struct cvp_step {
    const convop_op *op;
    const void *params;
    int node; /* the node that it is, or belongs to the gradient of */
    int is_backward;
    int owns; /* op is a reference and params is freed with the step */
    int num_inputs, num_outputs;
    int inputs[CVP_MAX_ARGS];
    int outputs[CVP_MAX_ARGS]; /* -1 where the request is NULL */
    convop_request requests[CVP_MAX_ARGS];
};

struct cvp_program {
    const struct cvp_symbol *symbol; /* borrowed */
    int *order;                      /* the nodes that count, inputs first */
    int num_ordered;
    convop_shape *shapes; /* by entry */
    DLDataType *types;
    struct cvp_value *values;
    int num_values, values_room;
    struct cvp_step *steps;
    int num_steps, num_forward, steps_room;
    int num_constant; /* the first steps, which read constants alone */
    int *gradients;   /* by node: the value that is the gradient by this argument, or -1 */
    int *heads;       /* by output of the symbol: its gradient, or -1 if none is used */
};

/* 1 if it has memory of its own as long as the executor lives. */
static inline int cvp_value_is_fixed(const struct cvp_value *value)
{
    return value->kind == CVP_VALUE_VARIABLE || value->kind == CVP_VALUE_HEAD ||
           value->kind == CVP_VALUE_GRADIENT;
}

/* Orders the symbol and adds the forward steps. shapes and types: by entry, what is known; they are
 * completed. On failure what is there must still be freed. */
convop_status cvp_program_init(struct cvp_program *program, const struct cvp_symbol *symbol,
                               const convop_shape *shapes, const DLDataType *types);
/* For inference: variables that are no inputs, and that no step writes, are constant, and so is
 * what steps compute from constants alone; these steps become the first. is_input: by node. */
convop_status cvp_program_set_constants(struct cvp_program *program, const unsigned char *is_input);
void cvp_program_free(struct cvp_program *program);

/* A new value, in bytes like the entry. */
convop_status cvp_program_value(struct cvp_program *program, enum cvp_value_kind kind, int entry,
                                int *out);

/* A new step with everything but op, node and is_backward to be filled. */
convop_status cvp_program_step(struct cvp_program *program, const convop_op *op, int node,
                               struct cvp_step **out);

#endif

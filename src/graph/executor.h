/* An executor: a symbol bound to shapes, memory and prepared operators, to be run many times.
 *
 * Each node is a task of an engine, with a variable for each place in memory; so tasks that do not
 * depend on each other may overlap, and any kind of engine gives the same bits. forward() and
 * backward() wait until all has been done; they allocate nothing. The loops inside an operator run
 * on the context's threads, whatever the engine.
 *
 * Threads: an executor is for one thread at a time, and not for use in a task of its own engine. */
#ifndef CVP_GRAPH_EXECUTOR_H
#define CVP_GRAPH_EXECUTOR_H

#include "convop/engine.h"
#include "src/graph/symbol.h"

struct cvp_executor;

/* The shape and dtype of an argument that the caller feeds. Unknown sizes (-1), ndim -1 and
 * bits 0 are allowed where they follow from the rest. */
struct cvp_bind_input {
    const char *name;
    convop_shape shape;
    DLDataType dtype;
};

struct cvp_bind_request {
    const char *name;
    convop_request request;
};

struct cvp_bind_options {
    const struct cvp_bind_input *inputs; /* also of parameters and auxiliary states, if need be */
    size_t num_inputs;
    /* For arguments that are not in `inputs`, if a gradient reaches them: NULL, WRITE or ADD. */
    convop_request request;
    /* For arguments by name, before the above. Where no gradient arrives it is zero. */
    const struct cvp_bind_request *requests;
    size_t num_requests;
    const convop_context *context; /* kept; NULL: the process default */
    convop_engine *engine;         /* kept; NULL: one of its own, which runs all tasks in the
                                      caller's thread */
    int no_reuse;                  /* every value has its own memory: to compare with */
    /* 1: forward() is for inference alone (is_train 0), and variables that are no inputs are
     * constant: the first forward computes once what follows from them alone, and packs them. There
     * are no gradients. After writing to them: cvp_executor_update(). */
    int for_inference;
    int no_fuse; /* for_inference: leave the symbol as it is (src/graph/fuse.h): to compare with */
};

/* An argument or an auxiliary state. The tensors are compact and 64-byte aligned; their elements
 * are the caller's to read and write between runs. Zeros at first. */
struct cvp_bound {
    const char *name;
    DLTensor *value;
    DLTensor *gradient; /* NULL: not computed */
    convop_request request;
    int is_input; /* it was in the inputs of bind */
};

/* A step that has been run. */
struct cvp_trace {
    const char *node, *op;
    int is_backward;
    double ms;
};
typedef void cvp_trace_function(void *user, const struct cvp_trace *trace);

struct cvp_executor_usage {
    size_t fixed_bytes;            /* arguments, auxiliary states and their gradients */
    size_t planned_bytes;          /* the arena for what is between */
    size_t planned_unshared_bytes; /* what it would be without reuse */
    size_t workspace_bytes;        /* of all lanes */
    int num_steps, num_inplace, num_places;
};

/* Infers, differentiates, plans memory, allocates, and prepares every operator. Holds a reference
 * to the symbol, which may not be built further meanwhile.
 * @return INVALID, with a text that names node or argument; UNSUPPORTED, NO_MEMORY. *out is NULL */
convop_status cvp_executor_bind(struct cvp_symbol *symbol, const struct cvp_bind_options *options,
                                struct cvp_executor **out);
/* Frees *executor and sets it to NULL. Accepts NULL. */
void cvp_executor_destroy(struct cvp_executor **executor);

/* In MXNet's order. */
const struct cvp_bound *cvp_executor_arguments(const struct cvp_executor *x, int *count);
const struct cvp_bound *cvp_executor_auxiliary(const struct cvp_executor *x, int *count);
/* By name, of both. NULL: there is none. */
const struct cvp_bound *cvp_executor_find(const struct cvp_executor *x, const char *name);

int cvp_executor_num_outputs(const struct cvp_executor *x);
/* Valid until the next run. */
const DLTensor *cvp_executor_output(const struct cvp_executor *x, int index);
/* The gradient by an output, ones at first; NULL where backward() does not read it (a loss). */
DLTensor *cvp_executor_head(const struct cvp_executor *x, int index);

void cvp_executor_usage(const struct cvp_executor *x, struct cvp_executor_usage *usage);

/* Is called after each step with its time; with a threaded engine from its threads. NULL: off. */
void cvp_executor_set_trace(struct cvp_executor *x, cvp_trace_function *trace, void *user);

/* Constants of an executor for inference were written to: the next forward reads them anew. */
void cvp_executor_update(struct cvp_executor *x);

/* The first forward of an executor for inference, and that after an update, allocates.
 * @return what the operator said, after the name of the node: of several that fail, always the
 *         first in the order of the nodes. Outputs, auxiliary states and gradients with request ADD
 *         may then be written in part; the executor is ready for the next forward. STATE if called
 *         from a task of the engine, or to train with an executor for inference */
convop_status cvp_executor_forward(struct cvp_executor *x, int is_train);

/* Gradients of the last forward, which must have been to train. Once for each forward: it writes
 * over what that has left.
 * @return as forward; STATE without such a forward or without gradients */
convop_status cvp_executor_backward(struct cvp_executor *x);

#endif

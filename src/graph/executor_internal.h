/* What bind.c and executor.c share. */
#ifndef CVP_GRAPH_EXECUTOR_INTERNAL_H
#define CVP_GRAPH_EXECUTOR_INTERNAL_H

#include <pthread.h>

#include "src/engine/prepared.h"
#include "src/graph/executor.h"
#include "src/graph/memory.h"

/* Steps that may run at once with scratch. More would cost memory and find no free core. */
#define CVP_MAX_SCRATCH_LANES 8

struct cvp_tensor {
    DLTensor tensor;
    int64_t shape[CONVOP_MAX_DIMS];
};

/* A step with all that it needs to run. */
struct cvp_executor_step {
    struct cvp_executor *executor;
    int index;
    struct cvp_call call;
    const DLTensor *inputs[CVP_MAX_ARGS];
    DLTensor *outputs[CVP_MAX_ARGS];
    void *plan;
    int is_planned; /* the plan must be ended */
    size_t workspace_bytes;
    int lane;
    struct cvp_task *task;
};

/* Scratch for the steps that are assigned to it, one at a time. */
struct cvp_scratch_lane {
    void *memory;
    size_t bytes;
    convop_var var;
};

struct cvp_executor {
    struct cvp_symbol *symbol;
    const convop_context *context;
    convop_engine *engine;
    int owns_engine;
    struct cvp_program program;
    struct cvp_memory_plan plan;
    struct cvp_tensor *tensors; /* by value */
    convop_var *vars;           /* by value; values in one place have the same */
    convop_var *place_vars;     /* by place */
    void *fixed, *arena;
    size_t fixed_bytes;
    struct cvp_executor_step *steps;
    struct cvp_scratch_lane lanes[CVP_MAX_SCRATCH_LANES];
    int num_lanes;
    /* Every step reads it and the last task of a run writes it; so that one has run when all have.
     */
    convop_var done;
    struct cvp_task *finish;
    struct cvp_bound *bound; /* arguments, then auxiliary states */
    int num_arguments, num_auxiliary;

    int for_inference, is_fixed; /* the second: nothing of what follows from constants is open */
    int is_trained_forward;      /* the last run was a forward to train that succeeded */
    cvp_trace_function *trace;
    void *trace_user;

    /* The failure of the step with the lowest index: such a step never depends on one that has
     * failed, so it always runs, and the answer does not depend on the engine. The lock guards
     * status and text; failed is INT_MAX while all is well. */
    pthread_mutex_t lock;
    atomic_int failed;
    convop_status status;
    char text[1024];
};

/* The run function of the task of a step; user is the step. Answers OK to the engine, which would
 * else keep the error on variables that are only ever updated. */
convop_status cvp_executor_run_step(void *user);

/* The parts of bind, in this order. */
convop_status cvp_executor_set_tensors(struct cvp_executor *x); /* shapes, without memory */
convop_status cvp_executor_allocate(struct cvp_executor *x);    /* all but scratch */
convop_status cvp_executor_prepare(struct cvp_executor *x);     /* steps, planned */
convop_status cvp_executor_allocate_lanes(struct cvp_executor *x);
convop_status cvp_executor_create_tasks(struct cvp_executor *x);

/* Runs steps [begin, end) and waits for them. */
convop_status cvp_executor_run_steps(struct cvp_executor *x, int begin, int end, int is_train);

/* Computes what follows from constants alone, and plans the other steps with them. */
convop_status cvp_executor_fix(struct cvp_executor *x);

convop_status cvp_executor_no_memory(const char *what, size_t bytes);

#endif

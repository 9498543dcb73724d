/* Running what bind.c has prepared. */
#include "src/graph/executor.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "src/common/clock.h"
#include "src/common/status.h"
#include "src/graph/executor_internal.h"

static const struct cvp_node *node_of(const struct cvp_executor_step *s)
{
    const struct cvp_program *p = &s->executor->program;
    return p->symbol->nodes[p->steps[s->index].node];
}

static void record(struct cvp_executor_step *s, convop_status status)
{
    struct cvp_executor *x = s->executor;
    pthread_mutex_lock(&x->lock);
    if (s->index < atomic_load(&x->failed)) {
        x->status = status;
        snprintf(x->text, sizeof x->text, "%s %s: %s",
                 x->program.steps[s->index].is_backward ? "gradient of node" : "node",
                 node_of(s)->name, convop_last_error());
        atomic_store(&x->failed, s->index);
    }
    pthread_mutex_unlock(&x->lock);
}

convop_status cvp_executor_run_step(void *user)
{
    struct cvp_executor_step *s = user;
    struct cvp_executor *x = s->executor;
    if (s->index > atomic_load(&x->failed)) return CONVOP_OK;
    const convop_op *op = s->call.op;
    const double start = x->trace ? cvp_now_ms() : 0;
    convop_status status =
        cvp_call_compute(&s->call, s->plan, s->workspace_bytes ? x->lanes[s->lane].memory : NULL);
    if (status != CONVOP_OK) {
        record(s, status);
    } else if (x->trace) {
        struct cvp_trace trace = {node_of(s)->name, op->name,
                                  x->program.steps[s->index].is_backward, cvp_now_ms() - start};
        x->trace(x->trace_user, &trace);
    }
    return CONVOP_OK;
}

convop_status cvp_executor_run_steps(struct cvp_executor *x, int begin, int end, int is_train)
{
    if (cvp_engine_is_inside(x->engine))
        return convop_fail(CONVOP_E_STATE,
                           "executor: called from a task of its engine, which would wait for "
                           "itself");
    atomic_store(&x->failed, INT_MAX);
    convop_status status = CONVOP_OK;
    for (int i = begin; i < end && status == CONVOP_OK; i++) {
        x->steps[i].call.args.is_train = is_train;
        status = cvp_prepared_push(x->engine, x->steps[i].task);
    }
    if (status == CONVOP_OK) status = cvp_prepared_push(x->engine, x->finish);
    if (status == CONVOP_OK) status = convop_engine_wait(x->engine, x->done);
    if (status != CONVOP_OK) return status; /* a forked child */
    if (atomic_load(&x->failed) == INT_MAX) return CONVOP_OK;
    return convop_fail(x->status, "%s", x->text);
}

convop_status cvp_executor_forward(struct cvp_executor *x, int is_train)
{
    x->is_trained_forward = 0;
    if (x->for_inference && is_train)
        return convop_fail(CONVOP_E_STATE, "executor: it was bound for inference, not to train");
    if (x->for_inference && !x->is_fixed) CVP_RETURN_IF_ERROR(cvp_executor_fix(x));
    CVP_RETURN_IF_ERROR(
        cvp_executor_run_steps(x, x->program.num_constant, x->program.num_forward, is_train != 0));
    x->is_trained_forward = is_train != 0;
    return CONVOP_OK;
}

convop_status cvp_executor_backward(struct cvp_executor *x)
{
    if (x->program.num_steps == x->program.num_forward)
        return convop_fail(CONVOP_E_STATE, "executor: it was bound without gradients");
    if (!x->is_trained_forward)
        return convop_fail(CONVOP_E_STATE,
                           "executor: backward needs a forward to train right before it");
    x->is_trained_forward = 0;
    return cvp_executor_run_steps(x, x->program.num_forward, x->program.num_steps, 1);
}

void cvp_executor_update(struct cvp_executor *x)
{
    x->is_fixed = 0;
}

/* ---- views ---------------------------------------------------------------------------------- */

const struct cvp_bound *cvp_executor_arguments(const struct cvp_executor *x, int *count)
{
    *count = x->num_arguments;
    return x->bound;
}

const struct cvp_bound *cvp_executor_auxiliary(const struct cvp_executor *x, int *count)
{
    *count = x->num_auxiliary;
    return x->bound + x->num_arguments;
}

const struct cvp_bound *cvp_executor_find(const struct cvp_executor *x, const char *name)
{
    for (int i = 0; i < x->num_arguments + x->num_auxiliary; i++)
        if (strcmp(x->bound[i].name, name) == 0) return &x->bound[i];
    return NULL;
}

int cvp_executor_num_outputs(const struct cvp_executor *x)
{
    return x->symbol->num_outputs;
}

const DLTensor *cvp_executor_output(const struct cvp_executor *x, int index)
{
    if (index < 0 || index >= x->symbol->num_outputs) return NULL;
    return &x->tensors[cvp_entry_id(x->symbol, x->symbol->outputs[index])].tensor;
}

DLTensor *cvp_executor_head(const struct cvp_executor *x, int index)
{
    if (index < 0 || index >= x->symbol->num_outputs || x->program.heads[index] < 0) return NULL;
    return &x->tensors[x->program.heads[index]].tensor;
}

void cvp_executor_usage(const struct cvp_executor *x, struct cvp_executor_usage *usage)
{
    *usage = (struct cvp_executor_usage){
        .fixed_bytes = x->fixed_bytes,
        .planned_bytes = x->plan.bytes,
        .planned_unshared_bytes = x->plan.bytes_unshared,
        .num_steps = x->program.num_steps,
        .num_places = x->plan.num_places,
    };
    for (int i = 0; i < x->num_lanes; i++) usage->workspace_bytes += x->lanes[i].bytes;
    for (int i = 0; i < x->program.num_steps; i++)
        for (int k = 0; k < x->program.steps[i].num_outputs; k++)
            usage->num_inplace += x->program.steps[i].requests[k] == CONVOP_REQ_INPLACE;
}

void cvp_executor_set_trace(struct cvp_executor *x, cvp_trace_function *trace, void *user)
{
    x->trace = trace;
    x->trace_user = user;
}

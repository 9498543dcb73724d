/* The steps of an executor: every operator checked and planned once, with its tensors in place, and
 * one task of the engine for each. */
#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/graph/executor_internal.h"

/* Plans see the training that the executor is made for: with gradients, all steps train. */
static convop_status prepare(struct cvp_executor *x, int index)
{
    struct cvp_executor_step *s = &x->steps[index];
    const struct cvp_step *step = &x->program.steps[index];
    s->executor = x;
    s->index = index;
    for (int i = 0; i < step->num_inputs; i++) s->inputs[i] = &x->tensors[step->inputs[i]].tensor;
    for (int i = 0; i < step->num_outputs; i++)
        s->outputs[i] = step->outputs[i] < 0 ? NULL : &x->tensors[step->outputs[i]].tensor;
    s->plan = cvp_calloc(1, step->op->plan_size ? step->op->plan_size : 1);
    if (!s->plan) return cvp_executor_no_memory("a plan", step->op->plan_size);
    CVP_RETURN_IF_ERROR(cvp_call_init(&s->call, step->op, step->params, step->num_inputs, s->inputs,
                                      step->num_outputs, s->outputs, step->requests, x->context));
    CVP_RETURN_IF_ERROR(cvp_call_check(&s->call, 0));
    s->call.args.is_train = x->program.num_steps > x->program.num_forward;
    CVP_RETURN_IF_ERROR(step->op->plan(&s->call.args, s->plan, &s->workspace_bytes));
    s->is_planned = 1;
    return CONVOP_OK;
}

convop_status cvp_executor_prepare(struct cvp_executor *x)
{
    const struct cvp_program *p = &x->program;
    x->steps = cvp_calloc((size_t)p->num_steps + 1, sizeof *x->steps);
    if (!x->steps) return cvp_executor_no_memory("steps", (size_t)p->num_steps * sizeof *x->steps);
    for (int i = 0; i < p->num_steps; i++) {
        convop_status status = prepare(x, i);
        if (status != CONVOP_OK)
            return cvp_node_fail(status, p->steps[i].is_backward ? "gradient of node" : "node",
                                 p->symbol->nodes[p->steps[i].node]->name);
    }
    return CONVOP_OK;
}

static convop_status create_vars(struct cvp_executor *x)
{
    const struct cvp_program *p = &x->program;
    const size_t values = (size_t)p->num_values, places = (size_t)x->plan.num_places;
    x->vars = cvp_calloc(values + places + 1, sizeof *x->vars);
    if (!x->vars) return cvp_executor_no_memory("variables", values * sizeof *x->vars);
    x->place_vars = x->vars + values;
    for (size_t i = 0; i < places; i++)
        CVP_RETURN_IF_ERROR(convop_var_create(x->engine, &x->place_vars[i]));
    for (size_t v = 0; v < values; v++) {
        if (x->plan.place[v] >= 0)
            x->vars[v] = x->place_vars[x->plan.place[v]];
        else if (p->values[v].entry >= 0)
            CVP_RETURN_IF_ERROR(convop_var_create(x->engine, &x->vars[v]));
    }
    for (int i = 0; i < x->num_lanes; i++)
        CVP_RETURN_IF_ERROR(convop_var_create(x->engine, &x->lanes[i].var));
    return convop_var_create(x->engine, &x->done);
}

static convop_status create_task(struct cvp_executor *x, int index)
{
    const struct cvp_step *step = &x->program.steps[index];
    struct cvp_executor_step *s = &x->steps[index];
    convop_var reads[CVP_MAX_ARGS + 1], writes[2 * CVP_MAX_ARGS + 1];
    convop_task task = CONVOP_TASK_INIT;
    for (int i = 0; i < step->num_inputs; i++) {
        const convop_var var = x->vars[step->inputs[i]];
        reads[task.num_reads++] = var;
        if (step->op->mutated_inputs >> i & 1) writes[task.num_writes++] = var;
    }
    for (int i = 0; i < step->num_outputs; i++)
        if (step->outputs[i] >= 0) writes[task.num_writes++] = x->vars[step->outputs[i]];
    if (s->workspace_bytes || x->for_inference) writes[task.num_writes++] = x->lanes[s->lane].var;
    reads[task.num_reads++] = x->done;
    task.name = x->symbol->nodes[step->node]->name;
    task.run = cvp_executor_run_step;
    task.user = s;
    task.reads = reads;
    task.writes = writes;
    return cvp_prepared_create(x->engine, &task, &s->task);
}

static convop_status finish(void *user)
{
    (void)user;
    return CONVOP_OK;
}

convop_status cvp_executor_create_tasks(struct cvp_executor *x)
{
    CVP_RETURN_IF_ERROR(create_vars(x));
    for (int i = 0; i < x->program.num_steps; i++) CVP_RETURN_IF_ERROR(create_task(x, i));
    convop_task task = CONVOP_TASK_INIT;
    task.name = "finish";
    task.run = finish;
    task.writes = &x->done;
    task.num_writes = 1;
    return cvp_prepared_create(x->engine, &task, &x->finish);
}

/* What an executor for inference makes of its constants once: the steps that read nothing else, and
 * the plans of those that read them, which may pack them. */
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/engine/context.h"
#include "src/graph/executor_internal.h"

/* A plan with constants may want another workspace than the one without. */
static convop_status fit_lane(struct cvp_executor *x, const struct cvp_executor_step *s)
{
    struct cvp_scratch_lane *lane = &x->lanes[s->lane];
    if (s->workspace_bytes <= lane->bytes) return CONVOP_OK;
    void *memory = cvp_buffer_alloc(&x->context->allocator, s->workspace_bytes);
    if (!memory) return cvp_executor_no_memory("workspace", s->workspace_bytes);
    if (lane->memory) cvp_buffer_free(&x->context->allocator, lane->memory, lane->bytes);
    lane->memory = memory;
    lane->bytes = s->workspace_bytes;
    return CONVOP_OK;
}

static convop_status plan_again(struct cvp_executor *x, int index)
{
    struct cvp_executor_step *s = &x->steps[index];
    const struct cvp_step *step = &x->program.steps[index];
    unsigned constants = 0;
    for (int i = 0; i < step->num_inputs; i++)
        constants |= (unsigned)x->program.values[step->inputs[i]].is_constant << i;
    if (!constants) return CONVOP_OK;
    if (s->is_planned && step->op->end) step->op->end(s->plan);
    s->is_planned = 0;
    memset(s->plan, 0, step->op->plan_size);
    s->call.args.constants = constants;
    CVP_RETURN_IF_ERROR(cvp_call_plan(&s->call, s->plan, &s->workspace_bytes));
    s->is_planned = 1;
    return fit_lane(x, s);
}

convop_status cvp_executor_fix(struct cvp_executor *x)
{
    const struct cvp_program *p = &x->program;
    CVP_RETURN_IF_ERROR(cvp_executor_run_steps(x, 0, p->num_constant, 0));
    for (int i = p->num_constant; i < p->num_forward; i++) {
        convop_status status = plan_again(x, i);
        if (status != CONVOP_OK)
            return cvp_node_fail(status, "node", p->symbol->nodes[p->steps[i].node]->name);
    }
    x->is_fixed = 1;
    return CONVOP_OK;
}

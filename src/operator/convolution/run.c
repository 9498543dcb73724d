/* Running a plan: copies in, the row, the copy out. */
#include "src/common/clock.h"
#include "src/common/cpu.h"
#include "src/common/log.h"
#include "src/engine/context.h"
#include "src/operator/convolution/plan.h"

/* The side that the direction computes; NULL for the bias gradient. */
static const struct conv_side *output_side(const struct conv_plan *plan)
{
    switch (plan->problem.direction) {
    case CONVOP_FWD: return &plan->dst;
    case CONVOP_BWD_D: return &plan->src;
    case CONVOP_BWD_W: return &plan->weights;
    case CONVOP_BWD_B: return NULL;
    }
    return NULL;
}

/* A copy of an input in the workspace where the row needs one. */
static const void *take(const struct conv_plan *plan, const struct conv_side *side,
                        const convop_context *context, const void *from, char **next)
{
    if (!from || !side->copied) return from;
    void *to = *next;
    *next += cvp_conv_copy_bytes(plan, side);
    cvp_conv_gather(plan, side, context, to, from);
    return to;
}

static convop_status run_row(const struct conv_plan *plan, const convop_conv_operands *t,
                             const convop_context *context, void *workspace)
{
    const convop_conv_problem *p = &plan->problem;
    if (!cvp_verbose(1)) return plan->impl->run(p, t, context, workspace);
    double start = cvp_now_ms();
    convop_status status = plan->impl->run(p, t, context, workspace);
    double ms = cvp_now_ms() - start;
    char problem[256], tensors[32];
    cvp_conv_problem_describe(p, problem, sizeof problem);
    cvp_conv_problem_describe_tensors(p, plan->dtype, tensors, sizeof tensors);
    cvp_log(&context->sink, "exec,Convolution,%s,%s:%s,%s,%s,%.3f",
            cvp_conv_direction_name(p->direction), plan->impl->name,
            cvp_isa_name((enum cvp_isa)p->isa), tensors, problem, ms);
    return status;
}

convop_status cvp_conv_plan_run(const struct conv_plan *plan, const convop_conv_operands *t,
                                const convop_context *context, void *workspace)
{
    char *next = workspace;
    convop_conv_operands o = *t;
    o.struct_size = sizeof o;
    o.src = take(plan, &plan->src, context, t->src, &next);
    o.dst = take(plan, &plan->dst, context, t->dst, &next);
    o.bias = take(plan, &plan->bias, context, t->bias, &next);
    o.packed = NULL;
    if (!plan->prepared)
        o.weights = take(plan, &plan->weights, context, t->weights, &next);
    else if (plan->is_packed)
        o.packed = plan->prepared;
    else
        o.weights = plan->prepared;

    const struct conv_side *side = output_side(plan);
    if (!side || !side->copied) return run_row(plan, &o, context, next);
    o.out = next;
    next += cvp_conv_copy_bytes(plan, side);
    if (plan->problem.add) cvp_conv_gather(plan, side, context, o.out, t->out);
    convop_status status = run_row(plan, &o, context, next);
    if (status == CONVOP_OK) cvp_conv_scatter(plan, side, context, t->out, o.out);
    return status;
}

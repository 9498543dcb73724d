/* Running a plan: copies in, the row, the copy out; another row where a cached one refuses. */
#include "src/common/alloc.h"
#include "src/common/clock.h"
#include "src/common/log.h"
#include "src/common/stage.h"
#include "src/common/status.h"
#include "src/engine/context.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/finish.h"
#include "src/operator/convolution/lines.h"
#include "src/operator/convolution/select.h"
#include "src/operator/device.h"

/* A copy of an input in the workspace where the row needs one. */
static const void *take(const struct conv_plan *plan, enum conv_place place,
                        const convop_context *context, const void *from, char **next)
{
    if (!from || !cvp_conv_is_copied(plan, place)) return from;
    void *to = *next;
    *next += cvp_conv_copy_bytes(plan, place);
    cvp_conv_gather(plan, place, context, to, from);
    return to;
}

/* The pass over dst that follows a row which computes the sum alone. */
static void finish(const struct conv_plan *plan, const convop_conv_operands *t,
                   const convop_context *context)
{
    convop_conv_problem p = plan->problem;
    p.activation = plan->given.activation;
    p.residual = plan->given.residual;
    cvp_conv_finish(&p, t->out, t->residual, context);
}

static convop_status run_row(const struct conv_plan *plan, const convop_conv_operands *t,
                             const convop_context *context, void *workspace)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_KERNEL);
    convop_status status = plan->impl->run(&plan->problem, t, context, workspace);
    if (status == CONVOP_OK && plan->is_finished_apart) finish(plan, t, context);
    cvp_stage_leave(outer);
    return status;
}

static convop_status compute(const struct conv_plan *plan, const convop_conv_operands *t,
                             const convop_context *context, void *workspace)
{
    char *next = workspace;
    convop_conv_operands o = *t;
    o.struct_size = sizeof o;
    o.state = plan->state;
    o.packed = plan->is_packed ? plan->prepared : NULL;
    if (plan->prepared && !plan->is_packed) o.weights = plan->prepared;
    if (!plan->copies) return run_row(plan, &o, context, workspace);
    o.src = take(plan, CONV_SRC, context, t->src, &next);
    o.dst = take(plan, CONV_DST, context, t->dst, &next);
    o.bias = take(plan, CONV_BIAS, context, t->bias, &next);
    o.residual = take(plan, CONV_RESIDUAL, context, t->residual, &next);
    if (!plan->prepared) o.weights = take(plan, CONV_WEIGHTS, context, t->weights, &next);

    const enum conv_place out = cvp_conv_output(plan);
    if (!cvp_conv_is_copied(plan, out)) return run_row(plan, &o, context, next);
    o.out = next;
    next += cvp_conv_copy_bytes(plan, out);
    if (plan->problem.add) cvp_conv_gather(plan, out, context, o.out, t->out);
    convop_status status = run_row(plan, &o, context, next);
    if (status == CONVOP_OK) cvp_conv_scatter(plan, out, context, t->out, o.out);
    return status;
}

convop_status cvp_conv_plan_compute(const struct conv_plan *plan, const convop_conv_operands *t,
                                    const convop_context *context, void *workspace)
{
    if (!plan->is_light) return compute(plan, t, context, workspace);
    int before = cvp_parallel_alone(1);
    convop_status status = compute(plan, t, context, workspace);
    (void)cvp_parallel_alone(before);
    return status;
}

static convop_status compute_and_tell(const struct conv_plan *plan, const convop_conv_operands *t,
                                      const convop_context *context, void *workspace)
{
    if (!cvp_verbose(1)) return cvp_conv_plan_compute(plan, t, context, workspace);
    double start = cvp_now_ms();
    convop_status status = cvp_conv_plan_compute(plan, t, context, workspace);
    double ms = cvp_now_ms() - start;
    if (status == CONVOP_OK)
        cvp_conv_log_exec(plan, context, ms);
    else
        cvp_conv_log_fault(plan, plan->impl, convop_last_error());
    return status;
}

/* Another plan for the same problem, with the workspace it needs. `workspace` is the plan's, and is
 * used where it suffices. */
static convop_status run_other(const struct conv_plan *plan, struct conv_plan *other,
                               const convop_conv_operands *t, const convop_context *context,
                               void *workspace)
{
    const size_t bytes = other->bytes;
    if (bytes == 0 || (workspace && bytes <= plan->bytes))
        return compute_and_tell(other, t, context, workspace);
    void *own = cvp_buffer_alloc(&context->allocator, bytes);
    if (!own)
        return convop_fail(CONVOP_E_NO_MEMORY, "Convolution: no memory for %zu bytes of workspace",
                           bytes);
    convop_status status = compute_and_tell(other, t, context, own);
    cvp_buffer_free(&context->allocator, own, bytes);
    return status;
}

/* A row leaves the output as it was when it fails, so the next one can begin anew; the cache's
 * answer is dropped when it is met again. */
static convop_status run_another(const struct conv_plan *plan, const convop_conv_operands *t,
                                 const convop_context *context, void *workspace)
{
    struct conv_plan other;
    cvp_conv_plan_start(&other, &plan->given, &plan->terms, context);
    /* First what runs in the memory that is there. */
    if (cvp_conv_is_on_gpu(&other.given)) {
        other.given.workspace_limit = workspace ? plan->bytes : 0;
        other.terms.mode = CVP_AUTOTUNE_OFF;
    }
    convop_status status = cvp_conv_select(&other, plan->impl);
    if (status == CONVOP_OK) status = run_other(plan, &other, t, context, workspace);
    cvp_conv_plan_end(&other);
    return status;
}

/* With memory in the order of the stream. `is_last`: where the row refuses, no other one is tried.
 */
static convop_status run_in_own(const struct conv_plan *plan, int is_last,
                                const convop_conv_operands *t, const convop_context *context,
                                const struct cvp_gpu_scope *scope)
{
    const size_t bytes = plan->bytes;
    void *own = bytes ? cvp_gpu_alloc(scope, bytes) : NULL;
    if (bytes && !own)
        return convop_fail(CONVOP_E_NO_MEMORY,
                           "Convolution: no memory on the GPU for %zu bytes of workspace", bytes);
    convop_status status = is_last ? compute_and_tell(plan, t, context, own)
                                   : cvp_conv_plan_run(plan, t, context, own);
    cvp_gpu_free(scope, own);
    return status;
}

/* Ways that need at most `limit` bytes, then less and less, until one fits the memory that there
 * is. `before`: what came of more; where nothing runs with less it is that which is the matter. */
static convop_status run_within(const struct conv_plan *plan, const convop_conv_impl *without,
                                size_t limit, convop_status before, const convop_conv_operands *t,
                                const convop_context *context, const struct cvp_gpu_scope *scope)
{
    char why[CONVOP_WHY_SIZE];
    convop_status status = before;
    do {
        struct conv_plan other;
        snprintf(why, sizeof why, "%s", convop_last_error());
        cvp_conv_plan_start(&other, &plan->given, &plan->terms, context);
        other.given.workspace_limit = limit;
        other.terms.mode = CVP_AUTOTUNE_OFF;
        before = status;
        status = cvp_conv_select(&other, without);
        limit = status == CONVOP_OK ? other.bytes : 0;
        if (status == CONVOP_OK)
            status = run_in_own(&other, without != NULL, t, context, scope);
        else if (before == CONVOP_E_NO_MEMORY)
            status = convop_fail(before, "%s", why);
        cvp_conv_plan_end(&other);
    } while (status == CONVOP_E_NO_MEMORY && limit-- > 0);
    return status;
}

/* The caller's workspace was not to be had, which other directions may have wanted more of. */
static convop_status run_smaller(const struct conv_plan *plan, const convop_conv_operands *t,
                                 const convop_context *context)
{
    struct cvp_gpu_scope scope;
    CVP_RETURN_IF_ERROR(cvp_gpu_enter(plan->given.gpu, t->stream, &scope));
    convop_status status = run_in_own(plan, 0, t, context, &scope);
    if (status == CONVOP_E_NO_MEMORY)
        status = run_within(plan, NULL, plan->bytes - 1, status, t, context, &scope);
    cvp_gpu_leave(&scope);
    return status;
}

/* A row that refuses the tensors, as cuDNN does addresses, may have wanted less than the others. */
static convop_status run_larger(const struct conv_plan *plan, const convop_conv_operands *t,
                                const convop_context *context)
{
    struct cvp_gpu_scope scope;
    CVP_RETURN_IF_ERROR(cvp_gpu_enter(plan->given.gpu, t->stream, &scope));
    convop_status status =
        run_within(plan, plan->impl, plan->given.workspace_limit, CONVOP_OK, t, context, &scope);
    cvp_gpu_leave(&scope);
    return status;
}

convop_status cvp_conv_plan_run(const struct conv_plan *plan, const convop_conv_operands *t,
                                const convop_context *context, void *workspace)
{
    const int on_gpu = cvp_conv_is_on_gpu(&plan->given);
    if (on_gpu && plan->bytes && !workspace) return run_smaller(plan, t, context);
    convop_status status = compute_and_tell(plan, t, context, workspace);
    if (status != CONVOP_E_UNSUPPORTED || !(on_gpu || plan->choice == CONVOP_CHOICE_CACHED))
        return status;
    char why[CONVOP_WHY_SIZE], other[256];
    snprintf(why, sizeof why, "%s", convop_last_error());
    status = run_another(plan, t, context, workspace);
    if (status == CONVOP_E_UNSUPPORTED && on_gpu) status = run_larger(plan, t, context);
    if (status != CONVOP_E_UNSUPPORTED) return status;
    snprintf(other, sizeof other, "%s", convop_last_error());
    return convop_fail(status, "%s; %s", other, why);
}

/* Running an operator at once: with a plan that is there, or check, infer, plan, scratch, run. */
#include "src/operator/operator.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/settings.h"
#include "src/common/stage.h"
#include "src/common/status.h"
#include "src/engine/context.h"
#include "src/operator/call.h"

/* Plans up to this many bytes live on the stack. */
#define STACK_PLAN 6400

/* A caller's options, and the context that they name. */
static convop_status read_exec(const convop_exec *from, convop_exec *x,
                               const convop_context **context)
{
    *x = (convop_exec)CONVOP_EXEC_INIT;
    if (from) CVP_RETURN_IF_ERROR(cvp_read_struct(x, sizeof *x, from, "convop_exec"));
    return cvp_context_get(x->context, context);
}

static void set_exec(struct cvp_call *call, const struct cvp_invocation *v, const convop_exec *x)
{
    call->optional_inputs = v->optional_inputs;
    call->args.stream = x->stream;
    call->args.is_train = x->is_train;
    cvp_call_workspace(x, &call->args.workspace_limit);
}

int cvp_op_rerun(const struct cvp_invocation *v, struct cvp_memo_key *key, convop_status *status)
{
    convop_exec x;
    const convop_context *context;
    struct cvp_call call;
    /* Where lines are written, each call writes how it was planned. What is wrong here is said by
     * cvp_op_execute, in its turn. */
    if (cvp_setting_int_or(CVP_SETTING_VERBOSE, 1) > 0 ||
        read_exec(v->exec, &x, &context) != CONVOP_OK ||
        !cvp_call_fill(&call, v->op, v->params, v->num_inputs, v->inputs, v->num_outputs,
                       v->outputs, v->requests, context)) {
        key->is_bad = 1;
        return 0;
    }
    set_exec(&call, v, &x);
    cvp_memo_key_end(key, &call);
    const struct cvp_memo_entry *entry = cvp_memo_find(key);
    if (!entry) return 0;
    int outer = cvp_stage_enter(CONVOP_STAGE_CALL);
    *status =
        cvp_call_addresses_fit(&call, entry->extents) ? CONVOP_OK : cvp_call_check_tensors(&call);
    if (*status == CONVOP_OK)
        *status = cvp_call_run(&call, entry->plan, entry->workspace_bytes, &x);
    cvp_stage_leave(outer);
    cvp_memo_release(entry);
    return 1;
}

/* In a place of the memo. */
static convop_status plan_and_keep(const struct cvp_call *call, struct cvp_memo_entry *entry,
                                   const convop_exec *exec)
{
    entry->workspace_bytes = 0;
    cvp_call_extents(call, entry->extents);
    convop_status status = cvp_call_plan(call, entry->plan, &entry->workspace_bytes);
    if (status != CONVOP_OK) {
        cvp_memo_abandon(entry);
        return status;
    }
    cvp_memo_publish(entry);
    status = cvp_call_run(call, entry->plan, entry->workspace_bytes, exec);
    cvp_memo_release(entry);
    return status;
}

static convop_status plan_and_run(const struct cvp_call *call, void *plan, const convop_exec *exec)
{
    size_t bytes = 0;
    CVP_RETURN_IF_ERROR(cvp_call_plan(call, plan, &bytes));
    convop_status status = cvp_call_run(call, plan, bytes, exec);
    if (call->op->end) call->op->end(plan);
    return status;
}

static convop_status execute(const struct cvp_invocation *v, const struct cvp_memo_key *key)
{
    const convop_op *op = v->op;
    convop_exec x;
    const convop_context *context;
    CVP_RETURN_IF_ERROR(read_exec(v->exec, &x, &context));
    int verbose; /* read again where lines are written; here so that a bad value is an error */
    CVP_RETURN_IF_ERROR(cvp_setting_int(CVP_SETTING_VERBOSE, &verbose));

    struct cvp_call call;
    CVP_RETURN_IF_ERROR(cvp_call_init(&call, op, v->params, v->num_inputs, v->inputs,
                                      v->num_outputs, v->outputs, v->requests, context));
    set_exec(&call, v, &x);
    CVP_RETURN_IF_ERROR(cvp_call_check(&call, 0));

    struct cvp_memo_entry *entry = cvp_memo_claim(key);
    if (entry) return plan_and_keep(&call, entry, &x);
    _Alignas(16) char on_stack[STACK_PLAN];
    if (op->plan_size <= sizeof on_stack) {
        memset(on_stack, 0, op->plan_size);
        return plan_and_run(&call, on_stack, &x);
    }
    void *plan = cvp_calloc(1, op->plan_size);
    if (!plan)
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for its plan of %zu bytes", op->name,
                           op->plan_size);
    convop_status status = plan_and_run(&call, plan, &x);
    cvp_free(plan);
    return status;
}

convop_status cvp_op_execute(const struct cvp_invocation *v, const struct cvp_memo_key *key)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_CALL);
    convop_status status = execute(v, key);
    cvp_stage_leave(outer);
    return status;
}

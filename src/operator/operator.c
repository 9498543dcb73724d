/* Running an operator at once: check, infer, plan, scratch, run. */
#include "src/operator/operator.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/settings.h"
#include "src/common/status.h"
#include "src/engine/context.h"
#include "src/operator/call.h"

/* Plans up to this many bytes live on the stack. */
#define STACK_PLAN 6144

static convop_status plan_and_run(const struct cvp_call *call, void *plan, const convop_exec *exec)
{
    size_t bytes = 0;
    CVP_RETURN_IF_ERROR(cvp_call_plan(call, plan, &bytes));
    convop_status status = cvp_call_run(call, plan, bytes, exec);
    if (call->op->end) call->op->end(plan);
    return status;
}

convop_status cvp_op_execute(const convop_op *op, const void *params, int num_inputs,
                             const DLTensor *const *inputs, unsigned optional_inputs,
                             int num_outputs, DLTensor *const *outputs,
                             const convop_request *requests, const convop_exec *exec)
{
    convop_exec x = CONVOP_EXEC_INIT;
    if (exec) CVP_RETURN_IF_ERROR(cvp_read_struct(&x, sizeof x, exec, "convop_exec"));
    const convop_context *context;
    CVP_RETURN_IF_ERROR(cvp_context_get(x.context, &context));
    int verbose; /* read again where lines are written; here so that a bad value is an error */
    CVP_RETURN_IF_ERROR(cvp_setting_int(CVP_SETTING_VERBOSE, &verbose));

    struct cvp_call call;
    CVP_RETURN_IF_ERROR(cvp_call_init(&call, op, params, num_inputs, inputs, num_outputs, outputs,
                                      requests, context));
    call.optional_inputs = optional_inputs;
    call.args.stream = x.stream;
    call.args.is_train = x.is_train;
    cvp_call_workspace(&x, &call.args.workspace_limit);
    CVP_RETURN_IF_ERROR(cvp_call_check(&call, 0));

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

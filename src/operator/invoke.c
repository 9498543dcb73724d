/* convop_invoke: an operator by name, its parameters as text. */
#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/operator/operator.h"

/* Parameter structs up to this many bytes live on the stack. */
#define STACK_PARAMS 1024

static convop_status invoke(const convop_op *op, void *params, size_t num_params,
                            const char *const *keys, const char *const *values, int num_inputs,
                            const DLTensor *const *inputs, int num_outputs,
                            DLTensor *const *outputs, const convop_request *requests,
                            const convop_exec *exec)
{
    CVP_RETURN_IF_ERROR(convop_params_parse(op, num_params, keys, values, params, op->params_size));
    const struct cvp_invocation v = {.op = op,
                                     .params = params,
                                     .num_inputs = num_inputs,
                                     .inputs = inputs,
                                     .num_outputs = num_outputs,
                                     .outputs = outputs,
                                     .requests = requests,
                                     .exec = exec};
    struct cvp_memo_key key;
    convop_status status;
    cvp_memo_key_begin(&key, op);
    cvp_memo_key_add_params(&key, params);
    if (cvp_op_rerun(&v, &key, &status)) return status;
    return cvp_op_execute(&v, &key);
}

convop_status convop_invoke(const char *name, size_t num_params, const char *const *keys,
                            const char *const *values, int num_inputs,
                            const DLTensor *const *inputs, int num_outputs,
                            DLTensor *const *outputs, const convop_request *requests,
                            const convop_exec *exec)
{
    const convop_op *op = NULL;
    CVP_RETURN_IF_ERROR(convop_op_find(name, &op));

    _Alignas(16) char on_stack[STACK_PARAMS];
    void *params = op->params_size <= sizeof on_stack ? on_stack : cvp_malloc(op->params_size);
    convop_status status =
        params ? invoke(op, params, num_params, keys, values, num_inputs, inputs, num_outputs,
                        outputs, requests, exec)
               : convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for its parameters", op->name);
    if (params != (void *)on_stack) cvp_free(params);
    convop_op_release(&op);
    return status;
}

/* The way from a caller's tensors to a descriptor's plan and run, the same for every operator and
 * every entry: check, infer, plan, scratch, run. */
#include "src/operator/operator.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/settings.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/engine/context.h"
#include "src/registry/registry_internal.h"

/* Most arguments that an operator may have; keeps the way to run() free of allocations. */
#define MAX_ARGS 16

/* Plans up to this many bytes live on the stack. */
#define STACK_PLAN 4096

struct call {
    const convop_op *op;
    convop_op_args args;
    convop_request requests[MAX_ARGS];
    unsigned optional_inputs;
    const convop_context *context;
    void *workspace; /* the caller's, 64-byte aligned; NULL if there is none */
};

static convop_status check_counts(const convop_op *op, const void *params, int num_inputs,
                                  int num_outputs)
{
    int want_in = cvp_op_num_inputs(op, params), want_out = cvp_op_num_outputs(op, params);
    if (want_in > MAX_ARGS || want_out > MAX_ARGS)
        return convop_fail(CONVOP_E_UNSUPPORTED, "%s: more than %d inputs or outputs", op->name,
                           MAX_ARGS);
    if (num_inputs != want_in)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %d inputs were given, %d are wanted with these parameters; "
                           "the %s is %s",
                           op->name, num_inputs, want_in,
                           num_inputs < want_in ? "first missing input" : "last wanted input",
                           want_in > 0 ? op->inputs[num_inputs < 0         ? 0
                                                    : num_inputs < want_in ? num_inputs
                                                                           : want_in - 1]
                                             .name
                                       : "none");
    if (num_outputs != want_out)
        return convop_fail(CONVOP_E_INVALID, "%s: %d outputs were given, %d are wanted", op->name,
                           num_outputs, want_out);
    return CONVOP_OK;
}

static convop_status check_inputs(const struct call *call)
{
    const convop_op *op = call->op;
    for (int i = 0; i < call->args.num_inputs; i++) {
        const DLTensor *t = call->args.inputs[i];
        if (!t) {
            if (call->optional_inputs >> i & 1) continue;
            return convop_fail(CONVOP_E_INVALID, "%s: input %s is NULL", op->name,
                               op->inputs[i].name);
        }
        CVP_RETURN_IF_ERROR(cvp_tensor_check(op->name, op->inputs[i].name, t, CVP_INPUT));
    }
    return CONVOP_OK;
}

static convop_status check_outputs(const struct call *call)
{
    const convop_op *op = call->op;
    const convop_op_args *args = &call->args;
    for (int i = 0; i < args->num_outputs; i++) {
        const char *name = op->outputs[i].name;
        if (call->requests[i] == CONVOP_REQ_NULL) continue;
        if ((unsigned)call->requests[i] > CONVOP_REQ_ADD)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: request %d for %s, allowed is 0..3 (null, write, inplace, add)",
                               op->name, (int)call->requests[i], name);
        const DLTensor *t = args->outputs[i];
        if (!t)
            return convop_fail(CONVOP_E_INVALID, "%s: output %s is NULL and its request is not",
                               op->name, name);
        CVP_RETURN_IF_ERROR(cvp_tensor_check(op->name, name, t, CVP_OUTPUT));
        for (int j = 0; j < args->num_inputs; j++)
            CVP_RETURN_IF_ERROR(
                cvp_tensor_check_overlap(op->name, name, t, op->inputs[j].name, args->inputs[j]));
        for (int j = 0; j < i; j++)
            if (call->requests[j] != CONVOP_REQ_NULL)
                CVP_RETURN_IF_ERROR(cvp_tensor_check_overlap(op->name, name, t, op->outputs[j].name,
                                                             args->outputs[j]));
    }
    return CONVOP_OK;
}

/* All tensors on one device. */
static convop_status check_devices(const struct call *call)
{
    const convop_op_args *args = &call->args;
    const DLTensor *first = NULL;
    const char *first_name = NULL;
    for (int i = 0; i < args->num_inputs + args->num_outputs; i++) {
        int out = i - args->num_inputs;
        const DLTensor *t = out < 0 ? args->inputs[i] : args->outputs[out];
        if (!t || (out >= 0 && call->requests[out] == CONVOP_REQ_NULL)) continue;
        const char *name = (out < 0 ? &call->op->inputs[i] : &call->op->outputs[out])->name;
        int on_cpu = t->device.device_type == kDLCPU || t->device.device_type == kDLCUDAHost;
        if (!first) {
            first = t;
            first_name = name;
            continue;
        }
        int first_on_cpu =
            first->device.device_type == kDLCPU || first->device.device_type == kDLCUDAHost;
        if (on_cpu && first_on_cpu) continue;
        if (on_cpu != first_on_cpu || t->device.device_id != first->device.device_id)
            return convop_fail(CONVOP_E_INVALID, "%s: %s and %s are on different devices",
                               call->op->name, first_name, name);
    }
    return CONVOP_OK;
}

static void shape_of(const DLTensor *t, convop_shape *shape, DLDataType *type)
{
    if (!t) {
        shape->ndim = -1;
        memset(type, 0, sizeof *type);
        return;
    }
    shape->ndim = t->ndim;
    for (int i = 0; i < t->ndim; i++) shape->dim[i] = t->shape[i];
    *type = t->dtype;
}

/* Shapes and dtypes of what was given must be those which inference gives. */
static convop_status check_shapes(const struct call *call)
{
    const convop_op_args *args = &call->args;
    convop_shape in[MAX_ARGS], out[MAX_ARGS];
    DLDataType type_in[MAX_ARGS], type_out[MAX_ARGS];
    for (int i = 0; i < args->num_inputs; i++) shape_of(args->inputs[i], &in[i], &type_in[i]);
    for (int i = 0; i < args->num_outputs; i++) {
        const DLTensor *t = call->requests[i] == CONVOP_REQ_NULL ? NULL : args->outputs[i];
        shape_of(t, &out[i], &type_out[i]);
    }
    return convop_infer(call->op, args->params, args->num_inputs, in, args->num_outputs, out,
                        type_in, type_out);
}

/* The caller's workspace counts from its first 64-byte boundary on. */
static void take_workspace(struct call *call, const convop_exec *exec)
{
    call->args.workspace_limit = SIZE_MAX;
    if (!exec->workspace) return;
    size_t skip = -(uintptr_t)exec->workspace & (CVP_BUFFER_ALIGN - 1);
    if (skip > exec->workspace_bytes) skip = exec->workspace_bytes;
    call->workspace = (char *)exec->workspace + skip;
    call->args.workspace_limit = exec->workspace_bytes - skip;
}

static convop_status plan_and_run(const struct call *call, void *plan)
{
    const convop_op *op = call->op;
    size_t bytes = 0;
    CVP_RETURN_IF_ERROR(op->plan(&call->args, plan, &bytes));
    if (bytes == 0) return op->run(&call->args, plan, NULL);
    if (call->workspace) {
        if (bytes > call->args.workspace_limit)
            return convop_fail(CONVOP_E_INTERNAL, "%s: its plan wants %zu bytes of %zu", op->name,
                               bytes, call->args.workspace_limit);
        return op->run(&call->args, plan, call->workspace);
    }
    const convop_allocator *memory = &call->context->allocator;
    void *workspace = cvp_buffer_alloc(memory, bytes);
    if (!workspace)
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for %zu bytes of workspace", op->name,
                           bytes);
    convop_status status = op->run(&call->args, plan, workspace);
    cvp_buffer_free(memory, workspace, bytes);
    return status;
}

convop_status cvp_op_execute(const convop_op *op, const void *params, int num_inputs,
                             const DLTensor *const *inputs, unsigned optional_inputs,
                             int num_outputs, DLTensor *const *outputs,
                             const convop_request *requests, const convop_exec *exec)
{
    convop_exec x = CONVOP_EXEC_INIT;
    if (exec) CVP_RETURN_IF_ERROR(cvp_read_struct(&x, sizeof x, exec, "convop_exec"));

    struct call call = {.op = op, .optional_inputs = optional_inputs};
    CVP_RETURN_IF_ERROR(cvp_context_get(x.context, &call.context));
    int verbose; /* read again where lines are written; here so that a bad value is an error */
    CVP_RETURN_IF_ERROR(cvp_setting_int(CVP_SETTING_VERBOSE, &verbose));
    CVP_RETURN_IF_ERROR(check_counts(op, params, num_inputs, num_outputs));
    if ((num_inputs > 0 && !inputs) || (num_outputs > 0 && !outputs))
        return convop_fail(CONVOP_E_INVALID, "%s: the array of %s is NULL", op->name,
                           num_inputs > 0 && !inputs ? "inputs" : "outputs");
    for (int i = 0; i < num_outputs; i++)
        call.requests[i] = requests ? requests[i] : CONVOP_REQ_WRITE;
    call.args = (convop_op_args){
        .struct_size = sizeof call.args,
        .params = params,
        .num_inputs = num_inputs,
        .num_outputs = num_outputs,
        .inputs = inputs,
        .outputs = outputs,
        .requests = call.requests,
        .context = call.context,
        .stream = x.stream,
    };
    take_workspace(&call, &x);

    CVP_RETURN_IF_ERROR(check_inputs(&call));
    CVP_RETURN_IF_ERROR(check_outputs(&call));
    CVP_RETURN_IF_ERROR(check_devices(&call));
    CVP_RETURN_IF_ERROR(check_shapes(&call));

    _Alignas(16) char on_stack[STACK_PLAN];
    if (op->plan_size <= sizeof on_stack) {
        memset(on_stack, 0, op->plan_size);
        return plan_and_run(&call, on_stack);
    }
    void *plan = cvp_calloc(1, op->plan_size);
    if (!plan)
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for its plan of %zu bytes", op->name,
                           op->plan_size);
    convop_status status = plan_and_run(&call, plan);
    cvp_free(plan);
    return status;
}

/* What is checked before an operator plans and runs, the same for all of them. */
#include "src/operator/call.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/clock.h"
#include "src/common/fpenv.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/engine/context.h"
#include "src/operator/device.h"
#include "src/registry/registry_internal.h"

static convop_status check_counts(const convop_op *op, const void *params, int num_inputs,
                                  int num_outputs)
{
    int want_in = cvp_op_num_inputs(op, params), want_out = cvp_op_num_outputs(op, params);
    if (want_in > CVP_MAX_ARGS || want_out > CVP_MAX_ARGS)
        return convop_fail(CONVOP_E_UNSUPPORTED, "%s: more than %d inputs or outputs", op->name,
                           CVP_MAX_ARGS);
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

static convop_status check_inputs(const struct cvp_call *call, int as_query)
{
    const convop_op *op = call->op;
    for (int i = 0; i < call->args.num_inputs; i++) {
        const DLTensor *t = call->args.inputs[i];
        if (!t) {
            if (call->optional_inputs >> i & 1) continue;
            return convop_fail(CONVOP_E_INVALID, "%s: input %s is NULL", op->name,
                               op->inputs[i].name);
        }
        int is_mutated = op->mutated_inputs >> i & 1;
        enum cvp_role role = as_query ? CVP_QUERY : is_mutated ? CVP_OUTPUT : CVP_INPUT;
        CVP_RETURN_IF_ERROR(cvp_op_check_tensor(op, op->inputs[i].name, t, role));
        for (int j = 0; j < i && !as_query; j++)
            if (is_mutated || (op->mutated_inputs >> j & 1))
                CVP_RETURN_IF_ERROR(cvp_tensor_check_overlap(
                    op->name, op->inputs[i].name, t, op->inputs[j].name, call->args.inputs[j]));
    }
    return CONVOP_OK;
}

/* 1 if the two are the same elements in the same places. Shapes may differ where an operator's pair
 * allows it (Flatten): then both must be compact. */
static int is_same_memory(const DLTensor *out, const DLTensor *in)
{
    if (cvp_tensor_data(out) != cvp_tensor_data(in)) return 0;
    if (cvp_tensor_is_compact(out) && cvp_tensor_is_compact(in))
        return cvp_tensor_bytes(out) == cvp_tensor_bytes(in);
    if (out->ndim != in->ndim) return 0;
    int64_t a[CONVOP_MAX_DIMS], b[CONVOP_MAX_DIMS];
    cvp_tensor_strides(out, a);
    cvp_tensor_strides(in, b);
    for (int d = 0; d < out->ndim; d++)
        if (out->shape[d] != in->shape[d] || a[d] != b[d]) return 0;
    return 1;
}

/* 1 if output i may lie on input j: the operator allows it, it was asked for, and they are the same
 * memory. */
static int is_inplace(const struct cvp_call *call, int i, int j)
{
    const DLTensor *out = call->args.outputs[i], *in = call->args.inputs[j];
    int allowed = 0;
    for (size_t k = 0; k < call->op->num_inplace; k++)
        allowed |= call->op->inplace[k].input == j && call->op->inplace[k].output == i;
    return allowed && call->requests[i] == CONVOP_REQ_INPLACE && in && is_same_memory(out, in);
}

static convop_status check_outputs(const struct cvp_call *call, int as_query)
{
    const convop_op *op = call->op;
    const convop_op_args *args = &call->args;
    for (int i = 0; i < args->num_outputs; i++) {
        const char *name = op->outputs[i].name;
        if (call->requests[i] == CONVOP_REQ_NULL) continue;
        const DLTensor *t = args->outputs[i];
        if (!t)
            return convop_fail(CONVOP_E_INVALID, "%s: output %s is NULL and its request is not",
                               op->name, name);
        CVP_RETURN_IF_ERROR(cvp_op_check_tensor(op, name, t, as_query ? CVP_QUERY : CVP_OUTPUT));
        if (as_query) continue;
        for (int j = 0; j < args->num_inputs; j++)
            if (!is_inplace(call, i, j))
                CVP_RETURN_IF_ERROR(cvp_tensor_check_overlap(op->name, name, t, op->inputs[j].name,
                                                             args->inputs[j]));
        for (int j = 0; j < i; j++)
            if (call->requests[j] != CONVOP_REQ_NULL)
                CVP_RETURN_IF_ERROR(cvp_tensor_check_overlap(op->name, name, t, op->outputs[j].name,
                                                             args->outputs[j]));
    }
    return CONVOP_OK;
}

/* All tensors on one device. */
static convop_status check_devices(const struct cvp_call *call)
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

void cvp_shape_of(const DLTensor *t, convop_shape *shape, DLDataType *type)
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
static convop_status check_shapes(const struct cvp_call *call)
{
    const convop_op_args *args = &call->args;
    convop_shape in[CVP_MAX_ARGS], out[CVP_MAX_ARGS];
    DLDataType type_in[CVP_MAX_ARGS], type_out[CVP_MAX_ARGS];
    for (int i = 0; i < args->num_inputs; i++) cvp_shape_of(args->inputs[i], &in[i], &type_in[i]);
    for (int i = 0; i < args->num_outputs; i++) {
        const DLTensor *t = call->requests[i] == CONVOP_REQ_NULL ? NULL : args->outputs[i];
        cvp_shape_of(t, &out[i], &type_out[i]);
    }
    return convop_infer(call->op, args->params, args->num_inputs, in, args->num_outputs, out,
                        type_in, type_out);
}

int cvp_call_fill(struct cvp_call *call, const convop_op *op, const void *params, int num_inputs,
                  const DLTensor *const *inputs, int num_outputs, DLTensor *const *outputs,
                  const convop_request *requests, const convop_context *context)
{
    if ((unsigned)num_inputs > CVP_MAX_ARGS || (unsigned)num_outputs > CVP_MAX_ARGS ||
        (num_inputs > 0 && !inputs) || (num_outputs > 0 && !outputs))
        return 0;
    for (int i = 0; i < num_outputs; i++) {
        call->requests[i] = requests ? requests[i] : CONVOP_REQ_WRITE;
        if ((unsigned)call->requests[i] > CONVOP_REQ_ADD) return 0;
        call->outputs[i] = cvp_call_wants(call, i) ? outputs[i] : NULL;
    }
    call->op = op;
    call->optional_inputs = 0;
    call->args = (convop_op_args){
        .struct_size = sizeof call->args,
        .params = params,
        .num_inputs = num_inputs,
        .num_outputs = num_outputs,
        .inputs = inputs,
        .outputs = call->outputs,
        .requests = call->requests,
        .context = context,
        .workspace_limit = SIZE_MAX,
    };
    return 1;
}

convop_status cvp_call_init(struct cvp_call *call, const convop_op *op, const void *params,
                            int num_inputs, const DLTensor *const *inputs, int num_outputs,
                            DLTensor *const *outputs, const convop_request *requests,
                            const convop_context *context)
{
    CVP_RETURN_IF_ERROR(check_counts(op, params, num_inputs, num_outputs));
    if (cvp_call_fill(call, op, params, num_inputs, inputs, num_outputs, outputs, requests,
                      context))
        return CONVOP_OK;
    if ((num_inputs > 0 && !inputs) || (num_outputs > 0 && !outputs))
        return convop_fail(CONVOP_E_INVALID, "%s: the array of %s is NULL", op->name,
                           num_inputs > 0 && !inputs ? "inputs" : "outputs");
    int i = 0;
    while ((unsigned)requests[i] <= CONVOP_REQ_ADD) i++;
    return convop_fail(CONVOP_E_INVALID,
                       "%s: request %d for %s, allowed is 0..3 (null, write, inplace, add)",
                       op->name, (int)requests[i], op->outputs[i].name);
}

void cvp_call_extents(const struct cvp_call *call, struct cvp_extent *extents)
{
    const convop_op_args *a = &call->args;
    for (int i = 0; i < a->num_inputs + a->num_outputs; i++) {
        const DLTensor *t = i < a->num_inputs ? a->inputs[i] : a->outputs[i - a->num_inputs];
        extents[i] = t ? cvp_tensor_extent(t) : (struct cvp_extent){0, 0};
    }
}

int cvp_call_addresses_fit(const struct cvp_call *call, const struct cvp_extent *extents)
{
    const convop_op_args *a = &call->args;
    const int num_inputs = a->num_inputs, n = num_inputs + a->num_outputs;
    uintptr_t begin[2 * CVP_MAX_ARGS], end[2 * CVP_MAX_ARGS];
    for (int i = 0; i < n; i++) {
        const DLTensor *t = i < num_inputs ? a->inputs[i] : a->outputs[i - num_inputs];
        if (!cvp_extent_place(&extents[i], t, &begin[i], &end[i])) return 0;
        /* What is written lies apart from all before it, and what is read from what is written. */
        int written = i >= num_inputs || call->op->mutated_inputs >> i & 1;
        for (int j = 0; j < i; j++)
            if ((written || call->op->mutated_inputs >> j & 1) && begin[i] < end[j] &&
                begin[j] < end[i])
                return 0;
    }
    return 1;
}

convop_status cvp_call_check_tensors(const struct cvp_call *call)
{
    CVP_RETURN_IF_ERROR(check_inputs(call, 0));
    CVP_RETURN_IF_ERROR(check_outputs(call, 0));
    return check_devices(call);
}

convop_status cvp_call_check(const struct cvp_call *call, int as_query)
{
    CVP_RETURN_IF_ERROR(check_inputs(call, as_query));
    CVP_RETURN_IF_ERROR(check_outputs(call, as_query));
    CVP_RETURN_IF_ERROR(check_devices(call));
    return check_shapes(call);
}

void *cvp_call_workspace(const convop_exec *exec, size_t *bytes)
{
    *bytes = SIZE_MAX;
    if (!exec->workspace) return NULL;
    size_t skip = -(uintptr_t)exec->workspace & (CVP_BUFFER_ALIGN - 1);
    if (skip > exec->workspace_bytes) skip = exec->workspace_bytes;
    *bytes = exec->workspace_bytes - skip;
    return (char *)exec->workspace + skip;
}

convop_status cvp_call_plan(const struct cvp_call *call, void *plan, size_t *workspace_bytes)
{
    unsigned host = cvp_fpenv_enter();
    convop_status status = call->op->plan(&call->args, plan, workspace_bytes);
    cvp_fpenv_leave(host);
    return status;
}

convop_status cvp_call_compute(const struct cvp_call *call, const void *plan, void *workspace)
{
    const int is_told = cvp_call_writes_line(call);
    const double start = is_told ? cvp_now_ms() : 0;
    unsigned host = cvp_fpenv_enter();
    convop_status status = call->op->run(&call->args, plan, workspace);
    cvp_fpenv_leave(host);
    if (is_told && status == CONVOP_OK) cvp_call_write_line(call, cvp_now_ms() - start);
    return status;
}

/* Without memory on the GPU the operator is asked all the same: it may know a way with less. */
static convop_status run_on_gpu(const struct cvp_call *call, const void *plan, size_t bytes,
                                const struct cvp_gpu *gpu)
{
    struct cvp_gpu_scope scope;
    CVP_RETURN_IF_ERROR(cvp_gpu_enter(gpu, call->args.stream, &scope));
    void *workspace = cvp_gpu_alloc(&scope, bytes);
    convop_status status = cvp_call_compute(call, plan, workspace);
    cvp_gpu_free(&scope, workspace);
    cvp_gpu_leave(&scope);
    return status;
}

convop_status cvp_call_run(const struct cvp_call *call, const void *plan, size_t bytes,
                           const convop_exec *exec)
{
    if (bytes == 0) return cvp_call_compute(call, plan, NULL);
    size_t given;
    void *workspace = cvp_call_workspace(exec, &given);
    if (workspace && bytes <= given) return cvp_call_compute(call, plan, workspace);

    const struct cvp_gpu *gpu = cvp_call_gpu(call);
    if (gpu) return run_on_gpu(call, plan, bytes, gpu);
    const convop_allocator *memory = &call->args.context->allocator;
    workspace = cvp_buffer_alloc(memory, bytes);
    if (!workspace)
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for %zu bytes of workspace",
                           call->op->name, bytes);
    convop_status status = cvp_call_compute(call, plan, workspace);
    cvp_buffer_free(memory, workspace, bytes);
    return status;
}

/* Operator instances: an operator with its parameters, constants, and a plan that is kept. */
#include "convop/instance.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/stage.h"
#include "src/common/status.h"
#include "src/engine/context.h"
#include "src/operator/call.h"
#include "src/operator/device.h"
#include "src/registry/registry_internal.h"

/* What a tensor must be in every run: a DLTensor with its own shape and strides. */
struct spec {
    int is_set;
    int is_compact;
    DLTensor tensor; /* data only of constants */
    int64_t shape[CONVOP_MAX_DIMS], strides[CONVOP_MAX_DIMS];
};

struct convop_instance {
    const convop_op *op; /* a reference */
    const convop_context *context;
    void *params;
    unsigned constants;
    int num_inputs, num_outputs;
    struct spec inputs[CVP_MAX_ARGS], outputs[CVP_MAX_ARGS];
    struct cvp_extent extents[2 * CVP_MAX_ARGS]; /* of the inputs, then the outputs */
    convop_request requests[CVP_MAX_ARGS];
    void *plan;     /* op->plan_size bytes */
    int is_planned; /* the plan is made and must be ended */
    size_t workspace_limit, workspace_bytes;
};

static void set_spec(struct spec *spec, const DLTensor *t, int with_data)
{
    spec->is_set = 1;
    spec->tensor = *t;
    if (!with_data) {
        spec->tensor.data = NULL;
        spec->tensor.byte_offset = 0;
    }
    for (int i = 0; i < t->ndim; i++) spec->shape[i] = t->shape[i];
    cvp_tensor_strides(t, spec->strides);
    spec->tensor.shape = spec->shape;
    spec->tensor.strides = spec->strides;
    spec->is_compact = cvp_tensor_is_compact(&spec->tensor);
}

/* 1 if t is what the spec says; t is checked. */
static int is_as_specified(const struct spec *spec, const DLTensor *t)
{
    int64_t strides[CONVOP_MAX_DIMS];
    if (t->ndim != spec->tensor.ndim || !cvp_dtype_equal(t->dtype, spec->tensor.dtype) ||
        t->device.device_type != spec->tensor.device.device_type ||
        t->device.device_id != spec->tensor.device.device_id)
        return 0;
    cvp_tensor_strides(t, strides);
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] != spec->shape[i] || strides[i] != spec->strides[i]) return 0;
    return 1;
}

/* The same of any tensor, in one pass; 0 where a second look may say otherwise. */
static int is_plainly_as_specified(const struct spec *spec, const DLTensor *t)
{
    const int ndim = spec->tensor.ndim;
    if (!t || t->ndim != ndim || (ndim > 0 && !t->shape) || (!t->strides && !spec->is_compact) ||
        !cvp_dtype_equal(t->dtype, spec->tensor.dtype) ||
        t->device.device_type != spec->tensor.device.device_type ||
        t->device.device_id != spec->tensor.device.device_id)
        return 0;
    for (int i = 0; i < ndim; i++)
        if (t->shape[i] != spec->shape[i] ||
            (t->strides && t->strides[i] != spec->strides[i] && spec->shape[i] > 1))
            return 0;
    return 1;
}

/* ---- create -------------------------------------------------------------------------------- */

static convop_status set_constants(convop_instance *x, const DLTensor *const *constants)
{
    for (int i = 0; constants && i < x->num_inputs; i++) {
        if (!constants[i]) continue;
        CVP_RETURN_IF_ERROR(
            cvp_op_check_tensor(x->op, x->op->inputs[i].name, constants[i], CVP_INPUT));
        set_spec(&x->inputs[i], constants[i], 1);
        x->constants |= 1u << i;
    }
    return CONVOP_OK;
}

/* Fills an instance whose op and params are set. */
static convop_status fill(convop_instance *x, int num_inputs, const DLTensor *const *constants,
                          const convop_context *context)
{
    CVP_RETURN_IF_ERROR(cvp_context_get(context, &x->context));
    x->num_inputs = cvp_op_num_inputs(x->op, x->params);
    x->num_outputs = cvp_op_num_outputs(x->op, x->params);
    if (x->num_inputs > CVP_MAX_ARGS || x->num_outputs > CVP_MAX_ARGS)
        return convop_fail(CONVOP_E_UNSUPPORTED, "%s: more than %d inputs or outputs", x->op->name,
                           CVP_MAX_ARGS);
    if (num_inputs != x->num_inputs)
        return convop_fail(CONVOP_E_INVALID, "%s: %d inputs were given, %d are wanted", x->op->name,
                           num_inputs, x->num_inputs);
    CVP_RETURN_IF_ERROR(set_constants(x, constants));
    x->plan = cvp_calloc(1, x->op->plan_size ? x->op->plan_size : 1);
    if (!x->plan)
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for a plan of %zu bytes", x->op->name,
                           x->op->plan_size);
    return CONVOP_OK;
}

/* An instance with op and room for params. */
static convop_status start(const char *name, convop_instance **out)
{
    if (!out) return convop_fail(CONVOP_E_INVALID, "convop_instance_create: out is NULL");
    *out = NULL;
    convop_instance *x = cvp_calloc(1, sizeof *x);
    if (!x) return convop_fail(CONVOP_E_NO_MEMORY, "convop_instance_create: no memory");
    convop_status status = convop_op_find(name, &x->op);
    if (status == CONVOP_OK) {
        x->params = cvp_calloc(1, x->op->params_size ? x->op->params_size : 1);
        if (!x->params)
            status =
                convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for its parameters", x->op->name);
    }
    if (status != CONVOP_OK) convop_instance_destroy(&x);
    *out = x;
    return status;
}

convop_status convop_instance_create(const char *name, size_t num_params, const char *const *keys,
                                     const char *const *values, int num_inputs,
                                     const DLTensor *const *constants,
                                     const convop_context *context, convop_instance **out)
{
    CVP_RETURN_IF_ERROR(start(name, out));
    convop_instance *x = *out;
    convop_status status =
        convop_params_parse(x->op, num_params, keys, values, x->params, x->op->params_size);
    if (status == CONVOP_OK) status = fill(x, num_inputs, constants, context);
    if (status != CONVOP_OK) convop_instance_destroy(out);
    return status;
}

convop_status convop_instance_create_typed(const char *name, const void *params, int num_inputs,
                                           const DLTensor *const *constants,
                                           const convop_context *context, convop_instance **out)
{
    CVP_RETURN_IF_ERROR(start(name, out));
    convop_instance *x = *out;
    convop_status status = cvp_params_read(x->op, params, x->params);
    if (status == CONVOP_OK) status = fill(x, num_inputs, constants, context);
    if (status != CONVOP_OK) convop_instance_destroy(out);
    return status;
}

void convop_instance_destroy(convop_instance **instance)
{
    if (!instance || !*instance) return;
    convop_instance *x = *instance;
    if (x->is_planned && x->op->end) x->op->end(x->plan);
    cvp_free(x->plan);
    cvp_free(x->params);
    convop_op_release(&x->op);
    cvp_free(x);
    *instance = NULL;
}

/* ---- reshape ------------------------------------------------------------------------------- */

static void end_plan(convop_instance *x)
{
    if (x->is_planned && x->op->end) x->op->end(x->plan);
    x->is_planned = 0;
    memset(x->plan, 0, x->op->plan_size);
}

/* The shapes, and compact strides, of outputs that the caller left open. */
/* Outputs that the caller does not describe are where the inputs are. */
static DLDevice device_of(const convop_instance *x)
{
    for (int i = 0; i < x->num_inputs; i++)
        if (x->inputs[i].is_set && cvp_is_on_gpu(&x->inputs[i].tensor))
            return x->inputs[i].tensor.device;
    return (DLDevice){.device_type = kDLCPU};
}

static convop_status infer_outputs(convop_instance *x)
{
    convop_shape in[CVP_MAX_ARGS], out[CVP_MAX_ARGS];
    DLDataType type_in[CVP_MAX_ARGS], type_out[CVP_MAX_ARGS];
    for (int i = 0; i < x->num_inputs; i++)
        cvp_shape_of(x->inputs[i].is_set ? &x->inputs[i].tensor : NULL, &in[i], &type_in[i]);
    for (int i = 0; i < x->num_outputs; i++)
        cvp_shape_of(x->outputs[i].is_set ? &x->outputs[i].tensor : NULL, &out[i], &type_out[i]);
    CVP_RETURN_IF_ERROR(
        convop_infer(x->op, x->params, x->num_inputs, in, x->num_outputs, out, type_in, type_out));
    for (int i = 0; i < x->num_outputs; i++) {
        if (x->outputs[i].is_set) continue;
        if (!convop_shape_is_known(&out[i]) || type_out[i].bits == 0)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: the shape of %s does not follow from the inputs", x->op->name,
                               x->op->outputs[i].name);
        DLTensor t = {.ndim = out[i].ndim, .dtype = type_out[i], .shape = out[i].dim};
        t.device = device_of(x);
        CVP_RETURN_IF_ERROR(cvp_op_check_tensor(x->op, x->op->outputs[i].name, &t, CVP_QUERY));
        set_spec(&x->outputs[i], &t, 0);
    }
    return CONVOP_OK;
}

static convop_status set_specs(convop_instance *x, const DLTensor *const *inputs,
                               DLTensor *const *outputs)
{
    const convop_op *op = x->op;
    for (int i = 0; i < x->num_inputs; i++) {
        if (x->constants >> i & 1) continue;
        if (!inputs || !inputs[i])
            return convop_fail(CONVOP_E_INVALID, "%s: input %s is NULL", op->name,
                               op->inputs[i].name);
        CVP_RETURN_IF_ERROR(cvp_op_check_tensor(op, op->inputs[i].name, inputs[i], CVP_QUERY));
        set_spec(&x->inputs[i], inputs[i], 0);
    }
    for (int i = 0; i < x->num_outputs; i++) {
        x->outputs[i].is_set = 0;
        if (!outputs || !outputs[i]) continue;
        CVP_RETURN_IF_ERROR(cvp_op_check_tensor(op, op->outputs[i].name, outputs[i], CVP_QUERY));
        set_spec(&x->outputs[i], outputs[i], 0);
    }
    return infer_outputs(x);
}

/* 1 if the plan that is there was made for the very same. */
static int is_unchanged(const convop_instance *x, const DLTensor *const *inputs,
                        DLTensor *const *outputs, const convop_request *requests,
                        size_t workspace_limit)
{
    if (!x->is_planned || workspace_limit != x->workspace_limit || !outputs) return 0;
    for (int i = 0; i < x->num_inputs; i++)
        if (!(x->constants >> i & 1) &&
            (!inputs || !inputs[i] ||
             cvp_op_check_tensor(x->op, x->op->inputs[i].name, inputs[i], CVP_QUERY) ||
             !is_as_specified(&x->inputs[i], inputs[i])))
            return 0;
    for (int i = 0; i < x->num_outputs; i++)
        if ((requests ? requests[i] : CONVOP_REQ_WRITE) != x->requests[i] || !outputs[i] ||
            cvp_op_check_tensor(x->op, x->op->outputs[i].name, outputs[i], CVP_QUERY) ||
            !is_as_specified(&x->outputs[i], outputs[i]))
            return 0;
    return 1;
}

convop_status convop_instance_reshape(convop_instance *x, const DLTensor *const *inputs,
                                      DLTensor *const *outputs, const convop_request *requests,
                                      size_t workspace_limit, size_t *workspace_bytes)
{
    if (!x) return convop_fail(CONVOP_E_INVALID, "convop_instance_reshape: instance is NULL");
    if (!is_unchanged(x, inputs, outputs, requests, workspace_limit)) {
        end_plan(x);
        CVP_RETURN_IF_ERROR(set_specs(x, inputs, outputs));
        const DLTensor *in[CVP_MAX_ARGS];
        DLTensor *out[CVP_MAX_ARGS];
        for (int i = 0; i < x->num_inputs; i++) in[i] = &x->inputs[i].tensor;
        for (int i = 0; i < x->num_outputs; i++) out[i] = &x->outputs[i].tensor;
        struct cvp_call call;
        CVP_RETURN_IF_ERROR(cvp_call_init(&call, x->op, x->params, x->num_inputs, in,
                                          x->num_outputs, out, requests, x->context));
        CVP_RETURN_IF_ERROR(cvp_call_check(&call, 1));
        memcpy(x->requests, call.requests, sizeof x->requests);
        cvp_call_extents(&call, x->extents);
        call.args.constants = x->constants;
        call.args.workspace_limit = workspace_limit;
        size_t bytes = 0;
        CVP_RETURN_IF_ERROR(cvp_call_plan(&call, x->plan, &bytes));
        if (bytes > SIZE_MAX - CVP_BUFFER_ALIGN) {
            if (x->op->end) x->op->end(x->plan);
            return convop_fail(CONVOP_E_INTERNAL, "%s: its plan wants %zu bytes", x->op->name,
                               bytes);
        }
        x->is_planned = 1;
        x->workspace_limit = workspace_limit;
        /* A caller's memory counts from its first boundary on. */
        x->workspace_bytes = bytes ? bytes + CVP_BUFFER_ALIGN - 1 : 0;
    }
    if (workspace_bytes) *workspace_bytes = x->workspace_bytes;
    return CONVOP_OK;
}

convop_status convop_instance_output(const convop_instance *x, int index, convop_shape *shape,
                                     DLDataType *dtype)
{
    if (!x) return convop_fail(CONVOP_E_INVALID, "convop_instance_output: instance is NULL");
    if (!x->is_planned)
        return convop_fail(CONVOP_E_STATE, "%s: the instance has no shapes before reshape",
                           x->op->name);
    if (index < 0 || index >= x->num_outputs)
        return convop_fail(CONVOP_E_INVALID, "%s: output %d, allowed is 0..%d", x->op->name, index,
                           x->num_outputs - 1);
    convop_shape s;
    DLDataType type;
    cvp_shape_of(&x->outputs[index].tensor, &s, &type);
    if (shape) *shape = s;
    if (dtype) *dtype = type;
    return CONVOP_OK;
}

/* ---- run ----------------------------------------------------------------------------------- */

static convop_status differs(const convop_instance *x, const char *name)
{
    return convop_fail(CONVOP_E_INVALID,
                       "%s: %s differs from what reshape was given in shape, strides, dtype or "
                       "device",
                       x->op->name, name);
}

/* 1 if all tensors are those of reshape and where they may be. */
static int is_plain(const convop_instance *x, const struct cvp_call *call)
{
    for (int i = 0; i < x->num_inputs; i++)
        if (!(x->constants >> i & 1) &&
            !is_plainly_as_specified(&x->inputs[i], call->args.inputs[i]))
            return 0;
    for (int i = 0; i < x->num_outputs; i++)
        if (cvp_call_wants(call, i) &&
            !is_plainly_as_specified(&x->outputs[i], call->args.outputs[i]))
            return 0;
    return cvp_call_addresses_fit(call, x->extents);
}

/* For tensors that are not plain: what is wrong with them, if anything is. */
static convop_status check(const convop_instance *x, const struct cvp_call *call)
{
    CVP_RETURN_IF_ERROR(cvp_call_check_tensors(call));
    for (int i = 0; i < x->num_inputs; i++)
        if (!is_as_specified(&x->inputs[i], call->args.inputs[i]))
            return differs(x, x->op->inputs[i].name);
    for (int i = 0; i < x->num_outputs; i++)
        if (cvp_call_wants(call, i) && !is_as_specified(&x->outputs[i], call->args.outputs[i]))
            return differs(x, x->op->outputs[i].name);
    return CONVOP_OK;
}

static convop_status run(const convop_instance *x, const DLTensor *const *inputs,
                         DLTensor *const *outputs, const convop_exec *exec)
{
    if (!x) return convop_fail(CONVOP_E_INVALID, "convop_instance_run: instance is NULL");
    if (!x->is_planned)
        return convop_fail(CONVOP_E_STATE, "%s: the instance cannot run before reshape",
                           x->op->name);
    convop_exec e = CONVOP_EXEC_INIT;
    if (exec) CVP_RETURN_IF_ERROR(cvp_read_struct(&e, sizeof e, exec, "convop_exec"));

    const DLTensor *in[CVP_MAX_ARGS];
    for (int i = 0; i < x->num_inputs; i++)
        in[i] = x->constants >> i & 1 ? &x->inputs[i].tensor : inputs ? inputs[i] : NULL;
    struct cvp_call call;
    if (!cvp_call_fill(&call, x->op, x->params, x->num_inputs, in, x->num_outputs, outputs,
                       x->requests, x->context))
        return cvp_call_init(&call, x->op, x->params, x->num_inputs, in, x->num_outputs, outputs,
                             x->requests, x->context);
    call.args.stream = e.stream;
    call.args.is_train = e.is_train;
    call.args.constants = x->constants;
    if (!is_plain(x, &call)) CVP_RETURN_IF_ERROR(check(x, &call));
    size_t bytes = x->workspace_bytes ? x->workspace_bytes - (CVP_BUFFER_ALIGN - 1) : 0;
    return cvp_call_run(&call, x->plan, bytes, &e);
}

convop_status convop_instance_run(const convop_instance *x, const DLTensor *const *inputs,
                                  DLTensor *const *outputs, const convop_exec *exec)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_CALL);
    convop_status status = run(x, inputs, outputs, exec);
    cvp_stage_leave(outer);
    return status;
}

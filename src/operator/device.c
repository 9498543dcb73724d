/* Tensors on a GPU: refused where it is not here, or where the operator computes on the CPU. */
#include "src/operator/device.h"

#include "src/common/status.h"

/* Ids above are no device of any machine; src/common says so. */
#define MAX_ID 1023

const char cvp_runs_on_gpu = 1;

static int runs_on_gpu(const convop_op *op)
{
    for (size_t i = 0; i < op->num_attrs; i++)
        if (op->attrs[i].value == &cvp_runs_on_gpu) return 1;
    return 0;
}

/* The CPU, or a GPU that is here. */
static convop_status check_device(const char *op, const char *name, DLDevice device)
{
    const char *why;
    if (device.device_type != kDLCUDA || device.device_id < 0 || device.device_id > MAX_ID)
        return cvp_device_check(op, name, device);
    if (cvp_gpu_get(device.device_id, &why)) return CONVOP_OK;
    return convop_fail(CONVOP_E_DEVICE, "%s: %s is on device cuda:%d, which is not here: %s", op,
                       name, device.device_id, why);
}

convop_status cvp_op_check_tensor(const convop_op *op, const char *name, const DLTensor *t,
                                  enum cvp_role role)
{
    CVP_RETURN_IF_ERROR(cvp_tensor_check_on(op->name, name, t, role, check_device));
    if (!cvp_is_on_gpu(t) || runs_on_gpu(op)) return CONVOP_OK;
    return convop_fail(CONVOP_E_UNSUPPORTED,
                       "%s: %s is on device cuda:%d, and the operator runs on the CPU alone",
                       op->name, name, t->device.device_id);
}

const struct cvp_gpu *cvp_call_gpu(const struct cvp_call *call)
{
    const convop_op_args *args = &call->args;
    const char *why;
    for (int i = 0; i < args->num_inputs + args->num_outputs; i++) {
        const int out = i - args->num_inputs;
        const DLTensor *t = out < 0 ? args->inputs[i] : args->outputs[out];
        if (t) return cvp_is_on_gpu(t) ? cvp_gpu_get(t->device.device_id, &why) : NULL;
    }
    return NULL;
}

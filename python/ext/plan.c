/* A plan: an instance of the library that was reshaped once, for tensors of one set of layouts, and
 * is not again, so that any number of threads may run it. */
#include <stdlib.h>

#include "python/ext/ext.h"

/* All that a tensor is but its address. */
struct layout {
    DLDevice device;
    DLDataType dtype;
    int ndim, is_compact;
    int64_t shape[CONVOP_MAX_DIMS], strides[CONVOP_MAX_DIMS];
};

struct cvp_py_plan {
    int references; /* changed with the GIL only */
    PyObject *made; /* keeps the instance */
    const convop_instance *instance;
    int is_brief; /* a run takes less time than giving back the GIL */
    int num_inputs, num_outputs;
    struct layout inputs[CVP_PY_MAX_TENSORS], outputs[CVP_PY_MAX_TENSORS];
};

static void complete(struct layout *layout, const int64_t *strides)
{
    int64_t step = 1;
    layout->is_compact = 1;
    for (int i = layout->ndim - 1; i >= 0; i--) {
        layout->strides[i] = strides ? strides[i] : step;
        if (layout->strides[i] != step && layout->shape[i] > 1) layout->is_compact = 0;
        step *= layout->shape[i];
    }
}

/* The library has taken the tensor: it has no more dimensions than may be. */
static void read_layout(struct layout *layout, const DLTensor *tensor)
{
    *layout =
        (struct layout){.device = tensor->device, .dtype = tensor->dtype, .ndim = tensor->ndim};
    for (int i = 0; i < tensor->ndim; i++) layout->shape[i] = tensor->shape[i];
    complete(layout, tensor->strides);
}

static int fits(const struct layout *layout, const DLTensor *tensor)
{
    if (tensor->ndim != layout->ndim || tensor->dtype.code != layout->dtype.code ||
        tensor->dtype.bits != layout->dtype.bits || tensor->dtype.lanes != layout->dtype.lanes ||
        tensor->device.device_type != layout->device.device_type ||
        tensor->device.device_id != layout->device.device_id ||
        (!tensor->strides && !layout->is_compact))
        return 0;
    for (int i = 0; i < layout->ndim; i++)
        if (tensor->shape[i] != layout->shape[i] ||
            (tensor->strides && tensor->strides[i] != layout->strides[i] && layout->shape[i] > 1))
            return 0;
    return 1;
}

/* A member that is a number; 0 with the error set. */
static double number(PyObject *made, const char *name, void **address)
{
    PyObject *value = PyObject_GetAttrString(made, name);
    double result = value && !address ? PyFloat_AsDouble(value) : 0;
    if (value && address) *address = PyLong_AsVoidPtr(value);
    Py_XDECREF(value);
    return result;
}

static convop_status read_outputs(struct cvp_py_plan *plan, const DLTensor *first,
                                  DLTensor *const *outputs)
{
    for (int i = 0; i < plan->num_outputs; i++) {
        struct layout *layout = &plan->outputs[i];
        convop_shape shape;
        if (outputs) {
            read_layout(layout, outputs[i]);
            continue;
        }
        convop_status status = convop_instance_output(plan->instance, i, &shape, &layout->dtype);
        if (status != CONVOP_OK) return status;
        layout->device = first->device;
        layout->ndim = shape.ndim;
        for (int axis = 0; axis < shape.ndim; axis++) layout->shape[axis] = shape.dim[axis];
        complete(layout, NULL);
    }
    return CONVOP_OK;
}

struct cvp_py_plan *cvp_py_plan_new(PyObject *made, int num_inputs, const DLTensor *const *inputs,
                                    DLTensor *const *outputs)
{
    struct cvp_py_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        PyErr_SetString(cvp_py.no_memory_error, "no memory for a plan");
        return NULL;
    }
    void *instance = NULL;
    plan->references = 1;
    plan->made = made;
    Py_INCREF(made);
    plan->num_inputs = num_inputs;
    plan->num_outputs = (int)number(made, "num_outputs", NULL);
    plan->is_brief = number(made, "work", NULL) < CVP_PY_BRIEF;
    number(made, "address", &instance);
    plan->instance = instance;
    for (int i = 0; i < num_inputs; i++) read_layout(&plan->inputs[i], inputs[i]);
    convop_status status = PyErr_Occurred() ? CONVOP_OK : read_outputs(plan, inputs[0], outputs);
    if (status != CONVOP_OK) cvp_py_raise(status);
    if (PyErr_Occurred()) {
        cvp_py_plan_release(plan);
        return NULL;
    }
    return plan;
}

struct cvp_py_plan *cvp_py_plan_retain(struct cvp_py_plan *plan)
{
    plan->references++;
    return plan;
}

void cvp_py_plan_release(struct cvp_py_plan *plan)
{
    if (--plan->references) return;
    PyObject *made = plan->made;
    free(plan);
    Py_DECREF(made);
}

int cvp_py_plan_fits(const struct cvp_py_plan *plan, int num_inputs, const DLTensor *const *inputs,
                     int num_outputs, DLTensor *const *outputs)
{
    if (num_inputs != plan->num_inputs || (outputs && num_outputs != plan->num_outputs)) return 0;
    for (int i = 0; i < num_inputs; i++)
        if (!fits(&plan->inputs[i], inputs[i])) return 0;
    for (int i = 0; i < plan->num_outputs; i++)
        if (outputs ? !fits(&plan->outputs[i], outputs[i]) : !plan->outputs[i].is_compact) return 0;
    return 1;
}

int cvp_py_plan_num_outputs(const struct cvp_py_plan *plan)
{
    return plan->num_outputs;
}

const int64_t *cvp_py_plan_output(const struct cvp_py_plan *plan, int index, int *ndim,
                                  DLDataType *dtype)
{
    const struct layout *layout = &plan->outputs[index];
    *ndim = layout->ndim;
    *dtype = layout->dtype;
    return layout->shape;
}

convop_status cvp_py_plan_run(const struct cvp_py_plan *plan, const DLTensor *const *inputs,
                              DLTensor *const *outputs, const convop_exec *exec)
{
    if (plan->is_brief && !cvp_py_may_log())
        return convop_instance_run(plan->instance, inputs, outputs, exec);
    PyThreadState *state = PyEval_SaveThread();
    convop_status status = convop_instance_run(plan->instance, inputs, outputs, exec);
    PyEval_RestoreThread(state);
    return status;
}

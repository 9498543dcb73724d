/* A new array of the same kind as another: by the exchange API where the type offers it, by
 * numpy.empty for NumPy; for all others convop/_arrays.py knows a way. */
#include <string.h>

#include "python/ext/ext.h"

const char *const cvp_py_out_names[CVP_PY_MAX_TENSORS] = {
    "out[0]", "out[1]", "out[2]",  "out[3]",  "out[4]",  "out[5]",  "out[6]",  "out[7]",
    "out[8]", "out[9]", "out[10]", "out[11]", "out[12]", "out[13]", "out[14]", "out[15]"};

static void set_error(void *context, const char *kind, const char *message)
{
    (void)context;
    int memory = kind && strcmp(kind, "MemoryError") == 0;
    PyErr_SetString(memory ? cvp_py.no_memory_error : cvp_py.exchange_error,
                    message ? message : "the array's allocator failed");
}

static PyObject *shape_tuple(int ndim, const int64_t *shape)
{
    PyObject *tuple = PyTuple_New(ndim);
    for (int i = 0; tuple && i < ndim; i++) {
        PyObject *size = PyLong_FromLongLong(shape[i]);
        if (!size || PyTuple_SetItem(tuple, i, size)) Py_CLEAR(tuple);
    }
    return tuple;
}

/* NumPy has MemoryError where there is no memory, ValueError where there can be none. */
static void fail_numpy(void)
{
    PyObject *type, *value, *trace;
    if (!PyErr_ExceptionMatches(PyExc_MemoryError) && !PyErr_ExceptionMatches(PyExc_ValueError))
        return;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyErr_Format(cvp_py.no_memory_error, "%S", value ? value : type);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

static PyObject *new_numpy(const struct cvp_py_type *type, PyObject *like, int ndim,
                           const int64_t *shape)
{
    if (type->is_ndarray) return cvp_py_ndarray_new(like, ndim, shape);
    PyObject *args[] = {shape_tuple(ndim, shape), PyObject_GetAttr(like, cvp_py.dtype)};
    PyObject *array = NULL;
    if (args[0] && args[1]) array = PyObject_VectorcallDict(type->empty, args, 2, NULL);
    Py_XDECREF(args[0]);
    Py_XDECREF(args[1]);
    return array;
}

static PyObject *new_other(PyObject *like, const DLTensor *prototype, int ndim,
                           const int64_t *shape)
{
    PyObject *sizes = shape_tuple(ndim, shape);
    return PyObject_CallFunction(cvp_py.allocate, "ONiii", like, sizes, (int)prototype->dtype.code,
                                 (int)prototype->dtype.bits, (int)prototype->device.device_type);
}

static int new_by_exchange(const DLTensor *prototype, int ndim, struct cvp_py_output *output)
{
    DLTensor wanted = *prototype;
    wanted.ndim = ndim;
    wanted.shape = output->shape;
    wanted.strides = NULL;
    wanted.byte_offset = 0;
    wanted.data = NULL;
    /* On the CPU memory is memory, and convop's is there sooner: it is pooled. */
    int on_cpu = wanted.device.device_type == kDLCPU;
    if ((on_cpu ? convop_dlpack_allocate
                : output->exchange->allocate)(&wanted, &output->view.versioned, NULL, set_error) ||
        !output->view.versioned) {
        output->view.versioned = NULL;
        if (!PyErr_Occurred()) set_error(NULL, NULL, NULL);
        return -1;
    }
    output->view.tensor = output->view.versioned->dl_tensor;
    return 0;
}

int cvp_py_output_begin(PyObject *given, const char *name, PyObject *like,
                        const DLTensor *prototype, int ndim, const int64_t *shape,
                        const DLDataType *dtype, struct cvp_py_output *output)
{
    DLTensor wanted = *prototype;
    output->view.managed = NULL;
    output->view.versioned = NULL;
    output->object = output->like = NULL;
    output->exchange = NULL;
    if (given) {
        if (cvp_py_borrow(given, name, 1, &output->view)) return -1;
        Py_INCREF(given);
        output->object = given;
        return 0;
    }
    struct cvp_py_type room;
    const struct cvp_py_type *type = cvp_py_type_of(like, &room);
    for (int i = 0; i < ndim; i++) output->shape[i] = shape[i];
    if (dtype) wanted.dtype = *dtype;
    output->exchange = type->exchange;
    if (output->exchange) return new_by_exchange(&wanted, ndim, output);
    if (type->empty && wanted.dtype.code == prototype->dtype.code &&
        wanted.dtype.bits == prototype->dtype.bits) {
        output->object = new_numpy(type, like, ndim, shape);
        if (!output->object) fail_numpy();
    } else {
        output->object = new_other(like, &wanted, ndim, shape);
        output->like = like;
    }
    if (!output->object || cvp_py_borrow(output->object, name, 1, &output->view)) {
        cvp_py_output_drop(output);
        return -1;
    }
    return 0;
}

PyObject *cvp_py_output_finish(struct cvp_py_output *output)
{
    PyObject *object = output->object;
    if (output->exchange) {
        void *made = NULL;
        struct DLManagedTensorVersioned *tensor = output->view.versioned;
        output->view.versioned = NULL; /* it is the other side's from here on */
        object = output->exchange->to_object(tensor, &made) ? NULL : made;
        if (!object && !PyErr_Occurred()) set_error(NULL, NULL, "its library made no array of it");
    }
    cvp_py_release(&output->view);
    if (output->like && object) {
        PyObject *delivered = PyObject_CallFunction(cvp_py.deliver, "OO", output->like, object);
        Py_DECREF(object);
        object = delivered;
    }
    output->object = NULL;
    return object;
}

static PyObject *finish_wanted(struct cvp_py_output *output, const convop_request *request)
{
    if (!request || *request != CONVOP_REQ_NULL) return cvp_py_output_finish(output);
    Py_INCREF(Py_None);
    return Py_None;
}

PyObject *cvp_py_outputs_finish(struct cvp_py_output *outputs, const convop_request *requests,
                                int count)
{
    if (count == 1) return finish_wanted(outputs, requests);
    PyObject *result = PyTuple_New(count);
    for (int i = 0; i < count; i++) {
        if (!result) {
            cvp_py_output_drop(&outputs[i]);
            continue;
        }
        PyObject *object = finish_wanted(&outputs[i], requests ? &requests[i] : NULL);
        if (!object || PyTuple_SetItem(result, i, object)) Py_CLEAR(result);
    }
    return result;
}

void cvp_py_output_drop(struct cvp_py_output *output)
{
    cvp_py_release(&output->view);
    Py_CLEAR(output->object);
}

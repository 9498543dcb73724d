/* Takes the tensor of an array for the time of a call, and gives it back. */
#include "python/ext/ext.h"

/* Turns the error of an array that does not let itself be taken into one of ours. */
static int refuse(PyObject *object, const char *name)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (!value) {
        PyErr_Format(cvp_py.exchange_error, "%s: its library gave no tensor, and no reason", name);
        return -1;
    }
    PyObject *error = PyObject_CallFunction(cvp_py.refused, "sOO", name, object, value);
    if (error) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return -1;
}

/* Grad mode is looked at only for a tensor that wants a gradient: a rare one. */
static int grad_is_enabled(void)
{
    PyObject *torch = PyImport_ImportModule("torch");
    PyObject *enabled = torch ? PyObject_CallMethod(torch, "is_grad_enabled", NULL) : NULL;
    Py_XDECREF(torch);
    Py_XDECREF(enabled); /* True and False live on */
    PyErr_Clear();
    return enabled == Py_True;
}

/* The exchange API of PyTorch hands out tensors whose gradient is wanted as if they were plain. */
static int check_grad(PyObject *object, const char *name)
{
    PyObject *answer = PyObject_GetAttr(object, cvp_py.requires_grad);
    if (!answer) return refuse(object, name);
    Py_DECREF(answer);
    if (answer != Py_True || !grad_is_enabled()) return 0;
    PyErr_Format(cvp_py.exchange_error,
                 "%s: the tensor requires a gradient, which is lost here: use convop.torch, "
                 "tensor.detach() or torch.no_grad()",
                 name);
    return -1;
}

/* It hands out tensors whose sign is still to be turned, too: imaginary parts of conjugates. They
 * lie between the real parts, so their strides are even; to ask all others would cost as much as
 * the rest of the borrowing. */
static int check_sign(PyObject *object, const char *name, const DLTensor *tensor)
{
    for (int i = 0; tensor->strides && i < tensor->ndim; i++)
        if (tensor->shape[i] > 1 && tensor->strides[i] % 2) return 0;
    PyObject *answer = PyObject_VectorcallMethod(cvp_py.is_neg, &object, 1, NULL);
    if (!answer) return refuse(object, name);
    Py_DECREF(answer);
    if (answer != Py_True) return 0;
    PyErr_Format(cvp_py.exchange_error,
                 "%s: the tensor's sign is still to be turned: use tensor.resolve_neg()", name);
    return -1;
}

static int borrow_exchange(const struct cvp_py_type *type, PyObject *object, const char *name,
                           int writable, struct cvp_py_view *view)
{
    const struct cvp_dlpack_exchange_api *exchange = type->exchange;
    if (type->knows_grad && check_grad(object, name)) return -1;
    /* A view does not say whether it is read-only. */
    if (!writable && exchange->view_of_object) {
        if (exchange->view_of_object(object, &view->tensor)) return refuse(object, name);
        return type->knows_grad ? check_sign(object, name, &view->tensor) : 0;
    }
    if (exchange->from_object(object, &view->versioned) || !view->versioned) {
        view->versioned = NULL;
        return refuse(object, name);
    }
    if (type->knows_grad && check_sign(object, name, &view->versioned->dl_tensor)) {
        cvp_py_release(view);
        return -1;
    }
    return 0;
}

static PyObject *call_dlpack(const struct cvp_py_type *type, PyObject *object)
{
    int gpu = cvp_py_is_on_gpu(type, object);
    if (gpu < 0) return NULL;
    if (!type->unversioned) {
        PyObject *args[] = {object, cvp_py.version, cvp_py.stream};
        PyObject *capsule = PyObject_VectorcallMethod(
            cvp_py.dlpack, args, 1, gpu ? cvp_py.version_stream_key : cvp_py.version_key);
        if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError)) return capsule;
        PyErr_Clear();
    }
    PyObject *args[] = {object, cvp_py.stream};
    PyObject *capsule =
        PyObject_VectorcallMethod(cvp_py.dlpack, args, 1, gpu ? cvp_py.stream_key : NULL);
    if (capsule) cvp_py_type_is_unversioned(Py_TYPE(object));
    return capsule;
}

static int borrow_capsule(const struct cvp_py_type *type, PyObject *object, const char *name,
                          struct cvp_py_view *view)
{
    PyObject *capsule = call_dlpack(type, object);
    if (!capsule) return refuse(object, name);
    /* The capsule's new name says that its tensor is ours to give back. */
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        view->versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        PyCapsule_SetName(capsule, "used_dltensor_versioned");
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
        view->managed = PyCapsule_GetPointer(capsule, "dltensor");
        PyCapsule_SetName(capsule, "used_dltensor");
    } else {
        Py_DECREF(capsule);
        PyErr_Format(cvp_py.exchange_error,
                     "%s: __dlpack__() answered with something that is no unused DLPack capsule",
                     name);
        return -1;
    }
    Py_DECREF(capsule);
    return 0;
}

/* What is read here, before the library checks all of a tensor. */
static int check_shape(const DLTensor *tensor, const char *name)
{
    if (tensor->ndim >= 0 && tensor->ndim <= CONVOP_MAX_DIMS && (!tensor->ndim || tensor->shape))
        return 0;
    PyErr_Format(cvp_py.invalid_error, "%s has ndim %d%s, want 0 to %d", name, (int)tensor->ndim,
                 tensor->shape ? "" : " and no shape", CONVOP_MAX_DIMS);
    return -1;
}

static int check_versioned(const struct DLManagedTensorVersioned *tensor, const char *name,
                           int writable)
{
    if (tensor->version.major != CVP_DLPACK_MAJOR) {
        PyErr_Format(cvp_py.exchange_error, "%s: DLPack %u.%u, allowed is version 1", name,
                     (unsigned)tensor->version.major, (unsigned)tensor->version.minor);
        return -1;
    }
    if (writable && tensor->flags & CVP_DLPACK_READ_ONLY) {
        PyErr_Format(cvp_py.exchange_error, "%s: the array is read-only", name);
        return -1;
    }
    return 0;
}

int cvp_py_borrow(PyObject *object, const char *name, int writable, struct cvp_py_view *view)
{
    struct cvp_py_type room;
    const struct cvp_py_type *type = cvp_py_type_of(object, &room);
    if (type->is_ndarray && cvp_py_ndarray_view(object, view)) return 0;
    view->managed = NULL;
    view->versioned = NULL;
    if (type->exchange ? borrow_exchange(type, object, name, writable, view)
                       : borrow_capsule(type, object, name, view))
        return -1;
    int failed = view->versioned && check_versioned(view->versioned, name, writable);
    if (view->managed) view->tensor = view->managed->dl_tensor;
    if (view->versioned && !failed) view->tensor = view->versioned->dl_tensor;
    if (!failed) failed = check_shape(&view->tensor, name);
    if (failed) cvp_py_release(view);
    return failed ? -1 : 0;
}

void cvp_py_release(struct cvp_py_view *view)
{
    if (!view->versioned && !view->managed) return;
    /* Deleters may run Python code of the producer, which starts without an error. */
    PyObject *type, *value, *trace;
    int failing = PyErr_Occurred() != NULL;
    if (failing) PyErr_Fetch(&type, &value, &trace);
    if (view->versioned && view->versioned->deleter) view->versioned->deleter(view->versioned);
    if (view->managed && view->managed->deleter) view->managed->deleter(view->managed);
    if (failing) PyErr_Restore(type, value, trace);
    view->managed = NULL;
    view->versioned = NULL;
}

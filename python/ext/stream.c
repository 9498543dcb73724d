/* Arrays on a GPU: which stream their producer must have them ready on, and which one a call gets.
 */
#include "python/ext/ext.h"

static int is_cuda(long device_type)
{
    return device_type == kDLCUDA || device_type == kDLCUDAManaged;
}

int cvp_py_is_on_gpu(const struct cvp_py_type *type, PyObject *object)
{
    if (type->empty) return 0;
    PyObject *method = PyObject_GetAttr(object, cvp_py.dlpack_device);
    if (!method) {
        /* The CPU's arrays may do without; those that have no __dlpack__ either are refused next.
         */
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
        PyErr_Clear();
        return 0;
    }
    PyObject *device = PyObject_CallFunctionObjArgs(method, NULL);
    PyObject *first = device ? PySequence_GetItem(device, 0) : NULL;
    long kind = first ? PyLong_AsLong(first) : -1;
    Py_DECREF(method);
    Py_XDECREF(device);
    Py_XDECREF(first);
    return PyErr_Occurred() ? -1 : is_cuda(kind);
}

int cvp_py_exec(PyObject *first, const DLTensor *tensor, convop_exec *room, const convop_exec **out)
{
    *out = NULL;
    if (!is_cuda(tensor->device.device_type)) return 0;
    *room = (convop_exec)CONVOP_EXEC_INIT;
    *out = room;
    struct cvp_py_type space;
    const struct cvp_dlpack_exchange_api *exchange = cvp_py_type_of(first, &space)->exchange;
    /* What came by __dlpack__ is ready on the legacy default stream, which NULL is. */
    if (!exchange || !exchange->current_stream) return 0;
    if (exchange->current_stream(tensor->device.device_type, tensor->device.device_id,
                                 &room->stream)) {
        if (!PyErr_Occurred())
            PyErr_SetString(cvp_py.exchange_error, "the array's library names no current stream");
        return -1;
    }
    return 0;
}

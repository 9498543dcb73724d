/* Names, classes and Python functions that the extension looks up once. */
#include "python/ext/ext.h"

struct cvp_py_names cvp_py;

static int intern(PyObject **name, const char *text)
{
    *name = PyUnicode_InternFromString(text);
    return *name ? 0 : -1;
}

static int import(PyObject **object, const char *module, const char *name)
{
    PyObject *from = PyImport_ImportModule(module);
    if (!from) return -1;
    *object = PyObject_GetAttrString(from, name);
    Py_DECREF(from);
    return *object ? 0 : -1;
}

int cvp_py_support_init(void)
{
    static const char errors[] = "convop._errors", arrays[] = "convop._arrays";
    if (intern(&cvp_py.dlpack, "__dlpack__") ||
        intern(&cvp_py.dlpack_device, "__dlpack_device__") ||
        intern(&cvp_py.requires_grad, "requires_grad") || intern(&cvp_py.is_neg, "is_neg") ||
        intern(&cvp_py.dtype, "dtype") || intern(&cvp_py.write, "write") ||
        intern(&cvp_py.add, "add") || intern(&cvp_py.null, "null") || intern(&cvp_py.out, "out") ||
        intern(&cvp_py.empty, "") || import(&cvp_py.argument_error, errors, "ArgumentError") ||
        import(&cvp_py.exchange_error, errors, "ExchangeError") ||
        import(&cvp_py.invalid_error, errors, "InvalidError") ||
        import(&cvp_py.unsupported_error, errors, "UnsupportedError") ||
        import(&cvp_py.no_memory_error, errors, "NoMemoryError") ||
        import(&cvp_py.of_status, errors, "of_status") ||
        import(&cvp_py.refused, errors, "refused") ||
        import(&cvp_py.conv_params, "convop._params", "conv_params") ||
        import(&cvp_py.recipe, "convop._invoke", "recipe") ||
        import(&cvp_py.allocate, arrays, "allocate") ||
        import(&cvp_py.deliver, arrays, "deliver") || import(&cvp_py.adopt, arrays, "adopt"))
        return -1;
    cvp_py.version_key = Py_BuildValue("(N)", PyUnicode_InternFromString("max_version"));
    cvp_py.version = Py_BuildValue("(ii)", CVP_DLPACK_MAJOR, CVP_DLPACK_MINOR);
    cvp_py.stream_key = Py_BuildValue("(N)", PyUnicode_InternFromString("stream"));
    cvp_py.version_stream_key = Py_BuildValue("(NN)", PyUnicode_InternFromString("max_version"),
                                              PyUnicode_InternFromString("stream"));
    cvp_py.stream = PyLong_FromLong(1);
    return cvp_py.version_key && cvp_py.version && cvp_py.stream_key && cvp_py.version_stream_key &&
                   cvp_py.stream
               ? 0
               : -1;
}

void cvp_py_raise(convop_status status)
{
    PyObject *error =
        PyObject_CallFunction(cvp_py.of_status, "is", (int)status, convop_last_error());
    if (!error) return;
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
}

convop_shape cvp_py_shape_of(const DLTensor *tensor)
{
    convop_shape shape = {.ndim = tensor->ndim};
    for (int i = 0; i < tensor->ndim && i < CONVOP_MAX_DIMS; i++) shape.dim[i] = tensor->shape[i];
    return shape;
}

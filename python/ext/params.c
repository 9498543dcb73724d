/* From keywords to convop_conv_params. What Python's values mean is said in convop/_params.py, once
 * for each set of values. */
#include <string.h>

#include "python/ext/ext.h"

/* _params.conv_params(ndim, **keywords), which remembers too; without its memory if a value may
 * change. */
static PyObject *ask(const struct cvp_py_arguments *a, int ndim, int is_lasting)
{
    PyObject *args = Py_BuildValue("(i)", ndim), *kwargs = cvp_py_keywords(a), *params = NULL;
    if (args && kwargs) {
        PyObject *function = cvp_py.conv_params;
        if (is_lasting)
            Py_INCREF(function);
        else
            function = PyObject_GetAttrString(cvp_py.conv_params, "__wrapped__");
        if (function) params = PyObject_Call(function, args, kwargs);
        Py_XDECREF(function);
    }
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    if (params && PyBytes_Size(params) != (Py_ssize_t)sizeof(convop_conv_params)) {
        PyErr_SetString(PyExc_SystemError, "convop: the structs of Python and C differ");
        Py_CLEAR(params);
    }
    return params;
}

/* The weights' shape is oc, ic / num_group, kernel; or oc, kernel, ic / num_group. */
static void complete(const DLTensor *weights, convop_conv_params *p)
{
    int channels_last = p->layout != CONVOP_LAYOUT_DEFAULT && p->layout % 2 == 0;
    if (!p->kernel.len && weights->ndim >= 3 && weights->ndim <= 5) {
        p->kernel.len = weights->ndim - 2;
        for (int i = 0; i < p->kernel.len; i++)
            p->kernel.at[i] = weights->shape[i + (channels_last ? 1 : 2)];
    }
    if (!p->num_filter && weights->ndim > 0) p->num_filter = weights->shape[0];
}

int cvp_py_conv_params(const struct cvp_py_arguments *a, const DLTensor *weights, int has_bias,
                       convop_conv_params *out)
{
    const struct cvp_py_question question = {cvp_py.conv_params, {weights->ndim, 0, 0}, a};
    PyObject *params = cvp_py_recall(&question);
    if (!params) {
        int is_lasting = cvp_py_is_lasting(a);
        params = ask(a, weights->ndim, is_lasting);
        if (!params) return -1;
        if (is_lasting) cvp_py_remember(&question, params);
    }
    memcpy(out, PyBytes_AsString(params), sizeof *out);
    Py_DECREF(params);
    complete(weights, out);
    if (!has_bias) out->no_bias = 1;
    return 0;
}

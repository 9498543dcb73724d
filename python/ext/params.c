/* From keywords to convop_conv_params. What Python's values mean is said in convop/_params.py, once
 * for each set of values; here is a cache in front of it that compares addresses only. Values in
 * it are such as can be hashed, so they do not change. */
#include <string.h>

#include "python/ext/ext.h"

struct entry {
    PyObject *kwnames;
    int ndim, count;
    PyObject *values[CVP_PY_MAX_KEYWORDS];
    PyObject *params; /* bytes that hold a convop_conv_params */
};
#define NUM_ENTRIES 512
static struct entry entries[NUM_ENTRIES];

static struct entry *slot_of(const struct cvp_py_arguments *a, int ndim)
{
    uintptr_t hash = (uintptr_t)a->kwnames ^ (uintptr_t)ndim << 4;
    for (int i = 0; i < a->num_params; i++) hash = hash * 31 + (uintptr_t)a->param_values[i];
    return &entries[(hash >> 4 ^ hash >> 13) % NUM_ENTRIES];
}

static int holds(const struct entry *entry, const struct cvp_py_arguments *a, int ndim)
{
    if (!entry->params || entry->kwnames != a->kwnames || entry->ndim != ndim) return 0;
    for (int i = 0; i < entry->count; i++)
        if (entry->values[i] != a->param_values[i]) return 0;
    return 1;
}

static void keep(struct entry *entry, const struct cvp_py_arguments *a, int ndim, PyObject *params)
{
    struct entry old = *entry;
    entry->kwnames = a->kwnames;
    entry->ndim = ndim;
    entry->count = a->num_params;
    entry->params = params;
    Py_XINCREF(a->kwnames);
    Py_INCREF(params);
    for (int i = 0; i < a->num_params; i++) {
        entry->values[i] = a->param_values[i];
        Py_INCREF(entry->values[i]);
    }
    Py_XDECREF(old.kwnames);
    Py_XDECREF(old.params);
    for (int i = 0; i < old.count; i++) Py_XDECREF(old.values[i]);
}

/* _params.conv_params(ndim, **keywords), which remembers too; without its memory if a value cannot
 * be hashed, and then nothing is kept here. */
static PyObject *ask(const struct cvp_py_arguments *a, int ndim, int *lasting)
{
    PyObject *args = Py_BuildValue("(i)", ndim), *kwargs = PyDict_New(), *params = NULL;
    for (int i = 0; kwargs && i < a->num_params; i++)
        if (PyDict_SetItem(kwargs, a->param_names[i], a->param_values[i])) Py_CLEAR(kwargs);
    *lasting = kwargs != NULL;
    for (int i = 0; i < a->num_params && *lasting; i++)
        if (PyObject_Hash(a->param_values[i]) == -1) {
            PyErr_Clear();
            *lasting = 0;
        }
    if (args && kwargs) {
        PyObject *function = cvp_py.conv_params;
        if (*lasting)
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
    struct entry *entry = slot_of(a, weights->ndim);
    if (holds(entry, a, weights->ndim)) {
        memcpy(out, PyBytes_AsString(entry->params), sizeof *out);
    } else {
        int lasting;
        PyObject *params = ask(a, weights->ndim, &lasting);
        if (!params) return -1;
        memcpy(out, PyBytes_AsString(params), sizeof *out);
        if (lasting) keep(entry, a, weights->ndim, params);
        Py_DECREF(params);
    }
    complete(weights, out);
    if (!has_bias) out->no_bias = 1;
    return 0;
}

/* What the parameters of a call of any operator mean: convop/_invoke.py finds it out, once for each
 * set of them, and the text that the library is given is remembered. */
#include "python/ext/ext.h"

PyObject *cvp_py_recipe_ask(const convop_op *op, const struct cvp_py_arguments *arguments,
                            const int64_t about[3])
{
    PyObject *keywords = cvp_py_keywords(arguments);
    if (!keywords) return NULL;
    return PyObject_CallFunction(cvp_py.recipe, "sNLLL", op->name, keywords, (long long)about[0],
                                 (long long)about[1], (long long)about[2]);
}

static int unpack(const convop_op *op, struct cvp_py_recipe *r)
{
    PyObject *keys, *values;
    const char *params;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(r->keeper, "OOy#ii", &keys, &values, &params, &size, &r->num_outputs,
                          &r->num_seen))
        return -1;
    r->params = params;
    r->num_params = PyTuple_Size(keys);
    if ((size_t)size != op->params_size || r->num_params > CVP_PY_MAX_TEXTS || r->num_seen < 0 ||
        r->num_seen > r->num_outputs || r->num_outputs > CVP_PY_MAX_TENSORS) {
        PyErr_Format(cvp_py.unsupported_error, "%s: more than %d outputs, or it changes", op->name,
                     CVP_PY_MAX_TENSORS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < r->num_params; i++) {
        r->keys[i] = PyBytes_AsString(PyTuple_GetItem(keys, i));
        r->values[i] = PyBytes_AsString(PyTuple_GetItem(values, i));
        if (!r->keys[i] || !r->values[i]) return -1;
    }
    return 0;
}

/* An operator of a program may go and another come in its place: then the sizes of their structs,
 * or the library's own checks, differ, or the text means the same. */
int cvp_py_recipe_find(const convop_op *op, const struct cvp_py_arguments *arguments,
                       const int64_t about[3], struct cvp_py_recipe *out)
{
    const struct cvp_py_question question = {op, {about[0], about[1], about[2]}, arguments};
    out->keeper = cvp_py_recall(&question);
    if (!out->keeper ||
        PyBytes_Size(PyTuple_GetItem(out->keeper, 2)) != (Py_ssize_t)op->params_size) {
        int is_lasting = cvp_py_is_lasting(arguments);
        Py_XDECREF(out->keeper);
        out->keeper = cvp_py_recipe_ask(op, arguments, about);
        if (!out->keeper) return -1;
        if (is_lasting) cvp_py_remember(&question, out->keeper);
    }
    return unpack(op, out);
}

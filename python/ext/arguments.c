/* Who is who among the arguments of a call: arrays, out, the request, parameters. */
#include "python/ext/ext.h"

enum { ROLE_PARAM = -1, ROLE_OUT = CVP_PY_MAX_ARRAYS, ROLE_REQUEST, ROLE_FLAG };

static int role_of(const struct cvp_py_signature *signature, PyObject *name)
{
    for (int i = 0; i < signature->num_arrays; i++)
        if (PyUnicode_CompareWithASCIIString(name, signature->arrays[i]) == 0) return i;
    if (PyUnicode_CompareWithASCIIString(name, "out") == 0) return ROLE_OUT;
    if (PyUnicode_CompareWithASCIIString(name, signature->request) == 0) return ROLE_REQUEST;
    if (signature->flag && PyUnicode_CompareWithASCIIString(name, signature->flag) == 0)
        return ROLE_FLAG;
    return ROLE_PARAM;
}

/* The roles of the keywords of a place in the program that calls: its tuple of names is one object
 * that lives as long as the code, so its address finds them again. */
struct place {
    const struct cvp_py_signature *signature;
    PyObject *kwnames;
    signed char role[CVP_PY_MAX_KEYWORDS];
};
#define NUM_PLACES 64
static struct place places[NUM_PLACES];

static const struct place *find_place(const struct cvp_py_signature *signature, PyObject *kwnames,
                                      Py_ssize_t count)
{
    struct place *place = &places[((uintptr_t)kwnames >> 4) % NUM_PLACES];
    if (place->kwnames == kwnames && place->signature == signature) return place;
    for (Py_ssize_t i = 0; i < count; i++)
        place->role[i] = (signed char)role_of(signature, PyTuple_GetItem(kwnames, i));
    PyObject *old = place->kwnames;
    Py_INCREF(kwnames); /* so that nothing else gets its address */
    place->kwnames = kwnames;
    place->signature = signature;
    Py_XDECREF(old);
    return place;
}

static int fail(const struct cvp_py_signature *signature, const char *problem, const char *name)
{
    PyErr_Format(cvp_py.argument_error, "%s(): %s%s", signature->function, problem, name);
    return -1;
}

int cvp_py_arguments_read(const struct cvp_py_signature *signature, PyObject *const *args,
                          Py_ssize_t count, PyObject *kwnames, struct cvp_py_arguments *out)
{
    out->out = out->request = NULL;
    out->flag = out->num_params = 0;
    if (count > signature->num_arrays - signature->num_by_keyword)
        return fail(signature, "parameters are given by keyword; positional are only ", "arrays");
    for (int i = 0; i < signature->num_arrays; i++) out->array[i] = i < count ? args[i] : NULL;

    Py_ssize_t num_keywords = kwnames ? PyTuple_Size(kwnames) : 0;
    if (num_keywords > CVP_PY_MAX_KEYWORDS) return fail(signature, "too many ", "keywords");
    const struct place *place = num_keywords ? find_place(signature, kwnames, num_keywords) : NULL;
    for (Py_ssize_t i = 0; i < num_keywords; i++) {
        PyObject *value = args[count + i];
        int role = place->role[i];
        if (role == ROLE_PARAM) {
            out->param_names[out->num_params] = PyTuple_GetItem(kwnames, i);
            out->param_values[out->num_params++] = value;
        } else if (role == ROLE_OUT) {
            out->out = value == Py_None ? NULL : value;
        } else if (role == ROLE_REQUEST) {
            out->request = value;
        } else if (role == ROLE_FLAG) {
            out->flag = PyObject_IsTrue(value);
            if (out->flag < 0) return -1;
        } else if (role < count) {
            return fail(signature, "given twice: ", signature->arrays[role]);
        } else {
            out->array[role] = value;
        }
    }
    for (int i = 0; i < signature->num_required; i++)
        if (!out->array[i]) return fail(signature, "missing argument ", signature->arrays[i]);
    for (int i = 0; i < signature->num_arrays; i++) {
        if (out->array[i] == Py_None) out->array[i] = NULL;
        if (out->array[i] || i >= signature->num_needed) continue;
        PyErr_Format(cvp_py.argument_error, "%s(): %s is None", signature->function,
                     signature->arrays[i]);
        return -1;
    }
    return 0;
}

int cvp_py_request(PyObject *name, const char *keyword, convop_request *out)
{
    if (name == cvp_py.write) {
        *out = CONVOP_REQ_WRITE;
    } else if (name == Py_None) {
        *out = CONVOP_REQ_NULL;
    } else if (!PyUnicode_Check(name)) {
        PyErr_Format(cvp_py.argument_error, "%s is neither \"write\", \"add\" nor \"null\"",
                     keyword);
        return -1;
    } else if (PyUnicode_Compare(name, cvp_py.write) == 0) {
        *out = CONVOP_REQ_WRITE;
    } else if (PyUnicode_Compare(name, cvp_py.add) == 0) {
        *out = CONVOP_REQ_ADD;
    } else if (PyUnicode_Compare(name, cvp_py.null) == 0) {
        *out = CONVOP_REQ_NULL;
    } else {
        PyErr_Format(cvp_py.invalid_error, "%s is %R, allowed are \"write\", \"add\", \"null\"",
                     keyword, name);
        return -1;
    }
    return 0;
}

int cvp_py_per_output(PyObject *given, const char *function, const char *keyword, int count,
                      PyObject **list, PyObject **keeper)
{
    *keeper = NULL;
    for (int i = 0; i < count; i++) list[i] = NULL;
    if (!given || given == Py_None) return 0;
    if (!PyTuple_Check(given) && !PyList_Check(given)) {
        if (count == 1) {
            list[0] = given;
            return 0;
        }
        PyErr_Format(cvp_py.argument_error, "%s: %s is no tuple with one for each of %d outputs",
                     function, keyword, count);
        return -1;
    }
    /* Of a list a copy: others may change it. */
    PyObject *tuple = PySequence_Tuple(given);
    if (!tuple) return -1;
    if (PyTuple_Size(tuple) != count) {
        PyErr_Format(cvp_py.invalid_error, "%s: %s has %zd entries, there are %d outputs", function,
                     keyword, PyTuple_Size(tuple), count);
        Py_DECREF(tuple);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        list[i] = PyTuple_GetItem(tuple, i);
        if (list[i] == Py_None) list[i] = NULL;
    }
    *keeper = tuple;
    return 0;
}

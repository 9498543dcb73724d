/* How the arrays of a type are taken and made, found out once for each type. */
#include "python/ext/ext.h"

/* More types than a program has kinds of arrays; those beyond are looked at anew each time. Types
 * in the cache are kept alive. */
#define NUM_CACHED 32
static struct cvp_py_type cached[NUM_CACHED];
static int num_cached;

/* The table of version 1 that the type offers; NULL without an error if there is none. */
static const struct cvp_dlpack_exchange_api *find_exchange(PyObject *type)
{
    PyObject *capsule = PyObject_GetAttrString(type, CVP_DLPACK_EXCHANGE_ATTRIBUTE);
    if (!capsule || !PyCapsule_IsValid(capsule, CVP_DLPACK_EXCHANGE_CAPSULE)) {
        PyErr_Clear();
        Py_XDECREF(capsule);
        return NULL;
    }
    struct cvp_dlpack_exchange_header *header =
        PyCapsule_GetPointer(capsule, CVP_DLPACK_EXCHANGE_CAPSULE);
    Py_DECREF(capsule); /* the table lives as long as the process */
    while (header && header->version.major != CVP_DLPACK_MAJOR) header = header->previous;
    const struct cvp_dlpack_exchange_api *table = (const struct cvp_dlpack_exchange_api *)header;
    return table && table->allocate && table->from_object && table->to_object ? table : NULL;
}

static int attribute_is(PyObject *object, const char *name, const char *text)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    int is = value && PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, text) == 0;
    PyErr_Clear();
    Py_XDECREF(value);
    return is;
}

/* numpy.empty, if the type is NumPy's array or derives from it. Whoever has such an array has
 * imported NumPy. */
static PyObject *find_numpy_empty(PyObject *type)
{
    PyObject *bases = PyObject_GetAttrString(type, "__mro__");
    PyObject *empty = NULL;
    Py_ssize_t count = bases && PyTuple_Check(bases) ? PyTuple_Size(bases) : 0;
    for (Py_ssize_t i = 0; i < count && !empty; i++) {
        PyObject *base = PyTuple_GetItem(bases, i);
        if (!attribute_is(base, "__name__", "ndarray") ||
            !attribute_is(base, "__module__", "numpy"))
            continue;
        PyObject *numpy = PyImport_ImportModule("numpy");
        empty = numpy ? PyObject_GetAttrString(numpy, "empty") : NULL;
        Py_XDECREF(numpy);
    }
    Py_XDECREF(bases);
    PyErr_Clear();
    return empty;
}

static void look_at(PyTypeObject *type, struct cvp_py_type *out)
{
    PyObject *object = (PyObject *)type;
    *out = (struct cvp_py_type){.type = type, .exchange = find_exchange(object)};
    if (out->exchange)
        out->knows_grad = PyObject_HasAttr(object, cvp_py.requires_grad);
    else
        out->empty = find_numpy_empty(object);
    out->is_ndarray = out->empty && cvp_py_is_ndarray(type);
}

const struct cvp_py_type *cvp_py_type_of(PyObject *object, struct cvp_py_type *room)
{
    PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < num_cached; i++)
        if (cached[i].type == type) return &cached[i];
    look_at(type, room);
    if (num_cached == NUM_CACHED) {
        /* NumPy's function lives on without us. */
        Py_XDECREF(room->empty);
        return room;
    }
    Py_INCREF(type);
    cached[num_cached] = *room;
    return &cached[num_cached++];
}

void cvp_py_type_is_unversioned(PyTypeObject *type)
{
    for (int i = 0; i < num_cached; i++)
        if (cached[i].type == type) cached[i].unversioned = 1;
}

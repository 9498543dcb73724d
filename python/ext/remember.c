/* What followed from a set of parameters the last times: a cache that compares the addresses of
 * their names and values only, as constants of a program have the same in each call. Values in it
 * are such as cannot change: to have a hash is not enough, as a tensor of PyTorch has one. */
#include "python/ext/ext.h"

struct entry {
    const void *owner;
    int64_t about[3];
    int count;
    PyObject *names[CVP_PY_MAX_KEYWORDS], *values[CVP_PY_MAX_KEYWORDS];
    PyObject *answer; /* NULL: the entry is free */
};
#define NUM_ENTRIES 512
static struct entry entries[NUM_ENTRIES];

static struct entry *slot_of(const struct cvp_py_question *q)
{
    const struct cvp_py_arguments *a = q->arguments;
    uintptr_t hash = (uintptr_t)q->owner;
    for (int i = 0; i < 3; i++) hash = hash * 31 + ((uintptr_t)q->about[i] << 4);
    for (int i = 0; i < a->num_params; i++)
        hash = (hash * 31 + (uintptr_t)a->param_names[i]) * 31 + (uintptr_t)a->param_values[i];
    return &entries[(hash >> 4 ^ hash >> 13) % NUM_ENTRIES];
}

PyObject *cvp_py_recall(const struct cvp_py_question *q)
{
    const struct cvp_py_arguments *a = q->arguments;
    const struct entry *entry = slot_of(q);
    if (!entry->answer || entry->owner != q->owner || entry->count != a->num_params) return NULL;
    for (int i = 0; i < 3; i++)
        if (entry->about[i] != q->about[i]) return NULL;
    for (int i = 0; i < entry->count; i++)
        if (entry->values[i] != a->param_values[i] || entry->names[i] != a->param_names[i])
            return NULL;
    Py_INCREF(entry->answer);
    return entry->answer;
}

/* Texts, numbers, tuples of integers and tuples of those, of Python's own types. Not tuples of
 * other numbers: Python's cache of parameters takes (1, 1) and (1.0, 1.0) for the same. */
static int is_constant(PyObject *value, int depth)
{
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyLong_Type || type == &PyBool_Type) return 1;
    if (type != &PyTuple_Type)
        return depth == 0 && (value == Py_None || type == &PyUnicode_Type || type == &PyFloat_Type);
    if (depth == 2) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(value); i++)
        if (!is_constant(PyTuple_GetItem(value, i), depth + 1)) return 0;
    return 1;
}

int cvp_py_is_lasting(const struct cvp_py_arguments *a)
{
    for (int i = 0; i < a->num_params; i++)
        if (!is_constant(a->param_values[i], 0)) return 0;
    return 1;
}

void cvp_py_remember(const struct cvp_py_question *q, PyObject *answer)
{
    const struct cvp_py_arguments *a = q->arguments;
    struct entry *entry = slot_of(q), old = *entry;
    entry->owner = q->owner;
    for (int i = 0; i < 3; i++) entry->about[i] = q->about[i];
    entry->count = a->num_params;
    entry->answer = answer;
    Py_INCREF(answer);
    for (int i = 0; i < a->num_params; i++) {
        entry->names[i] = a->param_names[i];
        entry->values[i] = a->param_values[i];
        Py_INCREF(entry->names[i]);
        Py_INCREF(entry->values[i]);
    }
    /* Last, as this may run Python code that comes here. */
    Py_XDECREF(old.answer);
    for (int i = 0; i < old.count; i++) {
        Py_DECREF(old.names[i]);
        Py_DECREF(old.values[i]);
    }
}

PyObject *cvp_py_keywords(const struct cvp_py_arguments *a)
{
    PyObject *keywords = PyDict_New();
    for (int i = 0; keywords && i < a->num_params; i++)
        if (PyDict_SetItem(keywords, a->param_names[i], a->param_values[i])) Py_CLEAR(keywords);
    return keywords;
}

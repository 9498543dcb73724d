/* The module convop._convop. */
#include "python/ext/ext.h"

/* The type of the table does not know functions with keywords. */
#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"conv_forward", FAST(cvp_py_conv_forward), METH_FASTCALL | METH_KEYWORDS,
     cvp_py_conv_forward_doc},
    {"conv_backward", FAST(cvp_py_conv_backward), METH_FASTCALL | METH_KEYWORDS,
     cvp_py_conv_backward_doc},
    {"invoke", FAST(cvp_py_invoke), METH_FASTCALL | METH_KEYWORDS, cvp_py_invoke_doc},
    {"_export", FAST(cvp_py_export), METH_FASTCALL, "The capsule of an Array."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "_convop",
    "The fast way into libconvop.",
    -1,
    methods,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__convop(void);
PyMODINIT_FUNC PyInit__convop(void)
{
    if (cvp_py_support_init()) return NULL;
    PyObject *module = PyModule_Create(&definition), *table = cvp_py_exchange_capsule(),
             *prepared = cvp_py_prepared_type();
    if (module && (!table || PyObject_SetAttrString(module, "exchange_api", table) || !prepared ||
                   PyObject_SetAttrString(module, "Prepared", prepared) ||
                   PyObject_SetAttrString(module, "_of_status", cvp_py.of_status)))
        Py_CLEAR(module);
    Py_XDECREF(table);
    Py_XDECREF(prepared);
    return module;
}

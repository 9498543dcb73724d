/* The module convop._convop. */
#include "python/ext/ext.h"

/* The type of the table does not know functions with keywords. */
#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"conv_forward", FAST(cvp_py_conv_forward), METH_FASTCALL | METH_KEYWORDS,
     cvp_py_conv_forward_doc},
    {"conv_backward", FAST(cvp_py_conv_backward), METH_FASTCALL | METH_KEYWORDS,
     cvp_py_conv_backward_doc},
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
    PyObject *module = PyModule_Create(&definition), *table = cvp_py_exchange_capsule();
    if (module && (!table || PyObject_SetAttrString(module, "exchange_api", table)))
        Py_CLEAR(module);
    Py_XDECREF(table);
    return module;
}

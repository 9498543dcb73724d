/* NumPy's arrays by its C ABI, as every extension that was built for NumPy takes and makes them: by
 * __dlpack__ and numpy.empty either costs as much as a tiny convolution. NumPy's headers are not
 * needed, and NumPy is only looked for where an array of it has come.
 *
 * The ABI is that of numpy/ndarraytypes.h and numpy/__multiarray_api.h of NumPy 1.7 to 2.x. What is
 * not the plain case goes the long way, by DLPack, which also says what is wrong. */
#include "python/ext/ext.h"

/* The head of an array; there is more behind it. */
struct array {
    PyObject_HEAD char *data;
    int ndim;
    intptr_t *shape, *strides; /* strides in bytes */
    PyObject *base;            /* whose memory it is; NULL: its own */
    struct descr *descr;
    int flags;
};

/* The head of a dtype. */
struct descr {
    PyObject_HEAD PyTypeObject *type;
    char kind, character, byte_order, flags;
    int number;
};

#define IS_WRITEABLE  0x0400
#define WARN_ON_WRITE ((int)(1u << 31))

/* Places in the table of functions, and the ABIs in which they are these. */
enum { ABI_VERSION = 0, ARRAY_TYPE = 2, NEW_FROM_DESCR = 94 };
#define ABI_OF_1 0x01000009u
#define ABI_OF_2 0x02000000u

typedef unsigned abi_version(void);
typedef PyObject *new_from_descr(PyTypeObject *type, struct descr *descr, int ndim,
                                 const intptr_t *shape, const intptr_t *strides, void *data,
                                 int flags, PyObject *like); /* takes over descr */
static new_from_descr *make;
static PyTypeObject *array_type;

/* By their number. Those that are not here are not the library's, or not the same everywhere. */
#define LONG_BITS (8 * sizeof(long))
static const DLDataType dtypes[] = {
    [1] = {kDLInt, 8, 1},         [2] = {kDLUInt, 8, 1},         [3] = {kDLInt, 16, 1},
    [4] = {kDLUInt, 16, 1},       [5] = {kDLInt, 32, 1},         [6] = {kDLUInt, 32, 1},
    [7] = {kDLInt, LONG_BITS, 1}, [8] = {kDLUInt, LONG_BITS, 1}, [9] = {kDLInt, 64, 1},
    [10] = {kDLUInt, 64, 1},      [11] = {kDLFloat, 32, 1},      [12] = {kDLFloat, 64, 1},
    [14] = {kDLComplex, 64, 1},   [15] = {kDLComplex, 128, 1},   [23] = {kDLFloat, 16, 1},
};
#define NUM_DTYPES ((int)(sizeof dtypes / sizeof dtypes[0]))

static void **find_table(void)
{
    PyObject *module = PyImport_ImportModule("numpy._core._multiarray_umath");
    if (!module) {
        PyErr_Clear();
        module = PyImport_ImportModule("numpy.core._multiarray_umath");
    }
    PyObject *capsule = module ? PyObject_GetAttrString(module, "_ARRAY_API") : NULL;
    void **table =
        capsule && PyCapsule_CheckExact(capsule) ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    Py_XDECREF(capsule);
    Py_XDECREF(module);
    PyErr_Clear();
    return table;
}

int cvp_py_is_ndarray(PyTypeObject *type)
{
    if (!array_type) {
        void **table = find_table();
        unsigned abi = table ? (__extension__(abi_version *) table[ABI_VERSION])() : 0;
        if (abi != ABI_OF_1 && abi != ABI_OF_2) return 0;
        make = __extension__(new_from_descr *) table[NEW_FROM_DESCR];
        array_type = table[ARRAY_TYPE];
    }
    return type == array_type;
}

/* DLPack asks the memory's owner for its device: who is no array and no capsule is the CPU's. */
static int is_of_the_cpu(const struct array *array)
{
    PyObject *owner = array->base;
    while (owner && Py_TYPE(owner) == array_type) owner = ((struct array *)owner)->base;
    return !owner ||
           (!PyCapsule_CheckExact(owner) && !PyType_IsSubtype(Py_TYPE(owner), array_type));
}

int cvp_py_ndarray_view(PyObject *object, struct cvp_py_view *view)
{
    const struct array *array = (struct array *)object;
    const int number = array->descr->number, ndim = array->ndim;
    if (number < 0 || number >= NUM_DTYPES || !dtypes[number].bits ||
        (array->descr->byte_order != '=' && array->descr->byte_order != '|') ||
        ndim > CONVOP_MAX_DIMS || (array->flags & (IS_WRITEABLE | WARN_ON_WRITE)) != IS_WRITEABLE ||
        !is_of_the_cpu(array))
        return 0;
    const int log2 = __builtin_ctz(dtypes[number].bits / 8u);
    for (int i = 0; i < ndim; i++) {
        if (array->strides[i] & (((intptr_t)1 << log2) - 1)) return 0;
        view->shape[i] = array->shape[i];
        view->strides[i] = array->strides[i] >> log2;
    }
    view->managed = NULL;
    view->versioned = NULL;
    view->tensor = (DLTensor){.data = array->data,
                              .device = {kDLCPU, 0},
                              .ndim = ndim,
                              .dtype = dtypes[number],
                              .shape = view->shape,
                              .strides = view->strides};
    return 1;
}

PyObject *cvp_py_ndarray_new(PyObject *like, int ndim, const int64_t *shape)
{
    struct descr *descr = ((struct array *)like)->descr;
    intptr_t sizes[CONVOP_MAX_DIMS];
    for (int i = 0; i < ndim; i++) sizes[i] = (intptr_t)shape[i];
    Py_INCREF(descr);
    return make(array_type, descr, ndim, sizes, NULL, NULL, 0, NULL);
}

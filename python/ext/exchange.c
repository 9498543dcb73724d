/* convop.Array for others: the capsules of DLPack's protocol, and the exchange API, the table of C
 * functions that DLPack 1.3 asks a type for. */
#include "python/ext/ext.h"

/* The library's array behind an Array, which lives as long; NULL with the error set. */
static convop_array *array_of(PyObject *object)
{
    PyObject *address = PyObject_GetAttrString(object, "_address");
    convop_array *array = address ? PyLong_AsVoidPtr(address) : NULL;
    Py_XDECREF(address);
    return array;
}

static int from_object(void *object, struct DLManagedTensorVersioned **out)
{
    convop_array *array = array_of(object);
    if (!array) return -1;
    convop_status status = convop_to_dlpack_versioned(array, out);
    if (status != CONVOP_OK) cvp_py_raise(status);
    return status == CONVOP_OK ? 0 : -1;
}

static int to_object(struct DLManagedTensorVersioned *tensor, void **out_object)
{
    convop_array *array;
    convop_status status = convop_from_dlpack_versioned(tensor, &array);
    if (status != CONVOP_OK) {
        cvp_py_raise(status);
        return -1;
    }
    PyObject *address = PyLong_FromVoidPtr(array);
    PyObject *object = address ? PyObject_CallFunctionObjArgs(cvp_py.adopt, address, NULL) : NULL;
    Py_XDECREF(address);
    if (!object) convop_array_release(&array);
    if (object) *out_object = object;
    return object ? 0 : -1;
}

static int view_of_object(void *object, DLTensor *out)
{
    convop_array *array = array_of(object);
    if (!array) return -1;
    *out = *convop_array_view(array);
    return 0;
}

/* Arrays are the CPU's, which has no streams. */
static int current_stream(DLDeviceType device_type, int32_t device_id, void **out_stream)
{
    (void)device_type;
    (void)device_id;
    *out_stream = NULL;
    return 0;
}

static struct cvp_dlpack_exchange_api table = {
    .header = {{CVP_DLPACK_MAJOR, CVP_DLPACK_MINOR}, NULL},
    .allocate = convop_dlpack_allocate,
    .from_object = from_object,
    .to_object = to_object,
    .view_of_object = view_of_object,
    .current_stream = current_stream,
};

/* What a capsule that nobody has taken does. It may be called while an exception is on its way, and
 * the deleter of memory that is not ours may run Python code. */
static void give_back(PyObject *capsule)
{
    struct cvp_py_view view = {0};
    if (PyCapsule_IsValid(capsule, "dltensor"))
        view.managed = PyCapsule_GetPointer(capsule, "dltensor");
    if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        view.versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    cvp_py_release(&view);
}

PyObject *cvp_py_export(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "_export(array, versioned)");
        return NULL;
    }
    struct cvp_py_view view = {0};
    int versioned = PyObject_IsTrue(args[1]);
    convop_array *array = versioned < 0 ? NULL : array_of(args[0]);
    if (!array) return NULL;
    convop_status status = versioned ? convop_to_dlpack_versioned(array, &view.versioned)
                                     : convop_to_dlpack(array, &view.managed);
    if (status != CONVOP_OK) {
        cvp_py_raise(status);
        return NULL;
    }
    PyObject *capsule = versioned ? PyCapsule_New(view.versioned, "dltensor_versioned", give_back)
                                  : PyCapsule_New(view.managed, "dltensor", give_back);
    if (!capsule) cvp_py_release(&view);
    return capsule;
}

PyObject *cvp_py_exchange_capsule(void)
{
    return PyCapsule_New(&table, CVP_DLPACK_EXCHANGE_CAPSULE, NULL);
}

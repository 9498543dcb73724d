/* convop._convop: what its files share. The extension is the fast way of what convop/_fallback.py
 * does through ctypes: arrays in by DLPack, one call of the library, an array of the same kind out.
 *
 * It uses the limited API of Python 3.9. All functions need the GIL. */
#ifndef CVP_PYTHON_EXT_H
#define CVP_PYTHON_EXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "convop/convop.h"
#include "src/common/dlpack_abi.h"

/* In the ABI of every CPython since 3.9; the limited API names them later. */
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif
#ifndef PY_VECTORCALL_ARGUMENTS_OFFSET
#define PY_VECTORCALL_ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
PyAPI_FUNC(PyObject *) PyObject_VectorcallMethod(PyObject *name, PyObject *const *args,
                                                 size_t nargsf, PyObject *kwnames);
#endif
/* Not in the limited API; PyObject_Vectorcall is a function only since 3.11. */
PyAPI_FUNC(PyObject *) PyObject_VectorcallDict(PyObject *callable, PyObject *const *args,
                                               size_t nargsf, PyObject *kwargs);

/* ---- support.c: names and Python functions that are looked up once ----------------------------
 */

struct cvp_py_names {
    PyObject *dlpack, *dlpack_device, *requires_grad, *is_neg, *dtype, *write, *add, *null;
    PyObject *version_key;                     /* ("max_version",) */
    PyObject *stream_key, *version_stream_key; /* ("stream",), ("max_version", "stream") */
    PyObject *stream;                          /* 1: CUDA's legacy default stream */
    PyObject *version;                         /* (1, 3) */
    PyObject *argument_error, *exchange_error, *invalid_error, *unsupported_error,
        *no_memory_error;                 /* classes */
    PyObject *of_status, *refused;        /* convop._errors */
    PyObject *conv_params;                /* convop._params, behind its cache */
    PyObject *allocate, *deliver, *adopt; /* convop._arrays */
};
extern struct cvp_py_names cvp_py;

int cvp_py_support_init(void);
/* Sets the Python error for a status that this thread just got. */
void cvp_py_raise(convop_status status);

/* ---- types.c: how the arrays of a type are taken and made -------------------------------------
 */

struct cvp_py_type {
    PyTypeObject *type;
    const struct cvp_dlpack_exchange_api *exchange; /* NULL: by __dlpack__ */
    PyObject *empty;                                /* numpy.empty for NumPy's arrays, else NULL */
    int knows_grad;  /* the exchange API of PyTorch does not look at requires_grad */
    int unversioned; /* __dlpack__ knows no max_version */
};

/* What is known of an object's type: found in a cache, or written to *room. NULL: error set. */
const struct cvp_py_type *cvp_py_type_of(PyObject *object, struct cvp_py_type *room);
void cvp_py_type_is_unversioned(PyTypeObject *type);

/* ---- borrow.c: an array for the time of a call ------------------------------------------------
 */

struct cvp_py_view {
    DLTensor tensor;
    DLManagedTensor *managed; /* to be given back, or NULL */
    struct DLManagedTensorVersioned *versioned;
};

/* Takes the tensor of an object that the caller keeps alive. @param name  in error texts
 * @return 0, or -1 with the error set */
int cvp_py_borrow(PyObject *object, const char *name, int writable, struct cvp_py_view *view);
/* Gives it back. A zeroed view is none. Keeps the Python error as it is. */
void cvp_py_release(struct cvp_py_view *view);

/* ---- output.c: a new array of the kind of another ---------------------------------------------
 */

struct cvp_py_output {
    struct cvp_py_view view;
    int64_t shape[CONVOP_MAX_DIMS];
    PyObject *object;
    PyObject *like;
    const struct cvp_dlpack_exchange_api *exchange;
};

/* The given array to write to, or, if `given` is NULL, a new compact one of this shape; its dtype
 * and device are those of *prototype, the view of `like`. */
int cvp_py_output_begin(PyObject *given, const char *name, PyObject *like,
                        const DLTensor *prototype, int ndim, const int64_t *shape,
                        struct cvp_py_output *output);
/* The object, a new reference; NULL with the error set. Ends the output. */
PyObject *cvp_py_output_finish(struct cvp_py_output *output);
/* Gives it up. A zeroed output is none. */
void cvp_py_output_drop(struct cvp_py_output *output);

/* ---- arguments.c: who is who among the arguments of a call ------------------------------------
 */

#define CVP_PY_MAX_ARRAYS   4
#define CVP_PY_MAX_KEYWORDS 24

struct cvp_py_signature {
    const char *function;
    const char *arrays[CVP_PY_MAX_ARRAYS];
    int num_arrays, num_required;
    const char *request; /* the keyword of the request */
};

struct cvp_py_arguments {
    PyObject *array[CVP_PY_MAX_ARRAYS]; /* NULL: not given, or None */
    PyObject *out, *request;            /* likewise */
    PyObject *kwnames;                  /* of the call; NULL: none */
    PyObject *const *keyword_values;
    int num_params;
    PyObject *param_names[CVP_PY_MAX_KEYWORDS], *param_values[CVP_PY_MAX_KEYWORDS];
};

/* Everything borrowed from the call. @return 0, or -1 with the error set */
int cvp_py_arguments_read(const struct cvp_py_signature *signature, PyObject *const *args,
                          Py_ssize_t count, PyObject *kwnames, struct cvp_py_arguments *out);
/* A request by its name. */
int cvp_py_request(PyObject *name, const char *keyword, convop_request *out);

/* ---- params.c: from keywords to the struct of parameters --------------------------------------
 */

/* The parameters of a convolution: what the keywords say, and for what they leave out, what the
 * shape of the weights says. */
int cvp_py_conv_params(const struct cvp_py_arguments *arguments, const DLTensor *weights,
                       int has_bias, convop_conv_params *out);

/* ---- documentation that both functions share ------------------------------------------------- */

#define CVP_PY_CONV_SIGNATURE                                                                      \
    "kernel=None, stride=1, dilate=1, pad=0, num_filter=None, num_group=1, layout=None, "          \
    "workspace=1024, workspace_bytes=None, cudnn_tune=None, cudnn_off=False, "                     \
    "depthwise_conv_off=False)\n--\n\n"
#define CVP_PY_CONV_PARAMETERS                                                                     \
    "Parameters, by keyword. For each spatial axis one number, or one for all:\n"                  \
    "    kernel, num_filter   follow from w where they are left out\n"                             \
    "    stride, dilate       steps of the window and of its elements, 1 is dense\n"               \
    "    pad                  zeros at both sides, or pairs of begin and end\n"                    \
    "    num_group            groups of channels\n"                                                \
    "    layout               NCW, NCHW, NCDHW (by default) or NWC, NHWC, NDHWC\n"                 \
    "    workspace            scratch memory at most, in MiB; workspace_bytes in bytes\n"          \
    "    cudnn_tune           \"off\", \"limited_workspace\", \"fastest\": what may be measured\n" \
    "    cudnn_off, depthwise_conv_off   leave out implementations\n\n"                            \
    "An array is any object with __dlpack__. Nothing moves between devices; the GIL is released\n" \
    "but for tiny problems.\n\n"                                                                   \
    "Raises InvalidError (a shape, dtype or parameter that does not fit), ArgumentError (no\n"     \
    "array, unknown keyword), ExchangeError (a read-only output, a tensor that requires a\n"       \
    "gradient), UnsupportedError, DeviceError, NoMemoryError. Outputs are then as they were.\n"

/* ---- exchange.c ----------------------------------------------------------------------------- */

/* The exchange API of convop.Array; a new reference, or NULL. */
PyObject *cvp_py_exchange_capsule(void);

/* ---- forward.c, backward.c --------------------------------------------------------------------
 */

PyObject *cvp_py_conv_forward(PyObject *self, PyObject *const *args, Py_ssize_t count,
                              PyObject *kwnames);
PyObject *cvp_py_conv_backward(PyObject *self, PyObject *const *args, Py_ssize_t count,
                               PyObject *kwnames);
extern const char cvp_py_conv_forward_doc[], cvp_py_conv_backward_doc[];

#endif

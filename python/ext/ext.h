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
#ifndef Py_TPFLAGS_HAVE_VECTORCALL
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
PyAPI_FUNC(PyObject *) PyVectorcall_Call(PyObject *callable, PyObject *tuple, PyObject *dict);
#endif

/* ---- support.c: names and Python functions that are looked up once ----------------------------
 */

struct cvp_py_names {
    PyObject *dlpack, *dlpack_device, *requires_grad, *is_neg, *dtype, *write, *add, *null;
    PyObject *out, *empty;                     /* "out", "" */
    PyObject *version_key;                     /* ("max_version",) */
    PyObject *stream_key, *version_stream_key; /* ("stream",), ("max_version", "stream") */
    PyObject *stream;                          /* 1: CUDA's legacy default stream */
    PyObject *version;                         /* (1, 3) */
    PyObject *argument_error, *exchange_error, *invalid_error, *unsupported_error,
        *no_memory_error;                 /* classes */
    PyObject *of_status, *refused;        /* convop._errors */
    PyObject *conv_params;                /* convop._params, behind its cache */
    PyObject *recipe;                     /* convop._invoke */
    PyObject *allocate, *deliver, *adopt; /* convop._arrays */
};
extern struct cvp_py_names cvp_py;

int cvp_py_support_init(void);
/* Sets the Python error for a status that this thread just got. */
void cvp_py_raise(convop_status status);
convop_shape cvp_py_shape_of(const DLTensor *tensor);

/* ---- types.c: how the arrays of a type are taken and made -------------------------------------
 */

struct cvp_py_type {
    PyTypeObject *type;
    const struct cvp_dlpack_exchange_api *exchange; /* NULL: by __dlpack__ */
    PyObject *empty; /* numpy.empty for NumPy's arrays and what derives from them, else NULL */
    int is_ndarray;  /* NumPy's own type, with an ABI that is known */
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
    int64_t shape[CONVOP_MAX_DIMS], strides[CONVOP_MAX_DIMS]; /* of a tensor without a producer */
};

/* Takes the tensor of an object that the caller keeps alive. @param name  in error texts
 * @return 0, or -1 with the error set */
int cvp_py_borrow(PyObject *object, const char *name, int writable, struct cvp_py_view *view);
/* Gives it back. A zeroed view is none. Keeps the Python error as it is. */
void cvp_py_release(struct cvp_py_view *view);

/* ---- numpy.c: NumPy's arrays without a call of Python ----------------------------------------
 */

int cvp_py_is_ndarray(PyTypeObject *type);
/* Of an object whose type is_ndarray: 1, or 0 where it has to be asked by __dlpack__. */
int cvp_py_ndarray_view(PyObject *object, struct cvp_py_view *view);
/* A new array of the dtype of `like`, whose type is_ndarray; NULL with the error set. */
PyObject *cvp_py_ndarray_new(PyObject *like, int ndim, const int64_t *shape);

/* ---- stream.c: arrays on a GPU ----------------------------------------------------------------
 */

/* Whether a stream must be named to a producer; -1 with its error set. NumPy's are not asked. */
int cvp_py_is_on_gpu(const struct cvp_py_type *type, PyObject *object);
/* What a call is given: the stream on which the library of its first array computes. *out is NULL
 * on the CPU. @return 0, or -1 with the error set */
int cvp_py_exec(PyObject *first, const DLTensor *tensor, convop_exec *room,
                const convop_exec **out);

/* ---- gil.c: when the GIL is kept --------------------------------------------------------------
 */

/* Multiply-adds below which the GIL is kept: to give it back and take it again costs as much. */
#define CVP_PY_BRIEF 4096

/* 1 if a call writes lines of log. */
int cvp_py_may_log(void);
/* 1 if it does, or, with the operator's own wish, may measure implementations. */
int cvp_py_may_take_long(const convop_conv_params *p);

/* ---- output.c: a new array of the kind of another ---------------------------------------------
 */

/* As many inputs, and outputs, as the library takes. */
#define CVP_PY_MAX_TENSORS 16
extern const char *const cvp_py_out_names[CVP_PY_MAX_TENSORS]; /* in error texts */

struct cvp_py_output {
    struct cvp_py_view view;
    int64_t shape[CONVOP_MAX_DIMS];
    PyObject *object;
    PyObject *like;
    const struct cvp_dlpack_exchange_api *exchange;
};

/* The given array to write to, or, if `given` is NULL, a new compact one of this shape and dtype on
 * the device of *prototype, the view of `like`. dtype NULL: that of `like` too. */
int cvp_py_output_begin(PyObject *given, const char *name, PyObject *like,
                        const DLTensor *prototype, int ndim, const int64_t *shape,
                        const DLDataType *dtype, struct cvp_py_output *output);
/* The object, a new reference; NULL with the error set. Ends the output. */
PyObject *cvp_py_output_finish(struct cvp_py_output *output);
/* The same for all outputs of a call: the object of the only one, or a tuple of those of several,
 * None for one whose request is null. requests NULL: all are wanted. */
PyObject *cvp_py_outputs_finish(struct cvp_py_output *outputs, const convop_request *requests,
                                int count);
/* Gives it up. A zeroed output is none. */
void cvp_py_output_drop(struct cvp_py_output *output);

/* ---- arguments.c: who is who among the arguments of a call ------------------------------------
 */

#define CVP_PY_MAX_ARRAYS   4
#define CVP_PY_MAX_KEYWORDS 24

struct cvp_py_signature {
    const char *function;
    const char *arrays[CVP_PY_MAX_ARRAYS]; /* what may be positional */
    int num_arrays, num_required;
    int num_needed;      /* of them the first, which are not None either */
    int num_by_keyword;  /* of the arrays the last ones, which are not positional */
    const char *request; /* the keyword of the request */
    const char *flag;    /* of a keyword that is true or false; may be NULL */
};

struct cvp_py_arguments {
    PyObject *array[CVP_PY_MAX_ARRAYS]; /* NULL: not given, or None */
    PyObject *out, *request;            /* likewise; request as it is given */
    int flag;
    int num_params;
    PyObject *param_names[CVP_PY_MAX_KEYWORDS], *param_values[CVP_PY_MAX_KEYWORDS];
};

/* Everything borrowed from the call. @return 0, or -1 with the error set */
int cvp_py_arguments_read(const struct cvp_py_signature *signature, PyObject *const *args,
                          Py_ssize_t count, PyObject *kwnames, struct cvp_py_arguments *out);
/* A request by its name. */
int cvp_py_request(PyObject *name, const char *keyword, convop_request *out);

/* One for each output, from what a keyword is given: none, one for the only output, or a tuple or
 * list. NULL where there is nothing; they live as long as *keeper, a new reference or NULL.
 * @return 0, or -1 with the error set */
int cvp_py_per_output(PyObject *given, const char *function, const char *keyword, int count,
                      PyObject **list, PyObject **keeper);

/* ---- remember.c: what followed from parameters the last times ---------------------------------
 */

struct cvp_py_question {
    const void *owner; /* whose parameters they are */
    int64_t about[3];  /* what else the answer follows from */
    const struct cvp_py_arguments *arguments;
};

/* The answer, a new reference; NULL without an error if it is not known. */
PyObject *cvp_py_recall(const struct cvp_py_question *question);
/* 1 if the parameters do not change, so that cvp_py_remember() may be called. */
int cvp_py_is_lasting(const struct cvp_py_arguments *arguments);
void cvp_py_remember(const struct cvp_py_question *question, PyObject *answer);
/* The parameters as a new dictionary. */
PyObject *cvp_py_keywords(const struct cvp_py_arguments *arguments);

/* ---- params.c: from keywords to the struct of parameters --------------------------------------
 */

/* The parameters of a convolution: what the keywords say, and for what they leave out, what the
 * shape of the weights says. */
int cvp_py_conv_params(const struct cvp_py_arguments *arguments, const DLTensor *weights,
                       int has_bias, convop_conv_params *out);

/* ---- recipe.c: the same for any operator ------------------------------------------------------
 */

/* Those of keywords, and what follows from the inputs. */
#define CVP_PY_MAX_TEXTS (CVP_PY_MAX_KEYWORDS + 2)

struct cvp_py_recipe {
    PyObject *keeper; /* of all the others; a reference */
    const char *keys[CVP_PY_MAX_TEXTS], *values[CVP_PY_MAX_TEXTS];
    Py_ssize_t num_params;
    const void *params; /* the operator's struct */
    int num_outputs, num_seen;
};

/* @param about  what else the recipe follows from, as for _invoke.recipe()
 * @return 0, or -1 with the error set; out->keeper is set in any case */
int cvp_py_recipe_find(const convop_op *op, const struct cvp_py_arguments *arguments,
                       const int64_t about[3], struct cvp_py_recipe *out);
/* _invoke.recipe()'s answer, a new reference. */
PyObject *cvp_py_recipe_ask(const convop_op *op, const struct cvp_py_arguments *arguments,
                            const int64_t about[3]);

/* ---- plan.c: an instance of the library for one set of layouts --------------------------------
 */

struct cvp_py_plan;

/* From what convop/_prepare.py made for these tensors. outputs NULL: compact ones. */
struct cvp_py_plan *cvp_py_plan_new(PyObject *made, int num_inputs, const DLTensor *const *inputs,
                                    DLTensor *const *outputs);
struct cvp_py_plan *cvp_py_plan_retain(struct cvp_py_plan *plan);
void cvp_py_plan_release(struct cvp_py_plan *plan);
int cvp_py_plan_fits(const struct cvp_py_plan *plan, int num_inputs, const DLTensor *const *inputs,
                     int num_outputs, DLTensor *const *outputs);
int cvp_py_plan_num_outputs(const struct cvp_py_plan *plan);
/* Shape of a compact output. */
const int64_t *cvp_py_plan_output(const struct cvp_py_plan *plan, int index, int *ndim,
                                  DLDataType *dtype);
convop_status cvp_py_plan_run(const struct cvp_py_plan *plan, const DLTensor *const *inputs,
                              DLTensor *const *outputs, const convop_exec *exec);

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
/* The capsule of an Array, of the versioned struct or of the old one. */
PyObject *cvp_py_export(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* ---- forward.c, backward.c, invoke.c, prepared.c ----------------------------------------------
 */

PyObject *cvp_py_conv_forward(PyObject *self, PyObject *const *args, Py_ssize_t count,
                              PyObject *kwnames);
PyObject *cvp_py_conv_backward(PyObject *self, PyObject *const *args, Py_ssize_t count,
                               PyObject *kwnames);
PyObject *cvp_py_invoke(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames);
/* conv_forward() once it is known who is who. */
PyObject *cvp_py_convolve(const struct cvp_py_arguments *arguments, convop_request request);
/* The type Prepared; a new reference, or NULL. */
PyObject *cvp_py_prepared_type(void);
extern const char cvp_py_conv_forward_doc[], cvp_py_conv_backward_doc[], cvp_py_invoke_doc[];

#endif

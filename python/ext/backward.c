/* conv_backward. */
#include "python/ext/ext.h"

const char cvp_py_conv_backward_doc[] =
    "conv_backward(dy, x, w, b=None, *, grad_req='write', out=None, " CVP_PY_CONV_SIGNATURE
    "The gradients of a loss by x, w and b, from its gradient dy by the output of "
    "conv_forward().\n\n"
    "Shapes are those of conv_forward(); of b only the shape counts, and without it there is no\n"
    "gradient by it. x may be None if neither the gradient by x nor that by w is asked for, w\n"
    "likewise if that by x is not.\n\n"
    "Returns a tuple of three: new arrays of the kinds of x, w and b, and None for what is not\n"
    "asked for. grad_req is \"write\", \"add\" or \"null\", one for all or a tuple of three; out "
    "is a\n"
    "tuple of three arrays to write to or to add into, None where a new one is "
    "wanted.\n\n" CVP_PY_CONV_PARAMETERS;

static const struct cvp_py_signature signature = {
    .function = "conv_backward",
    .arrays = {"dy", "x", "w", "b"},
    .num_arrays = 4,
    .num_required = 3,
    .num_needed = 1,
    .request = "grad_req",
};

/* A new reference; of a list a copy, since others may change it. */
static PyObject *tuple_of(PyObject *given, const char *keyword)
{
    if (PyTuple_Check(given) || PyList_Check(given)) return PySequence_Tuple(given);
    PyErr_Format(cvp_py.argument_error,
                 "conv_backward(): %s is no tuple with one for each of x, w and b", keyword);
    return NULL;
}

/* One request for all, or one for each. */
static int read_requests(PyObject *given, convop_request requests[3])
{
    for (int i = 0; i < 3; i++) requests[i] = CONVOP_REQ_WRITE;
    if (!given) return 0;
    if (PyUnicode_Check(given) || given == Py_None) {
        if (cvp_py_request(given, signature.request, &requests[0])) return -1;
        requests[1] = requests[2] = requests[0];
        return 0;
    }
    PyObject *list = tuple_of(given, "grad_req");
    if (!list) return -1;
    int failed = PyTuple_Size(list) != 3;
    if (failed)
        PyErr_SetString(cvp_py.invalid_error,
                        "conv_backward(): grad_req has three entries, for x, w and b");
    for (int i = 0; i < 3 && !failed; i++)
        failed = cvp_py_request(PyTuple_GetItem(list, i), signature.request, &requests[i]);
    Py_DECREF(list);
    return failed ? -1 : 0;
}

/* New references, NULL where nothing is given. */
static int read_out(PyObject *given, PyObject *out[3])
{
    if (!given) return 0;
    PyObject *list = tuple_of(given, "out");
    if (!list) return -1;
    if (PyTuple_Size(list) != 3) {
        Py_DECREF(list);
        PyErr_SetString(cvp_py.invalid_error,
                        "conv_backward(): out has three entries, for x, w and b");
        return -1;
    }
    for (int i = 0; i < 3; i++) {
        out[i] = PyTuple_GetItem(list, i);
        if (out[i] == Py_None) out[i] = NULL;
        Py_XINCREF(out[i]);
    }
    Py_DECREF(list);
    return 0;
}

static convop_status run(const convop_conv_params *p, struct cvp_py_view views[4],
                         const struct cvp_py_arguments *a, struct cvp_py_output outputs[3],
                         const convop_request requests[3], const convop_exec *exec)
{
    DLTensor *into[3];
    for (int i = 0; i < 3; i++) into[i] = requests[i] ? &outputs[i].view.tensor : NULL;
    PyThreadState *state = PyEval_SaveThread();
    convop_status status = convop_conv_backward(
        p, &views[0].tensor, a->array[1] ? &views[1].tensor : NULL,
        a->array[2] ? &views[2].tensor : NULL, into[0], into[1], into[2], requests, exec);
    PyEval_RestoreThread(state);
    return status;
}

static PyObject *compute(const struct cvp_py_arguments *a, convop_request requests[3],
                         PyObject *const given[3], struct cvp_py_view views[4])
{
    struct cvp_py_output outputs[3] = {0};
    convop_conv_params p;
    convop_exec room;
    const convop_exec *exec;
    if (!a->array[3]) requests[2] = CONVOP_REQ_NULL;
    const DLTensor *weights = a->array[2] ? &views[2].tensor : &views[0].tensor;
    if (cvp_py_conv_params(a, weights, requests[2] != CONVOP_REQ_NULL, &p) ||
        cvp_py_exec(a->array[0], &views[0].tensor, &room, &exec))
        return NULL;
    for (int i = 0; i < 3; i++) {
        if (!requests[i]) continue;
        if (!a->array[i + 1]) {
            PyErr_Format(cvp_py.invalid_error,
                         "conv_backward(): the gradient by %s is asked for, and %s is None",
                         signature.arrays[i + 1], signature.arrays[i + 1]);
            goto drop;
        }
        if (requests[i] == CONVOP_REQ_ADD && !given[i]) {
            PyErr_Format(cvp_py.invalid_error, "conv_backward(): grad_req \"add\" needs %s",
                         cvp_py_out_names[i]);
            goto drop;
        }
        const DLTensor *like = &views[i + 1].tensor;
        if (cvp_py_output_begin(given[i], cvp_py_out_names[i], a->array[i + 1], like, like->ndim,
                                like->shape, NULL, &outputs[i]))
            goto drop;
    }
    convop_status status = run(&p, views, a, outputs, requests, exec);
    if (status == CONVOP_OK) return cvp_py_outputs_finish(outputs, requests, 3);
    cvp_py_raise(status);
drop:
    for (int i = 0; i < 3; i++) cvp_py_output_drop(&outputs[i]);
    return NULL;
}

PyObject *cvp_py_conv_backward(PyObject *self, PyObject *const *args, Py_ssize_t count,
                               PyObject *kwnames)
{
    (void)self;
    struct cvp_py_arguments a;
    convop_request requests[3];
    PyObject *out[3] = {NULL, NULL, NULL}, *result = NULL;
    struct cvp_py_view views[4] = {0};
    int taken = 0;
    if (cvp_py_arguments_read(&signature, args, count, kwnames, &a) ||
        read_requests(a.request, requests) || read_out(a.out, out))
        return NULL;
    while (taken < 4 && (!a.array[taken] ||
                         !cvp_py_borrow(a.array[taken], signature.arrays[taken], 0, &views[taken])))
        taken++;
    if (taken == 4) result = compute(&a, requests, out, views);
    for (int i = 0; i < taken; i++) cvp_py_release(&views[i]);
    for (int i = 0; i < 3; i++) Py_XDECREF(out[i]);
    return result;
}

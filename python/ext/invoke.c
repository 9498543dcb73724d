/* invoke: any operator by its name. What follows from parameters is found out by convop/_invoke.py,
 * once for each set of them; the text that the library is given is remembered. */
#include <string.h>

#include "python/ext/ext.h"

const char cvp_py_invoke_doc[] =
    "invoke(name, inputs, *, out=None, request='write', is_train=False, **parameters)\n--\n\n"
    "Runs an operator by its name.\n\n"
    "inputs is a sequence of arrays, in the operator's order (op_info(name)[\"inputs\"]); None, "
    "or\n"
    "nothing, for one that the parameters leave out. out: an array to write to, or a tuple with "
    "one\n"
    "for each output; None makes new ones of the kind of the first input. request is \"write\",\n"
    "\"add\" or \"null\", or a tuple of them. is_train=True trains (BatchNorm).\n\n"
    "Returns the array, or a tuple if there are several outputs; None for those with request\n"
    "\"null\". Raises NotFoundError, InvalidError, UnsupportedError, ExchangeError, DeviceError,\n"
    "NoMemoryError.";

static const struct cvp_py_signature signature = {
    .function = "invoke",
    .arrays = {"name", "inputs"},
    .num_arrays = 2,
    .num_required = 2,
    .request = "request",
    .flag = "is_train",
};

struct frame {
    const struct cvp_py_arguments *arguments;
    const convop_op *op;
    PyObject *arrays; /* a tuple */
    int num_inputs, num_views, num_outputs;
    struct cvp_py_recipe recipe;
    struct cvp_py_view views[CVP_PY_MAX_TENSORS];
    struct cvp_py_output outputs[CVP_PY_MAX_TENSORS];
    convop_request requests[CVP_PY_MAX_TENSORS];
};

static int borrow(struct frame *f)
{
    for (; f->num_views < f->num_inputs; f->num_views++) {
        int i = f->num_views;
        if (cvp_py_borrow(PyTuple_GetItem(f->arrays, i), f->op->inputs[i].name,
                          f->op->mutated_inputs >> i & 1, &f->views[i]))
            return -1;
    }
    return 0;
}

static int find_recipe(struct frame *f)
{
    const DLTensor *weights = f->num_inputs > 1 ? &f->views[1].tensor : NULL;
    const int64_t about[3] = {f->num_inputs, f->views[0].tensor.ndim,
                              weights && weights->ndim > 0 ? weights->shape[0] : -1};
    return cvp_py_recipe_find(f->op, f->arguments, about, &f->recipe);
}

static int infer(const struct frame *f, convop_shape *shapes, DLDataType *types)
{
    convop_shape in[CVP_PY_MAX_TENSORS];
    DLDataType types_in[CVP_PY_MAX_TENSORS];
    for (int i = 0; i < f->num_inputs; i++) {
        in[i] = cvp_py_shape_of(&f->views[i].tensor);
        types_in[i] = f->views[i].tensor.dtype;
    }
    for (int i = 0; i < f->recipe.num_outputs; i++) {
        shapes[i].ndim = -1;
        types[i] = (DLDataType){0};
    }
    convop_status status = convop_infer(f->op, f->recipe.params, f->num_inputs, in,
                                        f->recipe.num_outputs, shapes, types_in, types);
    if (status != CONVOP_OK) cvp_py_raise(status);
    return status == CONVOP_OK ? 0 : -1;
}

static int read_requests(struct frame *f)
{
    PyObject *given = f->arguments->request, *list[CVP_PY_MAX_TENSORS], *keeper = NULL;
    int count = f->recipe.num_seen, failed = 0;
    for (int i = 0; i < f->recipe.num_outputs; i++)
        f->requests[i] = i < count ? CONVOP_REQ_WRITE : CONVOP_REQ_NULL;
    if (!given) return 0;
    int is_list = PyTuple_Check(given) || PyList_Check(given);
    if (is_list) failed = cvp_py_per_output(given, f->op->name, "request", count, list, &keeper);
    for (int i = 0; i < count && !failed; i++) {
        PyObject *one = !is_list ? given : list[i] ? list[i] : Py_None;
        failed = cvp_py_request(one, "request", &f->requests[i]);
    }
    Py_XDECREF(keeper);
    return failed;
}

static int begin(struct frame *f, PyObject *const *given, const convop_shape *shapes,
                 const DLDataType *types)
{
    for (; f->num_outputs < f->recipe.num_seen; f->num_outputs++) {
        int i = f->num_outputs;
        f->outputs[i] = (struct cvp_py_output){0};
        if (f->requests[i] == CONVOP_REQ_NULL) continue;
        if (f->requests[i] == CONVOP_REQ_ADD && !given[i]) {
            PyErr_Format(cvp_py.invalid_error, "%s: request \"add\" needs out[%d]", f->op->name, i);
            return -1;
        }
        if (cvp_py_output_begin(given[i], cvp_py_out_names[i], PyTuple_GetItem(f->arrays, 0),
                                &f->views[0].tensor, shapes[i].ndim, shapes[i].dim, &types[i],
                                &f->outputs[i]))
            return -1;
    }
    return 0;
}

static int run(struct frame *f)
{
    const struct cvp_py_recipe *r = &f->recipe;
    convop_exec room = CONVOP_EXEC_INIT;
    const convop_exec *exec;
    const DLTensor *inputs[CVP_PY_MAX_TENSORS];
    DLTensor *outputs[CVP_PY_MAX_TENSORS];
    if (cvp_py_exec(PyTuple_GetItem(f->arrays, 0), &f->views[0].tensor, &room, &exec)) return -1;
    room.is_train = f->arguments->flag;
    for (int i = 0; i < f->num_inputs; i++) inputs[i] = &f->views[i].tensor;
    for (int i = 0; i < r->num_outputs; i++)
        outputs[i] = f->requests[i] == CONVOP_REQ_NULL ? NULL : &f->outputs[i].view.tensor;
    PyThreadState *state = PyEval_SaveThread();
    convop_status status =
        convop_invoke(f->op->name, (size_t)r->num_params, r->keys, r->values, f->num_inputs, inputs,
                      r->num_outputs, outputs, f->requests, &room);
    PyEval_RestoreThread(state);
    if (status != CONVOP_OK) cvp_py_raise(status);
    return status == CONVOP_OK ? 0 : -1;
}

static PyObject *compute(struct frame *f)
{
    convop_shape shapes[CVP_PY_MAX_TENSORS];
    DLDataType types[CVP_PY_MAX_TENSORS];
    PyObject *given[CVP_PY_MAX_TENSORS], *keeper = NULL, *result = NULL;
    if (!borrow(f) && !find_recipe(f) && !read_requests(f) &&
        !cvp_py_per_output(f->arguments->out, f->op->name, "out", f->recipe.num_seen, given,
                           &keeper) &&
        !infer(f, shapes, types) && !begin(f, given, shapes, types) && !run(f)) {
        result = cvp_py_outputs_finish(f->outputs, f->requests, f->num_outputs);
        f->num_outputs = 0;
    }
    for (int i = 0; i < f->num_outputs; i++) cvp_py_output_drop(&f->outputs[i]);
    for (int i = 0; i < f->num_views; i++) cvp_py_release(&f->views[i]);
    Py_XDECREF(f->recipe.keeper);
    Py_XDECREF(keeper);
    return result;
}

/* The library's own Convolution goes the typed way: text does not know unequal padding. */
static PyObject *convolve(const struct frame *f)
{
    struct cvp_py_arguments a = *f->arguments;
    PyObject *one[2] = {NULL, NULL}, *keepers[2] = {NULL, NULL}, *result = NULL;
    convop_request request = CONVOP_REQ_WRITE;
    for (int i = 0; i < CVP_PY_MAX_ARRAYS; i++)
        a.array[i] = i < f->num_inputs ? PyTuple_GetItem(f->arrays, i) : NULL;
    if (!cvp_py_per_output(a.out, f->op->name, "out", 1, &one[0], &keepers[0]) &&
        !cvp_py_per_output(a.request, f->op->name, "request", 1, &one[1], &keepers[1]) &&
        (!a.request || !cvp_py_request(one[1] ? one[1] : Py_None, "request", &request))) {
        a.out = one[0];
        result = cvp_py_convolve(&a, request);
    }
    Py_XDECREF(keepers[0]);
    Py_XDECREF(keepers[1]);
    return result;
}

static PyObject *call(struct frame *f)
{
    f->num_inputs = (int)PyTuple_Size(f->arrays);
    while (f->num_inputs && PyTuple_GetItem(f->arrays, f->num_inputs - 1) == Py_None)
        f->num_inputs--;
    int missing = f->num_inputs == 0;
    for (int i = 0; i < f->num_inputs; i++) missing |= PyTuple_GetItem(f->arrays, i) == Py_None;
    if (missing) {
        PyErr_Format(cvp_py.argument_error, "%s: an input is missing", f->op->name);
        return NULL;
    }
    if (f->num_inputs > f->op->max_inputs) /* which it says */
        return cvp_py_recipe_ask(f->op, f->arguments, (const int64_t[3]){f->num_inputs, 0, -1});
    if (f->num_inputs > CVP_PY_MAX_TENSORS) {
        PyErr_Format(cvp_py.unsupported_error, "%s: more than %d inputs", f->op->name,
                     CVP_PY_MAX_TENSORS);
        return NULL;
    }
    int is_conv = f->op->level == CONVOP_LEVEL_BUILTIN && f->num_inputs > 1 &&
                  strcmp(f->op->name, "Convolution") == 0;
    return is_conv ? convolve(f) : compute(f);
}

/* The operator of that name, with a reference. */
static int find_op(PyObject *name, const convop_op **op)
{
    Py_ssize_t length = 0;
    char *text = NULL;
    PyObject *bytes = PyUnicode_Check(name) ? PyUnicode_AsUTF8String(name) : NULL;
    PyErr_Clear();
    if (bytes && (PyBytes_AsStringAndSize(bytes, &text, &length) || strlen(text) != (size_t)length))
        text = NULL;
    convop_status status = text ? convop_op_find(text, op) : CONVOP_E_INVALID;
    if (text && status != CONVOP_OK) cvp_py_raise(status);
    Py_XDECREF(bytes);
    if (text) return status == CONVOP_OK ? 0 : -1;
    /* No text, or none that C can hold: convop/_registry.py has words for it. */
    PyErr_Clear();
    Py_XDECREF(PyObject_CallFunction(cvp_py.recipe, "O{}iii", name, 0, 0, -1));
    return -1;
}

PyObject *cvp_py_invoke(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    (void)self;
    struct cvp_py_arguments a;
    struct frame f; /* what is in its arrays counts up to the numbers of them */
    f.arguments = &a;
    f.num_views = f.num_outputs = 0;
    f.recipe.keeper = NULL;
    PyObject *result = NULL;
    if (cvp_py_arguments_read(&signature, args, count, kwnames, &a) ||
        find_op(a.array[0] ? a.array[0] : Py_None, &f.op))
        return NULL;
    f.arrays = a.array[1] ? PySequence_Tuple(a.array[1]) : PyTuple_New(0);
    if (f.arrays) result = call(&f);
    Py_XDECREF(f.arrays);
    convop_op_release(&f.op);
    return result;
}

/* conv_forward. */
#include "python/ext/ext.h"

const char cvp_py_conv_forward_doc[] =
    "conv_forward(x, w, b=None, *, residual=None, out=None, request='write', "
    "activation='none', " CVP_PY_CONV_SIGNATURE
    "Convolution in one, two or three dimensions, and what may follow it in one pass.\n\n"
    "    y[n][o][i] = activation(b[o] + residual[n][o][i] +\n"
    "        sum over c, k of x[n][c][i * stride + k * dilate - pad] * w[o][c][k])\n\n"
    "    layout   x and y          w\n"
    "    NCHW     mb, ic, h, w     oc, ic / num_group, kh, kw\n"
    "    NHWC     mb, h, w, ic     oc, kh, kw, ic / num_group\n\n"
    "b has shape (oc,) or is None. All have one dtype: float16, bfloat16, float32 or float64.\n"
    "residual has the shape of y, or is None; it may be out. activation is \"none\", \"relu\" or\n"
    "\"relu6\" (between 0 and 6).\n"
    "Returns y, a new array of the kind of x; or out, which is then written to. request is\n"
    "\"write\", \"add\" (to what is in out) or \"null\" (nothing is "
    "done).\n\n" CVP_PY_CONV_PARAMETERS;

enum { X, W, B, RESIDUAL, NUM_ARRAYS };

static const struct cvp_py_signature signature = {
    .function = "conv_forward",
    .arrays = {"x", "w", "b", "residual"},
    .num_arrays = NUM_ARRAYS,
    .num_required = 2,
    .num_needed = 2,
    .num_by_keyword = 1,
    .request = "request",
};

/* Sizes beyond which the short sum below might overflow. */
#define MOST ((int64_t)1 << 40)

static int one_axis(const convop_conv_params *p, int i, int64_t size, int64_t *out)
{
    int64_t begin = p->pad_begin.len ? p->pad_begin.at[i] : 0;
    int64_t end = p->pad_end.len ? p->pad_end.at[i] : 0;
    int64_t stride = p->stride.len ? p->stride.at[i] : 1;
    int64_t dilate = p->dilate.len ? p->dilate.at[i] : 1;
    int64_t kernel = p->kernel.at[i];
    if (size > MOST || begin > MOST || end > MOST || kernel < 1 || kernel > MOST / 2 ||
        dilate > MOST / kernel)
        return 0;
    int64_t room = size + begin + end - dilate * (kernel - 1) - 1;
    *out = room / stride + 1;
    return room >= 0 && *out < MOST;
}

/* The shape of dst; 0 where this short way finds none. */
static int dst_shape(const convop_conv_params *p, const DLTensor *src, const DLTensor *weights,
                     int64_t *shape)
{
    int axes = p->kernel.len, last = p->layout != 0 && p->layout % 2 == 0;
    const convop_tuple *tuples[] = {&p->stride, &p->dilate, &p->pad_begin, &p->pad_end};
    /* Before anything is allocated for it. */
    if (src->ndim != axes + 2 || p->num_filter != weights->shape[0]) return 0;
    for (int i = 0; i < 4; i++)
        if (tuples[i]->len && tuples[i]->len != axes) return 0;
    shape[0] = src->shape[0];
    shape[last ? axes + 1 : 1] = p->num_filter;
    for (int i = 0; i < axes; i++)
        if (!one_axis(p, i, src->shape[i + (last ? 1 : 2)], &shape[i + (last ? 1 : 2)])) return 0;
    return 1;
}

/* The same from the library, which says why there is none. */
static int ask_dst_shape(const convop_conv_params *p, const DLTensor *src, const DLTensor *weights,
                         const DLTensor *bias, int64_t *shape)
{
    convop_shape in[3] = {cvp_py_shape_of(src), cvp_py_shape_of(weights)}, out = {.ndim = -1};
    if (bias) in[2] = cvp_py_shape_of(bias);
    const convop_op *op;
    convop_status status = convop_op_find(p->activation ? "FusedConvolution" : "Convolution", &op);
    if (status == CONVOP_OK) status = convop_infer(op, p, bias ? 3 : 2, in, 1, &out, NULL, NULL);
    convop_op_release(&op);
    if (status != CONVOP_OK) {
        cvp_py_raise(status);
        return -1;
    }
    double bytes = (double)src->dtype.bits / 8;
    for (int i = 0; i < out.ndim; i++) bytes *= (double)(shape[i] = out.dim[i]);
    if (bytes < 9e18) return 0;
    PyErr_SetString(cvp_py.invalid_error,
                    "Convolution: dst (output): its size in bytes overflows 64 bits");
    return -1;
}

static int is_brief(const convop_conv_params *p, const DLTensor *weights, const DLTensor *dst)
{
    double work = 1;
    for (int i = 0; dst && i < dst->ndim; i++) work *= (double)dst->shape[i];
    for (int i = 1; i < weights->ndim; i++) work *= (double)weights->shape[i];
    return work < CVP_PY_BRIEF && !cvp_py_may_take_long(p);
}

/* The tensors of a call; bias and residual may be NULL. */
struct inputs {
    const DLTensor *src, *weights, *bias, *residual;
};

static convop_status run_now(const convop_conv_params *p, const struct inputs *in, DLTensor *dst,
                             convop_request request, const convop_exec *exec)
{
    if (!in->residual)
        return convop_conv_forward(p, in->src, in->weights, in->bias, dst, request, exec);
    return convop_conv_forward_add(p, in->src, in->weights, in->bias, in->residual, dst, request,
                                   exec);
}

static convop_status run(const convop_conv_params *p, const struct inputs *in, DLTensor *dst,
                         convop_request request, const convop_exec *exec)
{
    if (is_brief(p, in->weights, dst)) return run_now(p, in, dst, request, exec);
    PyThreadState *state = PyEval_SaveThread();
    convop_status status = run_now(p, in, dst, request, exec);
    PyEval_RestoreThread(state);
    return status;
}

static PyObject *compute(const struct cvp_py_arguments *a, convop_request request,
                         struct cvp_py_view *views)
{
    struct cvp_py_output output;
    convop_conv_params p;
    convop_exec room;
    const convop_exec *exec;
    const struct inputs in = {&views[X].tensor, &views[W].tensor,
                              a->array[B] ? &views[B].tensor : NULL,
                              a->array[RESIDUAL] ? &views[RESIDUAL].tensor : NULL};
    const DLTensor *src = in.src;
    if (a->out && a->out == a->array[RESIDUAL] && request == CONVOP_REQ_WRITE)
        request = CONVOP_REQ_INPLACE;
    int64_t shape[CONVOP_MAX_DIMS];
    if (cvp_py_conv_params(a, in.weights, in.bias != NULL, &p) ||
        cvp_py_exec(a->array[0], src, &room, &exec))
        return NULL;
    if (!a->out && request == CONVOP_REQ_NULL) {
        /* Checked, and nothing is made. */
        convop_status status = run(&p, &in, NULL, request, exec);
        if (status != CONVOP_OK) return cvp_py_raise(status), NULL;
        Py_RETURN_NONE;
    }
    if (!a->out && !dst_shape(&p, src, in.weights, shape) &&
        ask_dst_shape(&p, src, in.weights, in.bias, shape))
        return NULL;
    if (cvp_py_output_begin(a->out, "out", a->array[0], src, src->ndim, shape, NULL, &output))
        return NULL;
    convop_status status = run(&p, &in, &output.view.tensor, request, exec);
    if (status == CONVOP_OK) return cvp_py_output_finish(&output);
    cvp_py_raise(status);
    cvp_py_output_drop(&output);
    return NULL;
}

PyObject *cvp_py_convolve(const struct cvp_py_arguments *a, convop_request request)
{
    if (request == CONVOP_REQ_ADD && !a->out) {
        PyErr_SetString(cvp_py.invalid_error, "conv_forward(): request=\"add\" needs out");
        return NULL;
    }
    struct cvp_py_view views[NUM_ARRAYS]; /* of arrays that are not given, nothing */
    PyObject *result = NULL;
    int taken = 0;
    while (taken < NUM_ARRAYS &&
           (!a->array[taken] ||
            !cvp_py_borrow(a->array[taken], signature.arrays[taken], 0, &views[taken])))
        taken++;
    if (taken == NUM_ARRAYS) result = compute(a, request, views);
    for (int i = 0; i < taken; i++)
        if (a->array[i]) cvp_py_release(&views[i]);
    return result;
}

PyObject *cvp_py_conv_forward(PyObject *self, PyObject *const *args, Py_ssize_t count,
                              PyObject *kwnames)
{
    (void)self;
    struct cvp_py_arguments a;
    convop_request request = CONVOP_REQ_WRITE;
    if (cvp_py_arguments_read(&signature, args, count, kwnames, &a) ||
        (a.request && cvp_py_request(a.request, signature.request, &request)))
        return NULL;
    return cvp_py_convolve(&a, request);
}

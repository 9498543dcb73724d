/* Shapes that must agree, and loops over elements; common.h says what they promise. */
#include "src/operator/common.h"

#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/common/text.h"

struct cvp_shape_text cvp_shape_text(const convop_shape *shape)
{
    struct cvp_shape_text r;
    struct cvp_text t = cvp_text_in(r.at, sizeof r.at);
    if (shape->ndim == -1)
        cvp_text_add(&t, "unknown");
    else
        cvp_text_add_dims(&t, shape->ndim, shape->dim);
    return r;
}

convop_shape cvp_shape_unknown(int ndim)
{
    convop_shape s = {.ndim = ndim};
    for (int i = 0; i < ndim; i++) s.dim[i] = -1;
    return s;
}

convop_status cvp_shape_merge(const char *op, const char *name, convop_shape *shape,
                              const convop_shape *want, const char *rule)
{
    if (want->ndim == -1) return CONVOP_OK;
    convop_shape r = shape->ndim == -1 ? *want : *shape;
    int agree = r.ndim == want->ndim;
    for (int i = 0; agree && i < want->ndim; i++) {
        if (r.dim[i] == -1) r.dim[i] = want->dim[i];
        agree = want->dim[i] == -1 || want->dim[i] == r.dim[i];
    }
    if (!agree)
        return convop_fail(CONVOP_E_INVALID, "%s: %s has shape %s, but its shape must be %s: %s",
                           op, name, cvp_shape_text(shape).at, cvp_shape_text(want).at, rule);
    *shape = r;
    return CONVOP_OK;
}

convop_status cvp_shape_equal(const char *op, int n, const convop_arg *const *args,
                              convop_shape *const *shapes)
{
    convop_shape all = {.ndim = -1};
    int from = 0; /* the first one of known rank */
    for (int i = 0; i < n; i++) {
        const convop_shape *s = shapes[i];
        if (s->ndim == -1) continue;
        if (all.ndim == -1) {
            all = *s;
            from = i;
        }
        int agree = s->ndim == all.ndim;
        for (int d = 0; agree && d < all.ndim; d++) {
            if (all.dim[d] == -1) all.dim[d] = s->dim[d];
            agree = s->dim[d] == -1 || s->dim[d] == all.dim[d];
        }
        if (!agree)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: %s has shape %s, %s has shape %s: they must be equal", op,
                               args[from]->name, cvp_shape_text(shapes[from]).at, args[i]->name,
                               cvp_shape_text(s).at);
    }
    for (int i = 0; i < n; i++) *shapes[i] = all;
    return CONVOP_OK;
}

convop_status cvp_require_float(const char *op, DLDataType dtype)
{
    char name[16];
    if (dtype.code == kDLFloat && (dtype.bits == 32 || dtype.bits == 64)) return CONVOP_OK;
    return convop_fail(CONVOP_E_UNSUPPORTED,
                       "%s: no implementation for dtype %s; float32 and float64 have one", op,
                       cvp_dtype_name(dtype, name));
}

void cvp_parallel_elements(const convop_context *context, int64_t elements, int64_t n,
                           cvp_range_body *body, void *arg)
{
    if (n <= 0) return;
    if (elements < CVP_SMALL_LOOP)
        body(arg, 0, 0, n);
    else
        cvp_parallel(context, n, body, arg);
}

struct axis {
    int64_t size, step[CVP_MAX_OPERANDS];
};

/* Lines of the last axis, cut into blocks. */
struct job {
    cvp_line_body *body;
    void *arg;
    int num, axes; /* axes >= 1 */
    struct axis axis[CONVOP_MAX_DIMS];
    char *data[CVP_MAX_OPERANDS];
    int64_t element_size, blocks;
};

/* The axes of size > 1, by falling stride of the output, joined where that is possible. */
static void set_axes(struct job *job, const DLTensor *const *tensors)
{
    int64_t strides[CVP_MAX_OPERANDS][CONVOP_MAX_DIMS];
    for (int k = 0; k < job->num; k++) cvp_tensor_strides(tensors[k], strides[k]);
    struct axis sorted[CONVOP_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < tensors[0]->ndim; d++) {
        struct axis axis = {.size = tensors[0]->shape[d]};
        if (axis.size == 1) continue;
        for (int k = 0; k < job->num; k++) axis.step[k] = strides[k][d];
        int at = n++;
        for (; at > 0 && axis.step[0] > sorted[at - 1].step[0]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = axis;
    }
    job->axes = 0;
    for (int i = 0; i < n; i++) {
        struct axis *last = job->axes > 0 ? &job->axis[job->axes - 1] : NULL;
        int join = last != NULL;
        for (int k = 0; join && k < job->num; k++)
            join = last->step[k] == sorted[i].size * sorted[i].step[k];
        if (!join) {
            job->axis[job->axes++] = sorted[i];
            continue;
        }
        sorted[i].size *= last->size;
        *last = sorted[i];
    }
    if (job->axes == 0) job->axis[job->axes++] = (struct axis){.size = 1, .step = {1, 1, 1, 1}};
}

static void run_lines(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    for (int64_t item = begin; item < end; item++) {
        const struct axis *inner = &job->axis[job->axes - 1];
        int64_t first = item % job->blocks * CVP_LINE, rest = item / job->blocks;
        int64_t offset[CVP_MAX_OPERANDS];
        for (int k = 0; k < job->num; k++) offset[k] = first * inner->step[k];
        for (int i = job->axes - 2; i >= 0; i--) {
            int64_t at = rest % job->axis[i].size;
            rest /= job->axis[i].size;
            for (int k = 0; k < job->num; k++) offset[k] += at * job->axis[i].step[k];
        }
        void *at[CVP_MAX_OPERANDS];
        for (int k = 0; k < job->num; k++) at[k] = job->data[k] + offset[k] * job->element_size;
        job->body(job->arg, cvp_min_i64(inner->size - first, CVP_LINE), at, inner->step);
    }
}

/* The number of items; 0 for empty tensors. */
static int64_t start(struct job *job, int num, const DLTensor *const *tensors, cvp_line_body *body,
                     void *arg)
{
    int64_t elements = cvp_tensor_elements(tensors[0]);
    if (elements == 0) return 0;
    *job = (struct job){.body = body,
                        .arg = arg,
                        .num = num,
                        .element_size = (int64_t)cvp_dtype_size(tensors[0]->dtype)};
    for (int k = 0; k < num; k++) job->data[k] = cvp_tensor_data(tensors[k]);
    set_axes(job, tensors);
    int64_t inner = job->axis[job->axes - 1].size;
    job->blocks = cvp_ceil_div(inner, CVP_LINE);
    return elements / inner * job->blocks;
}

void cvp_elementwise(const convop_context *context, int num, const DLTensor *const *tensors,
                     cvp_line_body *body, void *arg)
{
    struct job job;
    int64_t items = start(&job, num, tensors, body, arg);
    cvp_parallel_elements(context, cvp_tensor_elements(tensors[0]), items, run_lines, &job);
}

void cvp_elementwise_here(int num, const DLTensor *const *tensors, cvp_line_body *body, void *arg)
{
    struct job job;
    int64_t items = start(&job, num, tensors, body, arg);
    run_lines(&job, 0, 0, items);
}

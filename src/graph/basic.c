/* See basic.h. All tensors of an executor are compact, so both are loops over elements. */
#include "src/graph/basic.h"

#include <string.h>

#include "src/common/half.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/engine/parallel.h"

/* Elements that a lane takes at once. */
#define BLOCK 8192

struct params {
    size_t struct_size;
};
static const struct params no_params = {sizeof no_params};
const void *const cvp_graph_no_params = &no_params;

struct job {
    void *to;
    const void *from; /* NULL: zeros */
    int64_t elements;
    size_t size;
    DLDataType type;
    int adds;
};

static void add_f32(float *restrict to, const float *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

static void add_f64(double *restrict to, const double *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

static void add_f16(uint16_t *restrict to, const uint16_t *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = cvp_f16_of_float(cvp_float_of_f16(to[i]) + cvp_float_of_f16(from[i]));
}

static void add_bf16(uint16_t *restrict to, const uint16_t *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = cvp_bf16_of_float(cvp_float_of_bf16(to[i]) + cvp_float_of_bf16(from[i]));
}

static void run_blocks(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    const int64_t first = begin * BLOCK, n = cvp_min_i64(end * BLOCK, job->elements) - first;
    void *to = (char *)job->to + (size_t)first * job->size;
    const void *from = job->from ? (const char *)job->from + (size_t)first * job->size : NULL;
    if (!from)
        memset(to, 0, (size_t)n * job->size);
    else if (!job->adds)
        memcpy(to, from, (size_t)n * job->size);
    else if (job->type.bits == 64)
        add_f64(to, from, n);
    else if (job->type.bits == 32)
        add_f32(to, from, n);
    else if (job->type.code == kDLBfloat)
        add_bf16(to, from, n);
    else
        add_f16(to, from, n);
}

static convop_status run(const convop_op_args *args, const void *plan, void *workspace)
{
    (void)plan, (void)workspace;
    const DLTensor *to = args->outputs[0];
    if (!to || args->requests[0] == CONVOP_REQ_NULL) return CONVOP_OK;
    struct job job = {.to = cvp_tensor_data(to),
                      .from = args->num_inputs ? cvp_tensor_data(args->inputs[0]) : NULL,
                      .elements = cvp_tensor_elements(to),
                      .size = cvp_dtype_size(to->dtype),
                      .type = to->dtype,
                      .adds = args->requests[0] == CONVOP_REQ_ADD};
    if (!job.from && job.adds) return CONVOP_OK;
    cvp_parallel(args->context, cvp_ceil_div(job.elements, BLOCK), run_blocks, &job);
    return CONVOP_OK;
}

static convop_status refuse_type(const char *op, DLDataType type)
{
    char name[16];
    return convop_fail(CONVOP_E_UNSUPPORTED,
                       "%s: dtype %s, allowed are float16, bfloat16, float32 and float64", op,
                       cvp_dtype_name(type, name));
}

static int is_float(DLDataType t)
{
    return (t.code == kDLFloat && (t.bits == 16 || t.bits == 32 || t.bits == 64)) ||
           (t.code == kDLBfloat && t.bits == 16);
}

static convop_status plan(const convop_op_args *args, void *plan_, size_t *workspace_bytes)
{
    (void)plan_;
    *workspace_bytes = 0;
    if (args->requests[0] != CONVOP_REQ_ADD || is_float(args->outputs[0]->dtype)) return CONVOP_OK;
    return refuse_type("graph: sum of gradients", args->outputs[0]->dtype);
}

static int same_shape(const convop_shape *a, const convop_shape *b)
{
    if (a->ndim != b->ndim) return 0;
    for (int i = 0; i < a->ndim; i++)
        if (a->dim[i] != b->dim[i]) return 0;
    return 1;
}

static convop_status infer_shape(const void *params, int num_inputs, convop_shape *inputs,
                                 int num_outputs, convop_shape *outputs)
{
    (void)params, (void)num_outputs;
    if (num_inputs == 0 || same_shape(&inputs[0], &outputs[0])) return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID, "graph: the shapes of src and dst differ");
}

static const convop_arg inputs[] = {{"src", NULL}};
static const convop_arg outputs[] = {{"dst", NULL}};

const convop_op cvp_graph_copy = {
    .struct_size = sizeof(convop_op),
    .name = "copy",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct params),
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = 1,
    .max_outputs = 1,
    .infer_shape = infer_shape,
    .plan = plan,
    .run = run,
};

const convop_op cvp_graph_zeros = {
    .struct_size = sizeof(convop_op),
    .name = "zeros",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct params),
    .outputs = outputs,
    .max_outputs = 1,
    .infer_shape = infer_shape,
    .plan = plan,
    .run = run,
};

convop_status cvp_graph_fill_ones(const DLTensor *t)
{
    if (!is_float(t->dtype)) return refuse_type("graph: gradient by an output", t->dtype);
    const int64_t n = cvp_tensor_elements(t);
    void *at = cvp_tensor_data(t);
    for (int64_t i = 0; i < n; i++) {
        if (t->dtype.bits == 64)
            ((double *)at)[i] = 1;
        else if (t->dtype.bits == 32)
            ((float *)at)[i] = 1;
        else
            ((uint16_t *)at)[i] = t->dtype.code == kDLBfloat ? 0x3f80 : 0x3c00;
    }
    return CONVOP_OK;
}

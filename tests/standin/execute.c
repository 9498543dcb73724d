/* Executing a plan: its graph with plain float64 loops. Tensors are read into dense arrays over
 * n c d h w, each op makes the next one, and what is not virtual is stored at the end. */
#include <math.h>
#include <string.h>

#include "tests/cases/element.h"
#include "tests/standin/cudnn.h"

#define SCRIBBLE 0x5a /* what a plan leaves in its workspace */

struct execution {
    struct graph graph;
    unsigned long long address[MOST_TENSORS]; /* of those that are not virtual */
    unsigned long long workspace;
    int64_t workspace_bytes;
};

/* A tensor of an op while it runs. */
struct values {
    int64_t size[5], stride[5]; /* n c d h w; strides in elements */
    double *at;                 /* dense; NULL: not known yet */
};

static DLDataType type_of(const struct graph_tensor *t)
{
    switch (t->type) {
    case CVP_CUDNN_DATA_FLOAT: return (DLDataType){kDLFloat, 32, 1};
    case CVP_CUDNN_DATA_DOUBLE: return (DLDataType){kDLFloat, 64, 1};
    case CVP_CUDNN_DATA_HALF: return (DLDataType){kDLFloat, 16, 1};
    case CVP_CUDNN_DATA_BFLOAT16: return (DLDataType){kDLBfloat, 16, 1};
    default: standin_misuse("cudnnBackendExecute", "elements of type %d", (int)t->type);
    }
}

/* Its axes as n c d h w, of which absent ones have size 1. */
static void shape(struct values *v, const struct graph_tensor *t)
{
    for (int a = 0; a < 5; a++) {
        const int64_t from = a < 2 ? a : t->axes - (5 - a);
        const int is_there = a < 2 || from >= 2;
        v->size[a] = is_there ? t->size[from] : 1;
        v->stride[a] = is_there ? t->stride[from] : 0;
    }
}

static int64_t count(const struct values *v)
{
    return v->size[0] * v->size[1] * v->size[2] * v->size[3] * v->size[4];
}

#define FOR_EACH(sizes, at)                                                                        \
    for (at[0] = 0; at[0] < (sizes)[0]; at[0]++)                                                   \
        for (at[1] = 0; at[1] < (sizes)[1]; at[1]++)                                               \
            for (at[2] = 0; at[2] < (sizes)[2]; at[2]++)                                           \
                for (at[3] = 0; at[3] < (sizes)[3]; at[3]++)                                       \
                    for (at[4] = 0; at[4] < (sizes)[4]; at[4]++)

static double *dense(const struct values *v, const int64_t at[5])
{
    int64_t i = 0;
    for (int a = 0; a < 5; a++) i = i * v->size[a] + at[a];
    return &v->at[i];
}

static double *zeros(const struct values *v)
{
    double *at = calloc((size_t)count(v) + 1, sizeof *at);
    if (!at) abort();
    return at;
}

/* The host's address of element 0. */
static unsigned char *touch(struct op *op, const struct execution *x, int64_t i,
                            const struct values *v, int writes)
{
    int64_t last = 0;
    for (int a = 0; a < 5; a++) last += (v->size[a] - 1) * v->stride[a];
    const size_t size = element_size(type_of(&x->graph.tensors[i]));
    return standin_touch(op, x->address[i], ((size_t)last + 1) * size, writes);
}

static void load(struct op *op, const struct execution *x, int64_t i, struct values *v)
{
    int64_t at[5];
    v->at = zeros(v);
    if (count(v) == 0) return;
    const DLDataType type = type_of(&x->graph.tensors[i]);
    const unsigned char *from = touch(op, x, i, v, 0);
    FOR_EACH(v->size, at)
    {
        int64_t e = 0;
        for (int a = 0; a < 5; a++) e += at[a] * v->stride[a];
        *dense(v, at) = element_get(type, from + (size_t)e * element_size(type));
    }
}

static void store(struct op *op, const struct execution *x, int64_t i, const struct values *v)
{
    int64_t at[5];
    if (count(v) == 0) return;
    const DLDataType type = type_of(&x->graph.tensors[i]);
    unsigned char *to = touch(op, x, i, v, 1);
    FOR_EACH(v->size, at)
    {
        int64_t e = 0;
        for (int a = 0; a < 5; a++) e += at[a] * v->stride[a];
        element_set(type, to + (size_t)e * element_size(type), *dense(v, at));
    }
}

/* Adds each product of a convolution to `sums`, which is the array of the third tensor. */
static void multiply(const struct graph_op *op, struct values v[3], int output, double *sums)
{
    const struct values *src = &v[0], *weights = &v[1], *dst = &v[2];
    const int64_t groups = src->size[1] / weights->size[1], oc = dst->size[1] / groups;
    int64_t o[5], k[5], s[5];
    FOR_EACH(dst->size, o)
    {
        const int64_t taps[5] = {1, weights->size[1], weights->size[2], weights->size[3],
                                 weights->size[4]};
        FOR_EACH(taps, k)
        {
            int inside = 1;
            s[0] = o[0];
            s[1] = o[1] / oc * weights->size[1] + k[1];
            for (int a = 2; a < 5; a++) {
                const int64_t axis = a - (5 - op->axes); /* as the convolution counts it */
                s[a] = axis < 0 ? 0
                                : o[a] * op->step[axis] - op->pad[axis] + k[a] * op->dilation[axis];
                inside &= s[a] >= 0 && s[a] < src->size[a];
            }
            const int64_t w[5] = {o[1], k[1], k[2], k[3], k[4]};
            const int64_t *const at[3] = {s, w, o};
            double product = 1;
            if (!inside) continue;
            for (int t = 0; t < 3; t++)
                if (t != output) product *= *dense(&v[t], at[t]);
            struct values to = v[output];
            to.at = sums;
            *dense(&to, at[output]) += product;
        }
    }
}

static void convolve(struct op *work, const struct execution *x, const struct graph_op *op,
                     struct values *all)
{
    const int64_t result = standin_graph_output(op);
    struct values v[3];
    int output = 0;
    for (int t = 0; t < 3; t++) {
        v[t] = all[op->tensors[t]];
        if (op->tensors[t] == result) output = t;
    }
    double *sums = zeros(&v[output]);
    multiply(op, v, output, sums);
    if (op->beta != 0) load(work, x, result, &all[result]);
    const int64_t n = count(&v[output]);
    for (int64_t i = 0; i < n; i++)
        sums[i] = op->alpha * sums[i] + (op->beta != 0 ? op->beta * all[result].at[i] : 0);
    free(all[result].at);
    all[result].at = sums;
}

static void pointwise(const struct graph_op *op, struct values *all)
{
    struct values *y = &all[op->tensors[2]];
    const struct values *one = &all[op->tensors[0]];
    int64_t at[5];
    y->at = zeros(y);
    FOR_EACH(y->size, at)
    {
        double value = *dense(one, at);
        if (op->tensors[1] >= 0) {
            const struct values *b = &all[op->tensors[1]];
            int64_t from[5];
            for (int a = 0; a < 5; a++) from[a] = b->size[a] == 1 ? 0 : at[a];
            value += *dense(b, from);
        } else if (!isnan(value)) {
            value = fmin(fmax(value, op->low), op->high);
        }
        *dense(y, at) = value;
    }
}

static void compute(struct op *work, void *data)
{
    const struct execution *x = data;
    struct values all[MOST_TENSORS] = {0};
    int is_output[MOST_TENSORS] = {0};
    for (int64_t i = 0; i < x->graph.num_ops; i++)
        is_output[standin_graph_output(&x->graph.ops[i])] = 1;
    for (int64_t i = 0; i < x->graph.num_tensors; i++) {
        shape(&all[i], &x->graph.tensors[i]);
        if (!is_output[i]) load(work, x, i, &all[i]);
    }
    if (x->workspace_bytes)
        memset(standin_touch(work, x->workspace, (size_t)x->workspace_bytes, 1), SCRIBBLE,
               (size_t)x->workspace_bytes);
    for (int64_t i = 0; i < x->graph.num_ops; i++) {
        const struct graph_op *op = &x->graph.ops[i];
        if (op->kind == CVP_CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
            pointwise(op, all);
        else
            convolve(work, x, op, all);
    }
    const int is_spoilt = getenv("STANDIN_SPOILS") != NULL;
    for (int64_t i = 0; i < x->graph.num_tensors; i++) {
        if (is_spoilt && is_output[i] && count(&all[i])) all[i].at[0] += 1;
        if (is_output[i] && !x->graph.tensors[i].is_virtual) store(work, x, i, &all[i]);
        free(all[i].at);
    }
}

static unsigned long long address_of(const struct descriptor *pack, const struct graph_tensor *t)
{
    const struct attribute *uids = standin_attribute(pack, CVP_CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const struct attribute *to = standin_attribute(pack, CVP_CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    for (int64_t i = 0; uids && to && i < uids->count && i < to->count; i++) {
        const unsigned long long address = (uintptr_t)((void *const *)to->values)[i];
        if (((const int64_t *)uids->values)[i] != t->uid) continue;
        if (address % (unsigned long long)t->alignment)
            standin_misuse(NULL, "tensor %lld is at %#llx, no multiple of %lld", (long long)t->uid,
                           address, (long long)t->alignment);
        return address;
    }
    standin_misuse(NULL, "the pack has no tensor %lld", (long long)t->uid);
}

struct work *standin_execution(const struct descriptor *plan, const struct descriptor *pack)
{
    struct execution *x = calloc(1, sizeof *x);
    if (!x) abort();
    x->graph = plan->graph;
    for (int64_t i = 0; i < x->graph.num_tensors; i++)
        if (!x->graph.tensors[i].is_virtual) x->address[i] = address_of(pack, &x->graph.tensors[i]);
    x->workspace = (unsigned long long)standin_int(pack, CVP_CUDNN_ATTR_VARIANT_PACK_WORKSPACE, 0);
    x->workspace_bytes = plan->workspace;
    if (x->workspace_bytes && !x->workspace)
        standin_misuse(NULL, "the plan needs %lld bytes of workspace and has none",
                       (long long)x->workspace_bytes);
    struct work *work = standin_work("cudnnBackendExecute", compute, x);
    work->end = free;
    work->ms = standin_time(plan->engine);
    return work;
}

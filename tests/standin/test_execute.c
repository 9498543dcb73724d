/* The stand-in's cuDNN: random convolutions as graphs of its backend API, planned by the cuDNN of
 * the machine (argument real) or by the stand-in (argument here), written to JSON, read back,
 * executed, against plain float64 loops that share nothing with it.
 *
 *     CONVOP_CASE=<seed> test_standin_execute here     repeats one problem */
#include <inttypes.h>
#include <string.h>

#include "src/cuda/backend.h"
#include "tests/cases/element.h"
#include "tests/standin/gpu.h"
#include "tests/support/placed.h"

#define CASES     60
#define ALIGNMENT 16

enum { SKIPPED = 77 };

static struct test_gpu gpu;
static struct cudnnContext *handle;
static void *properties;

static const struct direction {
    unsigned operation, names[3], convolution, alpha, beta;
    int tensors[3], output; /* of struct placed; the number of the output among them */
} directions[] = {
    {CVP_CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     {CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
     CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
     {P_SRC, P_WEIGHTS, P_DST},
     2},
    {CVP_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     {CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
     CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
     {P_DIFF_SRC, P_WEIGHTS, P_DIFF_DST},
     0},
    {CVP_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     {CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
     CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CVP_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
     {P_SRC, P_DIFF_WEIGHTS, P_DIFF_DST},
     1},
};

/* With its unique id the number in struct placed, plus 1. Axes as n c [d] h w. */
static void *tensor(struct cvp_backend *b, const struct conv_case *c, int which, const DLTensor *t,
                    const int64_t *strides)
{
    const int64_t uid = which + 1, alignment = ALIGNMENT;
    const unsigned type = t->dtype.bits == 64          ? CVP_CUDNN_DATA_DOUBLE
                          : t->dtype.bits == 32        ? CVP_CUDNN_DATA_FLOAT
                          : t->dtype.code == kDLBfloat ? CVP_CUDNN_DATA_BFLOAT16
                                                       : CVP_CUDNN_DATA_HALF;
    int64_t size[5], stride[5];
    int axes = 0;
    for (int i = 0; i < t->ndim; i++) {
        const int from = !c->channels_last ? i : i == 0 ? 0 : i == 1 ? t->ndim - 1 : i - 1;
        if (i == 2 && t->ndim == 3) { /* 1-D: a height of 1 */
            size[axes] = 1;
            stride[axes++] = strides[1] * t->shape[1] * (c->channels_last ? t->shape[2] : 1);
        }
        size[axes] = t->shape[from];
        stride[axes++] = strides[from];
    }
    void *d = cvp_backend_make(b, CVP_CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_TENSOR_UNIQUE_ID, CVP_CUDNN_TYPE_INT64, 1, &uid);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_TENSOR_DATA_TYPE, CVP_CUDNN_TYPE_DATA_TYPE, 1, &type);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CVP_CUDNN_TYPE_INT64, 1,
                    &alignment);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_TENSOR_DIMENSIONS, CVP_CUDNN_TYPE_INT64, axes, size);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_TENSOR_STRIDES, CVP_CUDNN_TYPE_INT64, axes, stride);
    cvp_backend_finalize(b, d, "a tensor");
    return d;
}

static void *convolution(struct cvp_backend *b, const struct conv_case *c)
{
    const int64_t spatial = c->axes == 3 ? 3 : 2, skip = 3 - spatial;
    const unsigned type = c->bits == BOX_F64 ? CVP_CUDNN_DATA_DOUBLE : CVP_CUDNN_DATA_FLOAT;
    const unsigned mode = CVP_CUDNN_CROSS_CORRELATION;
    void *d = cvp_backend_make(b, CVP_CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CVP_CUDNN_TYPE_INT64, 1,
                    &spatial);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CVP_CUDNN_TYPE_DATA_TYPE, 1, &type);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_CONVOLUTION_CONV_MODE, CVP_CUDNN_TYPE_CONVOLUTION_MODE, 1,
                    &mode);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CVP_CUDNN_TYPE_INT64, spatial,
                    c->s + skip);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_CONVOLUTION_DILATIONS, CVP_CUDNN_TYPE_INT64, spatial,
                    c->d + skip);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CVP_CUDNN_TYPE_INT64, spatial,
                    c->p0 + skip);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CVP_CUDNN_TYPE_INT64, spatial,
                    c->p1 + skip);
    cvp_backend_finalize(b, d, "a convolution");
    return d;
}

static void *graph_of(struct cvp_backend *b, const struct conv_case *c, const struct direction *way,
                      struct box *const boxes[3], int adds)
{
    const float factors[] = {1, (float)adds};
    const double doubles[] = {1, adds};
    const int is_double = c->bits == BOX_F64;
    void *tensors[3];
    for (int i = 0; i < 3; i++)
        tensors[i] = tensor(b, c, way->tensors[i], &boxes[i]->tensor, boxes[i]->strides);
    void *conv = convolution(b, c);
    void *d = cvp_backend_make(b, way->operation);
    cvp_backend_link(b, d, way->convolution, conv);
    for (int i = 0; i < 3; i++) cvp_backend_link(b, d, way->names[i], tensors[i]);
    for (int i = 0; i < 2; i++)
        cvp_backend_set(b, d, i ? way->beta : way->alpha,
                        is_double ? CVP_CUDNN_TYPE_DOUBLE : CVP_CUDNN_TYPE_FLOAT, 1,
                        is_double ? (const void *)&doubles[i] : &factors[i]);
    cvp_backend_finalize(b, d, "an operation");
    void *graph = cvp_backend_make(b, CVP_CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    cvp_backend_link(b, graph, CVP_CUDNN_ATTR_OPERATIONGRAPH_OPS, d);
    cvp_backend_finalize(b, graph, "a graph");
    return graph;
}

/* A plan of the first engine that there is, by way of its JSON. */
static void *plan_of(struct cvp_backend *b, void *graph)
{
    static char json[1 << 16];
    const unsigned mode = CVP_CUDNN_HEUR_MODE_FALLBACK;
    void *h = cvp_backend_make(b, CVP_CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    cvp_backend_link(b, h, CVP_CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    cvp_backend_link(b, h, CVP_CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, properties);
    cvp_backend_set(b, h, CVP_CUDNN_ATTR_ENGINEHEUR_MODE, CVP_CUDNN_TYPE_HEUR_MODE, 1, &mode);
    cvp_backend_finalize(b, h, "heuristics");
    void *config = cvp_backend_make(b, CVP_CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (b->status != CONVOP_OK ||
        cvp_backend_get(gpu.cudnn, h, CVP_CUDNN_ATTR_ENGINEHEUR_RESULTS,
                        CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config) < 1)
        return NULL;
    void *built = cvp_backend_make(b, CVP_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    cvp_backend_link(b, built, CVP_CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, properties);
    cvp_backend_link(b, built, CVP_CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    cvp_backend_finalize(b, built, "a plan");
    if (b->status != CONVOP_OK) return NULL;
    const int64_t length =
        cvp_backend_get(gpu.cudnn, built, CVP_CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                        CVP_CUDNN_TYPE_CHAR, sizeof json, json);
    MUST_BE(length > 0 && length < (int64_t)sizeof json);
    void *plan = cvp_backend_make(b, CVP_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    cvp_backend_link(b, plan, CVP_CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, properties);
    cvp_backend_set(b, plan, CVP_CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CVP_CUDNN_TYPE_CHAR,
                    length, json);
    cvp_backend_finalize(b, plan, "a plan of JSON");
    return plan;
}

static void execute(struct cvp_backend *b, void *plan, const int64_t uids[3], void *pointers[3])
{
    int64_t bytes = 0;
    unsigned long long workspace = 0;
    (void)cvp_backend_get(gpu.cudnn, plan, CVP_CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                          CVP_CUDNN_TYPE_INT64, 1, &bytes);
    if (bytes > 0) MUST(gpu.driver->mem_alloc_async(&workspace, (size_t)bytes, NULL));
    void *pack = cvp_backend_make(b, CVP_CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    cvp_backend_set(b, pack, CVP_CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CVP_CUDNN_TYPE_INT64, 3, uids);
    cvp_backend_set(b, pack, CVP_CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CVP_CUDNN_TYPE_VOID_PTR, 3,
                    pointers);
    cvp_backend_set(b, pack, CVP_CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CVP_CUDNN_TYPE_VOID_PTR, 1,
                    &workspace);
    cvp_backend_finalize(b, pack, "a pack");
    MUST(gpu.cudnn->execute(handle, plan, pack));
    if (workspace) MUST(gpu.driver->mem_free_async(workspace, NULL));
}

/* -1: this cuDNN has no engine for it; else whether the output is right. */
static int run(struct conv_case *c, const struct conv_expected *e, int output)
{
    const struct direction *way = &directions[output];
    struct box *const all[PLACED] = {&c->src,      &c->weights,  &c->bias,         &c->dst,
                                     &c->diff_dst, &c->diff_src, &c->diff_weights, &c->diff_bias};
    struct box *boxes[3];
    int64_t uids[3];
    void *pointers[3];
    unsigned long long memory[3];
    const convop_request request = output ? c->requests[output - 1] : c->request;
    for (int i = 0; i < 3; i++) boxes[i] = all[way->tensors[i]];
    struct cvp_backend b = cvp_backend_begin(gpu.cudnn);
    void *graph = graph_of(&b, c, way, boxes, request == CONVOP_REQ_ADD);
    void *plan = graph ? plan_of(&b, graph) : NULL;
    if (b.status != CONVOP_OK || !plan) {
        cvp_backend_end(&b);
        return -1;
    }
    for (int i = 0; i < 3; i++) {
        const struct box *box = boxes[i];
        MUST(gpu.driver->mem_alloc(&memory[i], placed_bytes(c, way->tensors[i])));
        gpu.standin->write(memory[i], (char *)box->tensor.data + box->tensor.byte_offset,
                           placed_bytes(c, way->tensors[i]));
        uids[i] = way->tensors[i] + 1;
        pointers[i] = (void *)(uintptr_t)memory[i];
    }
    execute(&b, plan, uids, pointers);
    const struct box *out = boxes[way->output];
    gpu.standin->read((char *)out->tensor.data + out->tensor.byte_offset, memory[way->output],
                      placed_bytes(c, way->tensors[way->output]));
    for (int i = 0; i < 3; i++) MUST(gpu.driver->mem_free(memory[i]));
    cvp_backend_end(&b);
    return conv_case_matches(c, e, output);
}

/* 0 if an output is wrong; counts those that ran. */
static int run_case(uint64_t seed, int *ran)
{
    struct conv_case c;
    struct conv_expected e;
    int good = 1;
    conv_case_create(&c, seed);
    c.params.no_bias = 1;
    conv_case_expect(&c, &e);
    for (int output = 0; output < 3 && c.mb > 0; output++) {
        const convop_request request = output ? c.requests[output - 1] : c.request;
        if (request == CONVOP_REQ_NULL) continue;
        const int right = run(&c, &e, output);
        *ran += right >= 0;
        good &= right != 0;
    }
    if (!good) {
        conv_case_print(&c);
        printf("CONVOP_CASE=%" PRIu64 "\n", seed);
    }
    conv_expected_free(&e);
    conv_case_destroy(&c);
    return good;
}

int main(int argc, char **argv)
{
    const int here = argc < 2 || strcmp(argv[1], "real") != 0;
    const char *one = getenv("CONVOP_CASE");
    const struct standin *standin = standin_open();
    struct CUctx_st *context;
    int ran = 0, bad = 0, cases = 0;
    if (!here && !standin->has_real_cudnn()) {
        printf("no cuDNN is on this machine\n");
        return SKIPPED;
    }
    standin->plan_here(here);
    gpu = test_gpu_begin();
    MUST(gpu.driver->primary_retain(&context, 0));
    MUST(gpu.driver->context_push(context));
    MUST(gpu.cudnn->create(&handle));
    struct cvp_backend b = cvp_backend_begin(gpu.cudnn);
    properties = cvp_backend_make(&b, CVP_CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    cvp_backend_set(&b, properties, CVP_CUDNN_ATTR_DEVICEPROP_HANDLE, CVP_CUDNN_TYPE_HANDLE, 1,
                    &handle);
    cvp_backend_finalize(&b, properties, "properties");
    MUST(b.status);
    struct rng r = {one ? 0 : test_seed(20261130)};
    for (int64_t n = one ? 1 : test_scaled(CASES); n > 0 && bad < 5; n--, cases++)
        bad += !run_case(one ? strtoull(one, NULL, 0) : rng_next(&r), &ran);
    printf("%d cases, %d outputs computed, %d cases wrong\n", cases, ran, bad);
    cvp_backend_end(&b);
    MUST(gpu.cudnn->destroy(handle));
    MUST(gpu.driver->context_pop(&context));
    MUST(gpu.driver->primary_release(0));
    return bad || ran == 0;
}

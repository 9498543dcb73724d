/* What the tests of the operators share: tensors of any strides with canaries around them, a call
 * by name with its tensors, and checks that every operator must pass. Include cmocka.h first. */
#ifndef TESTS_OPS_H
#define TESTS_OPS_H

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/convop.h"
#include "src/common/alloc.h"
#include "src/common/status.h"
#include "tests/support/expect.h"
#include "tests/support/rng.h"

/* ---- tensors: elements by their row-major index, as doubles --------------------------------- */

struct op_tensor {
    DLTensor t;
    int64_t shape[CONVOP_MAX_DIMS], strides[CONVOP_MAX_DIMS];
    unsigned char *memory, *owned; /* owned: 1 for each byte of an element */
    size_t bytes;
    int is_alias; /* the memory is another one's */
};

/* Compact; with gaps and the axes in any order; compact with axis 1 moved to the end. */
enum op_layout { OP_COMPACT, OP_GAPS, OP_CHANNELS_LAST, OP_LAYOUTS };

#define OP_CANARY 0xA5
#define OP_MARGIN 64

static inline int64_t op_elements(const struct op_tensor *x)
{
    int64_t n = 1;
    for (int d = 0; d < x->t.ndim; d++) n *= x->shape[d];
    return n;
}

/* What is looked at for races is the element. */
__attribute__((no_sanitize("thread"))) static inline void *op_at(const struct op_tensor *x,
                                                                 int64_t i)
{
    int64_t at = 0;
    for (int d = x->t.ndim - 1; d >= 0; d--) {
        at += i % x->shape[d] * x->strides[d];
        i /= x->shape[d];
    }
    return x->memory + OP_MARGIN + x->t.byte_offset + (size_t)at * (x->t.dtype.bits / 8u);
}

static inline double op_get(const struct op_tensor *x, int64_t i)
{
    if (x->t.dtype.bits == 64) return *(const double *)op_at(x, i);
    return (double)*(const float *)op_at(x, i);
}

static inline void op_set(struct op_tensor *x, int64_t i, double value)
{
    if (x->t.dtype.bits == 64)
        *(double *)op_at(x, i) = value;
    else
        *(float *)op_at(x, i) = (float)value;
}

static inline void op_fill(struct op_tensor *x, struct rng *r, double low, double high)
{
    for (int64_t i = 0; i < op_elements(x); i++) op_set(x, i, rng_real(r, low, high));
}

/* Filled with NaN. bits: 32 or 64 */
static inline void op_create(struct op_tensor *x, struct rng *r, int bits, int ndim,
                             const int64_t *shape, enum op_layout layout)
{
    memset(x, 0, sizeof *x);
    int order[CONVOP_MAX_DIMS]; /* slowest first */
    for (int d = 0; d < ndim; d++) {
        x->shape[d] = shape[d];
        order[d] = d;
    }
    if (layout == OP_CHANNELS_LAST && ndim > 1) {
        for (int d = 1; d < ndim - 1; d++) order[d] = d + 1;
        order[ndim - 1] = 1;
    }
    for (int d = ndim - 1; d > 0 && layout == OP_GAPS; d--) {
        int j = (int)rng_int(r, 0, d), t = order[d];
        order[d] = order[j];
        order[j] = t;
    }
    int64_t span = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        if (layout == OP_GAPS) span += rng_int(r, 0, 2);
        x->strides[order[d]] = span;
        span *= shape[order[d]] > 0 ? shape[order[d]] : 1;
    }
    size_t size = (size_t)bits / 8, skew = layout == OP_GAPS ? (size_t)rng_int(r, 0, 3) : 0;
    x->bytes = 2 * OP_MARGIN + ((size_t)span + skew) * size;
    x->memory = malloc(x->bytes);
    x->owned = calloc(x->bytes, 1);
    memset(x->memory, OP_CANARY, x->bytes);
    x->t = (DLTensor){.data = x->memory + OP_MARGIN,
                      .device = {kDLCPU, 0},
                      .ndim = ndim,
                      .dtype = {kDLFloat, (uint8_t)bits, 1},
                      .shape = x->shape,
                      .strides = layout == OP_COMPACT && rng_chance(r, 50) ? NULL : x->strides,
                      .byte_offset = skew * size};
    for (int64_t i = 0; i < op_elements(x); i++) {
        op_set(x, i, NAN);
        memset(x->owned + ((unsigned char *)op_at(x, i) - x->memory), 1, size);
    }
}

static inline void op_destroy(struct op_tensor *x)
{
    if (x->is_alias) return;
    free(x->memory);
    free(x->owned);
    x->memory = x->owned = NULL;
}

static inline int op_canaries_whole(const struct op_tensor *x)
{
    for (size_t i = 0; i < x->bytes; i++)
        if (!x->owned[i] && x->memory[i] != OP_CANARY) return 0;
    return 1;
}

/* ---- calls ---------------------------------------------------------------------------------- */

#define OP_MOST 8

struct op_case {
    uint64_t seed;
    const char *op;
    int num_params, num_inputs, num_outputs, is_train;
    const char *keys[OP_MOST], *values[OP_MOST];
    char text[OP_MOST][32];
    struct op_tensor in[OP_MOST], out[OP_MOST];
    convop_request requests[OP_MOST];
    unsigned mutated;       /* bit i: input i */
    void *workspace;        /* NULL: allocated for the call */
    size_t workspace_bytes; /* may be too few */
};

/* A parameter, as printf. */
static inline void op_param(struct op_case *c, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static inline void op_param(struct op_case *c, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->text[c->num_params], sizeof c->text[0], format, args);
    va_end(args);
    c->keys[c->num_params] = key;
    c->values[c->num_params] = c->text[c->num_params];
    c->num_params++;
}

static inline struct op_tensor *op_in(struct op_case *c, struct rng *r, int bits, int ndim,
                                      const int64_t *shape, enum op_layout layout)
{
    op_create(&c->in[c->num_inputs], r, bits, ndim, shape, layout);
    op_fill(&c->in[c->num_inputs], r, -1, 1);
    return &c->in[c->num_inputs++];
}

/* An output with NaN in it, or numbers where it is added to. */
static inline struct op_tensor *op_out(struct op_case *c, struct rng *r, int bits, int ndim,
                                       const int64_t *shape, enum op_layout layout,
                                       convop_request request)
{
    int i = c->num_outputs++;
    op_create(&c->out[i], r, bits, ndim, shape, layout);
    c->requests[i] = request;
    if (request == CONVOP_REQ_ADD) op_fill(&c->out[i], r, -1, 1);
    return &c->out[i];
}

/* The output becomes the input's memory. */
static inline void op_make_inplace(struct op_case *c, int output, int input)
{
    op_destroy(&c->out[output]);
    struct op_tensor *x = &c->out[output];
    *x = c->in[input];
    x->t.shape = x->shape;
    x->t.strides = x->strides;
    x->is_alias = 1;
    c->requests[output] = CONVOP_REQ_INPLACE;
    c->mutated |= 1u << input;
}

static inline void op_case_destroy(struct op_case *c)
{
    for (int i = 0; i < c->num_outputs; i++) op_destroy(&c->out[i]);
    for (int i = 0; i < c->num_inputs; i++) op_destroy(&c->in[i]);
}

static inline convop_status op_run_on(struct op_case *c, const convop_context *context)
{
    const DLTensor *in[OP_MOST];
    DLTensor *out[OP_MOST];
    for (int i = 0; i < c->num_inputs; i++) in[i] = &c->in[i].t;
    for (int i = 0; i < c->num_outputs; i++)
        out[i] = c->requests[i] == CONVOP_REQ_NULL ? NULL : &c->out[i].t;
    convop_exec x = CONVOP_EXEC_INIT;
    x.context = context;
    x.is_train = c->is_train;
    x.workspace = c->workspace;
    x.workspace_bytes = c->workspace_bytes;
    return convop_invoke(c->op, (size_t)c->num_params, c->keys, c->values, c->num_inputs, in,
                         c->num_outputs, out, c->requests, &x);
}

static inline convop_status op_run(struct op_case *c)
{
    return op_run_on(c, NULL);
}

static inline void op_print(const struct op_case *c)
{
    printf("CONVOP_CASE=%llu %s train %d:", (unsigned long long)c->seed, c->op, c->is_train);
    for (int i = 0; i < c->num_params; i++) printf(" %s=%s", c->keys[i], c->values[i]);
    for (int i = 0; i < c->num_inputs; i++) {
        printf(" f%d(", c->in[i].t.dtype.bits);
        for (int d = 0; d < c->in[i].t.ndim; d++)
            printf("%s%lld:%lld", d ? "," : "", (long long)c->in[i].shape[d],
                   (long long)c->in[i].strides[d]);
        printf(")");
    }
    for (int i = 0; i < c->num_outputs; i++) printf(" req %d", (int)c->requests[i]);
    printf("\n");
}

/* ---- random cases ------------------------------------------------------------------------------
 */

/* Random shapes: mostly small, now and then one that takes the parallel and blocked ways. */
static inline int op_random_shape(struct rng *r, int min_dims, int64_t shape[CONVOP_MAX_DIMS])
{
    int ndim = (int)rng_int(r, min_dims, 5), long_axis = rng_chance(r, 25);
    for (int d = 0; d < ndim; d++) shape[d] = rng_int(r, 1, ndim > 3 ? 5 : 9);
    if (long_axis && ndim > 0)
        shape[rng_int(r, 0, ndim - 1)] = rng_int(r, 10, ndim > 3 ? 100 : 2000);
    return ndim;
}

static inline convop_request op_random_request(struct rng *r)
{
    return (convop_request)rng_int(r, CONVOP_REQ_NULL, CONVOP_REQ_ADD);
}

/* Runs `one` for count seeds, or for the one of CONVOP_CASE. */
static inline void op_for_seeds(uint64_t seed, int count, void (*one)(uint64_t seed))
{
    const char *only = getenv("CONVOP_CASE");
    struct rng r = {test_seed(seed)};
    for (int64_t n = only ? 1 : test_scaled(count); n > 0; n--)
        one(only ? strtoull(only, NULL, 0) : rng_next(&r));
}

#include "tests/ops/checks.h"

#endif

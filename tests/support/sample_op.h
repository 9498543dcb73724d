/* An operator for the tests of the registry: a field of every kind, one to two inputs, no
 * arithmetic. dst has the shape of src; scale, which count == 2 adds, has the size of src's first
 * dimension. */
#ifndef CVP_TEST_SAMPLE_OP_H
#define CVP_TEST_SAMPLE_OP_H

#include <math.h>
#include <string.h>

#include "convop/registry.h"

struct sample_params {
    size_t struct_size;
    convop_tuple kernel, pad_begin, pad_end;
    int64_t count;
    double ratio;
    size_t workspace;
    int flag, mode;
};

static const convop_enum_value sample_modes[] = {{"None", 0}, {"off", 3}, {"fast", 5}, {NULL, 0}};

#define SAMPLE_FIELD(kind_, name_, member)                                                         \
    .struct_size = sizeof(convop_field), .name = name_, .kind = CONVOP_FIELD_##kind_,              \
    .offset = offsetof(struct sample_params, member)

enum { KERNEL, PAD, COUNT, RATIO, WORKSPACE, FLAG, MODE, SAMPLE_FIELDS };

static const convop_field sample_fields[SAMPLE_FIELDS] = {
    [KERNEL] = {SAMPLE_FIELD(TUPLE, "kernel", kernel), .min = 1, .max = 9223372036854775807.0},
    [PAD] = {SAMPLE_FIELD(TUPLE, "pad", pad_begin),
             .twin_offset = offsetof(struct sample_params, pad_end), .max = 100,
             .default_text = "()"},
    [COUNT] = {SAMPLE_FIELD(INT, "count", count), .max = INFINITY, .default_text = "1"},
    [RATIO] = {SAMPLE_FIELD(FLOAT, "ratio", ratio), .max = 1, .default_text = "0.1"},
    [WORKSPACE] = {SAMPLE_FIELD(BYTES, "workspace", workspace), .max = INFINITY,
                   .default_text = "1024"},
    [FLAG] = {SAMPLE_FIELD(BOOL, "flag", flag), .default_text = "False"},
    [MODE] = {SAMPLE_FIELD(ENUM, "mode", mode), .values = sample_modes, .default_text = "None"},
};

static const convop_arg sample_inputs[] = {{"src", NULL}, {"scale", NULL}};
static const convop_arg sample_outputs[] = {{"dst", NULL}};

static inline convop_status sample_check(const void *params)
{
    const struct sample_params *p = params;
    if (p->pad_begin.len == 0 || p->pad_begin.len == p->kernel.len) return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID, "Sample: pad has %d entries, kernel has %d",
                       p->pad_begin.len, p->kernel.len);
}

static inline int sample_num_inputs(const void *params)
{
    return (int)((const struct sample_params *)params)->count;
}

static inline convop_status sample_infer_shape(const void *params, int num_inputs,
                                               convop_shape *inputs, int num_outputs,
                                               convop_shape *outputs)
{
    (void)params, (void)num_outputs;
    if (inputs[0].ndim == -1) inputs[0] = outputs[0];
    outputs[0] = inputs[0];
    if (num_inputs < 2 || inputs[0].ndim < 1) return CONVOP_OK;
    if (inputs[1].ndim == 1 && inputs[1].dim[0] != inputs[0].dim[0])
        return convop_fail(CONVOP_E_INVALID, "Sample: scale does not fit");
    inputs[1] = (convop_shape){1, {inputs[0].dim[0]}};
    return CONVOP_OK;
}

static inline convop_status sample_plan(const convop_op_args *args, void *plan, size_t *bytes)
{
    (void)args, (void)plan;
    *bytes = 0;
    return CONVOP_OK;
}

static inline convop_status sample_run(const convop_op_args *args, const void *plan, void *scratch)
{
    (void)args, (void)plan, (void)scratch;
    return CONVOP_OK;
}

/* A complete descriptor, to be registered as it is or spoiled first. */
static inline convop_op sample_op(const char *name, int level)
{
    return (convop_op){
        .struct_size = sizeof(convop_op),
        .name = name,
        .doc = "A sample.",
        .level = level,
        .params_size = sizeof(struct sample_params),
        .fields = sample_fields,
        .num_fields = SAMPLE_FIELDS,
        .check = sample_check,
        .inputs = sample_inputs,
        .outputs = sample_outputs,
        .max_inputs = 2,
        .max_outputs = 1,
        .num_inputs = sample_num_inputs,
        .infer_shape = sample_infer_shape,
        .plan = sample_plan,
        .run = sample_run,
    };
}

#endif

/* What the plug-ins of the tests share: an operator Plus, dst = src + value, and a row that adds
 * nothing but says that it ran: it writes a constant. */
#ifndef CVP_TEST_PLUGIN_TEST_H
#define CVP_TEST_PLUGIN_TEST_H

#include "convop/plugin.h"

__attribute__((unused)) static const convop_host *host;

struct plus {
    size_t struct_size;
    double value;
};

__attribute__((unused)) static const convop_field plus_fields[] = {
    {.struct_size = sizeof(convop_field),
     .name = "value",
     .kind = CONVOP_FIELD_FLOAT,
     .offset = offsetof(struct plus, value),
     .default_text = "1",
     .min = -100,
     .max = 100},
};

__attribute__((unused)) static const convop_arg plus_inputs[] = {{"src", NULL}};
__attribute__((unused)) static const convop_arg plus_outputs[] = {{"dst", NULL}};

static inline convop_status plus_infer(const void *params, int num_inputs, convop_shape *inputs,
                                       int num_outputs, convop_shape *outputs)
{
    (void)params, (void)num_inputs, (void)num_outputs;
    if (inputs[0].ndim < 0) inputs[0] = outputs[0];
    outputs[0] = inputs[0];
    return CONVOP_OK;
}

static inline convop_status plus_plan(const convop_op_args *args, void *plan,
                                      size_t *workspace_bytes)
{
    (void)args, (void)plan;
    *workspace_bytes = 0;
    return CONVOP_OK;
}

/* Compact float32 only. */
static inline convop_status plus_run(const convop_op_args *args, const void *plan, void *workspace)
{
    (void)plan, (void)workspace;
    const struct plus *p = args->params;
    const DLTensor *src = args->inputs[0], *dst = args->outputs[0];
    const float *from = src->data;
    float *to = dst->data;
    int64_t n = 1;
    for (int i = 0; i < src->ndim; i++) n *= src->shape[i];
    for (int64_t i = 0; i < n; i++) to[i] = from[i] + (float)p->value;
    return CONVOP_OK;
}

#define PLUS_OP(name_, level_)                                                                     \
    {                                                                                              \
        .struct_size = sizeof(convop_op), .name = name_, .doc = "Adds a value.", .level = level_,  \
        .params_size = sizeof(struct plus), .fields = plus_fields, .num_fields = 1,                \
        .inputs = plus_inputs, .outputs = plus_outputs, .max_inputs = 1, .max_outputs = 1,         \
        .infer_shape = plus_infer, .plan = plus_plan, .run = plus_run                              \
    }

static inline int row_takes_all(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    (void)p, (void)why;
    return 1;
}

/* Compact float32 only. */
static inline convop_status row_fill(const convop_conv_problem *p, const convop_conv_operands *t,
                                     const convop_context *context, void *workspace)
{
    (void)context, (void)workspace;
    float *to = t->out;
    for (int64_t i = 0; i < p->mb * p->oc * p->oh * p->ow; i++) to[i] = 42;
    return CONVOP_OK;
}

#define PLUGIN(name_, first, last, init_, exit_)                                                   \
    (convop_plugin)                                                                                \
    {                                                                                              \
        .struct_size = sizeof(convop_plugin), .abi_min = first, .abi_max = last, .name = name_,    \
        .version = "1.2", .init = init_, .exit = exit_                                             \
    }

/* exit() tells the program, if it wants to know: an environment variable holds the address of a
 * counter, since nothing else is shared. */
#include <stdio.h>
#include <stdlib.h>

static inline void count_exit(void)
{
    const char *text = getenv("CONVOP_TEST_EXITS");
    void *counter = NULL;
    if (text && sscanf(text, "%p", &counter) == 1)
        __atomic_fetch_add((int *)counter, 1, __ATOMIC_SEQ_CST);
}

#endif

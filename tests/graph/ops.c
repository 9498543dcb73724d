/* See ops.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ops.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct params {
    size_t struct_size;
    double factor;
};

static const convop_field fields[] = {
    {.struct_size = sizeof(convop_field),
     .name = "factor",
     .kind = CONVOP_FIELD_FLOAT,
     .offset = offsetof(struct params, factor),
     .default_text = "0.5",
     .min = -100,
     .max = 100},
};

_Atomic unsigned graph_ops_fail;

static double factor_of(const convop_op_args *args)
{
    return ((const struct params *)args->params)->factor;
}

static double in(const convop_op_args *args, int i, int64_t k)
{
    return ((const double *)args->inputs[i]->data)[k];
}

static void put(const convop_op_args *args, int i, int64_t k, double value)
{
    if (args->requests[i] == CONVOP_REQ_NULL) return;
    double *at = (double *)args->outputs[i]->data + k;
    *at = args->requests[i] == CONVOP_REQ_ADD ? *at + value : value;
}

static int64_t count(const DLTensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) n *= t->shape[i];
    return n;
}

static convop_status plan(const convop_op_args *args, void *plan_, size_t *bytes)
{
    (void)args, (void)plan_;
    *bytes = 0;
    return CONVOP_OK;
}

static convop_status plan_scratch(const convop_op_args *args, void *plan_, size_t *bytes)
{
    (void)plan_;
    *bytes = (size_t)count(args->inputs[0]) * sizeof(double);
    return CONVOP_OK;
}

/* All shapes are equal. */
static convop_status infer(const void *params, int n_in, convop_shape *in_, int n_out,
                           convop_shape *out)
{
    (void)params;
    convop_shape known = {.ndim = -1};
    for (int i = 0; i < n_in + n_out; i++) {
        const convop_shape *s = i < n_in ? &in_[i] : &out[i - n_in];
        if (s->ndim == -1) continue;
        if (known.ndim == -1) known = *s;
        if (s->ndim != known.ndim) return convop_fail(CONVOP_E_INVALID, "t: ranks differ");
        for (int d = 0; d < s->ndim; d++) {
            if (known.dim[d] == -1) known.dim[d] = s->dim[d];
            if (s->dim[d] != -1 && s->dim[d] != known.dim[d])
                return convop_fail(CONVOP_E_INVALID, "t: sizes %d and %d differ", (int)known.dim[d],
                                   (int)s->dim[d]);
        }
    }
    for (int i = 0; i < n_in + n_out; i++) *(i < n_in ? &in_[i] : &out[i - n_in]) = known;
    return CONVOP_OK;
}

static convop_status infer_total(const void *params, int n_in, convop_shape *in_, int n_out,
                                 convop_shape *out)
{
    (void)params, (void)n_in, (void)in_, (void)n_out;
    out[0] = (convop_shape){1, {1}};
    return CONVOP_OK;
}

static convop_status infer_back_total(const void *params, int n_in, convop_shape *in_, int n_out,
                                      convop_shape *out)
{
    in_[0] = (convop_shape){1, {1}};
    return infer(params, n_in - 1, in_ + 1, n_out, out);
}

#define RUN(name, ...)                                                                             \
    static convop_status name(const convop_op_args *args, const void *plan_, void *scratch)        \
    {                                                                                              \
        (void)plan_, (void)scratch;                                                                \
        const int64_t n = count(args->inputs[0]);                                                  \
        for (int64_t k = 0; k < n; k++) {                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
        return CONVOP_OK;                                                                          \
    }

RUN(run_add, put(args, 0, k, in(args, 0, k) + in(args, 1, k));)
RUN(run_back_add, const double d = in(args, 0, k); put(args, 1, k, d); put(args, 0, k, d);)
RUN(run_mul, put(args, 0, k, in(args, 0, k) * in(args, 1, k));)
RUN(run_back_mul, const double d = in(args, 0, k), a = in(args, 1, k), b = in(args, 2, k);
    put(args, 0, k, d *b); put(args, 1, k, d *a);)
RUN(run_back_tanh, const double d = in(args, 0, k), y = in(args, 1, k);
    put(args, 0, k, d *(1 - y * y));)
RUN(run_scale, put(args, 0, k, in(args, 0, k) * factor_of(args));)
RUN(run_split, const double a = in(args, 0, k); put(args, 0, k, 2 * a); put(args, 1, k, sin(a));)
RUN(run_back_split, put(args, 0, k, 2 * in(args, 0, k) + cos(in(args, 2, k)) * in(args, 1, k));)
RUN(run_copy, put(args, 0, k, in(args, 0, k));)
RUN(run_stat, put(args, 0, k, in(args, 0, k));
    if (args->is_train)((double *)args->inputs[1]->data)[k] += in(args, 0, k);)
RUN(run_back_loss, put(args, 0, k, in(args, 0, k) - in(args, 1, k));)

static convop_status run_tanh(const convop_op_args *args, const void *plan_, void *scratch)
{
    (void)plan_;
    const int64_t n = count(args->inputs[0]);
    double *copy = scratch;
    for (int64_t k = 0; k < n; k++) copy[k] = in(args, 0, k);
    for (int64_t k = 0; k < n; k++) put(args, 0, k, tanh(copy[k]));
    for (int64_t k = 0; k < n; k++) copy[k] = NAN;
    return CONVOP_OK;
}

static convop_status run_total(const convop_op_args *args, const void *plan_, void *scratch)
{
    (void)plan_, (void)scratch;
    double sum = 0;
    for (int64_t k = 0; k < count(args->inputs[0]); k++) sum += in(args, 0, k);
    put(args, 0, 0, sum);
    return CONVOP_OK;
}

static convop_status run_back_total(const convop_op_args *args, const void *plan_, void *scratch)
{
    (void)plan_, (void)scratch;
    for (int64_t k = 0; k < count(args->inputs[1]); k++) put(args, 0, k, in(args, 0, 0));
    return CONVOP_OK;
}

static convop_status run_fail(const convop_op_args *args, const void *plan_, void *scratch)
{
    const int which = (int)factor_of(args);
    if (graph_ops_fail >> which & 1)
        return convop_fail(CONVOP_E_DEVICE, "t_fail: told to fail, %d", which);
    return run_copy(args, plan_, scratch);
}

static const convop_arg names[] = {{"a", NULL}, {"b", NULL}, {"c", NULL}};
static const convop_arg stat_names[] = {{"a", NULL}, {"moving", NULL}};
static const convop_arg loss_names[] = {{"a", NULL}, {"label", NULL}};
static const convop_arg out_names[] = {{"dst", NULL}, {"other", NULL}};
static const convop_inplace first_over_first[] = {{0, 0}};

#define BY(i)                                                                                      \
    {                                                                                              \
        CONVOP_GRADIENT_BY_OUTPUT, i                                                               \
    }
#define FROM(i)                                                                                    \
    {                                                                                              \
        CONVOP_GRADIENT_INPUT, i                                                                   \
    }
#define MADE(i)                                                                                    \
    {                                                                                              \
        CONVOP_GRADIENT_OUTPUT, i                                                                  \
    }
static const int of_both[] = {0, 1};

#define GRADIENT(op, num_of, ...)                                                                  \
    static const convop_gradient_input op##_sources[] = {__VA_ARGS__};                             \
    static const convop_gradient op##_gradient = {sizeof(convop_gradient),                         \
                                                  "_back_" #op,                                    \
                                                  op##_sources,                                    \
                                                  sizeof op##_sources /                            \
                                                      sizeof(convop_gradient_input),               \
                                                  of_both,                                         \
                                                  num_of};                                         \
    static const convop_attr op##_attrs[] = {                                                      \
        {sizeof(convop_attr), "gradient", "convop_gradient", &op##_gradient}};

GRADIENT(t_add, 2, BY(0))
GRADIENT(t_mul, 2, BY(0), FROM(0), FROM(1))
GRADIENT(t_tanh, 1, BY(0), MADE(0))
GRADIENT(t_scale, 1, BY(0))
GRADIENT(t_split, 1, BY(0), BY(1), FROM(0))
GRADIENT(t_total, 1, BY(0), FROM(0))
GRADIENT(t_stat, 1, BY(0))
GRADIENT(t_loss, 1, MADE(0), FROM(1))
GRADIENT(t_fail, 1, BY(0))

#define OP(name_, n_in, n_out, run_, ...)                                                          \
    {                                                                                              \
        .struct_size = sizeof(convop_op), .name = name_, .level = 20,                              \
        .params_size = sizeof(struct params), .fields = fields, .num_fields = 1, .inputs = names,  \
        .outputs = out_names, .max_inputs = n_in, .max_outputs = n_out, .infer_shape = infer,      \
        .plan = plan, .run = run_, __VA_ARGS__                                                     \
    }
#define INPLACE   .inplace = first_over_first, .num_inplace = 1
#define ATTRS(op) .attrs = op##_attrs, .num_attrs = 1

#pragma GCC diagnostic ignored "-Woverride-init"
static const convop_op ops[] = {
    OP("t_add", 2, 1, run_add, ATTRS(t_add), INPLACE),
    OP("_back_t_add", 1, 2, run_back_add, INPLACE),
    OP("t_mul", 2, 1, run_mul, ATTRS(t_mul)),
    OP("_back_t_mul", 3, 2, run_back_mul, INPLACE),
    OP("t_tanh", 1, 1, run_tanh, ATTRS(t_tanh), INPLACE, .plan = plan_scratch),
    OP("_back_t_tanh", 2, 1, run_back_tanh, INPLACE),
    OP("t_scale", 1, 1, run_scale, ATTRS(t_scale), INPLACE),
    OP("_back_t_scale", 1, 1, run_scale, INPLACE),
    OP("t_split", 1, 2, run_split, ATTRS(t_split)),
    OP("_back_t_split", 3, 1, run_back_split, .num_attrs = 0),
    OP("t_total", 1, 1, run_total, ATTRS(t_total), .infer_shape = infer_total),
    OP("_back_t_total", 2, 1, run_back_total, .infer_shape = infer_back_total),
    OP("t_stat", 2, 1, run_stat, ATTRS(t_stat), .inputs = stat_names, .mutated_inputs = 2),
    OP("_back_t_stat", 1, 1, run_copy, INPLACE),
    OP("t_loss", 2, 1, run_copy, ATTRS(t_loss), .inputs = loss_names),
    OP("_back_t_loss", 2, 1, run_back_loss, .num_attrs = 0),
    OP("t_nograd", 1, 1, run_copy, INPLACE),
    OP("t_fail", 1, 1, run_fail, ATTRS(t_fail)),
    OP("_back_t_fail", 1, 1, run_fail, .num_attrs = 0),
};
enum { NUM_OPS = sizeof ops / sizeof ops[0] };

void graph_ops_register(void)
{
    for (int i = 0; i < NUM_OPS; i++)
        if (convop_op_register(&ops[i]) != CONVOP_OK) fail_msg("%s", convop_last_error());
}

void graph_ops_unregister(void)
{
    for (int i = 0; i < NUM_OPS; i++)
        if (convop_op_unregister(&ops[i], NULL, NULL) != CONVOP_OK)
            fail_msg("%s", convop_last_error());
}

struct cvp_entry graph_node(struct cvp_symbol *s, const char *op, const char *name,
                            struct cvp_entry a, struct cvp_entry b, const char *factor)
{
    const char *key = "factor";
    struct cvp_entry inputs[] = {a, b}, out = CVP_NO_ENTRY;
    const int n = b.node >= 0 ? 2 : a.node >= 0 ? 1 : 0;
    if (cvp_symbol_apply(s, op, name, factor != NULL, &key, &factor, n, inputs, &out))
        fail_msg("%s", convop_last_error());
    return out;
}

struct cvp_entry graph_variable(struct cvp_symbol *s, const char *name)
{
    struct cvp_entry out = CVP_NO_ENTRY;
    if (cvp_symbol_variable(s, name, &out)) fail_msg("%s", convop_last_error());
    return out;
}

struct cvp_bind_input graph_input(const char *name, int64_t n)
{
    return (struct cvp_bind_input){name, {1, {n}}, {kDLFloat, 64, 1}};
}

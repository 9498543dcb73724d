/* A case's convolution: reading it and closing it. */
#include "tests/cases/conv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/cases/element.h"
#include "tests/cases/oracle.h"

const char *const conv_output_names[OUTPUTS] = {"output", "data_grad", "weight_grad", "bias_grad"};

static void tuple_text(const json_t *array, char *text, size_t size)
{
    int64_t at[8];
    int n = json_ints(array, at, 8);
    size_t used = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, size - used, "%lld,", (long long)at[i]);
    snprintf(text + used, size - used, ")");
}

static void add_pair(struct conv *v, const char *key, const json_t *value)
{
    if (value == NULL) return;
    char *text = v->texts[v->num_pairs];
    size_t size = sizeof v->texts[0];
    if (json_is_array(value))
        tuple_text(value, text, size);
    else if (json_is_string(value))
        snprintf(text, size, "%s", json_string_value(value));
    else if (json_is_boolean(value))
        snprintf(text, size, "%s", json_is_true(value) ? "True" : "False");
    else
        snprintf(text, size, "%lld", (long long)json_integer_value(value));
    v->keys[v->num_pairs] = key;
    v->values[v->num_pairs++] = text;
}

static void read_params(struct conv *v)
{
    static const char *const same[] = {"kernel",     "stride",    "dilate",  "pad",
                                       "num_filter", "num_group", "no_bias", "layout"};
    const json_t *params = v->c->params;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        add_pair(v, same[i], json_object_get(params, same[i]));
    add_pair(v, "workspace", json_object_get(params, "workspace_mb"));
    const convop_op *op = NULL;
    v->parsed = convop_op_find("Convolution", &op);
    if (v->parsed == CONVOP_OK)
        v->parsed =
            convop_params_parse(op, v->num_pairs, v->keys, v->values, &v->params, sizeof v->params);
    convop_op_release(&op);
    const json_t *limit = json_object_get(params, "workspace_bytes");
    if (json_is_integer(limit)) v->params.workspace_bytes = (size_t)json_integer_value(limit);
}

static convop_request request_of(const json_t *name)
{
    static const char *const names[] = {"null", "write", "inplace", "add"};
    for (int i = 0; i < 4; i++)
        if (json_is_string(name) && strcmp(json_string_value(name), names[i]) == 0)
            return (convop_request)i;
    return CONVOP_REQ_NULL;
}

static void read_requests(struct conv *v)
{
    static const char *const names[OUTPUTS] = {"output", "data", "weight", "bias"};
    const json_t *params = v->c->params, *req = json_object_get(params, "req");
    const json_t *prefill = json_object_get(params, "grad_prefill");
    const json_t *out = json_object_get(params, "req_out");
    v->backward = strcmp(v->c->op, "conv_bwd") == 0;
    for (int i = 0; i < OUTPUTS; i++) {
        v->prefill[i] = json_number(json_object_get(prefill, names[i]));
        if (i == OUTPUT)
            v->req[i] = v->backward ? CONVOP_REQ_NULL : out ? request_of(out) : CONVOP_REQ_WRITE;
        else if (v->backward)
            v->req[i] = req ? request_of(json_object_get(req, names[i])) : CONVOP_REQ_WRITE;
    }
    if (!v->has_bias) v->req[BIAS_GRAD] = CONVOP_REQ_NULL;
    v->prefill[OUTPUT] = json_number(json_object_get(params, "out_prefill"));
}

static int64_t entry(const struct conv *v, const char *key, int axis, int64_t otherwise)
{
    int64_t at[8];
    int n = json_ints(json_object_get(v->c->params, key), at, 8);
    return axis >= 0 && axis < n ? at[axis] : otherwise;
}

/* Sizes by meaning, as far as the case's shapes give them. */
static void read_sizes(struct conv *v)
{
    const char *layout = json_string_value(json_object_get(v->c->params, "layout"));
    const struct tensor *data = &v->in[DATA];
    v->axes = (int)json_array_size(json_object_get(v->c->params, "kernel"));
    v->channels_last = layout != NULL && layout[strlen(layout) - 1] == 'C';
    int rank = data->dl.ndim, usual = rank == v->axes + 2;
    v->n = rank > 0 ? data->shape[0] : 1;
    v->ic = !usual ? 1 : data->shape[v->channels_last ? v->axes + 1 : 1];
    v->oc = json_integer_value(json_object_get(v->c->params, "num_filter"));
    v->g = json_integer_value(json_object_get(v->c->params, "num_group"));
    for (int a = 0; a < 3; a++) {
        int axis = a - (3 - v->axes);
        v->k[a] = entry(v, "kernel", axis, 1);
        v->s[a] = entry(v, "stride", axis, 1);
        v->d[a] = entry(v, "dilate", axis, 1);
        v->p[a] = entry(v, "pad", axis, 0);
        v->i[a] = axis < 0 || !usual ? 1 : data->shape[axis + (v->channels_last ? 1 : 2)];
        int64_t reach, span = v->i[a] + 2 * v->p[a] - 1;
        int fits = !__builtin_mul_overflow(v->d[a], v->k[a] - 1, &reach) && reach >= 0;
        v->o[a] = fits && reach <= span && v->s[a] > 0 ? (span - reach) / v->s[a] + 1 : 1;
    }
}

/* An output beside what the case says of it. */
static void create_output(struct conv *v, int output, const struct tensor *like, int ndim,
                          const int64_t *shape, enum placement placement)
{
    int64_t own_shape[CONVOP_MAX_DIMS], own_strides[CONVOP_MAX_DIMS];
    const json_t *params = v->c->params;
    const int64_t *strides = NULL;
    memcpy(own_shape, shape, sizeof(int64_t) * (size_t)ndim);
    if (output == OUTPUT) {
        json_ints(json_object_get(params, "output_shape"), own_shape, CONVOP_MAX_DIMS);
        if (json_ints(json_object_get(params, "output_strides"), own_strides, CONVOP_MAX_DIMS) > 0)
            strides = own_strides;
    }
    tensor_create(&v->out[output], like->dl.dtype, ndim, own_shape, strides, 0, placement);
}

static void create_outputs(struct conv *v, enum placement placement)
{
    int64_t shape[CONVOP_MAX_DIMS] = {v->n};
    shape[v->channels_last ? v->axes + 1 : 1] = v->oc;
    for (int a = 0; a < v->axes; a++) shape[a + (v->channels_last ? 1 : 2)] = v->o[a + 3 - v->axes];
    create_output(v, OUTPUT, &v->in[DATA], v->axes + 2, shape, placement);
    if (!v->backward) return;
    create_output(v, DATA_GRAD, &v->in[DATA], v->in[DATA].dl.ndim, v->in[DATA].shape, placement);
    create_output(v, WEIGHT_GRAD, &v->in[WEIGHT], v->in[WEIGHT].dl.ndim, v->in[WEIGHT].shape,
                  placement);
    create_output(v, BIAS_GRAD, &v->in[DATA], 1, &v->oc, placement);
}

void conv_open(struct conv *v, const struct test_case *c, enum placement placement)
{
    static const char *const names[INPUTS] = {"data", "weight", "bias", "out_grad"};
    memset(v, 0, sizeof *v);
    v->c = c;
    v->has_bias = case_input(c, "bias") != NULL;
    read_params(v);
    read_requests(v);
    for (int i = 0; i < INPUTS; i++)
        if (case_input(c, names[i]) != NULL)
            tensor_from_json(&v->in[i], case_input(c, names[i]), placement);
    read_sizes(v);
    create_outputs(v, placement);
    if (strcmp(c->expect, "error") != 0) oracle_compute(v);
    conv_reset(v);
}

void conv_close(struct conv *v)
{
    for (int i = 0; i < INPUTS; i++) tensor_destroy(&v->in[i]);
    for (int i = 0; i < OUTPUTS; i++) {
        tensor_destroy(&v->out[i]);
        free(v->want[i]);
        free(v->magnitude[i]);
    }
}

struct test_case derived_case(const struct test_case *c)
{
    json_t *json = json_deep_copy(c->json);
    if (json == NULL) abort();
    json_object_del(json, "expected");
    return case_of(json);
}

void derived_case_free(struct test_case *c)
{
    json_decref(c->json);
    c->json = c->params = NULL;
}

void conv_reset(struct conv *v)
{
    for (int i = 0; i < INPUTS; i++)
        if (v->in[i].memory.pages != NULL) tensor_remember(&v->in[i]);
    for (int i = 0; i < OUTPUTS; i++) {
        if (v->out[i].memory.pages == NULL) continue;
        tensor_fill(&v->out[i], v->prefill[i]);
        tensor_remember(&v->out[i]);
    }
}

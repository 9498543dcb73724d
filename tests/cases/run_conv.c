/* Convolutions that must compute, and those that must be refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "src/common/alloc.h"
#include "tests/cases/compare.h"
#include "tests/cases/run.h"

int math_strict(int on)
{
    return convop_set("math", on ? "strict" : NULL) == CONVOP_OK;
}

static void must(convop_status status, const char *row)
{
    if (status != CONVOP_OK)
        fail_msg("row %s: %s: %s", row ? row : "as chosen", convop_status_name(status),
                 convop_last_error());
}

void run_once(struct conv *v, const char *row, const convop_exec *exec)
{
    conv_reset(v);
    must(convop_set("impl", row), row);
    convop_status status = conv_call(v, exec);
    convop_set("impl", NULL);
    must(status, row);
    compare_outputs(v, row);
}

/* The rows of the direction that computes an output, that output alone asked for. */
static void each_row(struct conv *v, int output)
{
    convop_request asked[OUTPUTS];
    memcpy(asked, v->req, sizeof asked);
    for (int i = 0; i < OUTPUTS; i++)
        if (i != output) v->req[i] = CONVOP_REQ_NULL;
    convop_conv_row rows[CONV_MAX_ROWS];
    size_t count = conv_rows(v, conv_direction(output), rows, CONV_MAX_ROWS), ran = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].applicable) {
            run_once(v, rows[i].name, NULL);
            ran++;
        } else if (rows[i].why_not[0] == '\0') {
            fail_msg("row %s does not say why it does not apply", rows[i].name);
        }
    }
    if (ran == 0)
        fail_msg("no row computes %s: %s", conv_output_names[output], convop_last_error());
    memcpy(v->req, asked, sizeof asked);
}

static void with_threads(struct conv *v, int threads)
{
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    options.num_threads = threads;
    convop_exec exec = CONVOP_EXEC_INIT;
    convop_context *context = NULL;
    must(convop_context_create(&options, &context), NULL);
    exec.context = context;
    run_once(v, NULL, &exec);
    convop_context_destroy(&context);
}

void run_all_ways(struct conv *v)
{
    must(v->parsed, "parameters");
    run_once(v, NULL, NULL);
    with_threads(v, 1);
    with_threads(v, 3);
    conv_reset(v);
    must(conv_invoke(v, NULL), "convop_invoke");
    compare_outputs(v, "convop_invoke");
    for (int packs_weights = 0; packs_weights < 2; packs_weights++) {
        conv_reset(v);
        must(conv_instance(v, packs_weights), "instance");
        compare_outputs(v, packs_weights ? "instance with packed weights" : "instance");
    }
    for (int i = 0; i < OUTPUTS; i++)
        if (v->req[i] != CONVOP_REQ_NULL) each_row(v, i);
}

void run_naive(const struct test_case *c)
{
    for (int placement = AT_END; placement <= AT_BEGIN; placement++) {
        struct conv v;
        conv_open(&v, c, (enum placement)placement);
        compare_figures(&v);
        run_all_ways(&v);
        /* Once more with every row allowed that rounds otherwise. */
        if (math_strict(0)) run_all_ways(&v);
        math_strict(1);
        conv_close(&v);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

int library_is_usable(void)
{
    float x[4] = {1, 2, 3, 4}, w[1] = {2}, y[4] = {0};
    int64_t data[] = {1, 1, 2, 2}, weight[] = {1, 1, 1, 1};
    DLTensor src = {x, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, data, NULL, 0}, weights = src, dst = src;
    weights.data = w;
    weights.shape = weight;
    dst.data = y;
    convop_conv_params p = CONVOP_CONV_PARAMS_INIT;
    p.kernel = convop_tuple2(1, 1);
    p.num_filter = 1;
    p.no_bias = 1;
    if (conv_forward(&p, &src, &weights, NULL, &dst, CONVOP_REQ_WRITE, NULL) != CONVOP_OK) return 0;
    return y[0] == 2 && y[1] == 4 && y[2] == 6 && y[3] == 8;
}

static convop_status infer(struct conv *v)
{
    convop_shape shapes[4] = {{0, {0}}};
    DLDataType types[4] = {v->in[DATA].dl.dtype};
    int inputs = 2 + v->has_bias;
    for (int i = 0; i < inputs; i++) {
        shapes[i].ndim = v->in[i].dl.ndim;
        memcpy(shapes[i].dim, v->in[i].shape, sizeof shapes[i].dim);
        types[i] = v->in[i].dl.dtype;
    }
    shapes[inputs].ndim = -1;
    types[inputs] = (DLDataType){0, 0, 0};
    const convop_op *op = NULL;
    must(convop_op_find("Convolution", &op), NULL);
    convop_status status =
        convop_infer(op, &v->params, inputs, shapes, 1, shapes + inputs, types, types + inputs);
    convop_op_release(&op);
    return status;
}

static convop_status call(struct conv *v)
{
    return conv_call(v, NULL);
}

static convop_status invoke(struct conv *v)
{
    return conv_invoke(v, NULL);
}

/* One way to ask, which must be refused. */
static void refused(struct conv *v, const char *way, convop_status (*ask)(struct conv *))
{
    uint64_t live = cvp_alloc_live();
    convop_status status = ask(v);
    if (status == CONVOP_OK) fail_msg("%s: accepted", way);
    compare_mention(v->c, convop_last_error());
    if (cvp_alloc_live() != live) fail_msg("%s: memory is left behind", way);
    compare_nothing_written(v, way);
    if (!library_is_usable()) fail_msg("%s: the next good call fails", way);
}

static void run_refusal(const struct test_case *c)
{
    struct conv v;
    if (!library_is_usable()) fail_msg("a good call fails: %s", convop_last_error());
    conv_open(&v, c, AT_END);
    if (v.parsed != CONVOP_OK) {
        v.parsed = CONVOP_OK;
        /* The same again, for its text. */
        refused(&v, "convop_invoke", invoke);
    } else {
        const json_t *error = json_object_get(c->params, "error");
        if (strcmp(json_string_value(json_object_get(error, "when")), "infer") == 0)
            refused(&v, "convop_infer", infer);
        refused(&v, "conv_forward", call);
        refused(&v, "convop_invoke", invoke);
    }
    conv_close(&v);
}

case_run run_conv_for(const struct test_case *c)
{
    if (strncmp(c->op, "conv_", 5) != 0 || json_object_get(c->params, "dl") != NULL) return NULL;
    if (strcmp(c->expect, "naive") == 0) return run_naive;
    if (strcmp(c->expect, "error") == 0 && !json_is_false(json_object_get(c->params, "execute")))
        return run_refusal;
    return NULL;
}

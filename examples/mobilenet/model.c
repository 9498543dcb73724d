/* The bound network and its optimiser. */
#include "examples/mobilenet/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convop/registry.h"
#include "examples/mobilenet/initializer.h"
#include "examples/mobilenet/mobilenet_v1.h"
#include "examples/mobilenet/params_file.h"

#define RETURN_IF_ERROR(expr)                                                                      \
    do {                                                                                           \
        convop_status s_ = (expr);                                                                 \
        if (s_ != CONVOP_OK) return s_;                                                            \
    } while (0)

struct model {
    const struct options *options;
    struct cvp_symbol *symbol;
    struct cvp_executor *executor;
    const struct cvp_bound *arguments, *auxiliary;
    int num_arguments, num_auxiliary;
    DLTensor *momenta;  /* one for each argument; data NULL where it is not trained */
    char (*names)[128]; /* "arg:..." and "aux:...", in the order of arguments, auxiliary states */
};

static int ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    return n >= m && strcmp(name + n - m, ending) == 0;
}

static size_t bytes_of(const DLTensor *t)
{
    size_t n = t->dtype.bits / 8;
    for (int i = 0; i < t->ndim; i++) n *= (size_t)t->shape[i];
    return n;
}

static convop_status no_memory(void)
{
    return convop_fail(CONVOP_E_NO_MEMORY, "no memory for the network");
}

static convop_status bind(struct model *m)
{
    const struct options *o = m->options;
    const DLDataType dtype = {kDLFloat, o->is_float64 ? 64 : 32, 1};
    const struct cvp_bind_input inputs[] = {
        {"data", {4, {o->batch_size, o->channels, o->height, o->width}}, dtype},
        {"softmax_label", {1, {o->batch_size}}, dtype},
    };
    const struct cvp_bind_options options = {
        .inputs = inputs, .num_inputs = 2, .request = CONVOP_REQ_WRITE};
    RETURN_IF_ERROR(cvp_executor_bind(m->symbol, &options, &m->executor));
    m->arguments = cvp_executor_arguments(m->executor, &m->num_arguments);
    m->auxiliary = cvp_executor_auxiliary(m->executor, &m->num_auxiliary);
    return CONVOP_OK;
}

static convop_status prepare(struct model *m)
{
    m->momenta = calloc((size_t)m->num_arguments, sizeof *m->momenta);
    m->names = calloc((size_t)(m->num_arguments + m->num_auxiliary), sizeof *m->names);
    if (!m->momenta || !m->names) return no_memory();
    for (int i = 0; i < m->num_arguments; i++) {
        const struct cvp_bound *a = &m->arguments[i];
        snprintf(m->names[i], sizeof m->names[i], "arg:%s", a->name);
        if (!a->gradient) continue;
        initialize(a->name, a->value, m->options->seed);
        m->momenta[i] = *a->value;
        m->momenta[i].byte_offset = 0;
        m->momenta[i].data = calloc(1, bytes_of(a->value));
        if (!m->momenta[i].data) return no_memory();
    }
    for (int i = 0; i < m->num_auxiliary; i++) {
        snprintf(m->names[m->num_arguments + i], sizeof m->names[0], "aux:%s",
                 m->auxiliary[i].name);
        initialize(m->auxiliary[i].name, m->auxiliary[i].value, m->options->seed);
    }
    return CONVOP_OK;
}

convop_status model_create(struct model **out, const struct options *o)
{
    *out = NULL;
    struct model *m = calloc(1, sizeof *m);
    if (!m) return no_memory();
    m->options = o;
    const struct mobilenet net = {o->num_classes, o->multiplier, o->depthwise_conv_off};
    convop_status status = mobilenet_v1(&net, &m->symbol);
    if (status == CONVOP_OK) status = bind(m);
    if (status == CONVOP_OK) status = prepare(m);
    if (status != CONVOP_OK) model_destroy(&m);
    *out = m;
    return status;
}

void model_destroy(struct model **model)
{
    struct model *m = *model;
    if (!m) return;
    for (int i = 0; m->momenta && i < m->num_arguments; i++) free(m->momenta[i].data);
    free(m->momenta);
    free(m->names);
    cvp_executor_destroy(&m->executor);
    cvp_symbol_release(&m->symbol);
    free(m);
    *model = NULL;
}

DLTensor *model_images(struct model *m)
{
    return cvp_executor_find(m->executor, "data")->value;
}

DLTensor *model_labels(struct model *m)
{
    return cvp_executor_find(m->executor, "softmax_label")->value;
}

const DLTensor *model_probabilities(struct model *m)
{
    return cvp_executor_output(m->executor, 0);
}

convop_status model_forward(struct model *m, int is_train)
{
    return cvp_executor_forward(m->executor, is_train);
}

convop_status model_backward(struct model *m)
{
    return cvp_executor_backward(m->executor);
}

/* ---- the optimiser ------------------------------------------------------------------------- */

static convop_status update_one(struct model *m, int i, double lr)
{
    const struct options *o = m->options;
    const struct cvp_bound *a = &m->arguments[i];
    /* MXNet decays gammas as well, and writes 1 over them: here they are fixed and stay 1. */
    double wd = ends_in(a->name, "_weight") ? o->wd : 0;
    char texts[4][32];
    snprintf(texts[0], sizeof texts[0], "%.17g", lr);
    snprintf(texts[1], sizeof texts[1], "%.17g", wd);
    snprintf(texts[2], sizeof texts[2], "%.17g", 1.0 / o->batch_size);
    snprintf(texts[3], sizeof texts[3], "%.17g", o->mom);
    const char *keys[] = {"lr", "wd", "rescale_grad", "momentum"};
    const char *values[] = {texts[0], texts[1], texts[2], texts[3]};
    const DLTensor *inputs[] = {a->value, a->gradient, &m->momenta[i]};
    DLTensor *outputs[] = {a->value};
    const convop_request requests[] = {CONVOP_REQ_INPLACE};
    int with_momentum = o->mom > 0;
    return convop_invoke(with_momentum ? "sgd_mom_update" : "sgd_update", with_momentum ? 4 : 3,
                         keys, values, with_momentum ? 3 : 2, inputs, 1, outputs, requests, NULL);
}

convop_status model_update(struct model *m, double lr)
{
    for (int i = 0; i < m->num_arguments; i++)
        if (m->momenta[i].data) RETURN_IF_ERROR(update_one(m, i, lr));
    return CONVOP_OK;
}

/* ---- checkpoints --------------------------------------------------------------------------- */

static void file_name(char *path, size_t size, const char *prefix, int epoch, const char *kind)
{
    snprintf(path, size, "%s-%04d.%s", prefix, epoch, kind);
}

/* Parameters and running statistics, or momenta; returns how many. */
static size_t collect(const struct model *m, struct named_tensor *list, int states)
{
    size_t n = 0;
    for (int i = 0; i < m->num_arguments; i++) {
        if (!m->momenta[i].data) continue;
        list[n++] =
            (struct named_tensor){m->names[i], states ? &m->momenta[i] : m->arguments[i].value};
    }
    for (int i = 0; !states && i < m->num_auxiliary; i++)
        list[n++] = (struct named_tensor){m->names[m->num_arguments + i], m->auxiliary[i].value};
    return n;
}

typedef convop_status file_function(const char *path, const struct named_tensor *list, size_t n);

static convop_status for_file(struct model *m, const char *prefix, int epoch, int states,
                              file_function *function)
{
    char path[4096];
    file_name(path, sizeof path, prefix, epoch, states ? "states" : "params");
    struct named_tensor *list = calloc((size_t)(m->num_arguments + m->num_auxiliary), sizeof *list);
    if (!list) return no_memory();
    convop_status status = function(path, list, collect(m, list, states));
    free(list);
    return status;
}

convop_status model_save(struct model *m, const char *prefix, int epoch)
{
    /* The states first: parameters that are there have theirs beside them. */
    if (m->options->mom > 0) RETURN_IF_ERROR(for_file(m, prefix, epoch, 1, params_save));
    return for_file(m, prefix, epoch, 0, params_save);
}

convop_status model_load(struct model *m, const char *prefix, int epoch)
{
    char path[4096];
    file_name(path, sizeof path, prefix, epoch, "states");
    if (m->options->mom > 0 && access(path, F_OK) == 0)
        RETURN_IF_ERROR(for_file(m, prefix, epoch, 1, params_load));
    return for_file(m, prefix, epoch, 0, params_load);
}

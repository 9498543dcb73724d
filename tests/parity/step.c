/* One training step of MobileNet v1 from a file to a file, so that another program can do the same
 * step and compare. Both files are lists of named arrays as mx.nd.save writes them:
 *
 *     in    arg:NAME, mom:NAME of each parameter, aux:NAME of each running statistic, data, label
 *     out   the same after the step, without data and label; grad:NAME of each parameter before
 *           rescaling; prob, the probabilities; loss, the mean cross-entropy, always float64
 *
 *     step IN OUT float32|float64 BATCH SIDE MULTIPLIER CLASSES LR MOMENTUM WD */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/registry.h"
#include "examples/mobilenet/mobilenet_v1.h"
#include "examples/mobilenet/params_file.h"
#include "src/graph/executor.h"

#define RETURN_IF_ERROR(expr)                                                                      \
    do {                                                                                           \
        convop_status s_ = (expr);                                                                 \
        if (s_ != CONVOP_OK) return s_;                                                            \
    } while (0)

enum { COLORS = 3 };

struct settings {
    const char *in, *out;
    int bits;
    int64_t batch, side;
    struct mobilenet net;
    const char *lr, *momentum, *wd;
};

struct step {
    const struct settings *settings;
    struct cvp_symbol *symbol;
    struct cvp_executor *executor;
    const struct cvp_bound *arguments, *auxiliary;
    int num_arguments, num_auxiliary;
    DLTensor *momenta; /* one for each argument; data NULL where it is not trained */
    double loss;
};

/* Arrays of one file, with room for all that either holds. */
struct list {
    struct named_tensor *items;
    char (*names)[128];
    size_t count;
};

static convop_status no_memory(void)
{
    return convop_fail(CONVOP_E_NO_MEMORY, "step: no memory");
}

static void add(struct list *l, const char *prefix, const char *name, const DLTensor *tensor)
{
    snprintf(l->names[l->count], sizeof l->names[0], "%s%s", prefix, name);
    l->items[l->count] = (struct named_tensor){l->names[l->count], tensor};
    l->count++;
}

/* What both files hold. */
static void add_state(struct list *l, const struct step *s)
{
    for (int i = 0; i < s->num_arguments; i++) {
        if (!s->momenta[i].data) continue;
        add(l, "arg:", s->arguments[i].name, s->arguments[i].value);
        add(l, "mom:", s->arguments[i].name, &s->momenta[i]);
    }
    for (int i = 0; i < s->num_auxiliary; i++)
        add(l, "aux:", s->auxiliary[i].name, s->auxiliary[i].value);
}

static convop_status bind(struct step *s)
{
    const struct settings *o = s->settings;
    const DLDataType dtype = {kDLFloat, (uint8_t)o->bits, 1};
    const struct cvp_bind_input inputs[] = {
        {"data", {4, {o->batch, COLORS, o->side, o->side}}, dtype},
        {"softmax_label", {1, {o->batch}}, dtype},
    };
    const struct cvp_bind_options options = {
        .inputs = inputs, .num_inputs = 2, .request = CONVOP_REQ_WRITE};
    RETURN_IF_ERROR(mobilenet_v1(&o->net, &s->symbol));
    RETURN_IF_ERROR(cvp_executor_bind(s->symbol, &options, &s->executor));
    s->arguments = cvp_executor_arguments(s->executor, &s->num_arguments);
    s->auxiliary = cvp_executor_auxiliary(s->executor, &s->num_auxiliary);
    s->momenta = calloc((size_t)s->num_arguments, sizeof *s->momenta);
    if (!s->momenta) return no_memory();
    for (int i = 0; i < s->num_arguments; i++) {
        const struct cvp_bound *a = &s->arguments[i];
        if (!a->gradient) continue;
        int64_t n = 1;
        for (int d = 0; d < a->value->ndim; d++) n *= a->value->shape[d];
        s->momenta[i] = *a->value;
        s->momenta[i].byte_offset = 0;
        s->momenta[i].data = calloc((size_t)n, (size_t)o->bits / 8);
        if (!s->momenta[i].data) return no_memory();
    }
    return CONVOP_OK;
}

static double element(const DLTensor *t, int64_t i)
{
    const void *data = (const char *)t->data + t->byte_offset;
    return t->dtype.bits == 64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static double cross_entropy(const struct step *s)
{
    const DLTensor *label = cvp_executor_find(s->executor, "softmax_label")->value;
    const DLTensor *prob = cvp_executor_output(s->executor, 0);
    double sum = 0;
    for (int64_t i = 0; i < s->settings->batch; i++)
        sum -= log(element(prob, i * prob->shape[1] + (int64_t)element(label, i)));
    return sum / (double)s->settings->batch;
}

static int ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    return n >= m && strcmp(name + n - m, ending) == 0;
}

/* As MXNet's SGD: the mean over the batch; weights and gammas decay. */
static convop_status update(struct step *s, int i)
{
    const struct cvp_bound *a = &s->arguments[i];
    int decays = ends_in(a->name, "_weight") || ends_in(a->name, "_gamma");
    char rescale[32];
    snprintf(rescale, sizeof rescale, "%.17g", 1.0 / (double)s->settings->batch);
    const char *keys[] = {"lr", "wd", "rescale_grad", "momentum"};
    const char *values[] = {s->settings->lr, decays ? s->settings->wd : "0", rescale,
                            s->settings->momentum};
    const DLTensor *inputs[] = {a->value, a->gradient, &s->momenta[i]};
    DLTensor *outputs[] = {a->value};
    const convop_request requests[] = {CONVOP_REQ_INPLACE};
    return convop_invoke("sgd_mom_update", 4, keys, values, 3, inputs, 1, outputs, requests, NULL);
}

static convop_status load(const struct step *s, struct list *l)
{
    add_state(l, s);
    add(l, "data", "", cvp_executor_find(s->executor, "data")->value);
    add(l, "label", "", cvp_executor_find(s->executor, "softmax_label")->value);
    RETURN_IF_ERROR(params_load(s->settings->in, l->items, l->count));
    l->count = 0;
    const DLTensor *label = cvp_executor_find(s->executor, "softmax_label")->value;
    for (int64_t i = 0; i < s->settings->batch; i++)
        if (!(element(label, i) >= 0 && element(label, i) < s->settings->net.num_classes))
            return convop_fail(CONVOP_E_INVALID, "step: label %g is no class", element(label, i));
    return CONVOP_OK;
}

static convop_status save(struct step *s, struct list *l)
{
    int64_t one = 1;
    DLTensor loss = {.data = &s->loss,
                     .device = {kDLCPU, 0},
                     .ndim = 1,
                     .dtype = {kDLFloat, 64, 1},
                     .shape = &one};
    add_state(l, s);
    for (int i = 0; i < s->num_arguments; i++)
        if (s->momenta[i].data) add(l, "grad:", s->arguments[i].name, s->arguments[i].gradient);
    add(l, "prob", "", cvp_executor_output(s->executor, 0));
    add(l, "loss", "", &loss);
    return params_save(s->settings->out, l->items, l->count);
}

static convop_status run(struct step *s, struct list *l)
{
    RETURN_IF_ERROR(bind(s));
    size_t room = 3 * (size_t)s->num_arguments + (size_t)s->num_auxiliary + 2;
    l->items = calloc(room, sizeof *l->items);
    l->names = calloc(room, sizeof *l->names);
    if (!l->items || !l->names) return no_memory();
    RETURN_IF_ERROR(load(s, l));
    RETURN_IF_ERROR(cvp_executor_forward(s->executor, 1));
    s->loss = cross_entropy(s);
    RETURN_IF_ERROR(cvp_executor_backward(s->executor));
    for (int i = 0; i < s->num_arguments; i++)
        if (s->momenta[i].data) RETURN_IF_ERROR(update(s, i));
    return save(s, l);
}

static void release(struct step *s, struct list *l)
{
    for (int i = 0; s->momenta && i < s->num_arguments; i++) free(s->momenta[i].data);
    free(s->momenta);
    free(l->items);
    free(l->names);
    cvp_executor_destroy(&s->executor);
    cvp_symbol_release(&s->symbol);
}

int main(int argc, char **argv)
{
    if (argc != 11) {
        fprintf(stderr, "step IN OUT float32|float64 BATCH SIDE MULTIPLIER CLASSES LR MOMENTUM "
                        "WD\n");
        return 2;
    }
    const struct settings settings = {
        .in = argv[1],
        .out = argv[2],
        .bits = strcmp(argv[3], "float64") == 0 ? 64 : 32,
        .batch = atoi(argv[4]),
        .side = atoi(argv[5]),
        .net = {.num_classes = atoi(argv[7]), .multiplier = atof(argv[6])},
        .lr = argv[8],
        .momentum = argv[9],
        .wd = argv[10],
    };
    struct step s = {.settings = &settings};
    struct list l = {0};
    convop_status status = run(&s, &l);
    if (status != CONVOP_OK) fprintf(stderr, "step: %s\n", convop_last_error());
    release(&s, &l);
    return status == CONVOP_OK ? 0 : 1;
}

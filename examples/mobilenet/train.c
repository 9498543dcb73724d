/* Epochs of batches, validation after each, checkpoints, log lines. */
#include "examples/mobilenet/train.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/registry.h"
#include "examples/mobilenet/data.h"
#include "examples/mobilenet/log.h"
#include "examples/mobilenet/metric.h"
#include "examples/mobilenet/model.h"
#include "examples/mobilenet/schedule.h"

#define RETURN_IF_ERROR(expr)                                                                      \
    do {                                                                                           \
        convop_status s_ = (expr);                                                                 \
        if (s_ != CONVOP_OK) return s_;                                                            \
    } while (0)

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

/* A second signal ends the program at once. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    action.sa_flags = (int)(SA_RESETHAND | (unsigned)SA_RESTART);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

struct training {
    const struct options *options;
    struct model *model;
    struct data *train, *validation; /* validation NULL: there is none */
    struct schedule schedule;
    struct speedometer speedometer;
    struct metrics metrics, validation_metrics;
    double *labels; /* of a batch */
    int64_t update;
    FILE *curves;
};

static convop_status train_epoch(struct training *t, int epoch)
{
    metrics_reset(&t->metrics);
    RETURN_IF_ERROR(data_epoch(t->train, epoch));
    for (int64_t batch = 0; !stop; batch++) {
        int count;
        RETURN_IF_ERROR(
            data_next(t->train, model_images(t->model), model_labels(t->model), t->labels, &count));
        if (count == 0) break;
        RETURN_IF_ERROR(model_forward(t->model, 1));
        RETURN_IF_ERROR(model_backward(t->model));
        RETURN_IF_ERROR(model_update(t->model, schedule_rate(&t->schedule, ++t->update)));
        metrics_add(&t->metrics, model_probabilities(t->model), t->labels, count);
        speedometer_batch(&t->speedometer, epoch, batch, &t->metrics);
    }
    if (data_num_bad(t->train) > 0)
        log_line("Epoch[%d] %lld images did not decode and were left out", epoch,
                 (long long)data_num_bad(t->train));
    return CONVOP_OK;
}

static convop_status validate(struct training *t)
{
    metrics_reset(&t->validation_metrics);
    RETURN_IF_ERROR(data_epoch(t->validation, 0));
    while (!stop) {
        int count;
        RETURN_IF_ERROR(data_next(t->validation, model_images(t->model), model_labels(t->model),
                                  t->labels, &count));
        if (count == 0) break;
        RETURN_IF_ERROR(model_forward(t->model, 0));
        metrics_add(&t->validation_metrics, model_probabilities(t->model), t->labels, count);
    }
    return CONVOP_OK;
}

static void log_metrics(const struct metrics *m, int epoch, const char *what)
{
    log_line("Epoch[%d] %s-accuracy=%f", epoch, what, metrics_accuracy(m));
    if (m->top_k > 0)
        log_line("Epoch[%d] %s-top_k_accuracy_%d=%f", epoch, what, m->top_k, metrics_top_k(m));
}

static void write_curves(struct training *t, int epoch, double seconds)
{
    if (!t->curves) return;
    fprintf(t->curves,
            "{\"epoch\": %d, \"seconds\": %.3f, \"lr\": %.9g, \"train\": {\"accuracy\": %.6f, "
            "\"cross_entropy\": %.6f}",
            epoch, seconds, t->schedule.lr, metrics_accuracy(&t->metrics),
            metrics_cross_entropy(&t->metrics));
    if (t->validation)
        fprintf(t->curves, ", \"validation\": {\"accuracy\": %.6f, \"cross_entropy\": %.6f}",
                metrics_accuracy(&t->validation_metrics),
                metrics_cross_entropy(&t->validation_metrics));
    fprintf(t->curves, "}\n");
    fflush(t->curves);
}

static convop_status save(struct training *t, int epoch)
{
    const char *prefix = t->options->model_prefix;
    if (!prefix) return CONVOP_OK;
    RETURN_IF_ERROR(model_save(t->model, prefix, epoch));
    log_line("Saved checkpoint to \"%s-%04d.params\"", prefix, epoch);
    return CONVOP_OK;
}

static convop_status train_epochs(struct training *t, int begin)
{
    for (int epoch = begin; epoch < t->options->num_epochs; epoch++) {
        double start = now_seconds();
        RETURN_IF_ERROR(train_epoch(t, epoch));
        /* An epoch that was broken off is begun again from here. */
        if (stop) return save(t, epoch);
        double seconds = now_seconds() - start;
        log_metrics(&t->metrics, epoch, "Train");
        log_line("Epoch[%d] Time cost=%.3f", epoch, seconds);
        RETURN_IF_ERROR(save(t, epoch + 1));
        if (t->validation) {
            RETURN_IF_ERROR(validate(t));
            if (stop) return CONVOP_OK;
            log_metrics(&t->validation_metrics, epoch, "Validation");
        }
        write_curves(t, epoch, seconds);
    }
    return CONVOP_OK;
}

static convop_status start(struct training *t, int begin)
{
    const struct options *o = t->options;
    t->labels = calloc((size_t)o->batch_size, sizeof *t->labels);
    if (!t->labels) return convop_fail(CONVOP_E_NO_MEMORY, "no memory for the labels");
    RETURN_IF_ERROR(data_open(&t->train, o, DATA_TRAIN));
    if (o->data_val && !o->benchmark)
        RETURN_IF_ERROR(data_open(&t->validation, o, DATA_VALIDATION));
    RETURN_IF_ERROR(model_create(&t->model, o));
    if (begin > 0 || o->load_epoch == 0)
        RETURN_IF_ERROR(model_load(t->model, o->model_prefix, begin));
    schedule_init(&t->schedule, o, begin);
    if (o->curves && !(t->curves = fopen(o->curves, "w")))
        return convop_fail(CONVOP_E_IO, "%s: cannot be written: %s", o->curves, strerror(errno));
    return CONVOP_OK;
}

convop_status train(const struct options *o, int *interrupted)
{
    struct training t = {.options = o};
    t.speedometer = (struct speedometer){.batch_size = o->batch_size, .frequent = o->disp_batches};
    t.metrics.top_k = t.validation_metrics.top_k = o->top_k;
    int begin = o->load_epoch > 0 ? o->load_epoch : 0;
    catch_signals();
    convop_status status = start(&t, begin);
    if (status == CONVOP_OK) status = train_epochs(&t, begin);
    *interrupted = stop;
    if (t.curves && fclose(t.curves) != 0 && status == CONVOP_OK)
        status = convop_fail(CONVOP_E_IO, "%s: cannot be written: %s", o->curves, strerror(errno));
    free(t.labels);
    model_destroy(&t.model);
    data_close(&t.validation);
    data_close(&t.train);
    return status;
}

/* The iterator: an order of records an epoch, a pipeline of samples, batches put together from it.
 */
#include "io/image_iter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/registry.h"
#include "io/pipeline.h"
#include "io/record_list.h"
#include "io/sample.h"
#include "src/common/size.h"

struct cvp_io_image_iter {
    struct cvp_io_image_iter_options options; /* its strings are gone */
    struct cvp_io_record_reader *reader;
    struct cvp_io_record_list records;
    int64_t *order;       /* of the share: numbers in `records` */
    int64_t begin, count; /* the share, in the order of the file */
    uint64_t epoch;
    struct cvp_io_pipeline *pipeline;
    struct cvp_io_sample *samples; /* a slot of the pipeline */
    int slots;
    struct cvp_io_sample_scratch *scratch; /* a worker */
    size_t data_size, label_size;          /* floats a sample */
    int64_t place; /* in the order, past its end too: samples taken in this epoch */
    struct cvp_io_image_iter_counts counts;
    convop_status failed;
    char why[600], last_bad[600];
};

/* Place p of the epoch; from `count` on the order repeats, with other crops. */
static void work(void *user, int worker, int slot, int64_t ticket)
{
    struct cvp_io_image_iter *it = user;
    const struct cvp_io_image_iter_options *o = &it->options;
    cvp_io_sample_make(it->reader, &o->augment, o->label_width, o->keep_damaged,
                       it->records.at[it->order[ticket % it->count]],
                       cvp_io_random_for(o->seed, it->epoch, (uint64_t)ticket),
                       &it->scratch[worker], &it->samples[slot]);
}

static convop_status check(const struct cvp_io_image_iter_options *o)
{
    if (!o->path) return convop_fail(CONVOP_E_INVALID, "image iterator: path is missing");
    if (o->batch < 1 || o->batch > 1 << 20)
        return convop_fail(CONVOP_E_INVALID, "image iterator: batch %d is not in [1, 2^20]",
                           o->batch);
    if (o->label_width < 1 || o->label_width > 1 << 20)
        return convop_fail(CONVOP_E_INVALID, "image iterator: label_width %d is not in [1, 2^20]",
                           o->label_width);
    if (o->threads < 0 || o->threads > 1024)
        return convop_fail(CONVOP_E_INVALID, "image iterator: threads %d is not in [0, 1024]",
                           o->threads);
    if (o->prefetch < 0 || o->prefetch > 1 << 21)
        return convop_fail(CONVOP_E_INVALID, "image iterator: prefetch %d is not in [0, 2^21]",
                           o->prefetch);
    if (o->num_parts < 1 || o->part < 0 || o->part >= o->num_parts)
        return convop_fail(CONVOP_E_INVALID, "image iterator: part %d of %d", o->part,
                           o->num_parts);
    if (o->max_images < 0)
        return convop_fail(CONVOP_E_INVALID, "image iterator: max_images %lld is negative",
                           (long long)o->max_images);
    return cvp_io_augment_check(&o->augment);
}

static convop_status no_memory(void)
{
    return convop_fail(CONVOP_E_NO_MEMORY, "image iterator: no memory for its samples");
}

static convop_status choose(struct cvp_io_image_iter *it)
{
    const int64_t n = it->records.count, parts = it->options.num_parts, part = it->options.part;
    it->begin = n / parts * part + cvp_min_i64(n % parts, part);
    it->count = n / parts + (part < n % parts);
    if (it->options.max_images) it->count = cvp_min_i64(it->count, it->options.max_images);
    if (it->count == 0)
        return convop_fail(CONVOP_E_INVALID, "%s: has no record for part %lld of %lld",
                           cvp_io_record_path(it->reader), (long long)part, (long long)parts);
    it->order = malloc((size_t)it->count * sizeof it->order[0]);
    if (!it->order) return no_memory();
    return CONVOP_OK;
}

/* From scratch each time, so that an epoch can be begun without those before it. */
static void put_in_order(struct cvp_io_image_iter *it)
{
    for (int64_t i = 0; i < it->count; i++) it->order[i] = it->begin + i;
    if (!it->options.shuffle) return;
    struct cvp_io_random random = cvp_io_random_for(it->options.seed, it->epoch, UINT64_MAX);
    for (int64_t i = it->count - 1; i > 0; i--) {
        const int64_t j = (int64_t)cvp_io_random_below(&random, (uint64_t)i + 1);
        const int64_t other = it->order[i];
        it->order[i] = it->order[j];
        it->order[j] = other;
    }
}

static convop_status reserve(struct cvp_io_image_iter *it)
{
    const struct cvp_io_image_iter_options *o = &it->options;
    it->data_size =
        (size_t)o->augment.channels * (size_t)o->augment.height * (size_t)o->augment.width;
    it->label_size = (size_t)o->label_width;
    it->slots = o->prefetch ? o->prefetch : 2 * o->batch;
    /* One for the consumer besides one a thread, or threads would stand still. */
    if (it->slots < o->threads + 1) it->slots = o->threads + 1;
    it->samples = calloc((size_t)it->slots, sizeof it->samples[0]);
    it->scratch = calloc((size_t)o->threads + 1, sizeof it->scratch[0]);
    if (!it->samples || !it->scratch) return no_memory();
    for (int i = 0; i < it->slots; i++) {
        it->samples[i].data = malloc(it->data_size * sizeof(float));
        it->samples[i].labels = malloc(it->label_size * sizeof(float));
        if (!it->samples[i].data || !it->samples[i].labels) return no_memory();
    }
    return CONVOP_OK;
}

convop_status cvp_io_image_iter_create(const struct cvp_io_image_iter_options *options,
                                       struct cvp_io_image_iter **iter)
{
    convop_status status = check(options);
    if (status != CONVOP_OK) return status;
    struct cvp_io_image_iter *it = calloc(1, sizeof *it);
    if (!it) return no_memory();
    it->options = *options;
    it->options.path = it->options.index_path = NULL;
    status = cvp_io_record_open(options->path, &it->reader);
    if (status == CONVOP_OK)
        status = cvp_io_record_list_load(it->reader, options->index_path, &it->records);
    if (status == CONVOP_OK) status = choose(it);
    if (status == CONVOP_OK) status = reserve(it);
    if (status == CONVOP_OK)
        status = cvp_io_pipeline_create(it->options.threads, it->slots, work, it, &it->pipeline);
    if (status == CONVOP_OK) status = cvp_io_image_iter_epoch(it, 0);
    if (status == CONVOP_OK)
        *iter = it;
    else
        cvp_io_image_iter_destroy(&it);
    return status;
}

void cvp_io_image_iter_destroy(struct cvp_io_image_iter **iter)
{
    struct cvp_io_image_iter *it = *iter;
    if (!it) return;
    *iter = NULL;
    cvp_io_pipeline_destroy(&it->pipeline);
    for (int i = 0; it->samples && i < it->slots; i++) {
        free(it->samples[i].data);
        free(it->samples[i].labels);
    }
    for (int i = 0; it->scratch && i <= it->options.threads; i++)
        cvp_io_sample_scratch_free(&it->scratch[i]);
    free(it->samples);
    free(it->scratch);
    free(it->order);
    cvp_io_record_list_free(&it->records);
    cvp_io_record_close(&it->reader);
    free(it);
}

int64_t cvp_io_image_iter_size(const struct cvp_io_image_iter *iter)
{
    return iter->count;
}

static convop_status check_process(const struct cvp_io_image_iter *it)
{
    if (!cvp_io_pipeline_is_foreign(it->pipeline)) return CONVOP_OK;
    return convop_fail(CONVOP_E_STATE,
                       "image iterator: it was made before this process was forked; make another");
}

convop_status cvp_io_image_iter_epoch(struct cvp_io_image_iter *iter, uint64_t epoch)
{
    struct cvp_io_image_iter *it = iter;
    convop_status status = check_process(it);
    if (status != CONVOP_OK) return status;
    cvp_io_pipeline_stop(it->pipeline);
    it->epoch = epoch;
    put_in_order(it);
    it->place = 0;
    it->counts = (struct cvp_io_image_iter_counts){0, 0, 0};
    it->failed = CONVOP_OK;
    it->last_bad[0] = 0;
    /* Enough for the last batch if no image is bad; next() asks for more where some are. */
    const int64_t batch = it->options.batch;
    cvp_io_pipeline_start(
        it->pipeline, it->options.round_batch ? cvp_ceil_div(it->count, batch) * batch : it->count);
    return CONVOP_OK;
}

static convop_status fail(struct cvp_io_image_iter *it, const struct cvp_io_sample *sample)
{
    it->failed = sample->status;
    snprintf(it->why, sizeof it->why, "%s", sample->why);
    return convop_fail(it->failed, "%s", it->why);
}

/* The next good sample, or NULL at the place `end`. */
static convop_status take(struct cvp_io_image_iter *it, int64_t end,
                          const struct cvp_io_sample **good)
{
    *good = NULL;
    while (it->place < end) {
        int slot = cvp_io_pipeline_take(it->pipeline);
        if (slot < 0) {
            cvp_io_pipeline_extend(it->pipeline, cvp_min_i64(end, it->place + it->options.batch));
            continue;
        }
        const struct cvp_io_sample *sample = &it->samples[slot];
        const int first_time = it->place++ < it->count;
        if (sample->status == CONVOP_OK) {
            if (first_time) it->counts.images++;
            if (first_time) it->counts.damaged += sample->damaged;
            *good = sample;
            return CONVOP_OK;
        }
        /* What is wrong with the machine and not with the image is not skipped. */
        if (!it->options.skip_bad || sample->status != CONVOP_E_INVALID) return fail(it, sample);
        if (first_time) it->counts.bad++;
        snprintf(it->last_bad, sizeof it->last_bad, "%s", sample->why);
    }
    return CONVOP_OK;
}

static void put(const struct cvp_io_image_iter *it, const struct cvp_io_sample *sample,
                const struct cvp_io_batch *batch, int at)
{
    float *data = batch->data + (size_t)at * it->data_size;
    float *labels = batch->labels + (size_t)at * it->label_size;
    if (sample) {
        memcpy(data, sample->data, it->data_size * sizeof(float));
        memcpy(labels, sample->labels, it->label_size * sizeof(float));
    } else {
        memset(data, 0, it->data_size * sizeof(float));
        memset(labels, 0, it->label_size * sizeof(float));
    }
    if (batch->ids) batch->ids[at] = sample ? sample->id : 0;
}

convop_status cvp_io_image_iter_next(struct cvp_io_image_iter *iter, struct cvp_io_batch *batch)
{
    struct cvp_io_image_iter *it = iter;
    const int size = it->options.batch;
    convop_status status = check_process(it);
    if (status != CONVOP_OK) return status;
    if (it->failed != CONVOP_OK) return convop_fail(it->failed, "%s", it->why);
    batch->count = batch->pad = 0;
    const struct cvp_io_sample *sample = NULL;
    int n = 0;
    for (; n < size; n++) {
        status = take(it, it->count, &sample);
        if (status != CONVOP_OK) return status;
        if (!sample) break;
        put(it, sample, batch, n);
    }
    if (n == 0 && it->counts.images == 0)
        return convop_fail(CONVOP_E_INVALID, "%s: none of its %lld images is good; the last: %s",
                           cvp_io_record_path(it->reader), (long long)it->count, it->last_bad);
    if (n == 0) return CONVOP_OK;
    batch->pad = size - n;
    for (int i = n; i < size; i++) {
        sample = NULL;
        /* There is a good one in every round through the order. */
        if (it->options.round_batch) status = take(it, it->place + it->count, &sample);
        if (status != CONVOP_OK) return status;
        put(it, sample, batch, i);
    }
    batch->count = n;
    return CONVOP_OK;
}

void cvp_io_image_iter_counts(const struct cvp_io_image_iter *iter,
                              struct cvp_io_image_iter_counts *counts)
{
    *counts = iter->counts;
}

const char *cvp_io_image_iter_last_bad(const struct cvp_io_image_iter *iter)
{
    return iter->last_bad;
}

/* Batches. */
#include "examples/mobilenet/data.h"

#include <stdlib.h>

#include "convop/registry.h"
#include "io/image_iter.h"

struct data {
    const struct options *options;
    struct cvp_io_image_iter *iter; /* NULL: synthetic */
    float *images, *labels;         /* a batch */
    int64_t batches_left;
};

static convop_status open_records(struct data *d, int which)
{
    const struct options *o = d->options;
    struct cvp_io_image_iter_options io = CVP_IO_IMAGE_ITER_DEFAULTS;
    int is_train = which == DATA_TRAIN;
    io.path = is_train ? o->data_train : o->data_val;
    io.index_path = is_train ? o->data_train_idx : o->data_val_idx;
    io.batch = o->batch_size;
    io.threads = o->data_nthreads;
    io.shuffle = is_train;
    io.seed = o->seed;
    io.max_images = is_train ? o->num_examples : 0;
    io.skip_bad = o->skip_bad_images;
    io.augment.channels = o->channels;
    io.augment.height = o->height;
    io.augment.width = o->width;
    io.augment.rand_crop = is_train && o->random_crop;
    io.augment.rand_mirror = is_train && o->random_mirror;
    for (int c = 0; c < 3; c++) {
        io.augment.mean[c] = (float)o->rgb_mean[c];
        io.augment.std[c] = (float)o->rgb_std[c];
    }
    return cvp_io_image_iter_create(&io, &d->iter);
}

/* splitmix64, as in the initialiser. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Uniform in [-1, 1), with random labels. */
static void make_synthetic(struct data *d)
{
    const struct options *o = d->options;
    uint64_t state = o->seed + 1;
    int64_t n = (int64_t)o->batch_size * o->channels * o->height * o->width;
    for (int64_t i = 0; i < n; i++) d->images[i] = (float)(next(&state) >> 40) * 0x1p-23f - 1;
    for (int i = 0; i < o->batch_size; i++)
        d->labels[i] = (float)(next(&state) % (uint64_t)o->num_classes);
}

convop_status data_open(struct data **out, const struct options *o, int which)
{
    *out = NULL;
    struct data *d = calloc(1, sizeof *d);
    if (!d) return convop_fail(CONVOP_E_NO_MEMORY, "no memory for the data");
    d->options = o;
    size_t pixels = (size_t)o->batch_size * (size_t)o->channels * (size_t)o->height;
    d->images = calloc(pixels, (size_t)o->width * sizeof(float));
    d->labels = calloc((size_t)o->batch_size, sizeof(float));
    convop_status status = CONVOP_OK;
    if (!d->images || !d->labels)
        status =
            convop_fail(CONVOP_E_NO_MEMORY, "no memory for a batch of %d images", o->batch_size);
    else if (o->benchmark)
        make_synthetic(d);
    else
        status = open_records(d, which);
    if (status != CONVOP_OK) data_close(&d);
    *out = d;
    return status;
}

void data_close(struct data **data)
{
    struct data *d = *data;
    if (!d) return;
    cvp_io_image_iter_destroy(&d->iter);
    free(d->images);
    free(d->labels);
    free(d);
    *data = NULL;
}

convop_status data_epoch(struct data *d, int epoch)
{
    int64_t batches = d->options->num_examples / d->options->batch_size;
    d->batches_left = batches > 0 ? batches : 1;
    return d->iter ? cvp_io_image_iter_epoch(d->iter, (uint64_t)epoch) : CONVOP_OK;
}

static void put(const DLTensor *to, const float *from)
{
    int64_t n = 1;
    for (int i = 0; i < to->ndim; i++) n *= to->shape[i];
    for (int64_t i = 0; i < n; i++)
        if (to->dtype.bits == 64)
            ((double *)to->data)[i] = (double)from[i];
        else
            ((float *)to->data)[i] = from[i];
}

convop_status data_next(struct data *d, DLTensor *images, DLTensor *labels, double *plain,
                        int *count)
{
    const struct options *o = d->options;
    *count = 0;
    if (d->iter) {
        struct cvp_io_batch batch = {.data = d->images, .labels = d->labels};
        convop_status status = cvp_io_image_iter_next(d->iter, &batch);
        if (status != CONVOP_OK || batch.count == 0) return status;
        *count = batch.count;
    } else {
        if (d->batches_left-- <= 0) return CONVOP_OK;
        *count = o->batch_size;
    }
    put(images, d->images);
    put(labels, d->labels);
    for (int i = 0; i < o->batch_size; i++) plain[i] = (double)d->labels[i];
    return CONVOP_OK;
}

int64_t data_num_bad(const struct data *d)
{
    struct cvp_io_image_iter_counts counts = {0};
    if (d->iter) cvp_io_image_iter_counts(d->iter, &counts);
    return counts.bad;
}

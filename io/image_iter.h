/* Goes through a record file of images in epochs and gives batches of float tensors.
 *
 * Threads of the iterator read, decode and augment ahead. What comes out depends on the options and
 * on the epoch's number, never on the number of threads. Each iterator has a file descriptor of its
 * own and reads by position, so several on one file do not disturb one another. An iterator belongs
 * to one thread at a time; in a forked child it can only be destroyed. */
#ifndef CVP_IO_IMAGE_ITER_H
#define CVP_IO_IMAGE_ITER_H

#include "io/augment.h"

struct cvp_io_image_iter_options {
    const char *path;       /* the record file */
    const char *index_path; /* its index; NULL: the file's headers are read through once */
    int batch;              /* images a batch */
    int label_width;        /* labels an image; a record with another number is bad */
    int threads;            /* reading threads; 0: none, all happens in next() */
    int prefetch;           /* images worked on ahead; 0: two batches */
    int shuffle;            /* another order each epoch; 0: the order of index or file */
    uint64_t seed;          /* of order and augmentation */
    int part, num_parts;    /* this iterator's share: part of num_parts of equal size */
    int64_t max_images;     /* only the first that many of the share; 0: all */
    int round_batch;  /* the last batch is filled up from the beginning of the epoch's order */
    int skip_bad;     /* bad images are left out and counted; 0: they are an error */
    int keep_damaged; /* a JPEG that decodes with a complaint is good, and counted */
    struct cvp_io_augment augment;
};

#define CVP_IO_IMAGE_ITER_DEFAULTS                                                                 \
    {                                                                                              \
        .batch = 128, .label_width = 1, .threads = 4, .num_parts = 1, .round_batch = 1,            \
        .augment = CVP_IO_AUGMENT_DEFAULTS                                                         \
    }

/* A batch; the caller's memory. */
struct cvp_io_batch {
    float *data;   /* [batch][channels][height][width] */
    float *labels; /* [batch][label_width] */
    uint64_t *ids; /* [batch], the records' ids; may be NULL */
    int count;     /* out: images; 0: the epoch is over and nothing was written */
    int pad;       /* out: of the batch's places, those at the end that do not count: repetitions
                      with round_batch, else zeros */
};

/* What happened since the epoch began. */
struct cvp_io_image_iter_counts {
    int64_t images;  /* given, without padding */
    int64_t bad;     /* left out */
    int64_t damaged; /* given although they decoded with a complaint */
};

struct cvp_io_image_iter;

/* Begins epoch 0. The strings need not stay. INVALID for options and files that make no sense, IO,
 * NO_MEMORY. */
convop_status cvp_io_image_iter_create(const struct cvp_io_image_iter_options *options,
                                       struct cvp_io_image_iter **iter);
void cvp_io_image_iter_destroy(struct cvp_io_image_iter **iter); /* accepts NULL */

/* Records in this iterator's share. */
int64_t cvp_io_image_iter_size(const struct cvp_io_image_iter *iter);

/* Begins an epoch, any one, at any time. */
convop_status cvp_io_image_iter_epoch(struct cvp_io_image_iter *iter, uint64_t epoch);

/* The next batch. A bad image (without skip_bad) is INVALID or IO at its place in the order, and
 * the text names file, record and offset; from then on every call says the same until an epoch
 * begins. STATE in a forked child. On failure the batch's memory may have been written in part. */
convop_status cvp_io_image_iter_next(struct cvp_io_image_iter *iter, struct cvp_io_batch *batch);

void cvp_io_image_iter_counts(const struct cvp_io_image_iter *iter,
                              struct cvp_io_image_iter_counts *counts);

/* The sentence on the last bad image that was left out in this epoch; "" if none. */
const char *cvp_io_image_iter_last_bad(const struct cvp_io_image_iter *iter);

#endif

/* One image of an iterator: from the record file to floats. */
#ifndef CVP_IO_SAMPLE_H
#define CVP_IO_SAMPLE_H

#include "io/augment.h"
#include "io/decode.h"
#include "io/record_reader.h"

/* A thread's scratch. Begins as {0}. */
struct cvp_io_sample_scratch {
    struct cvp_io_record record;
    struct cvp_io_decoder decoder;
    struct cvp_io_image image;
    struct cvp_io_augment_scratch augment;
};

struct cvp_io_sample {
    convop_status status;
    char why[600]; /* of a failure */
    int damaged;
    uint64_t id;
    float *data;   /* channels * height * width */
    float *labels; /* label_width */
};

/* Fills *sample; a failure is in sample->status and names file, record and offset. */
void cvp_io_sample_make(const struct cvp_io_record_reader *reader,
                        const struct cvp_io_augment *augment, int label_width, int keep_damaged,
                        struct cvp_io_record_cursor at, struct cvp_io_random random,
                        struct cvp_io_sample_scratch *scratch, struct cvp_io_sample *sample);
void cvp_io_sample_scratch_free(struct cvp_io_sample_scratch *scratch);

#endif

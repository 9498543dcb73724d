/* One line of a list to one image record. */
#ifndef IM2REC_MAKE_RECORD_H
#define IM2REC_MAKE_RECORD_H

#include "io/decode.h"
#include "io/lst.h"
#include "tools/im2rec/im2rec.h"

/* A thread's scratch. Begins as {0}. */
struct im2rec_scratch {
    struct cvp_io_record file, encoded;
    struct cvp_io_decoder decoder;
    struct cvp_io_encoder encoder;
    struct cvp_io_image image, other;
    float *labels;
    size_t num_labels;
};

/* INVALID for an image that is bad; the text names the image. */
convop_status im2rec_make_record(const struct im2rec_options *options,
                                 const struct cvp_io_lst_entry *entry,
                                 struct im2rec_scratch *scratch, struct cvp_io_record *record);
void im2rec_scratch_free(struct im2rec_scratch *scratch);

#endif

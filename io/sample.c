/* Reading, parsing, decoding and augmenting one record. */
#include "io/sample.h"

#include <stdio.h>

#include "convop/registry.h"
#include "io/image_record.h"

/* What follows reading, so that errors have their place put before them in one spot. */
static convop_status make(const struct cvp_io_augment *augment, int label_width, int keep_damaged,
                          struct cvp_io_random *random, struct cvp_io_sample_scratch *s,
                          struct cvp_io_sample *sample)
{
    struct cvp_io_image_record image;
    convop_status status = cvp_io_image_record_parse(s->record.data, s->record.size, &image);
    if (status != CONVOP_OK) return status;
    if (image.num_labels != (uint32_t)label_width)
        return convop_fail(CONVOP_E_INVALID, "the image record has %u labels, label_width is %d",
                           (unsigned)image.num_labels, label_width);
    status =
        cvp_io_decode(&s->decoder, image.image, image.image_bytes, augment->channels, &s->image);
    if (status != CONVOP_OK) return status;
    sample->damaged = s->decoder.warning[0] != 0;
    if (sample->damaged && !keep_damaged)
        return convop_fail(CONVOP_E_INVALID, "damaged: %s", s->decoder.warning);
    sample->id = image.id;
    for (int i = 0; i < label_width; i++)
        sample->labels[i] = cvp_io_image_record_label(&image, (uint32_t)i);
    return cvp_io_augment_apply(augment, random, &s->image, &s->augment, sample->data);
}

void cvp_io_sample_make(const struct cvp_io_record_reader *reader,
                        const struct cvp_io_augment *augment, int label_width, int keep_damaged,
                        struct cvp_io_record_cursor at, struct cvp_io_random random,
                        struct cvp_io_sample_scratch *scratch, struct cvp_io_sample *sample)
{
    struct cvp_io_record_cursor next = at;
    sample->damaged = 0;
    sample->status = cvp_io_record_read(reader, &next, &scratch->record);
    if (sample->status == CONVOP_OK) {
        convop_status status = make(augment, label_width, keep_damaged, &random, scratch, sample);
        sample->status = status == CONVOP_OK ? status : cvp_io_record_blame(reader, &at, status);
    }
    if (sample->status != CONVOP_OK)
        snprintf(sample->why, sizeof sample->why, "%s", convop_last_error());
}

void cvp_io_sample_scratch_free(struct cvp_io_sample_scratch *scratch)
{
    cvp_io_record_free(&scratch->record);
    cvp_io_decoder_free(&scratch->decoder);
    cvp_io_image_free(&scratch->image);
    cvp_io_augment_scratch_free(&scratch->augment);
}

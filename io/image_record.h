/* What an image record holds: MXNet's header of 24 bytes, labels, then the image file.
 *
 * The header is a uint32 flag, a float label, a uint64 id and a uint64 second id. Flag 0: one
 * label, the header's. Flag n: n floats follow the header and the header's label is 0. */
#ifndef CVP_IO_IMAGE_RECORD_H
#define CVP_IO_IMAGE_RECORD_H

#include "io/record.h"

#define CVP_IO_IMAGE_HEADER 24 /* bytes */

/* Points into the record's bytes. */
struct cvp_io_image_record {
    uint64_t id, id2;
    uint32_t num_labels;
    const unsigned char *labels; /* little-endian floats */
    const unsigned char *image;
    size_t image_bytes; /* > 0 */
};

/* INVALID: fewer bytes than header and labels need, or no image behind them. */
convop_status cvp_io_image_record_parse(const void *data, size_t bytes,
                                        struct cvp_io_image_record *image);

float cvp_io_image_record_label(const struct cvp_io_image_record *image, uint32_t i);

/* Fills `record`. is_vector 0: num_labels is 1 and the label goes into the header. */
convop_status cvp_io_image_record_pack(struct cvp_io_record *record, uint64_t id,
                                       const float *labels, uint32_t num_labels, int is_vector,
                                       const void *image, size_t image_bytes);

#endif

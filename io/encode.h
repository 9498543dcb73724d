/* Encodes pictures of 1 or 3 channels as JPEG or PNG files in memory. */
#ifndef CVP_IO_ENCODE_H
#define CVP_IO_ENCODE_H

#include "io/image.h"
#include "io/record.h"

enum cvp_io_encoding { CVP_IO_JPEG, CVP_IO_PNG };

/* One a thread. Begins as {0}. */
struct cvp_io_encoder {
    struct cvp_io_jpeg *jpeg;
};

/* quality: JPEG 1..100, colours at half resolution (4:2:0); PNG a level of compression, 0..9, more
 * is 9, which is how MXNet's tools and OpenCV take it. Replaces what is in *out. */
convop_status cvp_io_encode(struct cvp_io_encoder *encoder, const struct cvp_io_image *image,
                            enum cvp_io_encoding encoding, int quality, struct cvp_io_record *out);
void cvp_io_encoder_free(struct cvp_io_encoder *encoder);

#endif

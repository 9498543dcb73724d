/* What decode.c and encode.c call: one pair of functions a format. */
#ifndef CVP_IO_CODEC_H
#define CVP_IO_CODEC_H

#include "io/image.h"
#include "io/record.h"

/* What JPEG keeps from image to image; *codec begins as NULL and is made when first needed. */
struct cvp_io_jpeg;
void cvp_io_jpeg_free(struct cvp_io_jpeg **codec);

/* channels: 1 or 3, or 0 for what the file has. `warning` gets what the JPEG library complains of
 * in a file that it decodes all the same, "" if nothing. */
convop_status cvp_io_jpeg_decode(struct cvp_io_jpeg **codec, const unsigned char *data,
                                 size_t bytes, int channels, struct cvp_io_image *image,
                                 char *warning, size_t size);

/* Replaces what is in *out. */
convop_status cvp_io_jpeg_encode(struct cvp_io_jpeg **codec, const struct cvp_io_image *image,
                                 int quality, struct cvp_io_record *out);

convop_status cvp_io_png_decode(const unsigned char *data, size_t bytes, int channels,
                                struct cvp_io_image *image);
convop_status cvp_io_png_encode(const struct cvp_io_image *image, int level,
                                struct cvp_io_record *out);

#endif

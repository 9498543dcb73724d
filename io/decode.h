/* Decodes JPEG and PNG files in memory. */
#ifndef CVP_IO_DECODE_H
#define CVP_IO_DECODE_H

#include "io/image.h"

/* Keeps what is costly to make; one a thread. Begins as {0}. */
struct cvp_io_decoder {
    struct cvp_io_jpeg *jpeg;
    struct cvp_io_image turned;
    char warning[256]; /* of the last decode: "" or a sentence */
};

/* channels: 1 (gray), 3 (RGB) or 0, as the file has. CMYK and YCCK become RGB, transparency is
 * dropped, of 16 bits the upper 8 are taken, an EXIF orientation is applied.
 * INVALID for what cannot be decoded, sizes beyond the limit of image.h among them, before memory
 * for them is asked for. A JPEG file that is damaged or truncated but gives a whole picture is OK
 * and leaves a warning: the caller decides. */
convop_status cvp_io_decode(struct cvp_io_decoder *decoder, const void *data, size_t bytes,
                            int channels, struct cvp_io_image *image);
void cvp_io_decoder_free(struct cvp_io_decoder *decoder);

#endif

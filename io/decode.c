/* Finds out what a file is and has it decoded. */
#include "io/decode.h"

#include <string.h>

#include "convop/registry.h"
#include "io/codec.h"
#include "io/exif.h"

static int begins_with(const unsigned char *data, size_t bytes, const unsigned char *head,
                       size_t length)
{
    return memcmp(data, head, bytes < length ? bytes : length) == 0;
}

static convop_status decode_jpeg(struct cvp_io_decoder *d, const unsigned char *data, size_t bytes,
                                 int channels, struct cvp_io_image *image)
{
    convop_status status =
        cvp_io_jpeg_decode(&d->jpeg, data, bytes, channels, image, d->warning, sizeof d->warning);
    const int orientation = status == CONVOP_OK ? cvp_io_exif_orientation(data, bytes) : 1;
    if (orientation == 1) return status;
    status = cvp_io_image_orient(image, orientation, &d->turned);
    if (status == CONVOP_OK) cvp_io_image_swap(image, &d->turned);
    return status;
}

convop_status cvp_io_decode(struct cvp_io_decoder *decoder, const void *data, size_t bytes,
                            int channels, struct cvp_io_image *image)
{
    static const unsigned char jpeg[2] = {0xff, 0xd8};
    static const unsigned char png[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    decoder->warning[0] = 0;
    if (channels != 0 && channels != 1 && channels != 3)
        return convop_fail(CONVOP_E_INVALID, "decoding to %d channels; 0, 1 or 3 are possible",
                           channels);
    if (bytes == 0)
        return convop_fail(CONVOP_E_INVALID, "the image is empty: neither JPEG nor PNG");
    if (begins_with(data, bytes, jpeg, sizeof jpeg))
        return decode_jpeg(decoder, data, bytes, channels, image);
    if (begins_with(data, bytes, png, sizeof png))
        return cvp_io_png_decode(data, bytes, channels, image);
    return convop_fail(CONVOP_E_INVALID,
                       "the image is neither JPEG nor PNG: it begins with 0x%02x, %zu bytes",
                       *(const unsigned char *)data, bytes);
}

void cvp_io_decoder_free(struct cvp_io_decoder *decoder)
{
    cvp_io_jpeg_free(&decoder->jpeg);
    cvp_io_image_free(&decoder->turned);
}

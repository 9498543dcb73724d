/* Checks and hands over to the format. */
#include "io/encode.h"

#include "convop/registry.h"
#include "io/codec.h"

convop_status cvp_io_encode(struct cvp_io_encoder *encoder, const struct cvp_io_image *image,
                            enum cvp_io_encoding encoding, int quality, struct cvp_io_record *out)
{
    if (image->channels != 1 && image->channels != 3)
        return convop_fail(CONVOP_E_INVALID, "encoding %d channels; 1 or 3 are possible",
                           image->channels);
    if (quality < (encoding == CVP_IO_JPEG) || quality > 100)
        return convop_fail(CONVOP_E_INVALID, "encoding with quality %d; it lies in [%d, 100]",
                           quality, encoding == CVP_IO_JPEG);
    if (encoding == CVP_IO_PNG) return cvp_io_png_encode(image, quality < 9 ? quality : 9, out);
    return cvp_io_jpeg_encode(&encoder->jpeg, image, quality, out);
}

void cvp_io_encoder_free(struct cvp_io_encoder *encoder)
{
    cvp_io_jpeg_free(&encoder->jpeg);
}

/* A picture in memory: 8 bits a channel, rows from top to bottom, channels side by side (RGB). */
#ifndef CVP_IO_IMAGE_H
#define CVP_IO_IMAGE_H

#include "convop/base.h"

/* A picture has fewer pixels than this, whatever a file's header or a resize says. */
#define CVP_IO_MAX_PIXELS ((int64_t)1 << 28)

/* Begins as {0}; data[(y * width + x) * channels + c]. */
struct cvp_io_image {
    unsigned char *data;
    int width, height, channels;
    size_t capacity; /* bytes */
};

/* Sets the sizes and makes room; what was in it is lost. INVALID for sizes below 1, for more pixels
 * than the limit, for other than 1, 3 or 4 channels; NO_MEMORY. The old sizes stay on failure. */
convop_status cvp_io_image_reserve(struct cvp_io_image *image, int64_t width, int64_t height,
                                   int channels);
void cvp_io_image_free(struct cvp_io_image *image);
void cvp_io_image_swap(struct cvp_io_image *a, struct cvp_io_image *b);

/* Takes the part that begins at (x, y) out of `from`, which holds it whole. */
convop_status cvp_io_image_crop(const struct cvp_io_image *from, int x, int y, int width,
                                int height, struct cvp_io_image *to);

/* Puts `pad` pixels of the value `fill` around. */
convop_status cvp_io_image_pad(const struct cvp_io_image *from, int pad, unsigned char fill,
                               struct cvp_io_image *to);

/* Turns and mirrors as the EXIF orientation 1..8 says the picture is to be shown; 1 copies. */
convop_status cvp_io_image_orient(const struct cvp_io_image *from, int orientation,
                                  struct cvp_io_image *to);

#endif

/* Makes the network's input of a picture: resize, pad, crop, mirror, normalise, in this order. */
#ifndef CVP_IO_AUGMENT_H
#define CVP_IO_AUGMENT_H

#include "io/image.h"
#include "io/random.h"

struct cvp_io_augment {
    int channels, height, width; /* of the result; channels 1 or 3 */
    int resize;                  /* the shorter side becomes this; 0: as it is */
    int pad, fill_value;         /* pixels around, and their value 0..255 */
    int rand_crop, rand_mirror;  /* 0: from the centre, never mirrored */
    float mean[3], std[3];       /* result = (value - mean) / std * scale, a channel */
    float scale;
};

/* No change but the crop from the centre: mean 0, std 1, scale 1, fill_value 127. */
#define CVP_IO_AUGMENT_DEFAULTS                                                                    \
    {                                                                                              \
        .channels = 3, .fill_value = 127, .std = {1, 1, 1}, .scale = 1                             \
    }

/* Scratch, one a thread. Begins as {0}. */
struct cvp_io_augment_scratch {
    struct cvp_io_image image[2];
};

/* INVALID for values that make no sense. */
convop_status cvp_io_augment_check(const struct cvp_io_augment *augment);

/* out[c][y][x], channels * height * width floats. `image` has augment->channels. A picture that is
 * smaller than the crop after `resize` and `pad` is enlarged in proportion until it covers it;
 * INVALID where that passes the limit of image.h. Nothing is written on failure. */
convop_status cvp_io_augment_apply(const struct cvp_io_augment *augment,
                                   struct cvp_io_random *random, const struct cvp_io_image *image,
                                   struct cvp_io_augment_scratch *scratch, float *out);
void cvp_io_augment_scratch_free(struct cvp_io_augment_scratch *scratch);

#endif

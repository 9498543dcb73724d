/* The steps of augmentation. */
#include "io/augment.h"

#include <math.h>

#include "convop/registry.h"
#include "io/resize.h"
#include "src/common/size.h"

convop_status cvp_io_augment_check(const struct cvp_io_augment *a)
{
    if (a->channels != 1 && a->channels != 3)
        return convop_fail(CONVOP_E_INVALID, "channels: %d; 1 or 3 are possible", a->channels);
    if (a->height < 1 || a->width < 1 || (int64_t)a->height * a->width >= CVP_IO_MAX_PIXELS)
        return convop_fail(CONVOP_E_INVALID, "crop: %dx%d is empty or too large", a->width,
                           a->height);
    if (a->resize < 0 || a->pad < 0 || a->resize >= 1 << 20 || a->pad >= 1 << 20)
        return convop_fail(CONVOP_E_INVALID, "resize %d, pad %d: they lie in [0, 2^20)", a->resize,
                           a->pad);
    if (a->fill_value < 0 || a->fill_value > 255)
        return convop_fail(CONVOP_E_INVALID, "fill_value: %d; it lies in [0, 255]", a->fill_value);
    for (int c = 0; c < a->channels; c++)
        if (!isfinite(a->mean[c]) || !isfinite(a->std[c]) || a->std[c] == 0)
            return convop_fail(CONVOP_E_INVALID,
                               "mean %g, std %g of channel %d: finite numbers, "
                               "std not 0",
                               (double)a->mean[c], (double)a->std[c], c);
    if (!isfinite(a->scale))
        return convop_fail(CONVOP_E_INVALID, "scale: %g is not finite", (double)a->scale);
    return CONVOP_OK;
}

/* The smallest size of the same proportions, rounded up, that covers the crop. */
static void covering(const struct cvp_io_augment *a, const struct cvp_io_image *i, int64_t *width,
                     int64_t *height)
{
    const int64_t w = i->width, h = i->height;
    if (a->width * h >= a->height * w) {
        *width = a->width;
        *height = cvp_ceil_div(h * a->width, w);
    } else {
        *height = a->height;
        *width = cvp_ceil_div(w * a->height, h);
    }
}

static void normalise(const struct cvp_io_augment *a, const struct cvp_io_image *i, int left,
                      int top, int mirror, float *out)
{
    for (int c = 0; c < a->channels; c++) {
        const float mean = a->mean[c], factor = a->scale / a->std[c];
        for (int y = 0; y < a->height; y++) {
            const unsigned char *p =
                i->data +
                ((size_t)(top + y) * (size_t)i->width + (size_t)left) * (size_t)i->channels +
                (size_t)c;
            for (int x = 0; x < a->width; x++) {
                const size_t at = (size_t)(mirror ? a->width - 1 - x : x);
                *out++ = ((float)p[at * (size_t)i->channels] - mean) * factor;
            }
        }
    }
}

convop_status cvp_io_augment_apply(const struct cvp_io_augment *augment,
                                   struct cvp_io_random *random, const struct cvp_io_image *image,
                                   struct cvp_io_augment_scratch *scratch, float *out)
{
    const struct cvp_io_augment *a = augment;
    const struct cvp_io_image *now = image;
    int next = 0; /* which scratch picture is free */
    int64_t w, h;
    convop_status status = CONVOP_OK;
    if (image->channels != a->channels)
        return convop_fail(CONVOP_E_INVALID, "an image of %d channels, not %d", image->channels,
                           a->channels);
    if (a->resize) {
        cvp_io_short_edge(now, a->resize, &w, &h);
        status = cvp_io_resize(now, w, h, &scratch->image[next]);
        now = &scratch->image[next];
        next = !next;
    }
    if (status == CONVOP_OK && a->pad) {
        status = cvp_io_image_pad(now, a->pad, (unsigned char)a->fill_value, &scratch->image[next]);
        now = &scratch->image[next];
        next = !next;
    }
    if (status == CONVOP_OK && (now->width < a->width || now->height < a->height)) {
        covering(a, now, &w, &h);
        status = cvp_io_resize(now, w, h, &scratch->image[next]);
        now = &scratch->image[next];
    }
    if (status != CONVOP_OK) return status;
    /* Always drawn, so that one setting does not change what another draws. */
    const uint64_t x = cvp_io_random_below(random, (uint64_t)(now->width - a->width) + 1);
    const uint64_t y = cvp_io_random_below(random, (uint64_t)(now->height - a->height) + 1);
    const int mirror = (int)cvp_io_random_below(random, 2) && a->rand_mirror;
    normalise(a, now, a->rand_crop ? (int)x : (now->width - a->width) / 2,
              a->rand_crop ? (int)y : (now->height - a->height) / 2, mirror, out);
    return CONVOP_OK;
}

void cvp_io_augment_scratch_free(struct cvp_io_augment_scratch *scratch)
{
    cvp_io_image_free(&scratch->image[0]);
    cvp_io_image_free(&scratch->image[1]);
}

/* Sizes, parts and turns of pictures. */
#include "io/image.h"

#include <stdlib.h>
#include <string.h>

#include "convop/registry.h"

convop_status cvp_io_image_reserve(struct cvp_io_image *image, int64_t width, int64_t height,
                                   int channels)
{
    const long long w = width, h = height;
    if (channels != 1 && channels != 3 && channels != 4)
        return convop_fail(CONVOP_E_INVALID, "an image of %d channels; 1, 3 or 4 are possible",
                           channels);
    if (width < 1 || height < 1 || width > INT32_MAX || height > INT32_MAX)
        return convop_fail(CONVOP_E_INVALID, "an image of size %lldx%lld is empty or too large", w,
                           h);
    if (width * height >= CVP_IO_MAX_PIXELS)
        return convop_fail(CONVOP_E_INVALID, "an image of size %lldx%lld has more than %lld pixels",
                           w, h, (long long)CVP_IO_MAX_PIXELS - 1);
    const size_t bytes = (size_t)width * (size_t)height * (size_t)channels;
    if (bytes > image->capacity) {
        unsigned char *data = malloc(bytes);
        if (!data)
            return convop_fail(CONVOP_E_NO_MEMORY, "no memory for an image of size %lldx%lld", w,
                               h);
        free(image->data);
        image->data = data;
        image->capacity = bytes;
    }
    image->width = (int)width;
    image->height = (int)height;
    image->channels = channels;
    return CONVOP_OK;
}

void cvp_io_image_free(struct cvp_io_image *image)
{
    free(image->data);
    *image = (struct cvp_io_image){0};
}

void cvp_io_image_swap(struct cvp_io_image *a, struct cvp_io_image *b)
{
    struct cvp_io_image c = *a;
    *a = *b;
    *b = c;
}

convop_status cvp_io_image_crop(const struct cvp_io_image *from, int x, int y, int width,
                                int height, struct cvp_io_image *to)
{
    convop_status status = cvp_io_image_reserve(to, width, height, from->channels);
    if (status != CONVOP_OK) return status;
    const size_t pixel = (size_t)from->channels, row = (size_t)width * pixel;
    for (int i = 0; i < height; i++)
        memcpy(to->data + (size_t)i * row,
               from->data + ((size_t)(y + i) * (size_t)from->width + (size_t)x) * pixel, row);
    return CONVOP_OK;
}

convop_status cvp_io_image_pad(const struct cvp_io_image *from, int pad, unsigned char fill,
                               struct cvp_io_image *to)
{
    convop_status status =
        cvp_io_image_reserve(to, (int64_t)from->width + 2 * (int64_t)pad,
                             (int64_t)from->height + 2 * (int64_t)pad, from->channels);
    if (status != CONVOP_OK) return status;
    const size_t pixel = (size_t)from->channels, row = (size_t)from->width * pixel;
    const size_t wide = (size_t)to->width * pixel;
    memset(to->data, fill, wide * (size_t)to->height);
    for (int i = 0; i < from->height; i++)
        memcpy(to->data + (size_t)(i + pad) * wide + (size_t)pad * pixel,
               from->data + (size_t)i * row, row);
    return CONVOP_OK;
}

convop_status cvp_io_image_orient(const struct cvp_io_image *from, int orientation,
                                  struct cvp_io_image *to)
{
    const int o = orientation - 1;
    /* From 5 on rows and columns are exchanged; the table of the EXIF standard says the rest. */
    const int exchange = o >= 4;
    const int flip_x = o == 1 || o == 2 || o == 6 || o == 7;
    const int flip_y = o == 2 || o == 3 || o == 5 || o == 6;
    const int w = from->width, h = from->height;
    convop_status status =
        cvp_io_image_reserve(to, exchange ? h : w, exchange ? w : h, from->channels);
    if (status != CONVOP_OK) return status;
    const size_t pixel = (size_t)from->channels;
    unsigned char *out = to->data;
    for (int y = 0; y < to->height; y++)
        for (int x = 0; x < to->width; x++, out += pixel) {
            int u = exchange ? y : x, v = exchange ? x : y;
            if (flip_x) u = w - 1 - u;
            if (flip_y) v = h - 1 - v;
            memcpy(out, from->data + ((size_t)v * (size_t)w + (size_t)u) * pixel, pixel);
        }
    return CONVOP_OK;
}

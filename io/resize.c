/* Bilinear resizing: pixel centres at half integers, weights of 11 bits, borders repeated. The
 * order of the shifts is what makes the results OpenCV's. */
#include "io/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "convop/registry.h"

#define WEIGHT_BITS 11

/* One coordinate of the target: first source sample, the weights of it and of the next. */
struct tap {
    int at;
    int weight[2];
};

static void make_taps(struct tap *taps, int from, int to, int keep_outside)
{
    const double scale = 1.0 / ((double)to / from);
    for (int i = 0; i < to; i++) {
        float f = (float)((i + 0.5) * scale - 0.5);
        int at = (int)floorf(f);
        f -= (float)at;
        /* Rows outside are clamped when they are read, and keep their weights. */
        if (!keep_outside && at < 0) at = 0, f = 0;
        if (!keep_outside && at >= from - 1) at = from - 1, f = 0;
        taps[i].at = at;
        taps[i].weight[0] = (int)lrintf((1.0f - f) * (1 << WEIGHT_BITS));
        taps[i].weight[1] = (int)lrintf(f * (1 << WEIGHT_BITS));
    }
}

static void resize_row(const unsigned char *from, const struct tap *taps, int from_width, int width,
                       int channels, int *out)
{
    for (int x = 0; x < width; x++) {
        const int a = taps[x].at, b = a + 1 < from_width ? a + 1 : a;
        const unsigned char *p = from + (size_t)a * (size_t)channels;
        const unsigned char *q = from + (size_t)b * (size_t)channels;
        for (int c = 0; c < channels; c++)
            *out++ = p[c] * taps[x].weight[0] + q[c] * taps[x].weight[1];
    }
}

static int clamp(int y, int height)
{
    return y < 0 ? 0 : y < height ? y : height - 1;
}

static void resize_rows(const struct cvp_io_image *from, const struct tap *across,
                        const struct tap *down, int *rows[2], struct cvp_io_image *to)
{
    const size_t n = (size_t)to->width * (size_t)to->channels;
    const size_t stride = (size_t)from->width * (size_t)from->channels;
    int held[2] = {-1, -1};
    for (int y = 0; y < to->height; y++) {
        for (int k = 0; k < 2; k++) {
            const int want = clamp(down[y].at + k, from->height);
            if (held[k] == want) continue;
            if (k == 0 && held[1] == want) {
                int *row = rows[0];
                rows[0] = rows[1];
                rows[1] = row;
                held[1] = held[0];
                held[0] = want;
                continue;
            }
            resize_row(from->data + (size_t)want * stride, across, from->width, to->width,
                       to->channels, rows[k]);
            held[k] = want;
        }
        const int w0 = down[y].weight[0], w1 = down[y].weight[1];
        unsigned char *out = to->data + (size_t)y * n;
        const int *r0 = rows[0], *r1 = rows[1];
        for (size_t i = 0; i < n; i++)
            out[i] =
                (unsigned char)(((w0 * (r0[i] >> 4) >> 16) + (w1 * (r1[i] >> 4) >> 16) + 2) >> 2);
    }
}

convop_status cvp_io_resize(const struct cvp_io_image *from, int64_t width, int64_t height,
                            struct cvp_io_image *to)
{
    convop_status status = cvp_io_image_reserve(to, width, height, from->channels);
    if (status != CONVOP_OK) return status;
    if (to->width == from->width && to->height == from->height) {
        memcpy(to->data, from->data, (size_t)to->width * (size_t)to->height * (size_t)to->channels);
        return CONVOP_OK;
    }
    const size_t n = (size_t)to->width * (size_t)to->channels;
    struct tap *taps = malloc(((size_t)to->width + (size_t)to->height) * sizeof *taps);
    int *rows = malloc(2 * n * sizeof *rows);
    if (taps && rows) {
        make_taps(taps, from->width, to->width, 0);
        make_taps(taps + to->width, from->height, to->height, 1);
        int *two[2] = {rows, rows + n};
        resize_rows(from, taps, taps + to->width, two, to);
    } else {
        status = convop_fail(CONVOP_E_NO_MEMORY, "no memory to resize an image to %lldx%lld",
                             (long long)width, (long long)height);
    }
    free(taps);
    free(rows);
    return status;
}

void cvp_io_short_edge(const struct cvp_io_image *image, int edge, int64_t *width, int64_t *height)
{
    const int64_t w = image->width, h = image->height;
    *width = h > w ? edge : w * edge / h;
    *height = h > w ? h * edge / w : edge;
    if (*width < 1) *width = 1;
    if (*height < 1) *height = 1;
}

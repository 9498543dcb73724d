/* Bilinear resizing with the fixed-point arithmetic of OpenCV's INTER_LINEAR for 8-bit pictures, so
 * that records made here equal records made with MXNet's tools. */
#ifndef CVP_IO_RESIZE_H
#define CVP_IO_RESIZE_H

#include "io/image.h"

/* `to` is another picture than `from`. */
convop_status cvp_io_resize(const struct cvp_io_image *from, int64_t width, int64_t height,
                            struct cvp_io_image *to);

/* The size in which the shorter side is `edge` and the proportions stay, rounded down as MXNet
 * does, but never below 1. */
void cvp_io_short_edge(const struct cvp_io_image *image, int edge, int64_t *width, int64_t *height);

#endif

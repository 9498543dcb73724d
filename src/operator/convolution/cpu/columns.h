/* Lowering: the windows of an image as the columns of a matrix (im2col), and its adjoint (col2im).
 * Compact tensors only. One thread.
 *
 * A row k is a tap and a channel of the group, in the order of the weights:
 *     NC*   k = (c, kd, kh, kw)    col[(k - k0) * ld + (y - y0)]
 *     N*C   k = (kd, kh, kw, c)    col[(y - y0) * ld + (k - k0)]
 * where y counts the pixels of dst. */
#ifndef CVP_CONV_COLUMNS_H
#define CVP_CONV_COLUMNS_H

#include "src/operator/convolution/problem.h"

/* Rows [k0, k1) and pixels [y0, y1) of a group's image; `image` is its first channel's first pixel.
 * Elements outside of the image become 0. */
void cvp_conv_im2col(const convop_conv_problem *p, const void *image, int64_t k0, int64_t k1,
                     int64_t y0, int64_t y1, void *col, int64_t ld);

/* Adds the columns of channels [c0, c1) (all taps) and pixels [y0, y1) to the image:
 * image[x] += col[k][y] for all k, y that read x, in ascending order of y for each tap.
 * The rows are those of these channels alone: NC* (c - c0, kd, kh, kw), N*C (kd, kh, kw, c - c0).
 */
void cvp_conv_col2im(const convop_conv_problem *p, const void *col, int64_t ld, int64_t c0,
                     int64_t c1, int64_t y0, int64_t y1, void *image);

#endif

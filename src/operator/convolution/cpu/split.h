/* How the rows `split` lay an image out for tiles; see split_kernels.h for what these compute.
 *
 * A tile's rows (or columns) are pixels at even steps. So that every tap of a window finds them at
 * one offset from where the sums' pixels are counted, a block of the image becomes a grid:
 * padding is there as zeros, rows follow each other `pitch` pixels apart, and of an axis with
 * stride s each of the s phases of its inputs that a tap reads is a grid of its own. Pixel (n, d,
 * h, w) of the block's outputs has number
 *
 *     m = ((n * depths + d) * heights + h) * pitch + w
 *
 * and its tap reads grid pixel m + offset(tap). Numbers between rows are computed, and dropped. */
#ifndef CVP_CONV_SPLIT_H
#define CVP_CONV_SPLIT_H

#include "src/operator/convolution/cpu/ends.h"
#include "src/operator/convolution/cpu/split_kernels.h"
#include "src/operator/convolution/cpu/stencil.h"
#include "src/operator/convolution/impl.h"

/* Taps of a window, at most. */
#define SPLIT_MAX_TAPS 256

/* Fewer channels of a group would leave most of a step to zeros. */
#define SPLIT_MIN_CHANNELS 16

/* Terms are exact down to 2^-110, and what they leave out is below a roundoff of a product: see
 * docs/numerics.md. */
#define SPLIT_ERROR_BOUND 16

/* Whether tiles may be used, for a problem of such a type, channels, window and stride; 0 with the
 * reason. */
int cvp_conv_split_takes(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE]);

/* An axis of the grid: tap j reads input (t + low + shift(j)) * step + residue(j) for output t. */
struct split_axis {
    struct stencil_axis at;
    int64_t phases; /* of its inputs that are read: tap j reads that of tap j % phases */
    int64_t low;   /* of a grid's first pixel; a pixel of phase f is input pixel * step + residue */
    int64_t extra; /* pixels of a grid beyond those of the outputs */
};

/* The outputs [n0, n0 + images) x [d0, d0 + depth) x [h0, h0 + height) x [w0, w0 + width): whole
 * images, or depths of one, or rows of such, or a part of a row. */
struct split_block {
    int64_t n0, images, d0, depth, h0, height, w0, width;
};

struct split_grid {
    struct split_axis d, h, w;
    int64_t pitch, heights, depths; /* pixels of a row; rows of a depth; depths of an image */
    int64_t phase;                  /* pixels from one phase to the next */
    int64_t pixels;                 /* of all phases */
    int64_t sums;                   /* numbers m: up to the last output's and one */
};

/* A walk of axes, without its block. */
struct split_grid cvp_conv_split_grid(const struct stencil *s);

/* For a block: its largest sizes. 0: too large to be counted. */
int cvp_conv_split_grid_size(struct split_grid *g, const struct split_block *b);

/* The largest blocks of a walk over mb images, all alike but for the last of a row, whose grid is
 * not above `most` bytes; the smallest, where none is. A part of a row is a multiple of 32 pixels.
 * bytes(arg, g): of a grid, INT64_MAX where that is not to be counted; never less for a larger one.
 */
struct split_block cvp_conv_split_cut(const struct stencil *s, int64_t mb, int64_t most,
                                      int64_t (*bytes)(const void *arg, const struct split_grid *g),
                                      const void *arg);

/* How many they are, and the i-th. */
int64_t cvp_conv_split_blocks(const struct split_block *most, const struct stencil *s, int64_t mb);
struct split_block cvp_conv_split_block(const struct split_block *most, const struct stencil *s,
                                        int64_t mb, int64_t i);

/* offset(tap), tap = (jd * h.taps + jh) * w.taps + jw. */
int64_t cvp_conv_split_tap(const struct split_grid *g, int64_t tap);

/* A row of the grid: pixels [at, at + pitch), of which [begin, end) lie in the image. Its pixel
 * begin + i is pixel `from` + i * step of image n. */
struct split_row {
    int64_t at, begin, end;
    int64_t n, from, step;
};

/* Rows of all phases of a block, and one of them. */
int64_t cvp_conv_split_rows(const struct split_grid *g, const struct split_block *b);
struct split_row cvp_conv_split_row(const struct split_grid *g, const struct split_block *b,
                                    const struct conv_end *in, int64_t i);

/* The outputs whose numbers [m, end) are: a run of one row at most. n 0: there are none. */
struct split_outs {
    int64_t m, n;           /* numbers [m, m + n) */
    int64_t image, d, h, w; /* the first of them, of the walk */
};
struct split_outs cvp_conv_split_outs(const struct split_grid *g, const struct split_block *b,
                                      int64_t m, int64_t end);

#endif

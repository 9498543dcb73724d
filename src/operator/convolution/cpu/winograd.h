/* The row `winograd`: 3x3 windows at stride 1 by Winograd's F(4x4, 3x3), which takes 36
 * multiplications for 16 outputs where their windows have 144.
 *
 *     out tile = A' [ sum over channels of (G w G') * (B' in tile B) ] A
 *
 * A tile is 4x4 outputs, of which the 6x6 inputs around it are the windows; they overlap by two.
 * Each of the 36 places ("points") of the transformed tiles is a matrix product of its own:
 * tiles x input channels times input channels x output channels. After Lavin and Gray, "Fast
 * Algorithms for Convolutional Neural Networks" (2015), with their matrices.
 *
 * With a dilation d every d-th pixel of an axis is an image of its own, without dilation: of d
 * phases, as the walk of a strided window has them.
 *
 * Transforms work on vectors of channels, so N*C and NC* differ only where pixels are read and
 * written: in NC* these are turned. Backward by data is the same walk with the window rotated. */
#ifndef CVP_CONV_WINOGRAD_H
#define CVP_CONV_WINOGRAD_H

#include "src/operator/convolution/cpu/ends.h"
#include "src/operator/convolution/impl.h"
#include "src/operator/tile/tile.h"

/* See convop_conv_impl.error_bound; found by trial (docs/numerics.md). */
#define WINOGRAD_ERROR_BOUND 128

#define WINOGRAD_POINTS 36
#define WINOGRAD_OUT    4 /* rows and columns of a tile of outputs */
#define WINOGRAD_IN     6 /* and of the inputs that it reads */

/* What the kernels of an instruction set do, all in float32. `at` are strides in elements. Rows of
 * pixels in scratch hold a vector of channels a pixel, side by side. */
struct cvp_winograd_kernels {
    int lanes; /* channels of a vector */

    /* `n` filters side by side, n a multiple of lanes, tap k of them at taps + k * tap; point q
     * goes to to + q * point. */
    void (*filters)(float *to, int64_t point, const float *taps, int64_t tap, int n);

    /* NC*: pixels of up to `lanes` planes become vectors, zeros where there is no plane; and back,
     * added to what is there if `add`. */
    void (*turn_in)(float *to, const float *from, int64_t plane, int channels, int64_t pixels);
    void (*turn_out)(float *to, int64_t plane, int channels, int64_t pixels, const float *from,
                     int add);

    /* B' over six rows: pixel x of row i is at from[i] + x * pixel[i], of which `channels` are
     * there; row i of the result at to + i * row. */
    void (*columns_in)(float *to, int64_t row, const float *const from[WINOGRAD_IN],
                       const int64_t pixel[WINOGRAD_IN], int64_t pixels, int channels);
    /* B from the right, for tiles side by side: point q of tile t goes to to + q * point + t *
     * tile. */
    void (*rows_in)(float *to, int64_t point, int64_t tile, const float *from, int64_t row,
                    int64_t tiles);

    /* The way back: A from the right, then A' over columns, into `rows` rows; the bias of
     * `channels` channels (or NULL) comes on top, and what is there if `add`. */
    void (*rows_out)(float *to, int64_t row, const float *from, int64_t point, int64_t tile,
                     int64_t tiles);
    void (*columns_out)(float *const to[WINOGRAD_OUT], int rows, int64_t pixel, const float *from,
                        int64_t row, int64_t pixels, const float *bias, int channels, int add);
};

/* Those for an instruction set that the CPU has. */
const struct cvp_winograd_kernels *cvp_winograd_kernels(enum cvp_isa isa);

/* How a problem is cut. A block is some rows of tiles of one group (rows of all images numbered
 * through), a part of their width; its transformed inputs stay in a cache. A row of tiles is one of
 * a phase of the image's rows, and of all phases of its columns, one after the other. */
struct winograd {
    const convop_conv_problem *p;
    const struct cvp_winograd_kernels *kernels;
    const struct cvp_tile_kernels *tile;
    struct conv_ends ends;
    int64_t dh, dw;                  /* dilation: as many phases of each axis */
    int64_t ph, pw;                  /* of the walk; negative where an edge is never read */
    int64_t in_vectors, out_vectors; /* of a group's channels */
    int64_t in_tile, out_tile; /* elements from one transformed tile to the next, inputs and sums */
    int64_t in_point, out_point, weight_point; /* and from one point to the next */
    int64_t columns, panels;  /* output channels of a panel of weights; panels of a group */
    int64_t tiles_h, tiles_w; /* of a phase of an image */
    int64_t all_rows;         /* of tiles, of all images and phases of their rows */
    int64_t rows, width;      /* of a block, in tiles; of each phase so wide */
    int64_t row_blocks, w_blocks, blocks;
    /* Few blocks for many threads: these share each of the three steps of all blocks. */
    int is_shared;
    /* Few tiles for many weights that a call has to transform: when the inputs of all blocks are
     * there, each panel's weights are transformed and multiplied at once, while a cache has them.
     * Only one panel's weights and sums are kept. */
    int is_by_panel;
    size_t weight_bytes, bias_bytes;
    size_t line_bytes, in_bytes, out_bytes; /* scratch: rows of pixels; a block's inputs, sums */
    size_t panel_bytes;                     /* a panel's weights */
    size_t shared_bytes, lane_bytes;
    int lanes; /* 0: the problem is not taken */
};

/* A pure function of the problem. No lanes: it does not take it, and `why` says why. */
struct winograd cvp_conv_winograd_plan(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE]);

/* The transformed weights: for each group, point and panel, for each input channel `columns` output
 * channels side by side. */
void cvp_conv_winograd_transform_weights(const struct winograd *w, const float *weights,
                                         float *panels, const convop_context *context);

/* Those of panel j of a group alone, of all points. */
void cvp_conv_winograd_transform_panel(const struct winograd *w, const float *weights, int64_t g,
                                       int64_t j, float *panel);

/* The group of a block. */
static inline int64_t cvp_conv_winograd_group(const struct winograd *w, int64_t block)
{
    return block / (w->row_blocks * w->w_blocks);
}

/* The three steps of a block; `lines` is scratch.
 *
 * Transformed inputs: for each point and tile, its input channels; vectors [v0, v1) of them. */
void cvp_conv_winograd_transform_in(const struct winograd *w, int64_t block, int64_t v0, int64_t v1,
                                    const float *in, float *lines, float *to);

/* Sums: for each point and tile, the output channels of so many panels, which have so many columns
 * in all; points [q0, q1). `panels` are the weights of the first of them, of point 0. */
void cvp_conv_winograd_multiply(const struct winograd *w, int64_t block, int64_t q0, int64_t q1,
                                int64_t num_panels, int64_t columns, const float *in,
                                const float *panels, float *sums);

/* Outputs, of vectors [v0, v1) of channels; the sums are those from v0 on. */
void cvp_conv_winograd_transform_out(const struct winograd *w, int64_t block, int64_t v0,
                                     int64_t v1, const float *sums, const float *bias, float *lines,
                                     float *out);

double cvp_conv_winograd_estimate(const convop_conv_problem *p);

#endif

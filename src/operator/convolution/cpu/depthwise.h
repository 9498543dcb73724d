/* The row `depthwise`: what its directions and the kernels of an instruction set hand to each
 * other.
 *
 * Forward and backward-data are one thing, a correlation: each output sums inputs times weights
 * over the taps that fall inside. An axis says which; backward with a stride has one axis for each
 * residue of the output's index (a phase), within which inputs are dense again. */
#ifndef CVP_CONV_DEPTHWISE_H
#define CVP_CONV_DEPTHWISE_H

#include "src/operator/convolution/impl.h"

/* One phase of one spatial axis: for j < count and i < taps
 *     out[begin + j * step]  sums  in[at + j * move + i * tap] * weights[k + i * k_step]
 * where the input's index is in [0, size). tap > 0; taps may be 0. */
struct cvp_dw_axis {
    int64_t begin, step, count;
    int64_t at, move, tap, size;
    int64_t taps, k, k_step;
};

/* The phases of an axis: of output index z the (z % step)-th, with j = z / step. */
struct cvp_dw_phases {
    const struct cvp_dw_axis *at;
    int64_t step, n;
};

/* A correlation. Item = (image, depth, block of rows of out, block of channels of out), the last
 * the fastest in N*C; (image, channel, depth, block of rows) in NC*. */
struct cvp_dw_job {
    const convop_conv_problem *p;
    const void *in, *bias, *residual;
    const void *weights; /* in N*C as pack makes them */
    void *out;
    int backward;
    int64_t multiplier; /* dst channels of a src channel */
    int64_t channels;   /* of out */
    convop_conv_strides in_stride, out_stride;
    int64_t out_d, out_h, out_w;
    struct cvp_dw_phases d, h, w;
    int64_t block_rows, row_blocks;
    int64_t block_channels, channel_blocks; /* N*C */
};

/* A filter gradient: task = (channels, rows of dst), all images' rows numbered through. */
struct cvp_dw_filter {
    const convop_conv_problem *p;
    const void *src, *dst;
    int64_t multiplier;
    struct cvp_dw_axis d, h, w; /* the forward ones */
};

/* Channels of an N*C task of the filter gradient at most: 256 bytes of float32 of each pixel. A
 * multiple of all vectors. */
#define CVP_DW_GROUP 64

/* Kernels multiply strides, dilations and pads by the sizes of tensors, unchecked: none that is
 * taken is larger. */
#define CVP_DW_MAX_STEP (1 << 30)

/* The kernels of one instruction set for one type of tensors; 16-bit types are float32 in
 * registers, in packed weights and in sums. kernels/depthwise.c fills it. */
struct cvp_dw_kernels {
    int lanes;      /* elements of a vector */
    int block_rows; /* rows of out that are computed together */
    /* Items [begin, end) of a job, of either layout. */
    void (*first)(const struct cvp_dw_job *job, int64_t begin, int64_t end);
    void (*last)(const struct cvp_dw_job *job, int64_t begin, int64_t end);
    /* Items of an NC* job that is turned to N*C by blocks: (image, vector of channels). It has one
     * depth and multiplier 1; `scratch` has room for squares of as many pixels and channels as a
     * vector has lanes, of in, out and residual. */
    void (*turned)(const struct cvp_dw_job *job, void *scratch, int64_t begin, int64_t end);
    /* Weights for N*C: for each vector of channels of out, for each dst channel of it (backward),
     * for each tap: the vector; lanes past the channels are 0. Vectors [begin, end). */
    void (*pack)(const convop_conv_problem *p, const void *weights, void *packed, int64_t begin,
                 int64_t end);
    /* Adds products of rows [r0, r1) to sums, for channels [c0, c1): that of channel c and tap k at
     * sums[c * taps + k] in NC*, at sums[k * oc + c] in N*C. */
    void (*filter_first)(const struct cvp_dw_filter *f, int64_t c0, int64_t c1, int64_t r0,
                         int64_t r1, double *sums);
    void (*filter_last)(const struct cvp_dw_filter *f, int64_t c0, int64_t c1, int64_t r0,
                        int64_t r1, double *sums);
    /* The weight at[i] becomes the sum, or that is added to it; rounded once. */
    void (*put)(void *at, int64_t i, double sum, int add);
};

/* Those for an instruction set that the CPU has. */
const struct cvp_dw_kernels *cvp_dw_kernels(const convop_conv_problem *p);

/* For applicable: 1 where the tensors are plain and each group has one src channel. */
int cvp_dw_takes(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE]);

/* For applicable: 1 if `bytes` of workspace are within the limit. */
int cvp_dw_fits(const convop_conv_problem *p, size_t bytes, char why[CONVOP_WHY_SIZE]);

/* Expected milliseconds, of a correlation, and of a filter gradient in so many groups of channels
 * and parts. */
double cvp_dw_estimate(const convop_conv_problem *p);
double cvp_dw_filter_estimate(const convop_conv_problem *p, double groups, double parts);

/* The forward axes: 0 depth, 1 height, 2 width. */
struct cvp_dw_axis cvp_dw_forward_axis(const convop_conv_problem *p, int axis);

/* That of phase r of backward-data. */
struct cvp_dw_axis cvp_dw_backward_axis(const convop_conv_problem *p, int axis, int64_t r);

#endif

/* What the CUDA kernels are launched with: read by the C code that plans launches and by the
 * kernels, so plain data of fixed layout. Addresses are the device's. Sizes and strides count
 * elements. */
#ifndef CVP_CONV_CUDA_ARGS_H
#define CVP_CONV_CUDA_ARGS_H

#include <stdint.h>

/* A divisor (0: of nothing): a 64-bit division is a call that spills registers, a product is not.
 */
struct cvp_cuda_divisor {
    uint64_t magic; /* 2^64 / by, or one less */
    int64_t by;
};

static inline struct cvp_cuda_divisor cvp_cuda_divide_by(int64_t by)
{
    struct cvp_cuda_divisor d = {by > 0 ? UINT64_MAX / (uint64_t)by : 0, by};
    return d;
}

/* What happens to a sum on its way out: out = activation((add ? out : 0) + sum + bias + residual).
 */
struct cvp_cuda_finish {
    const void *bias;     /* NULL: none; of the tensors' type */
    const void *residual; /* NULL: none; with out's strides */
    int64_t bias_stride;
    int32_t add;
    int32_t clamps; /* to [0, high] */
    float high;
};

/* Depthwise kernels of fixed size: forward, and backward by data. A unit is what a thread computes
 * at once along an axis: one output (some, in w), or with stride 2 backward a pair for each input.
 */
struct cvp_dw_args {
    const void *in, *weights;
    void *out;
    struct cvp_cuda_finish finish;
    int32_t planes; /* mb * channels */
    int32_t channels;
    int32_t in_h, in_w, out_h, out_w;
    int32_t first_h, first_w; /* the input that the first tap of output 0 reads */
    int32_t flip;             /* taps run backwards */
    /* The cut: a block has block_planes planes (NC*) or channel vectors (N*C); of each it has
     * block_rows units, which threads march down thread_rows at a time; and block_columns units. */
    int32_t block_planes, block_rows, thread_rows, block_columns;
    int32_t row_tiles, column_tiles; /* of a plane */
};

/* The same for the filter gradient: parts of the sums over images and pixels go to `sums`. */
struct cvp_dw_filter_args {
    const void *src, *dst; /* dst: its gradient */
    void *sums;            /* [part][channel][tap] in the type of the sums */
    int32_t mb;
    int32_t channels;
    int32_t in_h, in_w, out_h, out_w;
    int32_t pad_h, pad_w;
    int32_t block_planes, block_rows, thread_rows, block_columns;
    int32_t row_tiles, column_tiles;
    int32_t part_tiles; /* a tile: one image's, of one row tile and column tile */
};

/* An axis of a window; in and out as the kernel reads and writes them. */
struct cvp_cuda_axis {
    int32_t in, k, d, p;
    struct cvp_cuda_divisor out, stride;
};

struct cvp_cuda_strides {
    int64_t n, c, d, h, w;
};

/* Depthwise, any window and strides: a thread an output. */
struct cvp_dw_direct_args {
    const void *in, *weights;
    void *out;
    struct cvp_cuda_finish finish;
    struct cvp_cuda_axis axis[3];
    struct cvp_cuda_strides in_stride, out_stride, weights_stride;
    int64_t count;                    /* outputs */
    struct cvp_cuda_divisor channels; /* of out */
    int32_t multiplier;               /* channels of dst for each of src */
    int32_t backward, channels_last;
};

/* Depthwise, any window: filter gradient or, without src, bias gradient. */
struct cvp_dw_direct_filter_args {
    const void *src, *dst;
    void *sums; /* [part][channel][tap] */
    struct cvp_cuda_axis axis[3];
    struct cvp_cuda_strides src_stride, dst_stride;
    int64_t pixels, part_pixels; /* of all images; of a part */
    int32_t channels, multiplier;
    int32_t lanes; /* channels that a block has side by side */
};

/* The second stage of sums: adds the parts in their order. */
struct cvp_cuda_reduce_args {
    const void *sums;
    void *out;
    struct cvp_cuda_strides out_stride; /* n: of the output channel */
    int64_t count, parts;               /* elements of out */
    struct cvp_cuda_divisor c, d, h, w; /* sizes below the output channel */
    int32_t add;
};

/* An axis of the walk of a window (cpu/stencil.h). */
struct cvp_cuda_walk {
    struct cvp_cuda_divisor count, taps;
    int32_t out_first, out_step, in_size, in_step, k_first, k_step, at_first, at_step;
};

/* How the elements of a tile are shared out among threads: lanes along the depth or across it, one
 * element a load or four. */
enum cvp_gemm_load { CVP_GEMM_DEEP, CVP_GEMM_ACROSS, CVP_GEMM_DEEP_4, CVP_GEMM_ACROSS_4 };

/* Stores: one element, or four along the rows or the columns. */
enum cvp_gemm_store { CVP_GEMM_ONE, CVP_GEMM_ROWS_4, CVP_GEMM_COLUMNS_4 };

/* Implicit GEMM. The image is src (forward, filter) or the gradient of dst (backward by data).
 *     data     out[pixel, column] = sum over (tap, image channel) of image * weights
 *     filter   sums[tap, image channel; column] = sum over pixels of image * gradient of dst
 * In both the rows are what comes first, the columns are channels of a group, and the depth is what
 * the sum is over. blockIdx: x the tile of rows, y of columns, z the part times groups, and group.
 */
struct cvp_gemm_args {
    const void *image, *other; /* other: weights, or the gradient of dst */
    void *out;                 /* filter: sums, [part][column of all groups][image channel][tap] */
    struct cvp_cuda_finish finish;
    struct cvp_cuda_walk walk[3];
    struct cvp_cuda_strides image_stride, out_stride;
    struct cvp_cuda_strides other_stride;   /* weights: n of the column, c of the image channel */
    int64_t other_group;                    /* from group to group */
    int64_t pixels;                         /* mb * counts of the walk */
    int64_t part_depth;                     /* a multiple of 32 */
    struct cvp_cuda_divisor image_channels; /* of a group */
    int32_t columns;                        /* of a group */
    int32_t groups;
    int32_t filter;
    int32_t image_load, other_load, store;
};

#endif

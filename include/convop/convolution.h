/* Convolution in one, two and three dimensions, forward and backward.
 *
 *     dst[n][o][y] = bias[o] + sum over c, k of
 *                    src[n][g * IC/G + c][y * stride + k * dilate - pad_begin] * weights[o][c][k]
 *
 * with o in group g of num_group groups, and zeros outside of src. In each spatial axis
 *
 *     oh = (ih + pad_begin + pad_end - dilate * (kh - 1) - 1) / stride + 1        integer division
 *
 *     layout       src and dst        weights
 *     NCHW         mb, ic, ih, iw     oc, ic / num_group, kh, kw
 *     NHWC         mb, ih, iw, ic     oc, kh, kw, ic / num_group
 *     NCW, NWC, NCDHW, NDHWC          alike
 *
 * bias is {oc}. mb may be 0, any other size may not. All tensors have one dtype: float32, float64,
 * float16 or bfloat16 (16-bit types are summed in float32), and are on one device, the CPU or a GPU
 * (docs/cuda.md), where a call returns when its work is enqueued on exec->stream. Source: MXNet's
 * Convolution, whose parameters these are. Since 0.1. */
#ifndef CONVOP_CONVOLUTION_H
#define CONVOP_CONVOLUTION_H

#include "convop/base.h"
#include "convop/context.h"
#include "convop/params.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum convop_layout {
    CONVOP_LAYOUT_DEFAULT = 0, /* NCW, NCHW or NCDHW, by the length of kernel */
    CONVOP_LAYOUT_NCW = 1,
    CONVOP_LAYOUT_NWC = 2,
    CONVOP_LAYOUT_NCHW = 3,
    CONVOP_LAYOUT_NHWC = 4,
    CONVOP_LAYOUT_NCDHW = 5,
    CONVOP_LAYOUT_NDHWC = 6
} convop_layout;

typedef enum convop_tune {
    CONVOP_TUNE_DEFAULT = 0, /* as the process is set */
    CONVOP_TUNE_OFF = 1,
    CONVOP_TUNE_LIMITED_WORKSPACE = 2,
    CONVOP_TUNE_FASTEST = 3
} convop_tune;

/** What follows the sum: dst = activation(sum + bias + residual). NaN stays NaN. */
typedef enum convop_conv_activation {
    CONVOP_ACTIVATION_NONE = 0,
    CONVOP_ACTIVATION_RELU = 1, /* max(x, 0) */
    CONVOP_ACTIVATION_RELU6 = 2 /* min(max(x, 0), 6) */
} convop_conv_activation;

/** Parameters. Tuples have one entry for each spatial axis, the slowest first (depth, height,
 *  width); the length of kernel, 1 to 3, says how many there are. */
typedef struct convop_conv_params {
    size_t struct_size;
    convop_tuple kernel;    /* required, >= 1 */
    convop_tuple stride;    /* >= 1; len 0: all 1 */
    convop_tuple dilate;    /* >= 1, 1 is dense; len 0: all 1 */
    convop_tuple pad_begin; /* >= 0, before the first element; len 0: all 0 */
    convop_tuple pad_end;   /* >= 0, after the last element; len 0: all 0 */
    int64_t num_filter;     /* oc, >= 1: required */
    int64_t num_group;      /* divides ic and oc */
    size_t workspace_bytes; /* scratch that a call may use at most */
    int no_bias;
    int cudnn_tune;         /* convop_tune */
    int cudnn_off;          /* no cuDNN row */
    int depthwise_conv_off; /* no depthwise row */
    int layout;             /* convop_layout */
    /* Forward alone. */
    int activation; /* convop_conv_activation */
    int residual;   /* for convop_conv_explain and convop_conv_tune: 1: one is added */
} convop_conv_params;

/** MXNet's defaults; kernel and num_filter have none. */
#define CONVOP_CONV_PARAMS_INIT                                                                    \
    {                                                                                              \
        sizeof(convop_conv_params), {0, {0}}, {0, {0}}, {0, {0}}, {0, {0}}, {0, {0}}, 0, 1,        \
            (size_t)1 << 30, 0, CONVOP_TUNE_DEFAULT, 0, 0, CONVOP_LAYOUT_DEFAULT,                  \
            CONVOP_ACTIVATION_NONE, 0                                                              \
    }

/** Computes dst.
 *  @param params   struct_size set; see above
 *  @param bias     {oc}; NULL if and only if no_bias
 *  @param dst      overlaps no input
 *  @param request  what to do with dst; ADD with an activation is refused
 *  @param exec     NULL: all defaults
 *  @return INVALID: a NULL, a parameter, shape, dtype, stride or pointer that does not fit;
 *          UNSUPPORTED: no row computes it (the text says why); NO_MEMORY; DEVICE: a tensor's
 *          device is not here. dst is as it was.
 *  Any number of threads at once. With the setting "deterministic" at 1, the default: same inputs,
 *  same instruction set, same bits, whatever the number of threads. */
CONVOP_API convop_status convop_conv_forward(const convop_conv_params *params, const DLTensor *src,
                                             const DLTensor *weights, const DLTensor *bias,
                                             DLTensor *dst, convop_request request,
                                             const convop_exec *exec);

/** Computes dst = activation(sum + bias + residual) in one pass over dst.
 *
 *  In float32 and float64 the result has the same bits as convop_conv_forward, elemwise_add and
 *  Activation one after the other; 16-bit types are rounded once, at the end. With the request
 *  INPLACE the residual may be dst itself and is then added as the request ADD would add to it:
 *  in sums that are taken in parts it comes first, and rounding may differ in the last bits.
 *  @param residual  of dst's shape and dtype; overlaps dst only where request is INPLACE and it is
 *                   dst: the same elements in the same places
 *  @param request   WRITE, INPLACE or NULL; ADD is refused
 *  Otherwise as convop_conv_forward. By name and in an instance it is the operator
 *  FusedConvolutionAdd, whose inputs are src, residual, weights, bias; without a residual it is
 *  FusedConvolution, which has Convolution's inputs and the parameter activation (none, relu,
 *  relu6). They have no gradient. Since 0.1. */
CONVOP_API convop_status convop_conv_forward_add(const convop_conv_params *params,
                                                 const DLTensor *src, const DLTensor *weights,
                                                 const DLTensor *bias, const DLTensor *residual,
                                                 DLTensor *dst, convop_request request,
                                                 const convop_exec *exec);

/** Computes the gradients of a loss from its gradient by dst.
 *      diff_src[n][c][x]      sum of diff_dst * weights over all o, k, y that read x
 *      diff_weights[o][c][k]  sum of diff_dst * src over n, y
 *      diff_bias[o]           sum of diff_dst over n, y
 *  @param src, weights          only needed for diff_weights and diff_src respectively; may be NULL
 *                               where that gradient is not asked for
 *  @param diff_src, ...         NULL where the request is NULL; they overlap nothing
 *  @param requests              for diff_src, diff_weights, diff_bias; the third is not read if
 *                               no_bias
 *  Otherwise as convop_conv_forward. An activation is refused: its gradient is Activation's. */
CONVOP_API convop_status convop_conv_backward(const convop_conv_params *params,
                                              const DLTensor *diff_dst, const DLTensor *src,
                                              const DLTensor *weights, DLTensor *diff_src,
                                              DLTensor *diff_weights, DLTensor *diff_bias,
                                              const convop_request requests[3],
                                              const convop_exec *exec);

/* ---- what would run, and why -------------------------------------------------------------- */

typedef enum convop_conv_direction {
    CONVOP_FWD = 0,   /* dst */
    CONVOP_BWD_D = 1, /* diff_src */
    CONVOP_BWD_W = 2, /* diff_weights */
    CONVOP_BWD_B = 3  /* diff_bias */
} convop_conv_direction;

/** Why the chosen row was chosen. */
typedef enum convop_conv_choice {
    CONVOP_CHOICE_NONE = 0,      /* it was not */
    CONVOP_CHOICE_FORCED = 1,    /* the setting "impl" names it */
    CONVOP_CHOICE_CACHED = 2,    /* the tuning cache knows the problem (convop/tune.h) */
    CONVOP_CHOICE_ESTIMATED = 3, /* the cost model expects it to be the fastest */
    CONVOP_CHOICE_MEASURED = 4   /* it was the fastest just now */
} convop_conv_choice;

/** An implementation row, for one problem. */
typedef struct convop_conv_row {
    const char *name; /* "gemm"; of a row that was registered, valid until it is unregistered */
    int version;
    int applicable;         /* 1: it computes this problem */
    int chosen;             /* 1: it is the one that a call runs */
    char why_not[120];      /* "" if applicable */
    size_t workspace_bytes; /* scratch that it takes, 0 if not applicable */
    int choice;             /* convop_conv_choice of the chosen row */
    double estimated_ms;    /* what the cost model expects; 0: the row has no estimate */
    double ms;              /* the measured time; 0: not measured */
    double error_bound;     /* as convop_conv_impl has it; 0: as exact as sums are */
} convop_conv_row;

/** Lists the rows of a direction in the order in which they are tried, for one problem.
 *  @param src, weights, dst  or their gradients; shape, strides and dtype count, data is not read
 *                            and may be NULL. A bias is taken to be compact
 *  @param rows     room for *count rows, may be NULL if *count is 0
 *  @param count    in: room; out: how many there are, whatever the room
 *  @return as convop_conv_forward */
CONVOP_API convop_status convop_conv_explain(const convop_conv_params *params,
                                             convop_conv_direction direction, const DLTensor *src,
                                             const DLTensor *weights, const DLTensor *dst,
                                             const convop_exec *exec, convop_conv_row *rows,
                                             size_t *count);

#ifndef CONVOP_NO_SHORT_NAMES
/** convop_conv_forward and convop_conv_backward under their short names. */
CONVOP_API convop_status conv_forward(const convop_conv_params *params, const DLTensor *src,
                                      const DLTensor *weights, const DLTensor *bias, DLTensor *dst,
                                      convop_request request, const convop_exec *exec);
CONVOP_API convop_status conv_backward(const convop_conv_params *params, const DLTensor *diff_dst,
                                       const DLTensor *src, const DLTensor *weights,
                                       DLTensor *diff_src, DLTensor *diff_weights,
                                       DLTensor *diff_bias, const convop_request requests[3],
                                       const convop_exec *exec);
#endif

#ifdef __cplusplus
}
#endif

#endif

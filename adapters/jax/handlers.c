/* The handlers that python/convop/jax.py registers with XLA. Each gradient has one of its own, so
 * that XLA drops the call whose result nobody uses.
 *
 *     convop_jax_conv_forward            src, weights[, bias] -> dst
 *     convop_jax_conv_backward_data      diff_dst, weights -> diff_src
 *     convop_jax_conv_backward_weights   diff_dst, src -> diff_weights[, diff_bias]
 *
 * The loops run on convop's own threads. */
#include "adapters/jax/call_frame.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT XLA_FFI_Error *convop_jax_conv_forward(XLA_FFI_CallFrame *frame);
EXPORT XLA_FFI_Error *convop_jax_conv_backward_data(XLA_FFI_CallFrame *frame);
EXPORT XLA_FFI_Error *convop_jax_conv_backward_weights(XLA_FFI_CallFrame *frame);

static convop_status forward(const XLA_FFI_CallFrame *frame)
{
    convop_status status = frame_check(frame, 2, 3, 1, 1);
    if (status != CONVOP_OK) return status;

    DLTensor src, weights, bias, dst;
    int has_bias = frame->args.size == 3;
    status = frame_arg(frame, 0, &src);
    if (status == CONVOP_OK) status = frame_arg(frame, 1, &weights);
    if (status == CONVOP_OK && has_bias) status = frame_arg(frame, 2, &bias);
    if (status == CONVOP_OK) status = frame_ret(frame, 0, &dst);

    convop_conv_params params;
    if (status == CONVOP_OK) status = frame_params(frame, &weights, has_bias, &params);
    if (status != CONVOP_OK) return status;
    return convop_conv_forward(&params, &src, &weights, has_bias ? &bias : NULL, &dst,
                               CONVOP_REQ_WRITE, NULL);
}

static convop_status backward_data(const XLA_FFI_CallFrame *frame)
{
    convop_status status = frame_check(frame, 2, 2, 1, 1);
    if (status != CONVOP_OK) return status;

    DLTensor diff_dst, weights, diff_src;
    status = frame_arg(frame, 0, &diff_dst);
    if (status == CONVOP_OK) status = frame_arg(frame, 1, &weights);
    if (status == CONVOP_OK) status = frame_ret(frame, 0, &diff_src);

    convop_conv_params params;
    if (status == CONVOP_OK) status = frame_params(frame, &weights, 0, &params);
    if (status != CONVOP_OK) return status;
    static const convop_request requests[3] = {CONVOP_REQ_WRITE, CONVOP_REQ_NULL, CONVOP_REQ_NULL};
    return convop_conv_backward(&params, &diff_dst, NULL, &weights, &diff_src, NULL, NULL, requests,
                                NULL);
}

static convop_status backward_weights(const XLA_FFI_CallFrame *frame)
{
    convop_status status = frame_check(frame, 2, 2, 1, 2);
    if (status != CONVOP_OK) return status;

    DLTensor diff_dst, src, diff_weights, diff_bias;
    int has_bias = frame->rets.size == 2;
    status = frame_arg(frame, 0, &diff_dst);
    if (status == CONVOP_OK) status = frame_arg(frame, 1, &src);
    if (status == CONVOP_OK) status = frame_ret(frame, 0, &diff_weights);
    if (status == CONVOP_OK && has_bias) status = frame_ret(frame, 1, &diff_bias);

    convop_conv_params params;
    if (status == CONVOP_OK) status = frame_params(frame, &diff_weights, has_bias, &params);
    if (status != CONVOP_OK) return status;
    static const convop_request requests[3] = {CONVOP_REQ_NULL, CONVOP_REQ_WRITE, CONVOP_REQ_WRITE};
    return convop_conv_backward(&params, &diff_dst, &src, NULL, NULL, &diff_weights,
                                has_bias ? &diff_bias : NULL, requests, NULL);
}

XLA_FFI_Error *convop_jax_conv_forward(XLA_FFI_CallFrame *frame)
{
    return frame_is_query(frame) ? NULL : frame_error(frame, forward(frame));
}

XLA_FFI_Error *convop_jax_conv_backward_data(XLA_FFI_CallFrame *frame)
{
    return frame_is_query(frame) ? NULL : frame_error(frame, backward_data(frame));
}

XLA_FFI_Error *convop_jax_conv_backward_weights(XLA_FFI_CallFrame *frame)
{
    return frame_is_query(frame) ? NULL : frame_error(frame, backward_weights(frame));
}

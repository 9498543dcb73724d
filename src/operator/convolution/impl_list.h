/* The built-in implementation rows, in the order in which they are tried. No guard: it is included
 * for each use. */
CONV_IMPL(cvp_conv_depthwise_fwd)
CONV_IMPL(cvp_conv_gemm_fwd)
CONV_IMPL(cvp_conv_reference_fwd)
CONV_IMPL(cvp_conv_depthwise_bwd_d)
CONV_IMPL(cvp_conv_gemm_bwd_d)
CONV_IMPL(cvp_conv_reference_bwd_d)
CONV_IMPL(cvp_conv_depthwise_bwd_w)
CONV_IMPL(cvp_conv_gemm_bwd_w)
CONV_IMPL(cvp_conv_reference_bwd_w)
CONV_IMPL(cvp_conv_reduce_bwd_b)

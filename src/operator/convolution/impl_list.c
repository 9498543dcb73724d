/* The implementation rows of each direction, in the order in which they are tried. A new row is one
 * line here. */
#include "src/operator/convolution/impl.h"

#define ROW(name) extern const struct conv_impl name
ROW(cvp_conv_gemm_fwd);
ROW(cvp_conv_gemm_bwd_d);
ROW(cvp_conv_gemm_bwd_w);
ROW(cvp_conv_reduce_bwd_b);
ROW(cvp_conv_reference_fwd);
ROW(cvp_conv_reference_bwd_d);
ROW(cvp_conv_reference_bwd_w);

static const struct conv_impl *const fwd[] = {
    &cvp_conv_gemm_fwd,
    &cvp_conv_reference_fwd,
    NULL,
};

static const struct conv_impl *const bwd_d[] = {
    &cvp_conv_gemm_bwd_d,
    &cvp_conv_reference_bwd_d,
    NULL,
};

static const struct conv_impl *const bwd_w[] = {
    &cvp_conv_gemm_bwd_w,
    &cvp_conv_reference_bwd_w,
    NULL,
};

static const struct conv_impl *const bwd_b[] = {
    &cvp_conv_reduce_bwd_b,
    NULL,
};

const struct conv_impl *const *cvp_conv_impls(convop_conv_direction dir)
{
    switch (dir) {
    case CONVOP_FWD: return fwd;
    case CONVOP_BWD_D: return bwd_d;
    case CONVOP_BWD_W: return bwd_w;
    case CONVOP_BWD_B: return bwd_b;
    }
    return fwd;
}

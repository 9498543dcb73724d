/* The implementation rows of each direction, in the order in which they are tried. A new row is one
 * line here. */
#include "src/operator/convolution/impl.h"

#define ROW(name) extern const struct conv_impl name
ROW(conv_gemm_fwd);
ROW(conv_gemm_bwd_d);
ROW(conv_gemm_bwd_w);
ROW(conv_reduce_bwd_b);
ROW(conv_reference_fwd);
ROW(conv_reference_bwd_d);
ROW(conv_reference_bwd_w);

static const struct conv_impl *const fwd[] = {
    &conv_gemm_fwd,
    &conv_reference_fwd,
    NULL,
};

static const struct conv_impl *const bwd_d[] = {
    &conv_gemm_bwd_d,
    &conv_reference_bwd_d,
    NULL,
};

static const struct conv_impl *const bwd_w[] = {
    &conv_gemm_bwd_w,
    &conv_reference_bwd_w,
    NULL,
};

static const struct conv_impl *const bwd_b[] = {
    &conv_reduce_bwd_b,
    NULL,
};

const struct conv_impl *const *conv_impls(convop_conv_direction dir)
{
    switch (dir) {
    case CONVOP_FWD: return fwd;
    case CONVOP_BWD_D: return bwd_d;
    case CONVOP_BWD_W: return bwd_w;
    case CONVOP_BWD_B: return bwd_b;
    }
    return fwd;
}

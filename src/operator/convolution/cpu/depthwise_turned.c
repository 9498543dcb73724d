/* Which NC* images are turned to N*C; see depthwise_turned.h. */
#include "src/operator/convolution/cpu/depthwise_turned.h"

#include "src/common/alloc.h"
#include "src/common/size.h"

/* Pixels of an image, at most: so a block of it stays in the first-level cache. */
#define MOST_PIXELS 256

/* A vector is turned to N*C and back in about the time of so many products. */
#define TURN_TAPS 2

static int is_narrow(const convop_conv_problem *p, int64_t lanes)
{
    const int64_t w = p->direction == CONVOP_BWD_D ? p->iw : p->ow;
    if (p->iw > lanes || p->ow > lanes) return 0;
    return p->sh > 1 || p->sw > 1 || (lanes - w) * cvp_conv_taps(p) >= lanes * TURN_TAPS;
}

size_t cvp_dw_turned_bytes(const convop_conv_problem *p)
{
    const int64_t lanes = cvp_dw_kernels(p)->lanes;
    const int64_t src = cvp_conv_src_pixels(p), dst = cvp_conv_dst_pixels(p);
    if (p->channels_last || p->oc != p->ic || p->ic < lanes || p->kd != 1 || p->id != 1 ||
        p->od != 1 || p->src.h != p->iw || p->dst.h != p->ow || !is_narrow(p, lanes) || src == 0 ||
        dst == 0 || src > MOST_PIXELS || dst > MOST_PIXELS)
        return 0;
    int64_t squares = cvp_ceil_div(src, lanes) + cvp_ceil_div(dst, lanes);
    if (p->residual) squares += cvp_ceil_div(dst, lanes);
    return cvp_round_up((size_t)(squares * lanes * lanes) * cvp_conv_element_size(p),
                        CVP_BUFFER_ALIGN);
}

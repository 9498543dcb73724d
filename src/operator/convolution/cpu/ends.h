/* The two ends of a convolution that walks a window over one of them, forward or backward by data:
 * what is read, and what is computed. */
#ifndef CVP_CONV_ENDS_H
#define CVP_CONV_ENDS_H

#include "src/operator/convolution/problem.h"

struct conv_end {
    int64_t c, all;       /* channels of a group, and of all groups */
    int64_t h, w;         /* rows, and pixels of a row */
    int64_t plane, image; /* pixels of a channel, and elements, of one image */
    convop_conv_strides at;
};

struct conv_ends {
    struct conv_end in, out;
};

static inline struct conv_ends cvp_conv_ends(const convop_conv_problem *p)
{
    const int64_t src = cvp_conv_src_pixels(p), dst = cvp_conv_dst_pixels(p);
    const struct conv_end from = {p->ic / p->g, p->ic, p->ih, p->iw, src, src * p->ic, p->src};
    const struct conv_end to = {p->oc / p->g, p->oc, p->oh, p->ow, dst, dst * p->oc, p->dst};
    return p->direction == CONVOP_FWD ? (struct conv_ends){from, to} : (struct conv_ends){to, from};
}

#endif

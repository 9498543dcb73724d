/* One convolution to compute, in canonical form: what every implementation row is asked about.
 *
 * 1-D and 2-D problems are 3-D ones whose slow axes have size 1. The padding at the end follows
 * from the output size, so that unequal padding needs no member. */
#ifndef CVP_CONV_PROBLEM_H
#define CVP_CONV_PROBLEM_H

#include "convop/convolution.h"
#include "convop/registry.h"
#include "src/common/cpu.h"
#include "src/operator/gemm/gemm.h"

/* Strides of a tensor in elements. For weights n is the output channel. */
struct conv_strides {
    int64_t n, c, d, h, w;
};

struct conv_problem {
    convop_conv_direction dir;
    enum cvp_float type;
    int axes;          /* spatial axes as given, 1..3 */
    int channels_last; /* N*C, else NC* */
    int add;           /* add to the output, else overwrite it */
    int bias;          /* CONVOP_FWD: there is one */

    int64_t mb, g, ic, oc; /* ic, oc of all groups */
    int64_t id, ih, iw, od, oh, ow, kd, kh, kw;
    int64_t sd, sh, sw, dd, dh, dw, pd, ph, pw; /* dilation 1 is dense; padding at the begin */

    struct conv_strides src, dst, weights; /* or their gradients */
    int64_t bias_stride;                   /* of bias, or of its gradient, in elements */
    int dense;                             /* src, weights, dst are compact in their layout */

    /* What a choice may depend on beside the shapes. */
    size_t workspace_limit; /* bytes */
    int depthwise_conv_off, cudnn_off;
    int deterministic;
    int threads;      /* lanes of a parallel loop */
    enum cvp_isa isa; /* in use */
};

/* The tensors of a problem, or their gradients in their place; for their strides only. Each may be
 * NULL and is then taken as compact. */
struct conv_tensors {
    const DLTensor *src, *weights, *bias, *dst;
};

/* Builds the problem of a direction. params is checked, shapes satisfy inference.
 * UNSUPPORTED for a dtype that no row computes; INVALID for a setting that does not parse. */
convop_status cvp_conv_problem_init(struct conv_problem *p, const convop_conv_params *params,
                                    convop_conv_direction dir, DLDataType dtype,
                                    const convop_shape *src_shape, const convop_shape *dst_shape,
                                    const struct conv_tensors *tensors,
                                    const convop_context *context, size_t workspace_limit);

/* Makes all strides compact. */
void cvp_conv_problem_make_dense(struct conv_problem *p);

/* The problem as `convop bench` reads it, "mb1ic3ih224oc32oh112kh3sh2ph1" (dilation from 0). */
void cvp_conv_problem_describe(const struct conv_problem *p, char *text, size_t size);

/* "f32:nchw" */
void cvp_conv_problem_describe_tensors(const struct conv_problem *p, char *text, size_t size);

const char *cvp_conv_direction_name(convop_conv_direction dir);

static inline size_t cvp_conv_element_size(const struct conv_problem *p)
{
    return p->type == CVP_F64 ? 8 : 4;
}

static inline int64_t cvp_conv_taps(const struct conv_problem *p)
{
    return p->kd * p->kh * p->kw;
}
static inline int64_t cvp_conv_src_pixels(const struct conv_problem *p)
{
    return p->id * p->ih * p->iw;
}
static inline int64_t cvp_conv_dst_pixels(const struct conv_problem *p)
{
    return p->od * p->oh * p->ow;
}

/* 1 where each dst pixel reads the src pixel of the same index and no other. */
static inline int cvp_conv_is_pointwise(const struct conv_problem *p)
{
    return cvp_conv_taps(p) == 1 && p->sd == 1 && p->sh == 1 && p->sw == 1 && p->pd == 0 &&
           p->ph == 0 && p->pw == 0 && p->od == p->id && p->oh == p->ih && p->ow == p->iw;
}

#endif

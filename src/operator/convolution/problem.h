/* The canonical problem (convop/conv_impl.h): how it is built and written, and what is read off. */
#ifndef CVP_CONV_PROBLEM_H
#define CVP_CONV_PROBLEM_H

#include "convop/conv_impl.h"
#include "convop/registry.h"
#include "src/operator/gemm/gemm.h"
#include "src/operator/stored/stored.h"

struct cvp_text;

/* The tensors of a problem, or their gradients in their place; for their strides only. Each may be
 * NULL and is then taken as compact. */
struct conv_tensors {
    const DLTensor *src, *weights, *bias, *dst, *residual;
};

/* No workspace is larger: the largest object that a program can address. */
#define CONV_WORKSPACE_MAX ((size_t)PTRDIFF_MAX)

/* Builds the problem of a direction. params is checked, shapes satisfy inference. workspace_limit
 * is all that bounds the workspace: the parameter's is for the caller to heed.
 * UNSUPPORTED for a dtype that no row computes; INVALID for a setting that does not parse. */
convop_status cvp_conv_problem_init(convop_conv_problem *p, const convop_conv_params *params,
                                    convop_conv_direction dir, DLDataType dtype,
                                    const convop_shape *src_shape, const convop_shape *dst_shape,
                                    const struct conv_tensors *tensors,
                                    const convop_context *context, size_t workspace_limit);

/* Makes all strides compact. */
void cvp_conv_problem_make_dense(convop_conv_problem *p);

/* Appends the problem, but for its direction, as lines of log and keys of the tuning cache have it,
 * "f32:nchw,mb1ic3ih224oc32oh112kh3sh2ph1,-": tensors; sizes, as `convop bench` reads them; what
 * those do not say, each with a plus ("+add", "+residual", "+relu", strides of n:c:d:h:w where a
 * tensor has gaps). */
void cvp_conv_problem_put(struct cvp_text *text, const convop_conv_problem *p);

/* The sizes alone. */
void cvp_conv_problem_put_sizes(struct cvp_text *text, const convop_conv_problem *p);

const char *cvp_conv_direction_name(convop_conv_direction dir);

/* As `convop bench` names it: FWD_B with a bias. */
const char *cvp_conv_problem_direction(const convop_conv_problem *p);

static inline size_t cvp_conv_element_size(const convop_conv_problem *p)
{
    return p->dtype.bits / 8;
}

/* 1 if something follows the sum and the bias. */
static inline int cvp_conv_has_epilogue(const convop_conv_problem *p)
{
    return p->residual || p->activation;
}

/* 1 for float32 and float64, in which kernels compute; 16-bit types are only stored in. */
static inline int cvp_conv_is_wide(const convop_conv_problem *p)
{
    return p->dtype.bits >= 32;
}

static inline int cvp_conv_is_on_gpu(const convop_conv_problem *p)
{
    return p->device_type == kDLCUDA;
}

/* How the tensors are stored, and the kernels for it. */
static inline enum cvp_stored_type cvp_conv_stored_type(const convop_conv_problem *p)
{
    if (p->dtype.bits == 64) return CVP_STORED_F64;
    if (p->dtype.bits == 32) return CVP_STORED_F32;
    return p->dtype.code == kDLBfloat ? CVP_STORED_BF16 : CVP_STORED_F16;
}

static inline const struct cvp_stored *cvp_conv_stored(const convop_conv_problem *p)
{
    return cvp_stored(cvp_conv_stored_type(p), (enum cvp_isa)p->isa);
}

/* Numbers as kernels compute with, where they are stored as such. */
static inline const struct cvp_stored *cvp_conv_numbers(const convop_conv_problem *p)
{
    return cvp_stored(p->dtype.bits == 64 ? CVP_STORED_F64 : CVP_STORED_F32, (enum cvp_isa)p->isa);
}

/* The type in which kernels compute, and the bytes of an element of it. */
static inline enum cvp_float cvp_conv_float(const convop_conv_problem *p)
{
    return p->dtype.bits == 64 ? CVP_F64 : CVP_F32;
}

static inline size_t cvp_conv_float_size(const convop_conv_problem *p)
{
    return p->dtype.bits == 64 ? sizeof(double) : sizeof(float);
}

static inline int64_t cvp_conv_taps(const convop_conv_problem *p)
{
    return p->kd * p->kh * p->kw;
}
static inline int64_t cvp_conv_src_pixels(const convop_conv_problem *p)
{
    return p->id * p->ih * p->iw;
}
static inline int64_t cvp_conv_dst_pixels(const convop_conv_problem *p)
{
    return p->od * p->oh * p->ow;
}

/* 1 where each dst pixel reads the src pixel of the same index and no other. */
static inline int cvp_conv_is_pointwise(const convop_conv_problem *p)
{
    return cvp_conv_taps(p) == 1 && p->sd == 1 && p->sh == 1 && p->sw == 1 && p->pd == 0 &&
           p->ph == 0 && p->pw == 0 && p->od == p->id && p->oh == p->ih && p->ow == p->iw;
}

#endif

/* The row `reference`: plain loops, any strides, no scratch, sums in double. The last resort, and
 * what runs where memory is short. One item of its parallel loop is one element of the output. */
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/window.h"
#include "src/operator/convolution/impl.h"

struct job {
    const struct conv_problem *p;
    const struct conv_operands *t;
};

static int applicable(const struct conv_problem *p, char why[CONV_WHY_SIZE])
{
    (void)p;
    (void)why;
    return 1;
}

static size_t workspace(const struct conv_problem *p)
{
    (void)p;
    return 0;
}

#define T          float
#define NAME(name) name##_f32
#include "src/operator/convolution/cpu/reference_loops.h"
#undef T
#undef NAME
#define T          double
#define NAME(name) name##_f64
#include "src/operator/convolution/cpu/reference_loops.h"
#undef T
#undef NAME

static convop_status run(const struct conv_problem *p, const struct conv_operands *t,
                         const convop_context *context, int64_t n, cvp_range_body *f32,
                         cvp_range_body *f64)
{
    struct job job = {p, t};
    cvp_parallel(context, n, p->type == CVP_F64 ? f64 : f32, &job);
    return CONVOP_OK;
}

static convop_status run_fwd(const struct conv_problem *p, const struct conv_operands *t,
                             const convop_context *context, void *scratch)
{
    (void)scratch;
    return run(p, t, context, p->mb * p->oc * cvp_conv_dst_pixels(p), fwd_f32, fwd_f64);
}

static convop_status run_bwd_d(const struct conv_problem *p, const struct conv_operands *t,
                               const convop_context *context, void *scratch)
{
    (void)scratch;
    return run(p, t, context, p->mb * p->ic * cvp_conv_src_pixels(p), bwd_d_f32, bwd_d_f64);
}

static convop_status run_bwd_w(const struct conv_problem *p, const struct conv_operands *t,
                               const convop_context *context, void *scratch)
{
    (void)scratch;
    return run(p, t, context, p->oc * (p->ic / p->g) * cvp_conv_taps(p), bwd_w_f32, bwd_w_f64);
}

#define REFERENCE(row, run_row)                                                                    \
    const struct conv_impl row = {                                                                 \
        .name = "reference",                                                                       \
        .version = 1,                                                                              \
        .applicable = applicable,                                                                  \
        .workspace = workspace,                                                                    \
        .run = run_row,                                                                            \
    }

extern const struct conv_impl cvp_conv_reference_fwd, cvp_conv_reference_bwd_d,
    cvp_conv_reference_bwd_w;
REFERENCE(cvp_conv_reference_fwd, run_fwd);
REFERENCE(cvp_conv_reference_bwd_d, run_bwd_d);
REFERENCE(cvp_conv_reference_bwd_w, run_bwd_w);

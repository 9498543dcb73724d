/* The row `reference`: plain loops, any strides, any dtype, no scratch, sums in double. The last
 * resort, and what runs where memory is short. One item of its parallel loop is one element of the
 * output. */
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/estimate.h"
#include "src/operator/convolution/cpu/finish.h"
#include "src/operator/convolution/cpu/window.h"
#include "src/operator/convolution/impl.h"

struct job {
    const convop_conv_problem *p;
    const convop_conv_operands *t;
};

#define LOOPS "src/operator/convolution/cpu/reference_loops.h"
#include "src/operator/convolution/cpu/types.h"

static int applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    (void)p;
    (void)why;
    return 1;
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, int64_t n,
                         cvp_range_body *const loops[CVP_STORED_COUNT])
{
    struct job job = {p, t};
    cvp_parallel(context, n, loops[cvp_conv_stored_type(p)], &job);
    return CONVOP_OK;
}

static convop_status run_fwd(const convop_conv_problem *p, const convop_conv_operands *t,
                             const convop_context *context, void *scratch)
{
    (void)scratch;
    static cvp_range_body *const loops[] = CONV_INSTANCES(fwd);
    return run(p, t, context, p->mb * p->oc * cvp_conv_dst_pixels(p), loops);
}

static convop_status run_bwd_d(const convop_conv_problem *p, const convop_conv_operands *t,
                               const convop_context *context, void *scratch)
{
    (void)scratch;
    static cvp_range_body *const loops[] = CONV_INSTANCES(bwd_d);
    return run(p, t, context, p->mb * p->ic * cvp_conv_src_pixels(p), loops);
}

static convop_status run_bwd_w(const convop_conv_problem *p, const convop_conv_operands *t,
                               const convop_context *context, void *scratch)
{
    (void)scratch;
    static cvp_range_body *const loops[] = CONV_INSTANCES(bwd_w);
    return run(p, t, context, p->oc * (p->ic / p->g) * cvp_conv_taps(p), loops);
}

/* Call; outputs, or for the gradient by data the windows that may reach one; products. They are the
 * compiler's plain loops in any instruction set. */
static const conv_prices prices[] = {
    [CONVOP_FWD] = {{1300, 19, 0.65}, {1300, 19, 0.65}, {1300, 19, 0.65}},
    [CONVOP_BWD_D] = {{220, 0.54, 0.73}, {220, 0.54, 0.73}, {220, 0.54, 0.73}},
    [CONVOP_BWD_W] = {{1500, 19, 0.57}, {1500, 19, 0.57}, {1500, 19, 0.57}},
};

static double estimate(const convop_conv_problem *p)
{
    const double taps = (double)cvp_conv_taps(p), icg = (double)(p->ic / p->g);
    const double dst = (double)p->mb * (double)p->oc * (double)cvp_conv_dst_pixels(p);
    const double src = (double)p->mb * (double)p->ic * (double)cvp_conv_src_pixels(p);
    const double outputs = p->direction == CONVOP_FWD     ? dst
                           : p->direction == CONVOP_BWD_D ? src * taps
                                                          : (double)p->oc * icg * taps;
    const double work[CONV_KINDS] = {1, outputs, dst * icg * taps};
    return cvp_conv_price(p, prices[p->direction], work, outputs);
}

#define REFERENCE(row, dir, run_row)                                                               \
    extern const convop_conv_impl row;                                                             \
    const convop_conv_impl row = {                                                                 \
        .struct_size = sizeof(convop_conv_impl),                                                   \
        .name = CONV_REFERENCE,                                                                    \
        .direction = dir,                                                                          \
        .version = 1,                                                                              \
        .level = CONVOP_LEVEL_BUILTIN,                                                             \
        .applicable = applicable,                                                                  \
        .run = run_row,                                                                            \
        .estimate = estimate,                                                                      \
        .fuses = cvp_conv_fuses_all,                                                               \
    }

REFERENCE(cvp_conv_reference_fwd, CONVOP_FWD, run_fwd);
REFERENCE(cvp_conv_reference_bwd_d, CONVOP_BWD_D, run_bwd_d);
REFERENCE(cvp_conv_reference_bwd_w, CONVOP_BWD_W, run_bwd_w);

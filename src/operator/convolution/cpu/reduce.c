/* The row `reduce`: the bias gradient, the sum of diff_dst over batch and pixels, in double. One
 * item of its parallel loop is one output channel; each is summed in the order of its pixels. */
#include "src/engine/parallel.h"
#include "src/operator/convolution/impl.h"

struct job {
    const convop_conv_problem *p;
    const convop_conv_operands *t;
};

/* Channels summed side by side where they lie next to each other. */
#define CHANNELS 32

#define LOOPS "src/operator/convolution/cpu/reduce_loops.h"
#include "src/operator/convolution/cpu/types.h"

static int applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    (void)p;
    (void)why;
    return 1;
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *scratch)
{
    (void)scratch;
    static cvp_range_body *const loops[] = CONV_INSTANCES(bwd_b);
    struct job job = {p, t};
    cvp_parallel(context, p->oc, loops[cvp_conv_stored_type(p)], &job);
    return CONVOP_OK;
}

/* It has no rival: this tells only whether threads are worth waking. 0.3 nanoseconds an element. */
static double estimate(const convop_conv_problem *p)
{
    return 0.3e-6 * (double)p->mb * (double)p->oc * (double)cvp_conv_dst_pixels(p) / p->threads;
}

extern const convop_conv_impl cvp_conv_reduce_bwd_b;
const convop_conv_impl cvp_conv_reduce_bwd_b = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "reduce",
    .direction = CONVOP_BWD_B,
    .version = 1,
    .level = CONVOP_LEVEL_BUILTIN,
    .applicable = applicable,
    .run = run,
    .estimate = estimate,
};

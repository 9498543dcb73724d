/* The row `reduce`: the bias gradient, the sum of diff_dst over batch and pixels, in double. One
 * item of its parallel loop is one output channel; each is summed in the order of its pixels. */
#include "src/engine/parallel.h"
#include "src/operator/convolution/impl.h"

struct job {
    const struct conv_problem *p;
    const struct conv_operands *t;
};

/* Channels summed side by side where they lie next to each other. */
#define CHANNELS 32

#define T          float
#define NAME(name) name##_f32
#include "src/operator/convolution/cpu/reduce_loops.h"
#undef T
#undef NAME
#define T          double
#define NAME(name) name##_f64
#include "src/operator/convolution/cpu/reduce_loops.h"
#undef T
#undef NAME

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

static convop_status run(const struct conv_problem *p, const struct conv_operands *t,
                         const convop_context *context, void *scratch)
{
    (void)scratch;
    struct job job = {p, t};
    cvp_parallel(context, p->oc, p->type == CVP_F64 ? bwd_b_f64 : bwd_b_f32, &job);
    return CONVOP_OK;
}

extern const struct conv_impl cvp_conv_reduce_bwd_b;
const struct conv_impl cvp_conv_reduce_bwd_b = {
    .name = "reduce",
    .version = 1,
    .applicable = applicable,
    .workspace = workspace,
    .run = run,
};

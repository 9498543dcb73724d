/* The row `depthwise`, forward and backward by data: each channel is a correlation of its own.
 *
 * The workspace holds the axes' phases and, in N*C, the weights in the order in which they are
 * read. */
#include "src/operator/convolution/cpu/depthwise.h"

#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/finish.h"
#include "src/operator/convolution/cpu/stencil.h"

/* Elements of an NC* plane in one item; larger planes are cut into blocks of rows. */
#define PLANE_ELEMENTS 16384

/* Of an N*C item: rows and channels. */
#define LAST_ROWS     8
#define LAST_CHANNELS 128

static int is_backward(const convop_conv_problem *p)
{
    return p->direction == CONVOP_BWD_D;
}

static int64_t phases(const convop_conv_problem *p, int axis)
{
    return is_backward(p) ? cvp_conv_backward_phases(p, axis) : 1;
}

static int64_t out_channels(const convop_conv_problem *p)
{
    return is_backward(p) ? p->ic : p->oc;
}

/* Bytes of the axes at the begin of the workspace. */
static size_t axes_bytes(const convop_conv_problem *p)
{
    int64_t n = phases(p, 0) + phases(p, 1) + phases(p, 2);
    return cvp_round_up((size_t)n * sizeof(struct cvp_dw_axis), CVP_BUFFER_ALIGN);
}

static size_t packed_bytes(const convop_conv_problem *p)
{
    if (!p->channels_last) return 0;
    int64_t lanes = cvp_dw_kernels(p)->lanes, m = is_backward(p) ? p->oc / p->ic : 1;
    int64_t vectors = cvp_ceil_div(out_channels(p), lanes) * m;
    size_t bytes;
    if (!cvp_mul_size((size_t)(vectors * lanes), (size_t)cvp_conv_taps(p), &bytes) ||
        !cvp_mul_size(bytes, cvp_conv_float_size(p), &bytes))
        return SIZE_MAX;
    return bytes;
}

static size_t workspace(const convop_conv_problem *p)
{
    size_t bytes;
    if (!cvp_add_size(axes_bytes(p), packed_bytes(p), &bytes) ||
        bytes > SIZE_MAX - CVP_BUFFER_ALIGN)
        return SIZE_MAX;
    return cvp_round_up(bytes, CVP_BUFFER_ALIGN);
}

static int applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    return cvp_dw_takes(p, why) && cvp_dw_fits(p, workspace(p), why);
}

struct pack_job {
    const convop_conv_problem *p;
    const struct cvp_dw_kernels *kernels;
    const void *weights;
    void *packed;
};

static void pack_range(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct pack_job *job = arg;
    job->kernels->pack(job->p, job->weights, job->packed, begin, end);
}

static void pack(const convop_conv_problem *p, const void *weights, void *packed,
                 const convop_context *context)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
    struct pack_job job = {p, cvp_dw_kernels(p), weights, packed};
    cvp_parallel(context, cvp_ceil_div(out_channels(p), job.kernels->lanes), pack_range, &job);
    cvp_stage_leave(outer);
}

static struct cvp_dw_phases make_phases(const convop_conv_problem *p, int axis,
                                        struct cvp_dw_axis **next)
{
    int64_t n = phases(p, axis);
    struct cvp_dw_axis *at = *next;
    *next += n;
    for (int64_t r = 0; r < n; r++)
        at[r] = is_backward(p) ? cvp_dw_backward_axis(p, axis, r) : cvp_dw_forward_axis(p, axis);
    /* As many as the stride, but where that exceeds the outputs: then each is its own phase. */
    return (struct cvp_dw_phases){at, n, n};
}

struct run {
    struct cvp_dw_job job;
    void (*items)(const struct cvp_dw_job *job, int64_t begin, int64_t end);
};

static void run_range(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct run *r = arg;
    r->items(&r->job, begin, end);
}

/* Cuts the output; the number of items. */
static int64_t cut(struct cvp_dw_job *job, const struct cvp_dw_kernels *kernels)
{
    const convop_conv_problem *p = job->p;
    int64_t rows = job->out_h;
    int64_t most = p->channels_last ? LAST_ROWS : cvp_ceil_div(PLANE_ELEMENTS, job->out_w);
    /* With phases, rows that are computed together lie `step` apart. */
    int64_t unit = kernels->block_rows * cvp_min_i64(job->h.step, rows);
    job->block_rows = cvp_min_i64(rows, cvp_ceil_div(most, unit) * unit);
    job->row_blocks = cvp_ceil_div(rows, job->block_rows);
    job->block_channels = LAST_CHANNELS;
    job->channel_blocks =
        p->channels_last ? cvp_ceil_div(job->channels, LAST_CHANNELS) : job->channels;
    return p->mb * job->out_d * job->row_blocks * job->channel_blocks;
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *scratch)
{
    const struct cvp_dw_kernels *kernels = cvp_dw_kernels(p);
    int backward = is_backward(p);
    struct run r = {.items = p->channels_last ? kernels->last : kernels->first};
    r.job = (struct cvp_dw_job){.p = p,
                                .in = backward ? t->dst : t->src,
                                .bias = t->bias,
                                .weights = t->weights,
                                .out = t->out,
                                .residual = p->residual ? t->residual : NULL,
                                .backward = backward,
                                .multiplier = p->oc / p->ic,
                                .channels = out_channels(p),
                                .in_stride = backward ? p->dst : p->src,
                                .out_stride = backward ? p->src : p->dst,
                                .out_d = backward ? p->id : p->od,
                                .out_h = backward ? p->ih : p->oh,
                                .out_w = backward ? p->iw : p->ow};
    struct cvp_dw_axis *next = scratch;
    r.job.d = make_phases(p, 0, &next);
    r.job.h = make_phases(p, 1, &next);
    r.job.w = make_phases(p, 2, &next);
    if (p->channels_last) {
        void *packed = (char *)scratch + axes_bytes(p);
        if (!t->packed) pack(p, t->weights, packed, context);
        r.job.weights = t->packed ? t->packed : packed;
    }
    cvp_parallel(context, cut(&r.job, kernels), run_range, &r);
    return CONVOP_OK;
}

#define DEPTHWISE(row, dir)                                                                        \
    extern const convop_conv_impl row;                                                             \
    const convop_conv_impl row = {                                                                 \
        .struct_size = sizeof(convop_conv_impl),                                                   \
        .name = "depthwise",                                                                       \
        .direction = dir,                                                                          \
        .version = 2,                                                                              \
        .level = CONVOP_LEVEL_BUILTIN,                                                             \
        .applicable = applicable,                                                                  \
        .workspace = workspace,                                                                    \
        .packed_bytes = packed_bytes,                                                              \
        .pack = pack,                                                                              \
        .run = run,                                                                                \
        .estimate = cvp_dw_estimate,                                                               \
        .fuses = cvp_conv_fuses_all,                                                               \
    }

DEPTHWISE(cvp_conv_depthwise_fwd, CONVOP_FWD);
DEPTHWISE(cvp_conv_depthwise_bwd_d, CONVOP_BWD_D);

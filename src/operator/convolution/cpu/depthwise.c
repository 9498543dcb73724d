/* The row `depthwise`, forward and backward by data: each channel is a correlation of its own.
 *
 * The workspace holds the axes' phases where they are many and, where N*C is computed, the weights
 * in the order in which they are read; where NC* blocks are turned to N*C, these. */
#include "src/operator/convolution/cpu/depthwise.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/depthwise_dilated.h"
#include "src/operator/convolution/cpu/depthwise_turned.h"
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

/* Axes of all phases that a cut has room for. Of a problem with more they are made in each run's
 * workspace. */
#define MOST_AXES 5

/* How a problem is computed. */
struct cut {
    struct cvp_dw_job job; /* but for the tensors */
    const struct cvp_dw_kernels *kernels;
    int64_t images, items;           /* of each image: see depthwise_dilated.h */
    size_t axes_bytes, packed_bytes; /* of the workspace; of N*C weights */
    size_t turned_bytes;             /* of a lane, where NC* blocks are turned; or 0 */
    int lanes;                       /* threads */
    struct cvp_dw_axis axes[MOST_AXES];
};

/* SIZE_MAX: too many to be counted. */
static size_t bytes_of_weights(const convop_conv_problem *p)
{
    int64_t lanes = cvp_dw_kernels(p)->lanes, m = is_backward(p) ? p->oc / p->ic : 1;
    int64_t vectors = cvp_ceil_div(out_channels(p), lanes) * m;
    size_t bytes;
    if (!cvp_mul_size((size_t)(vectors * lanes), (size_t)cvp_conv_taps(p), &bytes) ||
        !cvp_mul_size(bytes, cvp_conv_float_size(p), &bytes))
        return SIZE_MAX;
    return bytes;
}

static size_t packed_bytes(const convop_conv_problem *p)
{
    const struct cut *c = p->cut;
    return c->packed_bytes;
}

static size_t bytes_of(const struct cut *c)
{
    size_t bytes;
    if (!cvp_add_size(c->axes_bytes, c->packed_bytes, &bytes) ||
        bytes > SIZE_MAX - CVP_BUFFER_ALIGN)
        return SIZE_MAX;
    return cvp_round_up(bytes, CVP_BUFFER_ALIGN) + (size_t)c->lanes * c->turned_bytes;
}

static size_t workspace(const convop_conv_problem *p)
{
    return bytes_of(p->cut);
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
    for (int64_t r = 0; r < n; r++) {
        at[r] = is_backward(p) ? cvp_dw_backward_axis(p, axis, r) : cvp_dw_forward_axis(p, axis);
        /* A phase of one output has a step, too, or it would be taken for all of a window. */
        if (n > 1 || at[r].k_step < -1 || at[r].k_step > 1) at[r].step = cvp_max_i64(n, 2);
    }
    /* As many as the stride, but where that exceeds the outputs: then each is its own phase. */
    return (struct cvp_dw_phases){at, n, n};
}

static void make_axes(struct cvp_dw_job *job, struct cvp_dw_axis *at)
{
    job->d = make_phases(job->p, 0, &at);
    job->h = make_phases(job->p, 1, &at);
    job->w = make_phases(job->p, 2, &at);
}

/* Cuts so many rows of the output; the number of items. */
static int64_t cut_output(struct cvp_dw_job *job, int64_t rows,
                          const struct cvp_dw_kernels *kernels)
{
    const convop_conv_problem *p = job->p;
    int64_t most = p->channels_last ? LAST_ROWS : cvp_ceil_div(PLANE_ELEMENTS, job->out_w);
    /* With phases, rows that are computed together lie `step` apart. */
    int64_t unit = kernels->block_rows * cvp_min_i64(phases(p, 1), rows);
    job->block_rows = cvp_min_i64(rows, cvp_ceil_div(most, unit) * unit);
    job->row_blocks = cvp_ceil_div(rows, job->block_rows);
    job->block_channels = LAST_CHANNELS;
    job->channel_blocks =
        p->channels_last ? cvp_ceil_div(job->channels, LAST_CHANNELS) : job->channels;
    return p->mb * job->out_d * job->row_blocks * job->channel_blocks;
}

static int cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE])
{
    struct cut *c = cut;
    if (!cvp_dw_takes(p, why)) return 0;
    const int backward = is_backward(p);
    const int64_t num_axes = phases(p, 0) + phases(p, 1) + phases(p, 2);
    c->kernels = cvp_dw_kernels(p);
    c->job = (struct cvp_dw_job){.p = p,
                                 .backward = backward,
                                 .multiplier = p->oc / p->ic,
                                 .channels = out_channels(p),
                                 .in_stride = backward ? p->dst : p->src,
                                 .out_stride = backward ? p->src : p->dst,
                                 .out_d = backward ? p->id : p->od,
                                 .out_h = backward ? p->ih : p->oh,
                                 .out_w = backward ? p->iw : p->ow};
    const int64_t vectors = cvp_ceil_div(c->job.channels, c->kernels->lanes);
    c->turned_bytes = cvp_dw_turned_bytes(p);
    c->packed_bytes = p->channels_last || c->turned_bytes > 0 ? bytes_of_weights(p) : 0;
    c->axes_bytes = 0;
    if (num_axes <= MOST_AXES)
        make_axes(&c->job, c->axes);
    else
        c->axes_bytes =
            cvp_round_up((size_t)num_axes * sizeof(struct cvp_dw_axis), CVP_BUFFER_ALIGN);
    c->images = cvp_dw_images(p);
    /* The first image has the most rows. */
    const int64_t rows = c->images > 1 ? cvp_ceil_div(c->job.out_h, p->dh) : c->job.out_h;
    c->items = cut_output(&c->job, rows, c->kernels);
    c->lanes = (int)cvp_min_i64(p->threads, vectors);
    if (c->turned_bytes > 0) c->items = p->mb * vectors;
    return cvp_dw_fits(p, bytes_of(c), why);
}

struct run {
    struct cvp_dw_job job;
    void (*items)(const struct cvp_dw_job *job, int64_t begin, int64_t end);
    const struct cut *c;
    char *scratch; /* of all lanes, where blocks are turned */
};

static void run_range(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct run *r = arg;
    r->items(&r->job, begin, end);
}

static void run_turned(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct run *r = arg;
    r->c->kernels->turned(&r->job, r->scratch + (size_t)lane * r->c->turned_bytes, begin, end);
}

static void run_images(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct run *r = arg;
    while (begin < end) {
        const int64_t i = begin / r->c->items, first = i * r->c->items;
        const int64_t next = cvp_min_i64(end, first + r->c->items);
        struct cvp_dw_image image;
        cvp_dw_image_of(&r->job, i, &image);
        r->items(&image.job, begin - first, next - first);
        begin = next;
    }
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *scratch)
{
    const struct cut *c = p->cut;
    struct run r = {.items = p->channels_last ? c->kernels->last : c->kernels->first, .c = c};
    /* All but the tensors, which are in front; the whole would be copied by a slow instruction. */
    const size_t rest = offsetof(struct cvp_dw_job, backward);
    memcpy((char *)&r.job + rest, (const char *)&c->job + rest, sizeof r.job - rest);
    r.job.p = p;
    r.job.in = r.job.backward ? t->dst : t->src;
    r.job.bias = t->bias;
    r.job.weights = t->weights;
    r.job.out = t->out;
    r.job.residual = p->residual ? t->residual : NULL;
    if (c->axes_bytes) make_axes(&r.job, scratch);
    if (c->packed_bytes > 0) {
        void *packed = (char *)scratch + c->axes_bytes;
        if (!t->packed) pack(p, t->weights, packed, context);
        r.job.weights = t->packed ? t->packed : packed;
    }
    if (c->turned_bytes > 0) {
        r.scratch = (char *)scratch + bytes_of(c) - (size_t)c->lanes * c->turned_bytes;
        cvp_parallel_on(context, c->lanes, c->items, run_turned, &r);
        return CONVOP_OK;
    }
    cvp_parallel(context, c->images * c->items, c->images > 1 ? run_images : run_range, &r);
    return CONVOP_OK;
}

#define DEPTHWISE(row, dir)                                                                        \
    extern const convop_conv_impl row;                                                             \
    const convop_conv_impl row = {                                                                 \
        .struct_size = sizeof(convop_conv_impl),                                                   \
        .name = "depthwise",                                                                       \
        .direction = dir,                                                                          \
        .version = 4,                                                                              \
        .level = CONVOP_LEVEL_BUILTIN,                                                             \
        .cut = cut,                                                                                \
        .cut_size = CONV_CUT_SIZE(struct cut),                                                     \
        .workspace = workspace,                                                                    \
        .packed_bytes = packed_bytes,                                                              \
        .pack = pack,                                                                              \
        .run = run,                                                                                \
        .estimate = cvp_dw_estimate,                                                               \
        .fuses = cvp_conv_fuses_all,                                                               \
    }

DEPTHWISE(cvp_conv_depthwise_fwd, CONVOP_FWD);
DEPTHWISE(cvp_conv_depthwise_bwd_d, CONVOP_BWD_D);

/* How the row `grouped` cuts a problem, and which problems it takes. */
#include "src/common/alloc.h"
#include "src/common/isa_list.h"
#include "src/common/size.h"
#include "src/operator/convolution/cpu/grouped.h"

#define DECLARE(ISA, isa)                                                                          \
    extern const struct cvp_grouped_kernels cvp_grouped_f32_##isa, cvp_grouped_f64_##isa;
CVP_EACH_ISA(DECLARE)

/* In the order of enum cvp_float. */
#define ENTRY(ISA, isa) [CVP_ISA_##ISA] = {&cvp_grouped_f32_##isa, &cvp_grouped_f64_##isa},
static const struct cvp_grouped_kernels *const tables[CVP_ISA_VECTORS][2] = {CVP_EACH_ISA(ENTRY)};

const struct cvp_grouped_kernels *cvp_grouped_kernels(const convop_conv_problem *p)
{
    return tables[cvp_isa_vectors(p->isa)][cvp_conv_float(p)];
}

/* The spread rows that a strip's outputs read should stay in the first-level cache; a ring beyond
 * the second is not worth it. */
#define RING_BYTES      (28 << 10)
#define MOST_RING_BYTES (1 << 20)

/* Channels of a group that is taken, in and out: more fill the tiles of other rows. */
#define MOST_IN  32
#define MOST_OUT 8

/* Input channels at a time: as many as the sums of a window by weights are kept of. */
#define BLOCK 8

/* Tasks that suffice any number of threads, and rows of one at least: the rows that two tasks both
 * read are few beside them. */
#define ENOUGH_TASKS 32
#define LEAST_ROWS   8

/* What a block of rows should read and write at most, all channels: its vectors follow each other
 * and find it in the second-level cache. Not a share of what the machine has, as sums by weights
 * are cut alike. */
#define BLOCK_BYTES (1 << 20)

/* Pixels whose products by weights are one chain of sums. */
#define CHAIN_PIXELS 2048

/* An axis of the walk of a direction. */
static struct stencil_axis phase_of(const convop_conv_problem *p, int axis, int64_t r)
{
    return p->direction == CONVOP_BWD_D ? cvp_conv_backward_axis(p, axis, r)
                                        : cvp_conv_forward_axis(p, axis);
}

struct stencil_axis cvp_conv_grouped_depths(const struct grouped *k, int64_t phase)
{
    return phase_of(k->p, 0, phase);
}

static struct grouped_axis axis_of(const convop_conv_problem *p, int axis)
{
    struct grouped_axis a = {
        .phases = p->direction == CONVOP_BWD_D ? cvp_conv_backward_phases(p, axis) : 1};
    if (a.phases > GROUPED_PHASES) return a;
    int64_t high = 0;
    for (int64_t r = 0; r < a.phases; r++) {
        const struct stencil_axis s = phase_of(p, axis, r);
        a.at[r] = s;
        if (s.taps == 0) continue;
        const int64_t low = stencil_low(&s), top = low + stencil_reach(&s, 1) - 1;
        a.low = a.reach > 0 ? cvp_min_i64(a.low, low) : low;
        high = a.reach > 0 ? cvp_max_i64(high, top) : top;
        a.reach = high - a.low + 1;
    }
    a.count = a.at[0].count;
    a.step = a.at[0].in_step;
    a.reach = cvp_max_i64(a.reach, 1);
    return a;
}

static int takes(const struct grouped *k, char why[CONVOP_WHY_SIZE])
{
    const convop_conv_problem *p = k->p;
    if (p->g == 1) return cvp_conv_refuse(why, "there is one group");
    if (p->g == p->ic && p->g == p->oc && !p->depthwise_conv_off)
        return cvp_conv_refuse(why, "each group has one channel in and out");
    const int64_t out = cvp_min_i64(MOST_OUT, k->kernels->lanes);
    if (k->ends.in.c > MOST_IN || k->ends.out.c > out)
        return cvp_conv_refuse(
            why, "a group has %lld channels in, %lld out, it takes %d and %lld at most",
            (long long)k->ends.in.c, (long long)k->ends.out.c, MOST_IN, (long long)out);
    if (k->h.phases > GROUPED_PHASES || k->w.phases > GROUPED_PHASES)
        return cvp_conv_refuse(why, "the stride is %lldx%lld, by data it takes %d at most",
                               (long long)p->sh, (long long)p->sw, GROUPED_PHASES);
    return 1;
}

/* Strips and blocks of rows. */
static void cut_rows(struct grouped *k)
{
    const convop_conv_problem *p = k->p;
    const int64_t vector = k->kernels->lanes * k->size;
    const int64_t rows = p->kd * cvp_min_i64(k->h.reach, p->kh);
    const int64_t row = RING_BYTES / (rows * k->block * vector);
    const int64_t fits = (row - k->w.reach) / k->w.step + 1;
    const int64_t unit = k->kernels->pixels;
    k->width = fits < unit ? cvp_max_i64(fits, unit / 2) : fits / unit * unit;
    k->width = cvp_min_i64(k->width, k->w.count);
    k->width = cvp_ceil_div(k->w.count, cvp_ceil_div(k->w.count, k->width));
    k->pixels = (k->width - 1) * k->w.step + k->w.reach;

    const int64_t planes = p->mb * k->phases_d * k->d_count;
    int64_t most =
        p->direction == CONVOP_BWD_W ? cvp_max_i64(1, CHAIN_PIXELS / k->w.count) : k->h.count;
    const int64_t read = cvp_min_i64(k->h.step, k->ends.in.h) * k->ends.in.w * k->ends.in.all,
                  written = k->h.phases * k->ends.out.w * k->ends.out.all;
    most = cvp_min_i64(
        most, cvp_max_i64(LEAST_ROWS, BLOCK_BYTES / k->size / cvp_max_i64(1, read + written)));
    const int64_t pieces = cvp_ceil_div(ENOUGH_TASKS, planes * k->vectors);
    k->rows = cvp_max_i64(cvp_ceil_div(k->h.count, pieces), LEAST_ROWS);
    k->rows = cvp_max_i64(1, cvp_min_i64(cvp_min_i64(k->rows, most), k->h.count));
    k->row_blocks = cvp_ceil_div(k->h.count, k->rows);
    k->rows = cvp_ceil_div(k->h.count, k->row_blocks);
    k->blocks = planes * k->row_blocks;
    k->parts = p->direction == CONVOP_BWD_W
                   ? cvp_min_i64(k->blocks, cvp_ceil_div(ENOUGH_TASKS, k->vectors))
                   : k->blocks;
    k->tasks = k->parts * k->vectors;
}

/* Bytes of scratch; 0 if the ring is too large, or they cannot be counted. */
static int measure(struct grouped *k)
{
    const convop_conv_problem *p = k->p;
    const int filter = p->direction == CONVOP_BWD_W;
    const int64_t vector = k->kernels->lanes * k->size;
    int64_t ring, weights, runs;
    if (!cvp_mul_i64(k->h.reach, p->kd * k->block, &ring) || !cvp_mul_i64(ring, k->pixels, &ring) ||
        ring > MOST_RING_BYTES / vector)
        return 0;
    if (!cvp_mul_i64(k->taps * k->ends.in.c, k->vectors, &weights) ||
        !cvp_mul_i64(weights, vector, &weights) ||
        (filter && !cvp_mul_i64(weights, k->parts, &weights)) ||
        !cvp_mul_i64(p->kd * p->kh, (int64_t)sizeof(struct cvp_grouped_run), &runs))
        return 0;
    const int64_t turned = cvp_ceil_div(k->span, k->kernels->lanes) * vector;
    k->weight_bytes = cvp_round_up((size_t)weights, CVP_BUFFER_ALIGN);
    k->bias_bytes = p->bias ? cvp_round_up((size_t)(p->oc * k->size), CVP_BUFFER_ALIGN) : 0;
    k->ring_bytes = cvp_round_up((size_t)(ring * vector), CVP_BUFFER_ALIGN);
    if (!p->channels_last)
        k->turned_bytes = cvp_round_up((size_t)(turned * k->pixels), CVP_BUFFER_ALIGN);
    /* A vector more: the bias. */
    k->out_bytes = cvp_round_up((size_t)((k->width * k->w.phases + 1) * vector), CVP_BUFFER_ALIGN);
    /* By weights, the sums of a block. */
    k->run_bytes =
        cvp_round_up((size_t)(filter ? k->taps * k->ends.in.c * vector : runs), CVP_BUFFER_ALIGN);
    k->lane_bytes = k->ring_bytes + k->turned_bytes + k->out_bytes + k->run_bytes;
    return 1;
}

/* No lanes: the problem is not taken, and `why` says why. */
static struct grouped plan(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    convop_conv_problem walk = *p;
    if (p->direction == CONVOP_BWD_W) walk.direction = CONVOP_FWD;
    struct grouped k = {.p = p,
                        .kernels = cvp_grouped_kernels(p),
                        .ends = cvp_conv_ends(&walk),
                        .h = axis_of(p, 1),
                        .w = axis_of(p, 2),
                        .size = (int64_t)cvp_conv_float_size(p),
                        .taps = cvp_conv_taps(p)};
    if (!takes(&k, why)) return k;
    k.phases_d = p->direction == CONVOP_BWD_D ? cvp_conv_backward_phases(p, 0) : 1;
    k.d_count = cvp_conv_grouped_depths(&k, 0).count;
    k.vectors = cvp_ceil_div(k.ends.out.all, k.kernels->lanes);
    /* A vector begins within a group, and may end within one. */
    const int64_t whole = k.kernels->lanes % k.ends.out.c == 0;
    k.span = cvp_min_i64(cvp_ceil_div(k.kernels->lanes, k.ends.out.c) + !whole, p->g) * k.ends.in.c;
    /* As the tensor has them. */
    k.w_step = p->channels_last ? 1 : k.taps;
    k.w_tap = p->channels_last ? k.ends.in.c : 1;
    k.block = cvp_min_i64(k.ends.in.c, BLOCK);
    const int64_t far = cvp_max_i64(cvp_max_i64(k.w.reach, k.h.reach), p->kd);
    if (cvp_max_i64(far, cvp_max_i64(k.w.step, k.h.step)) > MOST_RING_BYTES) {
        (void)cvp_conv_refuse(why, "a window or a stride reaches too far");
        return k;
    }
    cut_rows(&k);
    if (!measure(&k)) {
        (void)cvp_conv_refuse(why, "the rows that a window reads exceed %d bytes, spread",
                              MOST_RING_BYTES);
        return k;
    }
    size_t shared = k.weight_bytes;
    if (cvp_add_size(shared, k.bias_bytes, &shared) && shared < p->workspace_limit)
        k.lanes = (int)cvp_min_i64(cvp_min_i64(p->threads, k.tasks),
                                   (int64_t)((p->workspace_limit - shared) / k.lane_bytes));
    (void)cvp_conv_has_lanes(p, k.lanes, why);
    return k;
}

int cvp_conv_grouped_cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE])
{
    struct grouped *k = cut;
    if (!cvp_conv_is_plain(p, why)) return 0;
    *k = plan(p, why);
    return k->lanes > 0;
}

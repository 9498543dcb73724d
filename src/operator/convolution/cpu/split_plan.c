/* Cutting a problem for the row `split`, forward and backward by data. */
#include "src/common/alloc.h"
#include "src/common/cpu.h"
#include "src/common/size.h"
#include "src/operator/convolution/cpu/split_walk.h"

/* Packed weights that a call makes as a whole, at most: of more each lane makes a panel when it is
 * its turn, and makes it again for the next block. */
#define WHOLE_BYTES ((size_t)2 << 20)

/* Grids of all lanes that have their own: as they are cut, and twice that where a cut cannot be
 * finer. */
#define GRID_BYTES ((int64_t)3 << 19)

/* Panels take turns at 32 pixels where these stay in the first-level cache, and the weights of so
 * many bytes in the second, beside a grid. */
#define NEAR_BYTES  ((int64_t)48 << 10)
#define GROUP_BYTES ((int64_t)512 << 10)

struct stencil cvp_conv_split_stencil(const struct split_walk *k, int64_t phase)
{
    struct stencil s = cvp_conv_stencil(k->p, phase, k->is_merged);
    if (k->is_merged && k->p->channels_last) {
        s.w.count *= k->p->mb;
        s.w.in_size *= k->p->mb;
    }
    return s;
}

int64_t cvp_conv_split_plane(const struct split_grid *g)
{
    return split_odd_lines((g->pixels + SPLIT_PANEL) * 4);
}

static int64_t grid_bytes(const void *arg, const struct split_grid *g)
{
    const struct split_walk *k = arg;
    int64_t bytes;
    if (k->p->channels_last) {
        if (!cvp_mul_i64(g->pixels + SPLIT_PANEL, k->pixel, &bytes)) return INT64_MAX;
        return bytes;
    }
    if (g->pixels > INT64_MAX / 8) return INT64_MAX;
    const int64_t pairs = SPLIT_TERMS * k->steps * SPLIT_SIDE;
    if (!cvp_mul_i64(cvp_conv_split_plane(g), pairs, &bytes)) return INT64_MAX;
    return bytes;
}

static void cut_blocks(struct split_walk *k, const struct stencil *s, int64_t most)
{
    k->block = cvp_conv_split_cut(s, k->mb, most, grid_bytes, k);
    const int64_t wanted = 4 * (int64_t)k->p->threads;
    if (wanted > 4 && k->mb >= wanted)
        k->block.images = cvp_min_i64(k->block.images, k->mb / wanted);
}

int64_t cvp_conv_split_weight_bytes(const struct split_walk *k, const struct stencil *s)
{
    return k->p->g * k->panels * cvp_conv_stencil_taps(s) * k->steps * SPLIT_STEP;
}

/* The largest grid of a block of any phase. 0: too large to be counted. */
static int measure_grid(struct split_walk *k)
{
    k->grid_bytes = 0;
    for (int64_t i = 0; i < k->phases; i++) {
        const struct stencil s = cvp_conv_split_stencil(k, i);
        struct split_grid g = cvp_conv_split_grid(&s);
        if (!cvp_conv_split_grid_size(&g, &k->block)) return 0;
        const int64_t bytes = grid_bytes(k, &g);
        if (bytes > INT64_MAX / 2) return 0;
        if ((size_t)bytes > k->grid_bytes) k->grid_bytes = (size_t)bytes;
    }
    k->grid_bytes = cvp_round_up(k->grid_bytes, CVP_BUFFER_ALIGN);
    return 1;
}

/* Bytes of the workspace that are left for grids. */
static int64_t room_of(const struct split_walk *k)
{
    const size_t weights = k->is_by_panel ? k->panel_bytes : k->weight_bytes;
    const size_t limit = k->p->workspace_limit, taken = weights + k->bias_bytes;
    const size_t left = limit < taken ? 0 : limit - taken;
    return left < INT64_MAX ? (int64_t)left : INT64_MAX;
}

/* Lanes' own blocks, where there are enough of them and their grids are small, else blocks for all.
 * s is the walk with the most pixels. 0: too large to be counted. */
static int divide(struct split_walk *k, const struct stencil *s)
{
    const int64_t threads = k->p->threads;
    const int64_t most = cvp_min_i64(cvp_cpu_l2() / 2, room_of(k));
    if (threads > 1 && !k->is_by_panel) {
        cut_blocks(k, s, cvp_min_i64(most, GRID_BYTES / threads));
        if (!measure_grid(k)) return 0;
        const int64_t blocks = k->p->g * cvp_conv_split_blocks(&k->block, s, k->mb);
        k->is_by_block =
            blocks >= 2 * threads && k->grid_bytes <= (size_t)(2 * GRID_BYTES / threads);
        if (k->is_by_block) return 1;
    }
    cut_blocks(k, s, most);
    return measure_grid(k);
}

/* Which panels follow each other, and how many shares there are of them. */
static void order(struct split_walk *k, const struct stencil *s)
{
    const int64_t panel = (int64_t)k->panel_bytes, threads = k->p->threads;
    k->group = 1;
    k->shares = 1;
    if (k->is_by_panel) return;
    if (panel <= NEAR_BYTES) k->group = cvp_min_i64(k->panels, GROUP_BYTES / panel);
    if (threads == 1 || k->is_by_block) return;
    struct split_grid g = cvp_conv_split_grid(s);
    cvp_conv_split_grid_size(&g, &k->block);
    k->shares = cvp_min_i64(cvp_ceil_div(g.sums, SPLIT_PANEL),
                            cvp_ceil_div(4 * threads, cvp_ceil_div(k->panels, k->group)));
}

static void count_lanes(struct split_walk *k)
{
    const size_t shared = cvp_conv_split_shared(k), limit = k->p->workspace_limit;
    if (shared > limit) return;
    k->lanes = k->p->threads;
    if (k->lane_bytes > 0)
        k->lanes = (int)cvp_min_i64(k->lanes, (int64_t)((limit - shared) / k->lane_bytes));
}

struct split_walk cvp_conv_split_walk_plan(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    struct split_walk k = {.p = p,
                           .kernels = cvp_split_kernels(p->isa),
                           .ends = cvp_conv_ends(p),
                           .taps = cvp_conv_taps(p),
                           .phases = cvp_conv_phases(p)};
    if (!cvp_conv_split_takes(p, why)) return k;
    if (k.phases > SPLIT_MAX_TAPS) {
        cvp_conv_refuse(why, "the strides' product is %lld, it takes up to %d", (long long)k.phases,
                        SPLIT_MAX_TAPS);
        return k;
    }
    k.is_merged = cvp_conv_is_pointwise(p);
    k.mb = k.is_merged && p->channels_last ? 1 : p->mb;
    k.steps = cvp_ceil_div(k.ends.in.c, SPLIT_DEPTH);
    k.panels = cvp_ceil_div(k.ends.out.c, SPLIT_PANEL);
    k.pixel = p->channels_last ? split_odd_lines(k.steps * SPLIT_TERMS * SPLIT_LINE) : 4;
    k.weights = p->channels_last ? SPLIT_PACKED_B : SPLIT_PACKED_A;
    const struct stencil s = cvp_conv_split_stencil(&k, 0); /* the first has the most pixels */
    int64_t panel, weights;
    if (!cvp_mul_i64(k.taps * SPLIT_STEP, k.steps, &panel) ||
        !cvp_mul_i64(panel, p->g * k.panels, &weights)) {
        cvp_conv_refuse(why, "its packed weights are too large to be counted");
        return k;
    }
    k.panel_bytes = (size_t)panel;
    k.weight_bytes = (size_t)weights;
    const int is_far = k.weight_bytes > WHOLE_BYTES && k.panels >= p->threads;
    k.is_by_panel = !p->constant_weights && (is_far || k.weight_bytes > p->workspace_limit / 2);
    k.bias_bytes = p->bias ? cvp_round_up((size_t)p->oc * sizeof(float), CVP_BUFFER_ALIGN) : 0;
    if (!divide(&k, &s)) {
        cvp_conv_refuse(why, "a block of it is too large to be counted");
        return k;
    }
    order(&k, &s);
    k.lane_bytes = k.is_by_panel ? k.panel_bytes : k.is_by_block ? k.grid_bytes : 0;
    count_lanes(&k);
    cvp_conv_has_lanes(p, k.lanes, why);
    return k;
}

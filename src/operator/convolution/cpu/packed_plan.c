/* Cutting a problem for the row `packed`. */
#include "src/common/alloc.h"
#include "src/common/cpu.h"
#include "src/common/size.h"
#include "src/operator/convolution/cpu/packed.h"

/* Sums that are added to more than once meet in few sets of the first-level cache where they lie in
 * out. */
#define DIRECT_DEPTH ((int64_t)2 * CVP_PACKED_DEPTH)

/* Pixels whose sums are kept apart, at most: so a panel of them stays in the first-level cache or
 * near it. */
#define SUMMED_PIXELS 512

/* Bytes of pixels and of sums, of all lanes, where they are more than a cache holds; of one lane's
 * pixels. */
#define DEEP_PIXEL_BYTES ((int64_t)4 << 20)
#define DEEP_SUM_BYTES   ((int64_t)2 << 20)
#define LANE_PIXEL_BYTES ((int64_t)2 << 20)

/* Pixels that are worth a lane's own way over all weights. */
#define LANE_PIXELS 96

/* While a weight comes from memory it could be multiplied by about so many pixels. */
#define FETCH_PIXELS 32

/* Zones are worth their shorter rows and further ways over the weights if their products come to
 * this part of all, in percent. */
#define ZONED_PERCENT 80

/* Packing weights this often takes as long as to pack all of them, write them to memory and read
 * them from there. */
#define PACKED_ONCE 2

static int64_t pixels_of(const struct packed *k, const struct stencil *s)
{
    return k->p->mb * s->d.count * s->h.count * s->w.count;
}

static int64_t most_taps(const struct packed *k)
{
    int64_t most = 0;
    for (int64_t i = 0; i < k->phases; i++) {
        const struct stencil s = cvp_conv_stencil(k->p, i, 0);
        most = cvp_max_i64(most, cvp_conv_stencil_taps(&s));
    }
    return most;
}

static int is_zoned(struct packed *k)
{
    if (k->phases > 1 || k->taps == 1) return 0;
    const struct stencil all = cvp_conv_stencil(k->p, 0, 0);
    /* Zones find their weights among those of the whole window; of an image smaller than the stride
     * the only phase has some of its taps. */
    if (cvp_conv_stencil_taps(&all) != k->taps) return 0;
    k->zones.d = cvp_conv_stencil_is_sparse(&all.d);
    k->zones.h = cvp_conv_stencil_is_sparse(&all.h);
    k->zones.w = cvp_conv_stencil_is_sparse(&all.w);
    if (!k->zones.d && !k->zones.h && !k->zones.w) return 0;
    struct stencil s;
    int64_t at[3] = {0};
    double products = 0; /* more than 64 bits may count */
    while (cvp_conv_stencil_next_zone(&all, k->zones, at, &s)) {
        if (cvp_conv_stencil_taps(&s) == 0)
            return 0; /* sums of nothing: not worth a case of their own */
        products +=
            (double)cvp_conv_stencil_taps(&s) * (double)cvp_max_i64(pixels_of(k, &s), FETCH_PIXELS);
    }
    return products * 100 <=
           (double)cvp_conv_stencil_taps(&all) * (double)pixels_of(k, &all) * ZONED_PERCENT;
}

/* Blocks of pixels, so many for each lane, that lanes do not share; 0: they would be too small.
 * Where a call packs weights, each lane would pack all of them. */
static int64_t lane_blocks(const struct packed *k, int64_t pixels, int64_t most)
{
    const int64_t threads = k->p->threads;
    if (threads == 1 || !k->p->constant_weights) return 0;
    const int64_t blocks = cvp_ceil_div(cvp_ceil_div(pixels, most), threads) * threads;
    return pixels / blocks < LANE_PIXELS ? 0 : blocks;
}

/* Equal blocks of equal tiles. Half of the second-level cache is for pixels. */
static void cut(struct packed *k, int64_t pixels, int64_t depth)
{
    const int64_t rows = k->kernels->rows, threads = k->p->threads;
    const int64_t pixel = cvp_max_i64(1, depth * k->size), near = cvp_cpu_l2() / 2;
    const int64_t lane = cvp_min_i64(LANE_PIXEL_BYTES, DEEP_PIXEL_BYTES / threads) / pixel;
    const int64_t summed = k->is_direct ? INT64_MAX : SUMMED_PIXELS;
    int64_t most = cvp_max_i64(rows, near / pixel);
    const int is_deep = !k->is_direct && most < pixels && k->panels * k->columns > near / pixel;
    const int64_t own = is_deep ? cvp_max_i64(most, lane) : cvp_min_i64(most, lane);
    int64_t blocks = lane_blocks(k, pixels, cvp_max_i64(1, cvp_min_i64(own, summed)));
    k->is_by_block = blocks > 0;
    if (!k->is_by_block) {
        if (is_deep) most = threads == 1 ? own : cvp_max_i64(most, DEEP_PIXEL_BYTES / pixel);
        blocks = cvp_ceil_div(pixels, cvp_min_i64(most, summed));
    }
    k->block = cvp_ceil_div(pixels, blocks);
    const int64_t tiles = cvp_ceil_div(k->block, rows);
    k->height = cvp_ceil_div(k->block, tiles);
    k->block = tiles * k->height;
    k->group = 1;
    const int64_t lanes = cvp_min_i64(threads, k->panels); /* that share panels, or sums */
    if (is_deep)
        k->group = cvp_min_i64(k->is_by_block ? k->panels : k->panels / lanes,
                               DEEP_SUM_BYTES / lanes / (k->block * k->columns * k->size));
    k->group = cvp_max_i64(1, k->group);
    k->shares = 1;
    if (threads > 1 && !k->is_by_block)
        k->shares = cvp_min_i64(tiles, cvp_ceil_div(4 * threads, k->panels));
}

/* Bytes; 0: too large to be counted. */
static int measure(struct packed *k, int64_t depth)
{
    const convop_conv_problem *p = k->p;
    int64_t weights, pixels;
    if (!cvp_mul_i64(depth, k->height, &k->tile) ||
        !cvp_add_i64(k->tile, CVP_GEMM_PACK_SLACK / k->size, &k->tile) ||
        !cvp_mul_i64(p->g * k->panels * k->columns, k->taps * k->ends.in.c, &weights) ||
        !cvp_mul_i64(weights, k->size, &weights) ||
        !cvp_mul_i64(k->block / k->height * k->tile, k->size, &pixels))
        return 0;
    k->weight_bytes = cvp_round_up((size_t)weights, CVP_BUFFER_ALIGN);
    k->bias_bytes = p->bias ? cvp_round_up((size_t)(p->oc * k->size), CVP_BUFFER_ALIGN) : 0;
    k->pixel_bytes = cvp_round_up((size_t)pixels, CVP_BUFFER_ALIGN);
    k->panel_bytes = (size_t)(CVP_PACKED_DEPTH * k->columns * k->size);
    if (!k->is_direct)
        k->sum_bytes =
            cvp_round_up((size_t)(k->group * k->block * k->columns * k->size), CVP_BUFFER_ALIGN);
    if (!p->channels_last)
        k->piece_bytes =
            cvp_round_up((size_t)(depth / k->ends.in.c * k->height) * sizeof(struct cvp_piece),
                         CVP_BUFFER_ALIGN);
    k->lane_bytes = k->panel_bytes + k->sum_bytes + k->piece_bytes;
    if (k->is_by_block) {
        k->lane_bytes += k->pixel_bytes;
        k->pixel_bytes = 0;
    }
    return 1;
}

struct packed cvp_conv_packed_zone(const struct packed *k, const struct stencil *zone)
{
    struct packed z = *k;
    const int64_t depth = cvp_conv_stencil_taps(zone) * k->ends.in.c;
    cut(&z, pixels_of(k, zone), depth);
    measure(&z, depth); /* less than the whole, which could be counted */
    return z;
}

/* What the largest of the zones needs, and how often they take weights. In NC* a tap's weights are
 * far apart. */
static void measure_zones(struct packed *k)
{
    const struct stencil all = cvp_conv_stencil(k->p, 0, 0);
    struct stencil s;
    int64_t at[3] = {0};
    double taken = 0;
    k->pixel_bytes = k->lane_bytes = 0;
    while (cvp_conv_stencil_next_zone(&all, k->zones, at, &s)) {
        const struct packed z = cvp_conv_packed_zone(k, &s);
        if (z.pixel_bytes > k->pixel_bytes) k->pixel_bytes = z.pixel_bytes;
        if (z.lane_bytes > k->lane_bytes) k->lane_bytes = z.lane_bytes;
        taken +=
            (double)cvp_conv_stencil_taps(&s) * (double)cvp_ceil_div(pixels_of(k, &s), z.block);
    }
    k->packs_all =
        !k->p->channels_last || taken > PACKED_ONCE * (double)cvp_conv_stencil_taps(&all);
}

struct packed cvp_conv_packed_plan(const convop_conv_problem *p)
{
    struct packed k = {.p = p,
                       .kernels = cvp_tile_kernels(cvp_conv_float(p), (enum cvp_isa)p->isa),
                       .packers = cvp_gemm_kernels(cvp_conv_float(p), (enum cvp_isa)p->isa),
                       .size = (int64_t)cvp_conv_element_size(p),
                       .ends = cvp_conv_ends(p),
                       .taps = cvp_conv_taps(p),
                       .phases = cvp_conv_phases(p)};
    if (k.phases > CVP_PACKED_MAX_PHASES) return k;
    k.columns = cvp_tile_columns(k.kernels);
    k.panels = cvp_ceil_div(k.ends.out.c, k.columns);
    const int64_t taps = most_taps(&k), depth = taps * k.ends.in.c;
    if (!p->channels_last && taps > CVP_PACKED_MAX_TAPS) return k;
    k.is_zoned = is_zoned(&k);
    k.is_by_tap = p->channels_last || k.is_zoned;
    k.is_in_order = k.phases == 1 && depth > 0 && !k.is_zoned;
    k.is_direct = k.is_in_order && p->channels_last && depth <= DIRECT_DEPTH;
    const struct stencil s = cvp_conv_stencil(p, 0, 0); /* the first phase has the most pixels */
    cut(&k, pixels_of(&k, &s), depth);
    if (!measure(&k, depth)) return k;
    if (k.is_zoned) measure_zones(&k);
    const size_t shared = cvp_conv_packed_shared(&k);
    if (shared <= p->workspace_limit)
        k.lanes = (int)cvp_min_i64(
            k.is_by_block || k.is_zoned ? p->threads : cvp_min_i64(p->threads, k.panels * k.shares),
            (int64_t)((p->workspace_limit - shared) / k.lane_bytes));
    return k;
}

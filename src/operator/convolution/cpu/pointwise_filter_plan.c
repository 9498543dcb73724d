/* Cutting a problem for the row `pointwise`, backward by weights, and what that is expected to
 * take. */
#include "src/common/alloc.h"
#include "src/common/cpu.h"
#include "src/common/size.h"
#include "src/operator/convolution/cpu/estimate.h"
#include "src/operator/convolution/cpu/pointwise_filter.h"

/* Bytes of all lanes' tiles, at most, where there are several. */
#define LANE_BYTES ((int64_t)4 << 20)

struct pointwise_filter cvp_conv_pointwise_filter_plan(const convop_conv_problem *p)
{
    struct pointwise_filter f = {.p = p,
                                 .kernels =
                                     cvp_tile_kernels(cvp_conv_float(p), (enum cvp_isa)p->isa),
                                 .size = (int64_t)cvp_conv_element_size(p),
                                 .high = cvp_min_i64(p->ic, p->oc),
                                 .wide = cvp_max_i64(p->ic, p->oc),
                                 .is_turned = p->ic <= p->oc,
                                 .pixels = p->mb * cvp_conv_dst_pixels(p)};
    const int64_t lanes = f.kernels->lanes;
    f.sum_bytes = cvp_round_up((size_t)(p->ic * p->oc * f.size), CVP_BUFFER_ALIGN);
    if (f.sum_bytes > CVP_CHUNK_SUM_BYTES) return f;
    const struct pixel_chunks c = cvp_conv_pixel_chunks(p, f.pixels, (int64_t)f.sum_bytes);
    f.chunk = c.chunk;
    f.chunks = c.chunks;
    f.part = c.part;
    f.tiles = cvp_ceil_div(f.high, f.kernels->rows);
    f.height = cvp_ceil_div(f.high, f.tiles);
    f.tiles = cvp_ceil_div(f.high, f.height);
    f.pitch = cvp_ceil_div(f.height, lanes) * lanes;
    f.tile = f.part * f.pitch;
    f.columns = cvp_tile_columns(f.kernels);
    f.panels = cvp_ceil_div(f.wide, f.columns);
    f.splits = cvp_min_i64(cvp_ceil_div(p->threads, f.chunks), f.panels);
    const int64_t reach = cvp_ceil_div(f.wide, lanes) * lanes; /* of a pixel's vectors */
    f.tail = cvp_min_i64(f.pixels, (reach - 1) / f.wide);
    f.tile_bytes = cvp_round_up((size_t)(f.tiles * f.tile * f.size), CVP_BUFFER_ALIGN);
    f.tail_bytes = cvp_round_up((size_t)((f.tail * f.wide + reach) * f.size), CVP_BUFFER_ALIGN);
    f.lane_bytes = f.tile_bytes + f.tail_bytes;
    const size_t shared = (size_t)pointwise_filter_apart(&f) * f.sum_bytes;
    if (shared <= p->workspace_limit)
        f.lanes = (int)cvp_min_i64(cvp_min_i64(p->threads, f.chunks * f.splits),
                                   (int64_t)((p->workspace_limit - shared) / f.lane_bytes));
    if (f.lanes > 1)
        f.lanes = (int)cvp_min_i64(f.lanes, cvp_max_i64(1, LANE_BYTES / (int64_t)f.lane_bytes));
    return f;
}

/* Call; vector multiply-adds; elements broadcast for them; tiles; elements packed; sums that are
 * turned; vectors of the wider operand that the second-level cache does not keep from one tile to
 * the next. */
enum { CALL, PRODUCTS, BROADCASTS, TILES, PACKED, TURNED, FAR };

static const conv_prices prices = {
    {2.5e+03, 0.0553, 0.397, 0, 0.45, 0.6},
    {2.5e+03, 0, 0.365, 29.5, 0.237, 1.17, 0.6},
    {2.5e+03, 0.161, 0.0102, 13.8, 0.246, 0.395},
};

/* 1 if what a panel reads of a part's pixels exceeds its share of the second-level cache: pixels of
 * 2^n channels meet in few of its sets. */
static int is_far(const struct pointwise_filter *f)
{
    const int64_t pixel = f->wide * f->size, lines = pixel / CVP_CACHE_LINE;
    const int64_t every = pixel % CVP_CACHE_LINE ? 1 : lines & -lines;
    const int64_t read = cvp_ceil_div(f->columns * f->size, CVP_CACHE_LINE);
    return f->part * read > cvp_cpu_l2() / CVP_CACHE_LINE / every;
}

double cvp_conv_pointwise_filter_estimate(const convop_conv_problem *p)
{
    const struct pointwise_filter *f = p->cut;
    const double pixels = (double)f->pixels, high = (double)f->high, wide = (double)f->wide;
    const double work[CONV_KINDS] = {
        [CALL] = 1,
        [PRODUCTS] = pixels * high * cvp_conv_parts(wide, f->kernels->lanes),
        [BROADCASTS] = pixels * high * (double)f->panels,
        [TILES] = (double)(f->panels * f->tiles) * cvp_conv_parts(pixels, (double)f->part),
        [PACKED] = pixels * high * (double)f->splits,
        [TURNED] = f->is_turned ? high * wide : 0,
        [FAR] = is_far(f) ? pixels * (double)f->tiles * wide / f->kernels->lanes : 0,
    };
    return cvp_conv_price(p, prices, work, (double)(f->chunks * f->splits));
}

/* Cutting a problem for the row `packed`, backward by weights. */
#include "src/common/alloc.h"
#include "src/common/cpu.h"
#include "src/common/size.h"
#include "src/operator/convolution/cpu/packed_filter.h"

/* Bytes; lines that are as far apart meet in one set of the first-level cache. */
#define PAGE 4096

/* 1 if a tile's output channels can be read where they lie, without being slower than packed ones.
 * In N*C each pixel has a line of its own; where pixels are many, those lines come from afar. */
static int lies_well(const struct packed_filter *f)
{
    if (f->p->channels_last) return f->panels == 1 && f->chunks == 1;
    return f->rows * f->width * f->size % PAGE != 0;
}

/* It costs more to read what another processor packed than to pack it again, from so many elements
 * of a filter for each thread on; as long as that is not much memory. */
#define APART       16
#define APART_BYTES ((size_t)2 << 20)

/* Bytes of a chunk's sums, at most, where there are several: a cache holds them while each part of
 * the pixels is added. */
#define SUM_BYTES ((int64_t)512 << 10)

static void cut_pixels(struct packed_filter *f)
{
    int64_t bytes;
    if (!cvp_mul_i64(f->p->oc * f->size, f->filter, &bytes) || bytes > SUM_BYTES) bytes = INT64_MAX;
    const struct pixel_chunks c = cvp_conv_pixel_chunks(f->p, f->pixels, bytes);
    f->chunk = c.chunk;
    f->chunks = c.chunks;
    f->part = c.part;
}

/* Bytes of all lanes' panels and tiles, at most, where lanes have chunks of their own. */
#define LANE_BYTES ((int64_t)4 << 20)

/* Tiles that are packed side by side, where lanes share the packing. */
#define ABREAST 8

/* A quarter of the second-level cache is for as many parts of diff_dst as it holds, one for panels
 * of src: several of them, so that where pixels are few, sums are written in long pieces. */
static void cut(struct packed_filter *f)
{
    const int64_t near = cvp_cpu_l2() / 4 / f->size, g = f->p->g;
    cut_pixels(f);
    f->depth = f->part;
    if (f->chunks == 1)
        f->depth = cvp_min_i64(f->part * cvp_max_i64(1, near / f->p->oc / f->part), f->pixels);
    f->tiles = cvp_ceil_div(f->ocg, f->kernels->rows);
    f->height = cvp_ceil_div(f->ocg, f->tiles);
    f->tiles = cvp_ceil_div(f->ocg, f->height);
    f->pitch = f->height;
    if (f->p->channels_last)
        f->pitch = cvp_ceil_div(f->height, f->kernels->lanes) * f->kernels->lanes;
    f->abreast = f->chunks > 1 ? g * f->tiles : cvp_min_i64(g * f->tiles, ABREAST);
    f->panel = (f->part + f->kernels->lanes) * f->columns;
    const int64_t threads = cvp_ceil_div(f->p->threads, f->chunks); /* for a chunk */
    const int64_t tasks = threads > 1 ? 2 * threads : 1;            /* wanted */
    int64_t group = cvp_min_i64(near / f->panel, f->panels * g / tasks);
    if (f->chunks > 1) group = cvp_min_i64(group, LANE_BYTES / f->p->threads / f->panel / f->size);
    f->groups = cvp_ceil_div(f->panels, cvp_max_i64(1, group));
    f->group = cvp_ceil_div(f->panels, f->groups);
    f->groups = cvp_ceil_div(f->panels, f->group);
    f->shares = cvp_min_i64(f->tiles, cvp_ceil_div(threads, g * f->groups));
    f->splits = cvp_min_i64(threads, g * f->groups * f->shares);
    f->is_in_place = lies_well(f);
    if (f->is_in_place) f->depth = f->chunk;
}

/* Bytes; 0: too large to be counted. */
static int measure(struct packed_filter *f)
{
    const convop_conv_problem *p = f->p;
    int64_t tiles, window = 0, lines = 0;
    f->step = f->part * f->pitch + CVP_GEMM_PACK_SLACK / f->size;
    f->tile = cvp_ceil_div(f->depth, f->part) * f->step;
    if (!cvp_mul_i64(p->g * f->tiles, f->tile, &tiles) || !cvp_mul_i64(tiles, f->size, &tiles))
        return 0;
    if (f->is_in_place) tiles = 0;
    if (!p->channels_last) {
        f->shares_lines = (p->sw == 1 || p->dw == 1) && cvp_mul_i64(p->kw - 1, p->dw, &window) &&
                          window <= p->iw + f->part;
        window = f->shares_lines ? window / p->sw : 0;
        const int64_t pixels = cvp_min_i64(f->width, f->part) + f->kernels->lanes;
        if (!cvp_add_i64(window, pixels, &f->line) ||
            !cvp_mul_i64(f->line, f->columns * f->size, &lines))
            return 0;
    }
    f->tile_bytes = cvp_round_up((size_t)tiles, CVP_BUFFER_ALIGN);
    if (f->chunks > 1)
        f->sum_bytes = cvp_round_up((size_t)(p->oc * f->filter * f->size), CVP_BUFFER_ALIGN);
    f->panel_bytes = cvp_round_up((size_t)(f->group * f->panel * f->size), CVP_BUFFER_ALIGN);
    f->line_bytes = cvp_round_up((size_t)lines, CVP_BUFFER_ALIGN);
    f->lane_bytes = f->panel_bytes + f->line_bytes;
    return 1;
}

struct packed_filter cvp_conv_packed_filter_plan(const convop_conv_problem *p)
{
    const int is_pointwise = cvp_conv_is_pointwise(p);
    struct packed_filter f = {.p = p,
                              .kernels = cvp_tile_kernels(cvp_conv_float(p), (enum cvp_isa)p->isa),
                              .packers = cvp_gemm_kernels(cvp_conv_float(p), (enum cvp_isa)p->isa),
                              .size = (int64_t)cvp_conv_element_size(p),
                              .icg = p->ic / p->g,
                              .ocg = p->oc / p->g,
                              .taps = cvp_conv_taps(p),
                              .rows = is_pointwise ? 1 : p->od * p->oh,
                              .width = is_pointwise ? cvp_conv_dst_pixels(p) : p->ow,
                              .image_width = is_pointwise ? cvp_conv_src_pixels(p) : p->iw};
    f.filter = f.icg * f.taps;
    f.pixels = p->mb * f.rows * f.width;
    f.columns = cvp_tile_columns(f.kernels);
    f.panels = cvp_ceil_div(f.filter, f.columns);
    cut(&f);
    if (!measure(&f)) return f;
    f.is_apart = f.filter >= APART * p->threads && f.tile_bytes <= APART_BYTES / (size_t)p->threads;
    f.is_apart |= f.is_in_place || f.chunks > 1;
    const size_t shared = (f.is_apart ? 0 : f.tile_bytes) + (size_t)(f.chunks - 1) * f.sum_bytes;
    const size_t own = f.lane_bytes + (f.is_apart ? f.tile_bytes : 0);
    const int64_t tasks = f.is_apart ? f.chunks * f.splits : p->g * f.groups * f.shares;
    if (shared <= p->workspace_limit)
        f.lanes = (int)cvp_min_i64(cvp_min_i64(p->threads, tasks),
                                   (int64_t)((p->workspace_limit - shared) / own));
    if (f.chunks > 1 && f.lanes > 1)
        f.lanes = (int)cvp_min_i64(f.lanes, cvp_max_i64(1, LANE_BYTES / (int64_t)own));
    return f;
}

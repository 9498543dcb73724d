/* Cutting a problem for the row `packed`, backward by weights. */
#include "src/common/alloc.h"
#include "src/common/cpu.h"
#include "src/common/size.h"
#include "src/operator/convolution/cpu/packed_filter.h"

/* Bytes; lines that are as far apart meet in one set of the first-level cache. */
#define PAGE 4096

/* 1 if a tile's output channels of one pixel can be read where they lie. */
static int lies_well(const struct packed_filter *f)
{
    return f->p->channels_last || f->rows * f->width * f->size % PAGE != 0;
}

/* It costs more to read what another processor packed than to pack it again, from so many elements
 * of a filter for each thread on; as long as that is not much memory. */
#define APART       16
#define APART_BYTES ((size_t)2 << 20)

/* Equal parts, by the problem alone: they decide the order of sums. A quarter of the second-level
 * cache is for as many of them of diff_dst, one for panels of src: several of them, so that where
 * pixels are few, sums are written in long pieces. */
static void cut(struct packed_filter *f)
{
    const int64_t near = cvp_cpu_l2() / 4 / f->size, g = f->p->g;
    f->part = cvp_ceil_div(f->pixels, cvp_ceil_div(f->pixels, CVP_PACKED_PIXELS));
    f->depth = f->part * cvp_max_i64(1, near / f->p->oc / f->part);
    f->depth = cvp_min_i64(f->depth, f->pixels);
    f->tiles = cvp_ceil_div(f->ocg, f->kernels->rows);
    f->height = cvp_ceil_div(f->ocg, f->tiles);
    f->tiles = cvp_ceil_div(f->ocg, f->height);
    f->panel = (f->part + f->kernels->lanes) * f->columns;
    const int64_t tasks = f->p->threads > 1 ? 2 * f->p->threads : 1; /* wanted */
    const int64_t group = cvp_min_i64(near / f->panel, f->panels * g / tasks);
    f->groups = cvp_ceil_div(f->panels, cvp_max_i64(1, group));
    f->group = cvp_ceil_div(f->panels, f->groups);
    f->groups = cvp_ceil_div(f->panels, f->group);
    f->shares = cvp_min_i64(f->tiles, cvp_ceil_div(f->p->threads, g * f->groups));
    f->is_in_place = f->panels == 1 && lies_well(f);
    if (f->is_in_place) f->depth = f->pixels;
}

/* Bytes; 0: too large to be counted. */
static int measure(struct packed_filter *f)
{
    const convop_conv_problem *p = f->p;
    int64_t tiles, window = 0, lines = 0;
    f->step = f->part * f->height + CVP_GEMM_PACK_SLACK / f->size;
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
    f.is_apart |= f.is_in_place;
    const size_t shared = f.is_apart ? 0 : f.tile_bytes;
    const size_t own = f.lane_bytes + f.tile_bytes - shared;
    if (shared <= p->workspace_limit)
        f.lanes = (int)cvp_min_i64(cvp_min_i64(p->threads, p->g * f.groups * f.shares),
                                   (int64_t)((p->workspace_limit - shared) / own));
    return f;
}

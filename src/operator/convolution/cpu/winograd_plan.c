/* How the row `winograd` cuts a problem, and which problems it takes. */
#include <inttypes.h>

#include "src/common/alloc.h"
#include "src/common/cpu.h"
#include "src/common/isa_list.h"
#include "src/common/size.h"
#include "src/common/text.h"
#include "src/operator/convolution/cpu/winograd.h"

#define DECLARE(ISA, isa) extern const struct cvp_winograd_kernels cvp_winograd_##isa;
CVP_EACH_ISA(DECLARE)

#define ENTRY(ISA, isa) [CVP_ISA_##ISA] = &cvp_winograd_##isa,
static const struct cvp_winograd_kernels *const tables[CVP_ISA_VECTORS] = {CVP_EACH_ISA(ENTRY)};

const struct cvp_winograd_kernels *cvp_winograd_kernels(enum cvp_isa isa)
{
    return tables[cvp_isa_vectors(isa)];
}

/* Below these the transforms cost what the products save. */
#define LEAST_CHANNELS 32
#define LEAST_SIZE     12

/* A block's transformed inputs: a share of the second-level cache, between these. Weights that
 * exceed half of that cache come from beyond it for each block, so that these have more tiles: what
 * is read of a block is then little beside them. */
#define LEAST_BLOCK    ((int64_t)64 << 10)
#define MOST_BLOCK     ((int64_t)256 << 10)
#define STREAMED_TILES 112

/* Tiles of a group, at most, whose inputs are read again for each panel of weights: that costs less
 * than to write all transformed weights to memory and to read them from there. */
#define PANEL_TILES 64

#define MOST_WIDTH 64 /* tiles: rows of their pixels stay near the first-level cache */

/* Elements, a multiple of a vector, of which there are an odd number: multiples of them spread over
 * all sets of a cache. */
static int64_t odd(int64_t elements, int64_t lanes)
{
    return (cvp_ceil_div(elements, lanes) | 1) * lanes;
}

/* 1: what the row takes; 0 with the reason. */
static int fits_shape(const struct winograd *w, char why[CONVOP_WHY_SIZE])
{
    const convop_conv_problem *p = w->p;
    struct cvp_text t = cvp_text_in(why, CONVOP_WHY_SIZE);
    if (p->dtype.bits != 32)
        cvp_text_add(&t, "elements have %d bits, it computes in float32 alone", p->dtype.bits);
    else if (p->kh != 3 || p->kw != 3 || p->kd != 1)
        cvp_text_add(&t, "the kernel is %" PRId64 "x%" PRId64 "x%" PRId64 ", it takes 1x3x3", p->kd,
                     p->kh, p->kw);
    else if (p->sh != 1 || p->sw != 1)
        cvp_text_add(&t, "the stride is %" PRId64 "x%" PRId64 ", it takes 1x1", p->sh, p->sw);
    else if (p->id != p->od || p->pd != 0)
        cvp_text_add(&t,
                     "src has depth %" PRId64 " padded by %" PRId64 ", dst %" PRId64
                     ", it takes equal depths without padding",
                     p->id, p->pd, p->od);
    else if (w->ends.in.c < LEAST_CHANNELS || w->ends.out.c < LEAST_CHANNELS)
        cvp_text_add(&t, "a group has %" PRId64 " and %" PRId64 " channels, it takes %d or more",
                     p->ic / p->g, p->oc / p->g, LEAST_CHANNELS);
    else if (w->ends.out.h < LEAST_SIZE || w->ends.out.w < LEAST_SIZE)
        cvp_text_add(&t, "the output image is %" PRId64 "x%" PRId64 ", it takes %dx%d or more",
                     w->ends.out.h, w->ends.out.w, LEAST_SIZE, LEAST_SIZE);
    else if (w->dh > w->ends.out.h || w->dw > w->ends.out.w ||
             w->dh * w->tiles_h * (w->dw * w->tiles_w) > w->ends.out.h * w->ends.out.w / 8)
        cvp_text_add(&t, "dilation %" PRId64 "x%" PRId64 " leaves images that tiles do not fill",
                     w->dh, w->dw);
    return t.need == 0;
}

static void cut(struct winograd *w)
{
    const int64_t l2 = cvp_cpu_l2(), point = WINOGRAD_POINTS * (int64_t)sizeof(float);
    const int64_t bytes = cvp_max_i64(LEAST_BLOCK, cvp_min_i64(MOST_BLOCK, l2 / 8));
    const int is_streamed = w->ends.in.c > l2 / 2 / point / w->ends.out.c;
    const int64_t tiles =
        cvp_max_i64(bytes / point / w->in_tile, is_streamed ? STREAMED_TILES : 2 * w->tile->rows);
    w->width = cvp_max_i64(1, cvp_min_i64(tiles, MOST_WIDTH) / w->dw);
    w->width = cvp_min_i64(w->width, w->tiles_w);
    w->w_blocks = cvp_ceil_div(w->tiles_w, w->width);
    w->width = cvp_ceil_div(w->tiles_w, w->w_blocks);
    w->rows = cvp_max_i64(1, cvp_min_i64(tiles / (w->width * w->dw), w->all_rows));
    w->row_blocks = cvp_ceil_div(w->all_rows, w->rows);
    w->rows = cvp_ceil_div(w->all_rows, w->row_blocks);
    w->blocks = w->p->g * w->row_blocks * w->w_blocks;
}

/* Bytes of scratch; 0 if they cannot be counted. Sizes of images are bounded by their inference,
 * those of channels alone are not. */
static int measure(struct winograd *w)
{
    int64_t channels, bytes, weights;
    const int64_t tiles = w->rows * w->width * w->dw,
                  unit = WINOGRAD_POINTS * (int64_t)sizeof(float);
    if (!cvp_add_i64(w->in_tile, w->out_tile, &channels) || !cvp_mul_i64(tiles + 1, unit, &bytes) ||
        !cvp_mul_i64(bytes, channels, &bytes) ||
        !cvp_mul_i64(w->p->g * w->panels, w->columns * unit, &weights) ||
        !cvp_mul_i64(weights, w->ends.in.c + 1, &weights))
        return 0;
    const int64_t panels = w->is_by_panel ? 1 : w->panels;
    w->out_tile = odd(w->is_by_panel ? w->columns : w->ends.out.c, w->kernels->lanes);
    w->weight_point = odd(panels * w->columns * w->ends.in.c, w->kernels->lanes);
    w->in_point = odd(tiles * w->in_tile, w->kernels->lanes);
    w->out_point = odd(tiles * w->out_tile, w->kernels->lanes);
    w->in_bytes = cvp_round_up((size_t)(w->in_point * unit), CVP_BUFFER_ALIGN);
    w->out_bytes = cvp_round_up((size_t)(w->out_point * unit), CVP_BUFFER_ALIGN);
    const size_t row = (size_t)((WINOGRAD_OUT * w->width + 2) * w->kernels->lanes);
    /* Rows of columns transformed, and in NC* those of pixels turned, of all phases. */
    const size_t lines = w->p->channels_last ? 1 : 1 + (size_t)w->dw;
    w->line_bytes = cvp_round_up(WINOGRAD_IN * lines * row * sizeof(float), CVP_BUFFER_ALIGN);
    w->weight_bytes = w->panel_bytes = 0;
    if (w->is_by_panel)
        w->panel_bytes = cvp_round_up((size_t)(w->weight_point * unit), CVP_BUFFER_ALIGN);
    else
        w->weight_bytes =
            cvp_round_up((size_t)(w->p->g * w->weight_point * unit), CVP_BUFFER_ALIGN);
    w->bias_bytes =
        w->p->bias ? cvp_round_up((size_t)w->p->oc * sizeof(float), CVP_BUFFER_ALIGN) : 0;
    return 1;
}

/* 1 if the blocks' inputs and a lane fit the workspace. */
static int share(struct winograd *w, size_t limit)
{
    const size_t shared = w->weight_bytes + w->bias_bytes;
    if (shared > limit) return 0;
    const size_t in = w->in_bytes, block = in + w->out_bytes;
    w->lane_bytes = w->line_bytes + (w->is_by_panel ? w->panel_bytes + w->out_bytes
                                     : w->is_shared ? 0
                                                    : block);
    w->shared_bytes = (size_t)w->blocks * (w->is_by_panel ? in : w->is_shared ? block : 0);
    if (w->shared_bytes > limit - shared) return 0;
    const int64_t parts = cvp_max_i64(w->in_vectors, cvp_max_i64(w->out_vectors, WINOGRAD_POINTS));
    const int64_t items =
        w->is_by_panel ? w->p->g * w->panels : w->blocks * (w->is_shared ? parts : 1);
    w->lanes = (int)cvp_min_i64(cvp_min_i64(w->p->threads, items),
                                (int64_t)((limit - shared - w->shared_bytes) / w->lane_bytes));
    return w->lanes > 0;
}

static int suits_panels(const struct winograd *w)
{
    const int64_t unit = WINOGRAD_POINTS * (int64_t)sizeof(float);
    const int64_t tiles = w->rows * w->row_blocks * w->width * w->w_blocks * w->dw;
    return !w->p->constant_weights && tiles <= PANEL_TILES &&
           w->ends.in.c > cvp_cpu_l2() / 2 / unit / w->ends.out.c;
}

struct winograd cvp_conv_winograd_plan(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    const int forward = p->direction == CONVOP_FWD;
    struct winograd w = {.p = p,
                         .kernels = cvp_winograd_kernels((enum cvp_isa)p->isa),
                         .tile = cvp_tile_kernels(CVP_F32, (enum cvp_isa)p->isa),
                         .ends = cvp_conv_ends(p),
                         .dh = p->dh,
                         .dw = p->dw,
                         .ph = forward ? p->ph : (p->kh - 1) * p->dh - p->ph,
                         .pw = forward ? p->pw : (p->kw - 1) * p->dw - p->pw};
    w.tiles_h = cvp_ceil_div(cvp_ceil_div(w.ends.out.h, w.dh), WINOGRAD_OUT);
    w.tiles_w = cvp_ceil_div(cvp_ceil_div(w.ends.out.w, w.dw), WINOGRAD_OUT);
    if (!fits_shape(&w, why)) return w;
    w.in_vectors = cvp_ceil_div(w.ends.in.c, w.kernels->lanes);
    w.out_vectors = cvp_ceil_div(w.ends.out.c, w.kernels->lanes);
    w.in_tile = odd(w.ends.in.c, w.kernels->lanes);
    w.out_tile = odd(w.ends.out.c, w.kernels->lanes);
    w.columns = cvp_tile_columns(w.tile);
    w.panels = cvp_ceil_div(w.ends.out.c, w.columns);
    w.all_rows = p->mb * p->id * w.dh * w.tiles_h;
    cut(&w);
    w.is_by_panel = suits_panels(&w);
    if (!w.is_by_panel || !measure(&w) || !share(&w, p->workspace_limit)) {
        w.is_by_panel = 0;
        w.is_shared = p->threads > 1 && w.blocks < 4 * (int64_t)p->threads;
        if (measure(&w) && !share(&w, p->workspace_limit) && w.is_shared) {
            w.is_shared = 0;
            (void)share(&w, p->workspace_limit);
        }
    }
    (void)cvp_conv_has_lanes(p, w.lanes, why);
    return w;
}

/* Launches of the depthwise kernels: the ones of a fixed window where the problem is of their kind,
 * else the direct ones, which take any. */
#include "src/operator/convolution/cuda/depthwise_cost.h"

#include "src/common/size.h"

int cvp_dw_is_depthwise(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    if (p->g == p->ic && p->oc % p->ic == 0) return 1;
    return cvp_conv_refuse(why, "groups are %lld, channels %lld: not depthwise", (long long)p->g,
                           (long long)p->ic);
}

/* A fixed window: 2-D, square, 3 or 5 wide, stride 1 or 2. */
static int is_fixed(const convop_conv_problem *p, int tile)
{
    const int64_t most = CVP_CUDA_MAX_X;
    if (p->kd != 1 || p->id != 1 || p->od != 1 || p->kh != p->kw || (p->kw != 3 && p->kw != 5))
        return 0;
    if (p->sh != p->sw || (p->sw != 1 && p->sw != 2) || p->dh != 1 || p->dw != 1) return 0;
    if (p->ic != p->oc || p->dtype.bits == 64 || !p->dense) return 0;
    if (p->direction == CONVOP_BWD_D && p->sw == 2 && (p->ph != p->kh / 2 || p->pw != p->kw / 2))
        return 0;
    /* Offsets within a plane, and planes, are counted in 32 bits. */
    if (p->ih * p->iw > most / 8 || p->oh * p->ow > most / 8 || p->mb * p->ic > most / 8) return 0;
    if (p->channels_last && p->ic % cvp_dw_last_channels(p)) return 0;
    /* Blocks and tiles too. */
    const struct cvp_dw_cut c = cvp_dw_cut_of(p, tile);
    return p->mb * p->ic <= most / ((int64_t)c.row_tiles * c.column_tiles);
}

static int is_aligned(const void *address, size_t bytes)
{
    return (uintptr_t)address % bytes == 0;
}

/* What the fixed kernels ask of addresses: NC* store pairs, N*C load and store their channels. */
static int addresses_fit(const convop_conv_problem *p, const struct cvp_cuda_operands *t)
{
    const size_t size = cvp_conv_element_size(p);
    const int filter = p->direction == CONVOP_BWD_W;
    if (!p->channels_last) return filter || is_aligned(t->out, 2 * size);
    const size_t unit = (size_t)cvp_dw_last_channels(p) * size;
    const void *in = p->direction == CONVOP_BWD_D ? t->dst : t->src;
    return is_aligned(in, unit) && is_aligned(filter ? t->dst : t->out, unit);
}

enum cvp_dw_form cvp_dw_form(const convop_conv_problem *p, int tile,
                             const struct cvp_cuda_operands *t)
{
    if (!is_fixed(p, tile) || (t && !addresses_fit(p, t))) return CVP_DW_DIRECT;
    return p->channels_last ? CVP_DW_LAST : CVP_DW_FIRST;
}

/* ---- the direct kernels -------------------------------------------------------------------------
 */

#define THREADS       256
#define LANES         32 /* channels side by side of N*C */
#define ENOUGH_BLOCKS 2048
#define PART_PIXELS   1024

static struct cvp_cuda_axis axis_of(int64_t in, int64_t out, int64_t k, int64_t s, int64_t d,
                                    int64_t p)
{
    return (struct cvp_cuda_axis){.in = (int32_t)in,
                                  .k = (int32_t)k,
                                  .d = (int32_t)d,
                                  .p = (int32_t)p,
                                  .out = cvp_cuda_divide_by(out),
                                  .stride = cvp_cuda_divide_by(s)};
}

static void axes_of(const convop_conv_problem *p, struct cvp_cuda_axis axis[3])
{
    const int back = p->direction == CONVOP_BWD_D;
    axis[0] = axis_of(back ? p->od : p->id, back ? p->id : p->od, p->kd, p->sd, p->dd, p->pd);
    axis[1] = axis_of(back ? p->oh : p->ih, back ? p->ih : p->oh, p->kh, p->sh, p->dh, p->ph);
    axis[2] = axis_of(back ? p->ow : p->iw, back ? p->iw : p->ow, p->kw, p->sw, p->dw, p->pw);
}

static int64_t out_count(const convop_conv_problem *p)
{
    return p->direction == CONVOP_BWD_D ? p->mb * p->ic * cvp_conv_src_pixels(p)
                                        : p->mb * p->oc * cvp_conv_dst_pixels(p);
}

static void direct_step(const convop_conv_problem *p, const struct cvp_cuda_operands *t,
                        struct cvp_cuda_step *s)
{
    const int back = p->direction == CONVOP_BWD_D;
    const struct cvp_cuda_strides src = cvp_cuda_strides_of(&p->src);
    const struct cvp_cuda_strides dst = cvp_cuda_strides_of(&p->dst);
    *s = (struct cvp_cuda_step){
        .kernel = (enum cvp_cuda_kernel)(CVP_CUDA_dw_direct_f32 + cvp_cuda_type(p)),
        .grid = {(unsigned)cvp_ceil_div(out_count(p), THREADS), 1, 1},
        .threads = THREADS,
        .args.dw_direct = {.in = back ? t->dst : t->src,
                           .weights = t->weights,
                           .out = t->out,
                           .finish = cvp_cuda_finish_of(p, t),
                           .in_stride = back ? dst : src,
                           .out_stride = back ? src : dst,
                           .weights_stride = cvp_cuda_strides_of(&p->weights),
                           .count = out_count(p),
                           .channels = cvp_cuda_divide_by(back ? p->ic : p->oc),
                           .multiplier = (int32_t)(p->oc / p->ic),
                           .backward = back,
                           .channels_last = p->channels_last}};
    axes_of(p, s->args.dw_direct.axis);
}

/* Parts of the direct sums over pixels, and the pixels of one. */
static int64_t direct_parts(const convop_conv_problem *p, int64_t *part_pixels)
{
    const int64_t taps = p->direction == CONVOP_BWD_B ? 1 : cvp_conv_taps(p);
    const int64_t pixels = p->mb * cvp_conv_dst_pixels(p);
    const int64_t blocks = cvp_ceil_div(p->oc, p->channels_last ? LANES : 1) * taps;
    int64_t parts = cvp_min_i64(cvp_ceil_div(ENOUGH_BLOCKS, blocks), pixels / PART_PIXELS);
    parts = cvp_max_i64(cvp_min_i64(parts, cvp_cuda_most_parts(p)), 1);
    *part_pixels = cvp_ceil_div(pixels, parts);
    return cvp_ceil_div(pixels, *part_pixels);
}

static void direct_filter_step(const convop_conv_problem *p, const struct cvp_cuda_operands *t,
                               struct cvp_cuda_step *s)
{
    const int is_bias = p->direction == CONVOP_BWD_B, lanes = p->channels_last ? LANES : 1;
    int64_t part_pixels;
    const int64_t parts = direct_parts(p, &part_pixels);
    *s = (struct cvp_cuda_step){
        .kernel = (enum cvp_cuda_kernel)(CVP_CUDA_dw_direct_filter_f32 + cvp_cuda_type(p)),
        .grid = {(unsigned)cvp_ceil_div(p->oc, lanes), is_bias ? 1 : (unsigned)cvp_conv_taps(p),
                 (unsigned)parts},
        .threads = THREADS,
        .shared = THREADS * (unsigned)cvp_cuda_sum_size(p),
        .args.dw_direct_filter = {.src = is_bias ? NULL : t->src,
                                  .dst = t->dst,
                                  .sums = t->workspace,
                                  .src_stride = cvp_cuda_strides_of(&p->src),
                                  .dst_stride = cvp_cuda_strides_of(&p->dst),
                                  .pixels = p->mb * cvp_conv_dst_pixels(p),
                                  .part_pixels = part_pixels,
                                  .channels = (int32_t)p->oc,
                                  .multiplier = is_bias ? 1 : (int32_t)(p->oc / p->ic),
                                  .lanes = lanes}};
    axes_of(p, s->args.dw_direct_filter.axis);
    if (is_bias)
        for (int i = 0; i < 3; i++) s->args.dw_direct_filter.axis[i].k = 1;
}

/* ---- the ways
 * ------------------------------------------------------------------------------------ */

static int64_t parts_of(const convop_conv_problem *p, int tile, const struct cvp_cuda_operands *t)
{
    int64_t part_pixels;
    if (p->direction == CONVOP_BWD_B || cvp_dw_form(p, tile, t) == CVP_DW_DIRECT)
        return direct_parts(p, &part_pixels);
    return cvp_dw_cut_of(p, tile).parts;
}

static int is_filter(const convop_conv_problem *p)
{
    return p->direction == CONVOP_BWD_W || p->direction == CONVOP_BWD_B;
}

static size_t workspace(const convop_conv_problem *p, int tile)
{
    if (!is_filter(p)) return 0;
    int64_t part_pixels, parts = direct_parts(p, &part_pixels);
    if (p->direction == CONVOP_BWD_W && is_fixed(p, tile))
        parts = cvp_max_i64(parts, cvp_dw_cut_of(p, tile).parts);
    return cvp_cuda_parts_bytes(p, parts);
}

static int fits(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    if (!cvp_cuda_sizes_fit(p, why)) return 0;
    const int is_bias = p->direction == CONVOP_BWD_B;
    const int64_t elements = is_filter(p) ? p->oc * cvp_conv_taps(p) : out_count(p);
    if (elements / THREADS >= CVP_CUDA_MAX_X ||
        (is_filter(p) && !is_bias && cvp_conv_taps(p) > CVP_CUDA_MAX_YZ))
        return cvp_conv_refuse(why, "it takes more blocks than a launch has");
    if (workspace(p, 0) > p->workspace_limit)
        return cvp_conv_refuse(why, "it needs %zu bytes of workspace, allowed are %zu",
                               workspace(p, 0), p->workspace_limit);
    return 1;
}

static int takes(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    return cvp_dw_is_depthwise(p, why) && fits(p, why);
}

static int64_t steps(const convop_conv_problem *p, int tile)
{
    (void)tile;
    return is_filter(p) ? 2 : 1;
}

static void step(const convop_conv_problem *p, int tile, const struct cvp_cuda_operands *t,
                 int64_t i, struct cvp_cuda_step *s)
{
    const int fixed = p->direction != CONVOP_BWD_B && cvp_dw_form(p, tile, t) != CVP_DW_DIRECT;
    if (i == 1)
        cvp_cuda_reduce_step(p, t, parts_of(p, tile, t), s);
    else if (!fixed)
        (is_filter(p) ? direct_filter_step : direct_step)(p, t, s);
    else
        (is_filter(p) ? cvp_dw_filter_step : cvp_dw_data_step)(p, tile, t, s);
}

static int one_tile(const convop_conv_problem *p, int tiles[CVP_CUDA_MOST_TILES])
{
    (void)p;
    tiles[0] = 0;
    return 1;
}

const struct cvp_cuda_way cvp_cuda_depthwise = {takes, cvp_dw_tiles, workspace, steps, step};
const struct cvp_cuda_way cvp_cuda_bias = {fits, one_tile, workspace, steps, step};

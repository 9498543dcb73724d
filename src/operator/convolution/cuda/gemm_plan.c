/* Launches of implicit GEMM: forward and backward by data are one launch a phase of the window's
 * walk (cpu/stencil.h), the filter gradient is one in parts and one that adds them. */

#include "src/common/size.h"
#include "src/operator/convolution/cpu/stencil.h"
#include "src/operator/convolution/cuda/launch.h"

/* Rows (and columns) of the large tile and of the small one, and their threads. */
#define LARGE         128
#define LARGE_THREADS 256
#define SMALL         64
#define SMALL_THREADS 128

/* Blocks that keep a large GPU busy; below, tiles are smaller and sums are cut into parts. */
#define ENOUGH_BLOCKS 512
/* Depth that is worth a part, and the step of its size. */
#define PART_DEPTH 512
#define DEPTH_STEP 32

/* Shared memory of a block: two slices of both operands and the places of rows and of the depth. */
#define SLICE_DEPTH 8
#define PLACE_BYTES 32
#define AHEAD       32

/* Of an axis, several merged into one: kernels count it in 32 bits. */
#define MOST_PIXELS (1 << 29)

static int is_filter(const convop_conv_problem *p)
{
    return p->direction == CONVOP_BWD_W;
}

/* Channels of a group that the image has, and those that are the columns. */
static int64_t image_channels(const convop_conv_problem *p)
{
    return (p->direction == CONVOP_BWD_D ? p->oc : p->ic) / p->g;
}

static int64_t columns_of(const convop_conv_problem *p)
{
    return (p->direction == CONVOP_BWD_D ? p->ic : p->oc) / p->g;
}

struct cut {
    int64_t rows, depth, tile, row_tiles, column_tiles, parts, part_depth;
};

/* Tile 1 is the one that is not taken at first. */
static struct cut cut_for(const convop_conv_problem *p, int tile, const struct stencil *w)
{
    const int64_t pixels = p->mb * w->d.count * w->h.count * w->w.count;
    const int64_t taps = w->d.taps * w->h.taps * w->w.taps * image_channels(p);
    const int64_t columns = columns_of(p);
    struct cut c = {.rows = is_filter(p) ? taps : pixels, .depth = is_filter(p) ? pixels : taps};
    c.tile = LARGE;
    c.row_tiles = cvp_ceil_div(c.rows, LARGE);
    c.column_tiles = cvp_ceil_div(columns, LARGE);
    const int64_t blocks = c.row_tiles * c.column_tiles * p->g;
    const int is_small =
        columns <= SMALL || c.rows <= SMALL || (!is_filter(p) && blocks < ENOUGH_BLOCKS / 4);
    if (p->dtype.bits == 64 || is_small != tile) {
        c.tile = SMALL;
        c.row_tiles = cvp_ceil_div(c.rows, SMALL);
        c.column_tiles = cvp_ceil_div(columns, SMALL);
    }
    c.parts = 1;
    c.part_depth = cvp_max_i64(c.depth, 1);
    if (is_filter(p)) {
        const int64_t tiles = c.row_tiles * c.column_tiles * p->g;
        int64_t parts = cvp_min_i64(cvp_ceil_div(ENOUGH_BLOCKS, tiles), c.depth / PART_DEPTH);
        parts = cvp_min_i64(parts, cvp_cuda_most_parts(p));
        parts = cvp_max_i64(1, cvp_min_i64(parts, CVP_CUDA_MAX_YZ / p->g));
        c.part_depth = cvp_ceil_div(cvp_ceil_div(c.depth, parts), DEPTH_STEP) * DEPTH_STEP;
        c.parts = cvp_ceil_div(c.depth, c.part_depth);
    }
    return c;
}

static struct stencil walk_of(const convop_conv_problem *p, int64_t phase)
{
    if (!is_filter(p)) return cvp_conv_stencil(p, phase, p->dense);
    convop_conv_problem forward = *p;
    forward.direction = CONVOP_FWD;
    return cvp_conv_stencil(&forward, 0, p->dense);
}

/* Sums of one part lie as the gradient does: it is computed in its place, without a workspace. */
static int is_in_place(const convop_conv_problem *p, const struct cut *c)
{
    return is_filter(p) && c->parts == 1 && p->dense && !p->channels_last && !p->add &&
           cvp_conv_element_size(p) == cvp_cuda_sum_size(p);
}

static size_t workspace(const convop_conv_problem *p, int tile)
{
    if (!is_filter(p)) return 0;
    const struct stencil w = walk_of(p, 0);
    const struct cut c = cut_for(p, tile, &w);
    return is_in_place(p, &c) ? 0 : cvp_cuda_parts_bytes(p, c.parts);
}

/* 1 if launches can have the blocks. */
static int has_room(const convop_conv_problem *p, int tile)
{
    const struct stencil w = walk_of(p, 0);
    const struct cut c = cut_for(p, tile, &w);
    return c.row_tiles <= CVP_CUDA_MAX_X && c.column_tiles <= CVP_CUDA_MAX_YZ &&
           p->g * c.parts <= CVP_CUDA_MAX_YZ;
}

static int tiles(const convop_conv_problem *p, int numbers[CVP_CUDA_MOST_TILES])
{
    numbers[0] = 0;
    numbers[1] = 1;
    return p->dtype.bits != 64 && has_room(p, 1) && workspace(p, 1) <= p->workspace_limit ? 2 : 1;
}

static int takes(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    if (!cvp_cuda_sizes_fit(p, why)) return 0;
    const struct stencil w = walk_of(p, 0);
    if (!has_room(p, 0) || w.w.count > MOST_PIXELS || w.w.in_size > MOST_PIXELS ||
        cvp_conv_taps(p) > INT32_MAX)
        return cvp_conv_refuse(why, "it takes more blocks than a launch has");
    if (workspace(p, 0) > p->workspace_limit)
        return cvp_conv_refuse(why, "it needs %zu bytes of workspace, allowed are %zu",
                               workspace(p, 0), p->workspace_limit);
    return 1;
}

static int64_t steps(const convop_conv_problem *p, int tile)
{
    if (!is_filter(p)) return cvp_conv_phases(p);
    const struct stencil w = walk_of(p, 0);
    const struct cut c = cut_for(p, tile, &w);
    return is_in_place(p, &c) ? 1 : 2;
}

static struct cvp_cuda_walk walk_args(const struct stencil_axis *a)
{
    return (struct cvp_cuda_walk){.count = cvp_cuda_divide_by(a->count),
                                  .taps = cvp_cuda_divide_by(a->taps),
                                  .out_first = (int32_t)a->out_first,
                                  .out_step = (int32_t)a->out_step,
                                  .in_size = (int32_t)a->in_size,
                                  .in_step = (int32_t)a->in_step,
                                  .k_first = (int32_t)a->k_first,
                                  .k_step = (int32_t)a->k_step,
                                  .at_first = (int32_t)a->at_first,
                                  .at_step = (int32_t)a->at_step};
}

/* 1 if four elements from an address that the strides lead to are aligned to their size. */
static int fours(const convop_conv_problem *p, const void *at, const struct cvp_cuda_strides *s,
                 int64_t run_of)
{
    const int64_t all[] = {s->n, s->c, s->d, s->h, s->w};
    const size_t unit = 4 * cvp_conv_element_size(p);
    for (int i = 0; i < 5; i++)
        if (i != run_of && all[i] % 4) return 0;
    return all[run_of] == 1 && (uintptr_t)at % (unit > 16 ? 16 : unit) == 0;
}

enum { N, C, D, H, W };

/* 1 if four pixels of the walk in a row are four elements of the image, all inside or none. */
static int reads_in_place(const struct stencil *w)
{
    return w->w.taps == 1 && w->w.in_step == 1 && w->w.at_first == 0 &&
           w->w.count == w->w.in_size && w->w.count % 4 == 0;
}

static void choose_loads(const convop_conv_problem *p, const struct stencil *w,
                         struct cvp_gemm_args *a)
{
    const int channels_4 = a->image_channels.by % 4 == 0, columns_4 = a->columns % 4 == 0;
    const int filter = a->filter;
    /* Along the rows of data lie pixels, along those of the filter gradient channels. */
    const int pixels = filter ? CVP_GEMM_DEEP : CVP_GEMM_ACROSS;
    const int channels = filter ? CVP_GEMM_ACROSS : CVP_GEMM_DEEP;
    const int four = CVP_GEMM_DEEP_4 - CVP_GEMM_DEEP;
    a->image_load = a->image_stride.c == 1 ? channels : pixels;
    if (channels_4 && fours(p, a->image, &a->image_stride, C))
        a->image_load = channels + four;
    else if (reads_in_place(w) && fours(p, a->image, &a->image_stride, W))
        a->image_load = pixels + four;

    const int run_4 = w->w.count % 4 == 0 && w->w.out_step == 1;
    if (filter) {
        a->other_load = a->other_stride.c == 1 ? CVP_GEMM_ACROSS : CVP_GEMM_DEEP;
        if (columns_4 && fours(p, a->other, &a->other_stride, C))
            a->other_load = CVP_GEMM_ACROSS_4;
        else if (run_4 && fours(p, a->other, &a->other_stride, W))
            a->other_load = CVP_GEMM_DEEP_4;
        return;
    }
    const int aligned = a->other_group % 4 == 0;
    a->other_load = a->other_stride.n == 1 ? CVP_GEMM_ACROSS : CVP_GEMM_DEEP;
    if (aligned && channels_4 && fours(p, a->other, &a->other_stride, C))
        a->other_load = CVP_GEMM_DEEP_4;
    else if (aligned && columns_4 && fours(p, a->other, &a->other_stride, N))
        a->other_load = CVP_GEMM_ACROSS_4;
    a->store = CVP_GEMM_ONE;
    if (columns_4 && fours(p, a->out, &a->out_stride, C))
        a->store = CVP_GEMM_COLUMNS_4;
    else if (run_4 && w->w.out_first % 4 == 0 && fours(p, a->out, &a->out_stride, W))
        a->store = CVP_GEMM_ROWS_4;
}

/* The tensors in their parts. */
static void place_tensors(const convop_conv_problem *p, const struct cvp_cuda_operands *t,
                          struct cvp_gemm_args *a)
{
    const struct cvp_cuda_strides src = cvp_cuda_strides_of(&p->src);
    const struct cvp_cuda_strides dst = cvp_cuda_strides_of(&p->dst);
    const struct cvp_cuda_strides weights = cvp_cuda_strides_of(&p->weights);
    a->finish = cvp_cuda_finish_of(p, t);
    switch (p->direction) {
    case CONVOP_FWD:
        a->image = t->src, a->image_stride = src;
        a->other = t->weights, a->other_stride = weights;
        a->other_group = a->columns * weights.n;
        a->out = t->out, a->out_stride = dst;
        break;
    case CONVOP_BWD_D:
        a->image = t->dst, a->image_stride = dst;
        a->other = t->weights, a->other_stride = weights;
        a->other_stride.n = weights.c, a->other_stride.c = weights.n;
        a->other_group = a->image_channels.by * weights.n;
        a->out = t->out, a->out_stride = src;
        break;
    default:
        a->image = t->src, a->image_stride = src;
        a->other = t->dst, a->other_stride = dst;
        a->other_group = a->columns * dst.c;
        a->out = t->workspace;
        break;
    }
}

static unsigned shared_bytes(const convop_conv_problem *p, int64_t tile)
{
    const size_t slices = 2 * SLICE_DEPTH * 2 * ((size_t)tile + 4) * cvp_cuda_sum_size(p);
    return (unsigned)(slices + ((size_t)tile + 2 * AHEAD) * PLACE_BYTES);
}

static void step(const convop_conv_problem *p, int tile, const struct cvp_cuda_operands *t,
                 int64_t i, struct cvp_cuda_step *s)
{
    const struct stencil w = walk_of(p, is_filter(p) ? 0 : i);
    const struct cut c = cut_for(p, tile, &w);
    if (is_filter(p) && i == 1) {
        cvp_cuda_reduce_step(p, t, c.parts, s);
        return;
    }
    const int base =
        c.tile == LARGE ? (int)CVP_CUDA_gemm_128x128_f32 : (int)CVP_CUDA_gemm_64x64_f32;
    *s = (struct cvp_cuda_step){
        .kernel = (enum cvp_cuda_kernel)(base + (int)cvp_cuda_type(p)),
        .grid = {(unsigned)c.row_tiles, (unsigned)c.column_tiles, (unsigned)(p->g * c.parts)},
        .threads = c.tile == LARGE ? LARGE_THREADS : SMALL_THREADS,
        .shared = shared_bytes(p, c.tile)};
    struct cvp_gemm_args *a = &s->args.gemm;
    *a = (struct cvp_gemm_args){.walk = {walk_args(&w.d), walk_args(&w.h), walk_args(&w.w)},
                                .pixels = p->mb * w.d.count * w.h.count * w.w.count,
                                .part_depth = c.part_depth,
                                .image_channels = cvp_cuda_divide_by(image_channels(p)),
                                .columns = (int32_t)columns_of(p),
                                .groups = (int32_t)p->g,
                                .filter = is_filter(p)};
    place_tensors(p, t, a);
    if (is_in_place(p, &c)) a->out = t->out;
    choose_loads(p, &w, a);
}

const struct cvp_cuda_way cvp_cuda_gemm = {takes, tiles, workspace, steps, step};

/* Cutting a problem for the row `split`, backward by weights. */
#include "src/common/alloc.h"
#include "src/common/cpu.h"
#include "src/common/size.h"
#include "src/operator/convolution/cpu/pixel_chunks.h"
#include "src/operator/convolution/cpu/split_filter.h"

int64_t cvp_conv_split_filter_plane(int64_t pixels)
{
    return split_odd_lines((pixels + 2 * SPLIT_DEPTH) * 2);
}

static int64_t plane_bytes(const struct split_filter *f, const struct split_grid *g)
{
    int64_t bytes;
    if (g->pixels > INT64_MAX / 8) return INT64_MAX;
    if (f->is_tiled)
        return cvp_mul_i64(cvp_ceil_div(g->sums, SPLIT_DEPTH), SPLIT_STEP * f->rows, &bytes)
                   ? bytes
                   : INT64_MAX;
    if (!cvp_mul_i64(cvp_conv_split_filter_plane(g->pixels), SPLIT_TERMS * SPLIT_PANEL * f->rows,
                     &bytes))
        return INT64_MAX;
    return bytes;
}

static int64_t pair_bytes(const struct split_filter *f, const struct split_grid *g)
{
    int64_t bytes;
    if (!cvp_mul_i64(cvp_ceil_div(g->sums, SPLIT_DEPTH), SPLIT_STEP * f->columns, &bytes))
        return INT64_MAX;
    return bytes;
}

/* A lane's own planes, which become pairs. */
static int64_t turn_bytes(const struct split_filter *f, const struct split_grid *g)
{
    return f->p->channels_last ? 0
                               : SPLIT_TERMS * SPLIT_SIDE * cvp_conv_split_filter_plane(g->pixels);
}

/* Those of one lane. */
static int64_t bytes_of(const void *arg, const struct split_grid *g)
{
    const int64_t planes = plane_bytes(arg, g), pairs = pair_bytes(arg, g);
    if (planes > INT64_MAX / 4 || pairs > INT64_MAX / 4) return INT64_MAX;
    return planes + pairs + turn_bytes(arg, g); /* not more than planes */
}

/* Forward. Pixels that are read where they are written, of an image or, in N*C, of all, are one
 * row. */
static void set_walk(struct split_filter *f)
{
    const convop_conv_problem *p = f->p;
    f->walk.d = cvp_conv_forward_axis(p, 0);
    f->walk.h = cvp_conv_forward_axis(p, 1);
    f->walk.w = cvp_conv_forward_axis(p, 2);
    f->mb = p->mb;
    if (!cvp_conv_is_pointwise(p)) return;
    f->walk.w.count = cvp_conv_dst_pixels(p);
    f->walk.d.count = f->walk.h.count = f->walk.d.in_size = f->walk.h.in_size = 1;
    if (p->channels_last) {
        f->walk.w.count *= p->mb;
        f->mb = 1;
    }
    f->walk.w.in_size = f->walk.w.count;
}

/* With one tap either may be. Turning a tensor on its way in takes as long for two elements as
 * turning sums, which lie across diff_weights if src is planes, does for one. */
static int is_src_planes(const struct split_filter *f)
{
    const convop_conv_problem *p = f->p;
    if (f->taps > 1) return 1;
    const double pixels = (double)p->mb * (double)cvp_conv_dst_pixels(p);
    const double less = (double)((p->channels_last ? p->oc - p->ic : p->ic - p->oc) / p->g);
    return 2 * pixels * less > (double)(p->ic / p->g) * (double)(p->oc / p->g);
}

/* Pixels of a chunk, at least. */
#define CHUNK_PIXELS 640

/* By the problem alone, as they decide the order of sums; a power of two, so that most numbers of
 * threads have the same work each. `own` bytes are needed besides the sums. */
static void set_chunks(struct split_filter *f, size_t own)
{
    const convop_conv_problem *p = f->p;
    int64_t bytes, most = cvp_min_i64(CVP_MOST_CHUNKS, f->blocks);
    f->chunks = 1;
    if (!cvp_mul_i64(p->oc * (int64_t)sizeof(float), p->ic / p->g * f->taps, &bytes)) return;
    const size_t left = p->workspace_limit > own ? p->workspace_limit - own : 0;
    const size_t room = left < CVP_CHUNK_SUM_BYTES ? left : CVP_CHUNK_SUM_BYTES;
    const size_t sum = cvp_round_up((size_t)bytes, CVP_BUFFER_ALIGN);
    most = cvp_min_i64(most, p->mb * cvp_conv_dst_pixels(p) / CHUNK_PIXELS);
    most = cvp_min_i64(most, (int64_t)(room / sum));
    while (2 * f->chunks <= most) f->chunks *= 2;
    if (f->chunks > 1) f->sum_bytes = sum;
}

/* Bytes of the grids of all lanes, at most, where each has its own. */
#define LANE_BYTES ((size_t)6 << 20)

/* Lanes of their own grids, if there is work for all of them, and room; else one grid for all. */
static void set_lanes(struct split_filter *f)
{
    const convop_conv_problem *p = f->p;
    const size_t own = f->plane_bytes + f->pair_bytes + f->turn_bytes, threads = (size_t)p->threads;
    set_chunks(f, own);
    const size_t sums = (size_t)(f->chunks - 1) * f->sum_bytes;
    if (sums + own > p->workspace_limit) return;
    const size_t room = p->workspace_limit - sums;
    f->is_apart = p->threads <= p->g * f->chunks && own <= room / threads &&
                  (threads == 1 || own <= LANE_BYTES / threads);
    f->lane_bytes = f->is_apart ? own : f->turn_bytes;
    f->lanes = p->threads;
    if (!f->is_apart && f->turn_bytes > 0)
        f->lanes = (int)cvp_min_i64(f->lanes, (int64_t)((room - own) / f->turn_bytes + 1));
}

struct split_filter cvp_conv_split_filter_plan(const convop_conv_problem *p,
                                               char why[CONVOP_WHY_SIZE])
{
    struct split_filter f = {
        .p = p, .kernels = cvp_split_kernels(p->isa), .taps = cvp_conv_taps(p)};
    if (!cvp_conv_split_takes(p, why)) return f;
    set_walk(&f);
    const int64_t in = cvp_conv_src_pixels(p), out = cvp_conv_dst_pixels(p);
    const struct split_side src = {{p->ic / p->g, p->ic, p->ih, p->iw, in, in * p->ic, p->src}, 1};
    const struct split_side dst = {{p->oc / p->g, p->oc, p->oh, p->ow, out, out * p->oc, p->dst},
                                   0};
    const int reads_src = is_src_planes(&f);
    f.planes = reads_src ? src : dst;
    f.pairs = reads_src ? dst : src;
    f.is_tiled = f.taps == 1 && p->channels_last;
    f.rows = cvp_ceil_div(f.planes.end.c, SPLIT_PANEL);
    f.columns = cvp_ceil_div(f.pairs.end.c, SPLIT_PANEL);
    const int64_t near = cvp_cpu_l2() / 2;
    const int64_t limit = p->workspace_limit < INT64_MAX ? (int64_t)p->workspace_limit : INT64_MAX;
    f.block = cvp_conv_split_cut(&f.walk, f.mb, cvp_min_i64(near, limit), bytes_of, &f);
    f.blocks = cvp_conv_split_blocks(&f.block, &f.walk, f.mb);
    struct split_grid g = cvp_conv_split_grid(&f.walk);
    if (!cvp_conv_split_grid_size(&g, &f.block) || bytes_of(&f, &g) > INT64_MAX / 2) {
        cvp_conv_refuse(why, "a block of it is too large to be counted");
        return f;
    }
    f.plane_bytes = cvp_round_up((size_t)plane_bytes(&f, &g), CVP_BUFFER_ALIGN);
    f.pair_bytes = cvp_round_up((size_t)pair_bytes(&f, &g), CVP_BUFFER_ALIGN);
    f.turn_bytes = (size_t)turn_bytes(&f, &g);
    set_lanes(&f);
    cvp_conv_has_lanes(p, f.lanes, why);
    return f;
}

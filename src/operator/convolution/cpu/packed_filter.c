/* The row `packed`, backward by weights: products of panels, summed over the pixels of all images.
 *
 *     diff_weights[o][j] += diff_dst[pixel][o] * src[what j of the filter multiplies at pixel]
 *
 * src is packed with pixels as the depth, whatever rows and images they are of, so that short rows
 * cost no more than others; an element j of a filter lies where diff_weights has it, in either
 * layout, so that sums go there without being turned. A panel of src, as many elements of a filter
 * as a tile is wide, takes a part of the pixels at a time and meets all output channels. diff_dst
 * is read where it lies in NC*, and packed in N*C.
 *
 * Many pixels are cut into chunks with sums of their own, which are added at last: each lane takes
 * whole chunks, so that none reads what another does. While it multiplies, the lines that it packs
 * next are fetched. */
#include "src/operator/convolution/cpu/packed_filter.h"

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"

struct job {
    const struct packed_filter *f;
    const char *src, *diff_dst;
    char *out, *sums, *tiles, *lanes;
    int add;
    int64_t first;  /* of the pixels that are summed */
    int64_t m0, m1; /* those that are packed */
};

static int64_t count_packings(const struct job *job)
{
    const struct packed_filter *f = job->f;
    return cvp_ceil_div(job->m1 - job->m0, f->part) * cvp_ceil_div(f->p->g * f->tiles, f->abreast);
}

/* Tasks are parts of the pixels, for some of the tiles. */
static void pack_tiles(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    const struct packed_filter *f = job->f;
    const int64_t all = f->p->g * f->tiles, shares = cvp_ceil_div(all, f->abreast);
    int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
    for (int64_t task = begin; task < end; task++) {
        const int64_t part = task / shares, i = task % shares * f->abreast;
        const int64_t m = job->m0 + part * f->part;
        cvp_conv_packed_filter_dst(f, job->diff_dst, m, cvp_min_i64(m + f->part, job->m1), i,
                                   cvp_min_i64(i + f->abreast, all),
                                   job->tiles + part * f->step * f->size);
    }
    cvp_stage_leave(outer);
}

/* What a lane works with: panels of src, staged lines. */
struct own {
    char *panels, *lines;
    struct packed_filter_ahead ahead;
    struct cvp_tile_run runs[CVP_PART_PIXELS];
};

/* Asks for a tile of sums. */
static void fetch_sums(const struct packed_filter *f, const char *sums)
{
    const int64_t width = cvp_min_i64(f->columns, f->filter) * f->size, row = f->filter * f->size;
    for (int64_t i = 0; i < f->height; i++)
        for (int64_t at = 0; at < width; at += CVP_CACHE_LINE)
            __builtin_prefetch(sums + i * row + at, 1);
}

/* Where diff_dst is not packed: output channels from o on of pixels [m0, m1), NC* of each image. */
static void read_in_place(const struct job *job, struct own *own, int64_t o, int64_t m0, int64_t m1,
                          const char *panel, struct cvp_tile_args *t)
{
    const struct packed_filter *f = job->f;
    const int64_t plane = f->rows * f->width, all = f->p->oc;
    t->a_row = f->p->channels_last ? 1 : plane;
    t->a_col = f->p->channels_last ? all : 1;
    t->b_row = f->columns;
    for (int64_t m = m0, n; m < m1; m += n) {
        n = f->p->channels_last ? m1 - m : cvp_min_i64(m1 - m, plane - m % plane);
        const int64_t at =
            f->p->channels_last ? m * all + o : (m / plane * all + o) * plane + m % plane;
        own->runs[t->num_runs++] = (struct cvp_tile_run){
            job->diff_dst + at * f->size, panel + (m - m0) * f->columns * f->size, n};
    }
}

/* Tile i and panel j of those of a group. */
static void multiply(const struct job *job, struct own *own, int64_t g, int64_t j, int64_t i,
                     int64_t m0, int64_t m1, const char *panel)
{
    const struct packed_filter *f = job->f;
    const int64_t o = g * f->ocg + i * f->height;
    char *sums = job->out + (o * f->filter + j * f->columns) * f->size;
    struct cvp_tile_args t = {
        .runs = own->runs, .c = sums, .c_row = f->filter, .add = job->add || m0 > job->first};
    if (f->is_in_place) {
        read_in_place(job, own, o, m0, m1, panel, &t);
    } else {
        const int64_t part = (m0 - job->m0) / f->part * f->step;
        t.num_runs = 1;
        own->runs[0] = (struct cvp_tile_run){
            job->tiles + ((g * f->tiles + i) * f->tile + part) * f->size, panel, m1 - m0};
        t.a_col = f->pitch;
        t.b_row = f->columns;
        t.is_panels = 1;
        t.ahead = cvp_conv_packed_filter_lines(&own->ahead, &t.ahead_table);
        fetch_sums(f, sums);
    }
    cvp_tile_run(f->kernels, &t, (int)cvp_min_i64(f->height, f->ocg - i * f->height),
                 (int)cvp_min_i64(f->columns, f->filter - j * f->columns));
}

/* Tasks are shares of the tiles of some panels of a group. */
static void multiply_tasks(const struct job *job, struct own *own, int64_t begin, int64_t end)
{
    const struct packed_filter *f = job->f;
    int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    for (int64_t task = begin; task < end; task++) {
        const int64_t share = task % f->shares, g = task / f->shares / f->groups;
        const int64_t j0 = task / f->shares % f->groups * f->group;
        const int64_t j1 = cvp_min_i64(j0 + f->group, f->panels);
        const int64_t i0 = f->tiles * share / f->shares, i1 = f->tiles * (share + 1) / f->shares;
        for (int64_t m = job->m0; m < job->m1; m += f->part) {
            const int64_t end_m = cvp_min_i64(m + f->part, job->m1);
            int product = cvp_stage_enter(CONVOP_STAGE_LOWERING);
            for (int64_t j = j0; j < j1; j++)
                cvp_conv_packed_filter_src(f, job->src, g, j * f->columns, m, end_m, own->lines,
                                           own->panels + (j - j0) * f->panel * f->size);
            cvp_stage_leave(product);
            for (int64_t i = i0; i < i1; i++)
                for (int64_t j = j0; j < j1; j++)
                    multiply(job, own, g, j, i, m, end_m,
                             own->panels + (j - j0) * f->panel * f->size);
        }
    }
    cvp_stage_leave(outer);
}

static void begin_lane(const struct job *job, int lane, struct own *own)
{
    own->panels = job->lanes + (size_t)lane * job->f->lane_bytes;
    own->lines = own->panels + job->f->panel_bytes;
    cvp_conv_packed_filter_list(job->f, &own->ahead);
}

static void run_panels(void *arg, int lane, int64_t begin, int64_t end)
{
    struct own own;
    begin_lane(arg, lane, &own);
    multiply_tasks(arg, &own, begin, end);
}

/* The same with tiles of a lane's own: an item is one of the splits of all tasks of a chunk. */
static void run_chunks(void *arg, int lane, int64_t begin, int64_t end)
{
    struct job job = *(const struct job *)arg;
    const struct packed_filter *f = job.f;
    const int64_t tasks = f->p->g * f->groups * f->shares;
    struct own own;
    begin_lane(arg, lane, &own);
    job.tiles += (size_t)lane * f->tile_bytes;
    for (int64_t i = begin; i < end; i++) {
        const int64_t chunk = i / f->splits, split = i % f->splits;
        const int64_t last = cvp_min_i64((chunk + 1) * f->chunk, f->pixels);
        job.first = chunk * f->chunk;
        if (chunk > 0) job.out = job.sums + (size_t)(chunk - 1) * f->sum_bytes;
        job.add = chunk == 0 && f->p->add;
        for (job.m0 = job.first; job.m0 < last; job.m0 = job.m1) {
            job.m1 = cvp_min_i64(job.m0 + f->depth, last);
            if (!f->is_in_place) pack_tiles(&job, lane, 0, count_packings(&job));
            cvp_conv_packed_filter_ahead(&own.ahead, f, job.src, job.diff_dst, job.m1);
            multiply_tasks(&job, &own, tasks * split / f->splits, tasks * (split + 1) / f->splits);
        }
    }
}

/* Filters to which the sums of further chunks are added, in their order. */
static void add_chunks(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    const struct packed_filter *f = job->f;
    for (int64_t i = begin; i < end; i++)
        cvp_conv_add_chunks(f->p, job->out + i * f->filter * f->size, job->sums, f->sum_bytes,
                            f->chunks - 1, i * f->filter, f->filter);
}

static int cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE])
{
    struct packed_filter *f = cut;
    if (!cvp_conv_is_plain(p, why)) return 0;
    *f = cvp_conv_packed_filter_plan(p);
    return cvp_conv_has_lanes(p, f->lanes, why);
}

static size_t workspace(const convop_conv_problem *p)
{
    const struct packed_filter *f = p->cut;
    return (size_t)(f->is_apart ? f->lanes : 1) * f->tile_bytes + (size_t)f->lanes * f->lane_bytes +
           (size_t)(f->chunks - 1) * f->sum_bytes;
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *scratch)
{
    const struct packed_filter *f = p->cut;
    struct job job = {.f = f,
                      .src = t->src,
                      .diff_dst = t->dst,
                      .out = t->out,
                      .add = p->add,
                      .lanes = scratch,
                      .sums = (char *)scratch + (size_t)f->lanes * f->lane_bytes};
    job.tiles = job.sums + (size_t)(f->chunks - 1) * f->sum_bytes;
    if (f->is_apart) {
        cvp_parallel_on(context, f->lanes, f->chunks * f->splits, run_chunks, &job);
        if (f->chunks > 1) cvp_parallel_on(context, f->lanes, p->oc, add_chunks, &job);
        return CONVOP_OK;
    }
    for (job.m0 = 0; job.m0 < f->pixels; job.m0 = job.m1) {
        job.m1 = cvp_min_i64(job.m0 + f->depth, f->pixels);
        cvp_parallel_on(context, f->lanes, count_packings(&job), pack_tiles, &job);
        cvp_parallel_on(context, f->lanes, p->g * f->groups * f->shares, run_panels, &job);
    }
    return CONVOP_OK;
}

extern const convop_conv_impl cvp_conv_packed_bwd_w;
const convop_conv_impl cvp_conv_packed_bwd_w = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "packed",
    .direction = CONVOP_BWD_W,
    .version = 2,
    .level = CONVOP_LEVEL_BUILTIN,
    .cut = cut,
    .cut_size = CONV_CUT_SIZE(struct packed_filter),
    .workspace = workspace,
    .run = run,
    .estimate = cvp_conv_packed_filter_estimate,
};

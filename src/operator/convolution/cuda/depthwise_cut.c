/* The cut of depthwise problems into blocks; see depthwise_plan.h.
 *
 * What a block reads beyond its own part, the rows and columns around it, is read by its neighbour
 * too: blocks are made so large that this is a few percent, and then small enough that several
 * share a processor and one's copies hide behind another's arithmetic. */
#include "src/common/size.h"
#include "src/operator/convolution/cuda/depthwise_plan.h"

#define WARP 32

/* What a cut aims at. Number 0 is taken until something was measured. */
static const struct aims {
    int64_t threads;
    /* Bytes of a block's tile in NC*, and where rows are long: several blocks fit on the smallest
     * processor (64 KB). */
    int64_t tile_bytes, long_bytes;
    /* Rows that a thread marches down: the rows above the first are read for it once more. */
    int64_t march;
    /* Rows of a block that are worth what it reads around them. */
    int64_t block_rows;
} all_aims[CVP_DW_TILES] = {
    {256, 16 << 10, 22 << 10, 8, 28},
    {128, 8 << 10, 16 << 10, 8, 14},   /* more blocks on a processor */
    {256, 32 << 10, 40 << 10, 16, 56}, /* less that is read twice */
    {256, 16 << 10, 22 << 10, 4, 28},  /* more threads */
};
/* Columns of a tile of columns, and lanes of columns in N*C. */
#define TILE_COLUMNS 128
#define LANE_COLUMNS 32
#define LINE_BYTES   128
/* Threads of a launch below which marches are made shorter: a large GPU holds 300000. */
#define ENOUGH_THREADS 65536
/* Blocks of a filter gradient, and what partial sums may add to the bytes that are moved: 1 / 20.
 */
#define ENOUGH_BLOCKS 1024
#define SUMS_SHARE    20

struct cvp_dw_units cvp_dw_units_of(const convop_conv_problem *p)
{
    const int back = p->direction == CONVOP_BWD_D, pairs = back && p->sw == 2;
    struct cvp_dw_units u = {.outputs = pairs ? 2 : 1,
                             .side_by_side = 1,
                             .step = pairs ? 1 : p->sw,
                             .reach = pairs ? p->kw / 2 + 1 : p->kw,
                             .in_h = back ? p->oh : p->ih,
                             .in_w = back ? p->ow : p->iw,
                             .out_h = back ? p->ih : p->oh,
                             .out_w = back ? p->iw : p->ow};
    /* With pairs, the first input of a unit is the window's, see kernels/march.cuh. */
    const int64_t pairs_first = -((p->kw - 1 - p->kw / 2) / 2);
    u.first_h = pairs ? pairs_first : back ? p->ph - (p->kh - 1) : -p->ph;
    u.first_w = pairs ? pairs_first : back ? p->pw - (p->kw - 1) : -p->pw;
    if (p->direction != CONVOP_BWD_W && !pairs) {
        if (p->channels_last)
            u.side_by_side = p->kw == 3 && p->sw == 1 ? 2 : 1;
        else
            u.side_by_side = p->dtype.bits == 16 ? 2 : 1;
    }
    u.h = cvp_ceil_div(u.out_h, u.outputs);
    u.w = cvp_ceil_div(u.out_w, u.outputs * u.side_by_side);
    return u;
}

static int64_t share(int64_t all, int64_t most)
{
    return cvp_ceil_div(all, cvp_ceil_div(all, most)); /* parts of about the same size */
}

static unsigned whole_warps(int64_t threads)
{
    return (unsigned)(cvp_ceil_div(threads, WARP) * WARP);
}

/* Threads for so many items, `most` at most: as few as take no more turns. */
static unsigned threads_for(int64_t items, int64_t most)
{
    return whole_warps(cvp_ceil_div(items, cvp_ceil_div(items, most)));
}

/* Bytes of a tile: rows of so many units of input, and what a run begins past an aligned address.
 */
static int64_t row_bytes(const convop_conv_problem *p, const struct cvp_dw_units *u,
                         int64_t columns)
{
    const int64_t size = (int64_t)cvp_conv_element_size(p);
    if (columns >= u->w) return u->in_w * size;
    return ((columns * u->side_by_side - 1) * u->step + u->reach) * size + 32;
}

static int64_t in_rows(const struct cvp_dw_units *u, int64_t rows)
{
    return cvp_min_i64((rows - 1) * u->step + u->reach, u->in_h);
}

/* Rows of a tile, at most, of which `bytes` hold the input and `more` bytes for each row. */
static int64_t rows_within(const struct cvp_dw_units *u, int64_t row, int64_t more, int64_t bytes)
{
    const int64_t most = (bytes - (u->reach - u->step) * row) / (u->step * row + more);
    return u->in_h * row + u->h * more <= bytes ? u->h : most;
}

/* The cut of a plane in NC*: whole rows where some fit, else columns too. */
static void cut_first(const convop_conv_problem *p, const struct aims *aims,
                      const struct cvp_dw_units *u, int64_t gradient, int64_t most_columns,
                      struct cvp_dw_cut *c)
{
    const int64_t size = (int64_t)cvp_conv_element_size(p) * gradient;
    int64_t columns = u->w <= most_columns ? u->w : TILE_COLUMNS;
    int64_t row = row_bytes(p, u, columns);
    int64_t rows = rows_within(u, row, size * columns, aims->tile_bytes);
    if (rows < cvp_min_i64(aims->block_rows, u->h))
        rows = rows_within(u, row, size * columns, aims->long_bytes);
    if (rows < 4 && columns > TILE_COLUMNS) {
        columns = TILE_COLUMNS;
        row = row_bytes(p, u, columns);
        rows = rows_within(u, row, size * columns, aims->tile_bytes);
    }
    c->columns = (int32_t)columns;
    c->column_tiles = (int32_t)cvp_ceil_div(u->w, columns);
    c->rows = (int32_t)share(u->h, cvp_max_i64(rows, 1));
    c->row_tiles = (int32_t)cvp_ceil_div(u->h, c->rows);
}

/* Several planes are copied whole. */
static int64_t tile_bytes(const convop_conv_problem *p, const struct cvp_dw_units *u,
                          const struct cvp_dw_cut *c)
{
    const int64_t rows = c->planes > 1 ? u->in_h : in_rows(u, c->rows);
    return c->planes * rows * row_bytes(p, u, c->columns) + 16;
}

/* Planes of a block, where a plane is one tile of so many threads and of its own and more bytes. */
static int32_t planes_within(const convop_conv_problem *p, const struct aims *aims,
                             const struct cvp_dw_units *u, int64_t planes, int64_t items,
                             int64_t more, const struct cvp_dw_cut *c)
{
    if (c->row_tiles * c->column_tiles > 1) return 1;
    const int64_t bytes = u->in_h * row_bytes(p, u, c->columns) + more;
    const int64_t most = cvp_min_i64(aims->tile_bytes / bytes, aims->threads / items);
    return (int32_t)cvp_max_i64(1, cvp_min_i64(most, planes));
}

/* The cut in N*C. Lanes lie along as many channels as are a line of the cache, then along columns,
 * then along groups of rows. */
static void cut_last(const convop_conv_problem *p, const struct aims *aims,
                     const struct cvp_dw_units *u, struct cvp_dw_cut *c)
{
    const int64_t vectors = p->ic / cvp_dw_last_channels(p);
    const int64_t vector = cvp_dw_last_channels(p) * (int64_t)cvp_conv_element_size(p);
    int64_t planes = share(vectors, LINE_BYTES / vector);
    c->columns = (int32_t)share(u->w, cvp_min_i64(LANE_COLUMNS, aims->threads / planes));
    c->column_tiles = (int32_t)cvp_ceil_div(u->w, c->columns);
    const int64_t groups = cvp_max_i64(
        1, cvp_min_i64(aims->threads / (planes * c->columns), cvp_ceil_div(u->h, aims->march)));
    int64_t march =
        cvp_ceil_div(share(u->h, cvp_max_i64(aims->block_rows, aims->march * groups)), groups);
    const int64_t threads = p->mb * vectors * u->w;
    while (p->direction != CONVOP_BWD_W && march > 1 &&
           threads * cvp_ceil_div(u->h, march) < ENOUGH_THREADS)
        march = (march + 1) / 2;
    c->thread_rows = (int32_t)march;
    c->rows = (int32_t)cvp_min_i64(march * groups, u->h);
    c->row_tiles = (int32_t)cvp_ceil_div(u->h, c->rows);
    planes = cvp_max_i64(planes, share(vectors, aims->threads / (c->columns * groups)));
    c->planes = (int32_t)planes;
    c->threads = whole_warps(planes * c->columns * groups);
}

static struct cvp_dw_cut data_cut(const convop_conv_problem *p, const struct aims *aims)
{
    const struct cvp_dw_units u = cvp_dw_units_of(p);
    const int64_t planes = p->mb * p->ic;
    struct cvp_dw_cut c = {.planes = 1};
    int64_t march = aims->march;
    if (p->channels_last) {
        cut_last(p, aims, &u, &c);
        return c;
    }
    cut_first(p, aims, &u, 0, INT32_MAX, &c);
    while (march > 1 && planes * u.w * cvp_ceil_div(u.h, march) < ENOUGH_THREADS) march /= 2;
    c.thread_rows = (int32_t)share(c.rows, march);
    const int64_t items = cvp_ceil_div(c.rows, c.thread_rows) * c.columns;
    c.planes = planes_within(p, aims, &u, planes, items, 0, &c);
    c.threads = threads_for(items * c.planes, aims->threads);
    c.shared = (unsigned)tile_bytes(p, &u, &c);
    return c;
}

/* Tiles into parts, such that there are enough blocks and few sums. */
static void cut_parts(const convop_conv_problem *p, int64_t channel_blocks, struct cvp_dw_cut *c)
{
    const int64_t tiles = p->mb * c->row_tiles * c->column_tiles;
    const int64_t size = (int64_t)cvp_conv_element_size(p), sums = p->ic * cvp_conv_taps(p) * 4 * 2;
    const int64_t bytes = p->mb * p->ic * (p->ih * p->iw + p->oh * p->ow) * size;
    int64_t parts =
        cvp_min_i64(cvp_ceil_div(ENOUGH_BLOCKS, channel_blocks), bytes / SUMS_SHARE / sums);
    parts = cvp_max_i64(1, cvp_min_i64(cvp_min_i64(parts, tiles), cvp_cuda_most_parts(p)));
    c->part_tiles = cvp_ceil_div(tiles, parts);
    c->parts = cvp_ceil_div(tiles, c->part_tiles);
}

static struct cvp_dw_cut filter_cut(const convop_conv_problem *p, const struct aims *aims)
{
    const struct cvp_dw_units u = cvp_dw_units_of(p);
    struct cvp_dw_cut c = {.planes = 1};
    int64_t channels = p->ic;
    if (!p->channels_last) {
        cut_first(p, aims, &u, 1, aims->threads, &c);
        const int64_t most_groups = cvp_max_i64(1, aims->threads / c.columns);
        c.thread_rows =
            (int32_t)share(c.rows, cvp_max_i64(aims->march, cvp_ceil_div(c.rows, most_groups)));
        const int64_t items = cvp_ceil_div(c.rows, c.thread_rows) * c.columns;
        const int64_t size = (int64_t)cvp_conv_element_size(p);
        const int64_t gradient = (int64_t)c.rows * c.columns * size;
        c.planes = planes_within(p, aims, &u, channels, items, gradient, &c);
        c.threads = whole_warps(items * c.planes);
        int64_t pitch = (int64_t)c.columns * size;
        if (c.column_tiles > 1) pitch += 32;
        const int64_t bytes = tile_bytes(p, &u, &c) + 32 + c.planes * c.rows * pitch + 16;
        c.shared = (unsigned)cvp_max_i64(bytes, c.threads * 4);
    } else {
        channels = p->ic / cvp_dw_last_channels(p);
        cut_last(p, aims, &u, &c);
        c.shared = c.threads * (unsigned)cvp_dw_last_channels(p) * 4;
    }
    cut_parts(p, cvp_ceil_div(channels, c.planes), &c);
    return c;
}

struct cvp_dw_cut cvp_dw_cut_of(const convop_conv_problem *p, int tile)
{
    const struct aims *aims = &all_aims[tile];
    return p->direction == CONVOP_BWD_W ? filter_cut(p, aims) : data_cut(p, aims);
}

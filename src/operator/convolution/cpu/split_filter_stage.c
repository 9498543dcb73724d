/* A block of the row `split`, backward by weights: the terms of its two tensors.
 *
 * Planes have the pixels of the grid of a channel side by side, two bytes each; so the depth of the
 * product is the pixels, and a tap is an address. Pairs have for each two numbers m of outputs 32
 * channels side by side, and zeros at numbers that are no output's. What lies across is turned: of
 * N*C planes, of NC* pairs. */
#include <string.h>

#include "src/common/size.h"
#include "src/operator/convolution/cpu/split_filter.h"

/* Channels whose pairs are turned at a time. */
#define TURNED 64

static const float *base_of(const struct split_filter_job *job, const struct split_side *side)
{
    return side->is_src ? job->src : job->dst;
}

/* Rows of pixels, numbered as those of a grid: src's of the grid itself. Those of diff_dst are of
 * as many, of which the block's outputs are there. */
static struct split_row row_of(const struct split_filter_job *job, const struct split_side *side,
                               int64_t i)
{
    const struct split_grid *g = &job->layout;
    const struct split_block *b = &job->b;
    if (side->is_src) return cvp_conv_split_row(g, b, &side->end, i);
    const int64_t h = i % g->heights, d = i / g->heights % g->depths;
    const int is_in = h < b->height && d < b->depth;
    return (struct split_row){
        .at = i * g->pitch,
        .end = is_in ? b->width : 0,
        .n = b->n0 + i / g->heights / g->depths,
        .from = ((b->d0 + d) * side->end.h + b->h0 + h) * side->end.w + b->w0,
        .step = 1,
    };
}

/* How many rows there are of a side. */
static int64_t rows_of(const struct split_filter_job *job, const struct split_side *side)
{
    return side->is_src ? cvp_conv_split_rows(&job->layout, &job->b)
                        : job->b.images * job->layout.depths * job->layout.heights;
}

/* N*C: where the group's channels of the pixels [m, m + 32) are; NULL: zeros. */
static void list_pixels(const struct split_filter_job *job, const struct split_side *side,
                        int64_t m, const float *at[SPLIT_DEPTH])
{
    const int64_t pitch = job->layout.pitch, rows = rows_of(job, side);
    const float *base = base_of(job, side) + job->g * side->end.c;
    for (int64_t j = 0; j < SPLIT_DEPTH;) {
        const int64_t i = (m + j) / pitch, x = (m + j) % pitch;
        const int64_t n = cvp_min_i64(SPLIT_DEPTH - j, pitch - x);
        struct split_row r = {0};
        if (i < rows) r = row_of(job, side, i);
        for (int64_t k = 0; k < n; k++, j++) {
            const int is_in = x + k >= r.begin && x + k < r.end;
            at[j] = is_in ? base + r.n * side->end.image +
                                (r.from + (x + k - r.begin) * r.step) * side->end.all
                          : NULL;
        }
    }
}

/* NC*: a channel's plane of each term; channels beyond the last have zeros. */
static void make_plane(const struct split_filter_job *job, const struct split_side *side, int64_t c,
                       char *to, int64_t term, int64_t plane)
{
    const struct cvp_split_kernels *kernels = job->f->kernels;
    const int64_t rows = rows_of(job, side), pitch = job->layout.pitch;
    const struct conv_end *e = &side->end;
    if (c >= e->c) {
        for (int t = 0; t < SPLIT_TERMS; t++) memset(to + t * term, 0, (size_t)plane);
        return;
    }
    /* Zeros are written up to 31 pixels further; what belongs there follows. */
    for (int64_t i = 0; i < rows; i++) {
        const struct split_row r = row_of(job, side, i);
        const float *from =
            base_of(job, side) + r.n * e->image + (job->g * e->c + c) * e->plane + r.from;
        char *at = to + r.at * 2;
        if (r.begin > 0) kernels->rows(at, SPLIT_LINE, term, NULL, 1, r.begin);
        if (r.end > r.begin)
            kernels->rows(at + r.begin * 2, SPLIT_LINE, term, from, r.step, r.end - r.begin);
        if (pitch > r.end) kernels->rows(at + r.end * 2, SPLIT_LINE, term, NULL, 1, pitch - r.end);
    }
    const int64_t end = rows * pitch * 2;
    for (int t = 0; t < SPLIT_TERMS; t++) memset(to + t * term + end, 0, (size_t)(plane - end));
}

int64_t cvp_conv_split_plane_parts(const struct split_filter_job *job)
{
    if (!job->f->p->channels_last) return job->f->rows * SPLIT_PANEL;
    if (job->f->is_tiled) return job->steps;
    return cvp_ceil_div(rows_of(job, &job->f->planes) * job->layout.pitch + SPLIT_DEPTH,
                        SPLIT_DEPTH);
}

/* N*C: all channels of 32 pixels. */
static void turn_planes(const struct split_filter_job *job, int64_t part)
{
    _Alignas(64) char pairs[SPLIT_TERMS][SPLIT_SIDE][TURNED * 4];
    const struct split_filter *f = job->f;
    const float *at[SPLIT_DEPTH];
    const int64_t channels = f->planes.end.c, all = f->rows * SPLIT_PANEL;
    list_pixels(job, &f->planes, part * SPLIT_DEPTH, at);
    for (int64_t c = 0; c < all; c += TURNED) {
        const int64_t n = cvp_max_i64(0, cvp_min_i64(TURNED, channels - c));
        const int64_t width = cvp_min_i64(TURNED, all - c);
        for (int64_t i = 0; i < SPLIT_SIDE; i++) {
            const float *even = at[2 * i] ? at[2 * i] + c : NULL;
            const float *odd = at[2 * i + 1] ? at[2 * i + 1] + c : NULL;
            if (n < width) f->kernels->pairs(pairs[0][i], sizeof pairs[0], NULL, NULL, 1, width);
            f->kernels->pairs(pairs[0][i], sizeof pairs[0], even, odd, 1, n);
        }
        for (int t = 0; t < SPLIT_TERMS; t++)
            for (int64_t j = 0; j < width; j += SPLIT_SIDE) {
                const int64_t panel = (c + j) / SPLIT_PANEL, tile = (c + j) / SPLIT_SIDE % 2;
                char *to = job->planes + panel * job->panel + part * job->a.step + t * job->a.term +
                           tile * job->a.tile;
                f->kernels->turn(to, job->a.row, pairs[t][0] + j * 4, TURNED * 4);
            }
    }
}

void cvp_conv_split_planes(const struct split_filter_job *job, int64_t begin, int64_t end)
{
    const int64_t plane = job->a.row;
    for (int64_t i = begin; i < end; i++) {
        if (job->f->p->channels_last)
            turn_planes(job, i);
        else
            make_plane(job, &job->f->planes, i, job->planes + i * plane, job->a.term, plane);
    }
}

int64_t cvp_conv_split_pair_parts(const struct split_filter_job *job)
{
    return job->f->p->channels_last ? job->steps : job->f->columns * 2;
}

/* N*C: all channels of 32 numbers. */
static void make_pairs(const struct split_filter_job *job, int64_t step)
{
    const struct split_filter *f = job->f;
    const float *at[SPLIT_DEPTH];
    const int64_t channels = f->pairs.end.c;
    list_pixels(job, &f->pairs, step * SPLIT_DEPTH, at);
    for (int64_t c = 0; c < channels; c += SPLIT_PANEL) {
        char *to = job->pairs + (c / SPLIT_PANEL * job->steps + step) * SPLIT_STEP;
        const int64_t n = cvp_min_i64(SPLIT_PANEL, channels - c);
        for (int64_t i = 0; i < SPLIT_DEPTH; i += 2, to += SPLIT_PACKED_B.row)
            f->kernels->pairs(to, SPLIT_PACKED_B.term, at[i] ? at[i] + c : NULL,
                              at[i + 1] ? at[i + 1] + c : NULL, 1, n);
    }
}

/* NC*: 16 channels of all numbers, by planes in a lane's room. */
static void turn_pairs(const struct split_filter_job *job, char *room, int64_t part)
{
    const struct split_filter *f = job->f;
    const int64_t plane = cvp_conv_split_filter_plane(job->layout.pixels);
    const int64_t term = SPLIT_SIDE * plane, c = part * SPLIT_SIDE;
    if (c >= f->pairs.end.c) return;
    for (int64_t i = 0; i < SPLIT_SIDE; i++)
        make_plane(job, &f->pairs, c + i, room + i * plane, term, plane);
    char *to = job->pairs + part / 2 * job->steps * SPLIT_STEP + part % 2 * SPLIT_PACKED_B.tile;
    for (int64_t i = 0; i < job->steps; i++, to += SPLIT_STEP)
        for (int t = 0; t < SPLIT_TERMS; t++)
            f->kernels->turn(to + t * SPLIT_PACKED_B.term, SPLIT_PACKED_B.row,
                             room + t * term + i * SPLIT_LINE, plane);
}

void cvp_conv_split_pairs(const struct split_filter_job *job, char *room, int64_t begin,
                          int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        if (job->f->p->channels_last)
            make_pairs(job, i);
        else
            turn_pairs(job, room, i);
    }
}

/* The products of the row `packed`: a block of pixels by all panels of weights; see packed.c. */
#include <string.h>

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/finish.h"
#include "src/operator/convolution/cpu/packed.h"

static void pack_tiles(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct packed_job *job = arg;
    const struct packed *k = job->k;
    char *own = job->lanes + (size_t)lane * k->lane_bytes;
    int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
    for (int64_t i = begin; i < end; i++) {
        const int64_t m = job->b.m0 + i * k->height;
        cvp_conv_packed_pixels(k, &job->b, job->in, m, (int)cvp_min_i64(k->height, job->b.m1 - m),
                               (void *)(own + k->panel_bytes + k->sum_bytes),
                               job->pixels + i * k->tile * k->size);
    }
    cvp_stage_leave(outer);
}

/* Lines of the weights of a chunk, at most: two for each element of the depth. */
#define MAX_LINES (2 * CVP_PACKED_DEPTH)

/* That a tile fetches, at most: one in two steps. */
#define MAX_FETCHED (CVP_PACKED_DEPTH / 2)

/* The lines of a chunk's weights, in bytes from the first; then as many zeros as a tile fetches. */
static int64_t list_lines(const struct packed_job *job, int64_t lines[MAX_LINES + MAX_FETCHED])
{
    const struct packed *k = job->k;
    const int forward = k->p->direction == CONVOP_FWD;
    const int64_t filter = k->taps * (k->p->ic / k->p->g) * k->size;
    const int64_t side = k->p->channels_last ? k->columns : k->columns * k->taps;
    const int64_t all = job->b.chunk * k->columns * k->size / CVP_CACHE_LINE;
    const int64_t row = (forward ? job->b.chunk : side) * k->size / CVP_CACHE_LINE;
    for (int64_t i = 0; i < all; i++)
        lines[i] = job->packed || row == 0 ? i * CVP_CACHE_LINE
                                           : i / row * filter + i % row * CVP_CACHE_LINE;
    memset(lines + all, 0, MAX_FETCHED * sizeof *lines);
    return all;
}

/* A panel of output channels, for tiles [i0, i1) of the block. */
struct panel {
    int64_t c, i0, i1;
    int columns;
    const char *packed; /* weights, or NULL */
    char *sums;
};

/* What a lane works with: a chunk of weights that it packed, sums, lines to be fetched. */
struct own {
    char *weights, *sums;
    int64_t num_lines, lines[MAX_LINES + MAX_FETCHED];
};

/* Panels are counted with the shares of their tiles; `place` is where the sums are. */
static struct panel panel_at(const struct packed_job *job, const struct own *own, int64_t i,
                             int64_t place)
{
    const struct packed *k = job->k;
    const struct packed_block *b = &job->b;
    const int64_t tiles = cvp_ceil_div(b->m1 - b->m0, k->height), share = i % k->shares;
    struct panel q = {.c = i / k->shares * k->columns,
                      .i0 = tiles * share / k->shares,
                      .i1 = tiles * (share + 1) / k->shares,
                      .sums = own->sums + place * k->block * k->columns * k->size};
    q.columns = (int)cvp_min_i64(k->columns, k->ends.out.c - q.c);
    if (job->packed)
        q.packed =
            job->packed + (b->g * k->panels + i / k->shares) * b->panel * k->columns * k->size;
    return q;
}

/* Its weights from element p of the depth on: packed, or where they lie. */
static const char *weights_at(const struct packed_job *job, const struct panel *q, int64_t p)
{
    const struct packed *k = job->k;
    return q->packed ? q->packed + cvp_conv_packed_place(k, &job->b, p) * k->columns * k->size
                     : cvp_conv_packed_weights_at(k, &job->b, job->weights, q->c, p);
}

/* Multiplies all tiles by a chunk of weights; `next` are those of the next one. */
static void multiply_chunk(const struct packed_job *job, const struct panel *q,
                           const struct own *own, int64_t p0, int64_t p1, const char *weights,
                           const char *next)
{
    const struct packed *k = job->k;
    const struct packed_block *b = &job->b;
    const int64_t steps = cvp_ceil_div(p1 - p0, 2); /* that fetch a line */
    for (int64_t i = q->i0; i < q->i1; i++) {
        const int64_t m = i * k->height, line = (i - q->i0) * steps;
        const struct cvp_tile_run run = {job->pixels + (i * k->tile + p0 * k->height) * k->size,
                                         weights, p1 - p0};
        struct cvp_tile_args t = {.runs = &run,
                                  .num_runs = 1,
                                  .a_col = k->height,
                                  .b_row = k->columns,
                                  .is_panels = 1,
                                  .ahead = next,
                                  .ahead_table = own->lines + cvp_min_i64(line, own->num_lines),
                                  .add = p0 > 0};
        if (job->bias && p0 == 0)
            t.column_bias = job->bias + (b->g * k->ends.out.c + q->c) * k->size;
        if (k->is_direct) {
            const int64_t at =
                ((b->m0 + m) * k->ends.out.all + b->g * k->ends.out.c + q->c) * k->size;
            t.c = job->out + at;
            t.c_row = k->ends.out.all;
            t.add |= k->p->add;
            if (job->residual && p1 == b->depth) t.residual = job->residual + at;
            t.clamps = p1 == b->depth && k->p->activation != CONVOP_ACTIVATION_NONE;
            t.high = cvp_conv_high(k->p);
        } else {
            t.c = q->sums + (m - q->i0 * k->height) * k->columns * k->size;
            t.c_row = k->columns;
        }
        cvp_tile_run(k->kernels, &t, (int)cvp_min_i64(k->height, b->m1 - b->m0 - m), q->columns);
    }
}

/* Panels [first, last), which take the chunks of the depth in turn. The weights of panel `last`
 * follow, if it is below `end`. */
static void multiply_panels(const struct packed_job *job, struct own *own, int64_t first,
                            int64_t last, int64_t end)
{
    const struct packed *k = job->k;
    const struct packed_block *b = &job->b;
    for (int64_t p0 = 0, p1; p0 < b->depth; p0 = p1) {
        p1 = packed_chunk_end(b, p0);
        for (int64_t i = first; i < last; i++) {
            const struct panel q = panel_at(job, own, i, i - first);
            const int is_last = i + 1 == last, is_end = is_last && p1 == b->depth;
            const struct panel after = panel_at(job, own,
                                                !is_last  ? i + 1
                                                : !is_end ? first
                                                          : cvp_min_i64(last, end - 1),
                                                0);
            const char *weights = own->weights;
            if (q.packed) {
                weights = weights_at(job, &q, p0);
            } else {
                int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
                cvp_conv_packed_weights(k, b, job->weights, q.c, p0, p1, own->weights);
                cvp_stage_leave(outer);
            }
            multiply_chunk(job, &q, own, p0, p1, weights,
                           weights_at(job, &after,
                                      is_end    ? 0
                                      : is_last ? p1
                                                : p0));
        }
    }
    for (int64_t i = first; i < last && !k->is_direct; i++) {
        const struct panel q = panel_at(job, own, i, i - first);
        const int64_t m0 = b->m0 + q.i0 * k->height;
        const int64_t m1 = cvp_min_i64(b->m0 + q.i1 * k->height, b->m1);
        if (m0 >= m1) continue;
        if (b->depth == 0) memset(q.sums, 0, (size_t)((m1 - m0) * k->columns * k->size));
        cvp_conv_packed_put(k, b, m0, m1, q.c, q.columns, q.sums, job->out, job->residual);
    }
}

static void run_panels(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct packed_job *job = arg;
    const struct packed *k = job->k;
    struct own own = {.weights = job->lanes + (size_t)lane * k->lane_bytes};
    own.sums = own.weights + k->panel_bytes;
    own.num_lines = list_lines(job, own.lines);
    int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    for (int64_t i = begin; i < end; i += k->group)
        multiply_panels(job, &own, i, cvp_min_i64(i + k->group, end), end);
    cvp_stage_leave(outer);
}

void cvp_conv_packed_multiply_alone(const struct packed_job *job, int lane)
{
    const struct packed *k = job->k;
    const size_t pixels = k->panel_bytes + k->sum_bytes + k->piece_bytes;
    struct packed_job own = *job;
    own.pixels = job->lanes + (size_t)lane * k->lane_bytes + pixels;
    pack_tiles(&own, lane, 0, cvp_ceil_div(job->b.m1 - job->b.m0, k->height));
    run_panels(&own, lane, 0, k->panels);
}

void cvp_conv_packed_multiply(const struct packed_job *job, const convop_context *context)
{
    const struct packed *k = job->k;
    const int64_t tiles = cvp_ceil_div(job->b.m1 - job->b.m0, k->height);
    struct packed_job own = *job;
    cvp_parallel_on(context, k->lanes, tiles, pack_tiles, &own);
    cvp_parallel_on(context, k->lanes, k->panels * k->shares, run_panels, &own);
}

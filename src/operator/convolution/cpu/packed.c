/* The row `packed`, forward and backward by data: implicit matrix products of panels.
 *
 * What a block of pixels reads is packed into panels of a tile's pixels, whatever rows and images
 * they are of, so that short rows, strides and dilation cost no more than others. Then each panel
 * of output channels takes a chunk of its weights at a time, packed before or now, and multiplies
 * it by all tiles of the block; meanwhile the weights of the next chunk are fetched. So weights are
 * read once a block, and what is read again lies near: with a deep window, of which a block's
 * pixels do not fit the second-level cache, several panels take a chunk before the next one. */
#include <string.h>

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/packed.h"
#include "src/operator/copy.h"

#define LINE 64 /* bytes of a cache line */

struct job {
    const struct packed *k;
    struct packed_block b;
    const char *in, *weights, *bias;
    const char *packed; /* the phase's weights, or NULL */
    char *out, *pixels, *lanes;
};

/* ---- a block ------------------------------------------------------------------------------- */

static void pack_tiles(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct job *job = arg;
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

/* The lines of a chunk's weights, in bytes from the first; then as many zeros as a tile has steps.
 */
static int64_t list_lines(const struct job *job, int64_t lines[MAX_LINES + CVP_PACKED_DEPTH])
{
    const struct packed *k = job->k;
    const int forward = k->p->direction == CONVOP_FWD;
    const int64_t filter = k->taps * (k->p->ic / k->p->g) * k->size;
    const int64_t side = k->p->channels_last ? k->columns : k->columns * k->taps;
    const int64_t all = job->b.chunk * k->columns * k->size / LINE;
    const int64_t row = (forward ? job->b.chunk : side) * k->size / LINE;
    for (int64_t i = 0; i < all; i++)
        lines[i] = job->packed || row == 0 ? i * LINE : i / row * filter + i % row * LINE;
    memset(lines + all, 0, CVP_PACKED_DEPTH * sizeof *lines);
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
    int64_t num_lines, lines[MAX_LINES + CVP_PACKED_DEPTH];
};

/* Panels are counted with the shares of their tiles; `place` is where the sums are. */
static struct panel panel_at(const struct job *job, const struct own *own, int64_t i, int64_t place)
{
    const struct packed *k = job->k;
    const struct packed_block *b = &job->b;
    const int64_t tiles = cvp_ceil_div(b->m1 - b->m0, k->height), share = i % k->shares;
    struct panel q = {.c = i / k->shares * k->columns,
                      .i0 = tiles * share / k->shares,
                      .i1 = tiles * (share + 1) / k->shares,
                      .sums = own->sums + place * k->block * k->columns * k->size};
    q.columns = (int)cvp_min_i64(k->columns, k->out_c - q.c);
    if (job->packed)
        q.packed =
            job->packed + (b->g * k->panels + i / k->shares) * b->depth * k->columns * k->size;
    return q;
}

/* Its weights from element p of the depth on: packed, or where they lie. */
static const char *weights_at(const struct job *job, const struct panel *q, int64_t p)
{
    const struct packed *k = job->k;
    return q->packed ? q->packed + p * k->columns * k->size
                     : cvp_conv_packed_weights_at(k, &job->b, job->weights, q->c, p);
}

/* Multiplies all tiles by a chunk of weights; `next` are those of the next one. */
static void multiply_chunk(const struct job *job, const struct panel *q, const struct own *own,
                           int64_t p0, int64_t p1, const char *weights, const char *next)
{
    const struct packed *k = job->k;
    const struct packed_block *b = &job->b;
    for (int64_t i = q->i0; i < q->i1; i++) {
        const int64_t m = i * k->height, line = (i - q->i0) * (p1 - p0);
        const struct cvp_tile_run run = {job->pixels + (i * k->tile + p0 * k->height) * k->size,
                                         weights, p1 - p0};
        struct cvp_tile_args t = {.runs = &run,
                                  .num_runs = 1,
                                  .a_col = k->height,
                                  .is_panels = 1,
                                  .ahead = next,
                                  .ahead_table = own->lines + cvp_min_i64(line, own->num_lines),
                                  .add = p0 > 0};
        if (job->bias && p0 == 0) t.column_bias = job->bias + (b->g * k->out_c + q->c) * k->size;
        if (k->is_direct) {
            t.c = job->out + ((b->m0 + m) * k->out_all + b->g * k->out_c + q->c) * k->size;
            t.c_row = k->out_all;
            t.add |= k->p->add;
        } else {
            t.c = q->sums + (m - q->i0 * k->height) * k->columns * k->size;
            t.c_row = k->columns;
        }
        cvp_tile_run(k->kernels, &t, (int)cvp_min_i64(k->height, b->m1 - b->m0 - m), q->columns);
    }
}

/* Panels [first, last), which take the chunks of the depth in turn. The weights of panel `last`
 * follow, if it is below `end`. */
static void multiply_panels(const struct job *job, struct own *own, int64_t first, int64_t last,
                            int64_t end)
{
    const struct packed *k = job->k;
    const struct packed_block *b = &job->b;
    for (int64_t p0 = 0; p0 < b->depth; p0 += b->chunk) {
        const int64_t p1 = cvp_min_i64(p0 + b->chunk, b->depth);
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
        cvp_conv_packed_put(k, b, m0, m1, q.c, q.columns, q.sums, job->out);
    }
}

static void run_panels(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    const struct packed *k = job->k;
    struct own own = {.weights = job->lanes + (size_t)lane * k->lane_bytes};
    own.sums = own.weights + k->panel_bytes;
    own.num_lines = list_lines(job, own.lines);
    int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    for (int64_t i = begin; i < end; i += k->group)
        multiply_panels(job, &own, i, cvp_min_i64(i + k->group, end), end);
    cvp_stage_leave(outer);
}

/* ---- the row ------------------------------------------------------------------------------- */

static int applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    if (!cvp_conv_is_plain(p, why)) return 0;
    const struct packed k = cvp_conv_packed_plan(p);
    if (k.phases > CVP_PACKED_MAX_PHASES) {
        snprintf(why, CONVOP_WHY_SIZE, "the strides' product is %lld, it takes up to %d",
                 (long long)k.phases, CVP_PACKED_MAX_PHASES);
        return 0;
    }
    if (!p->channels_last && k.taps > k.phases * CVP_PACKED_DEPTH) {
        snprintf(why, CONVOP_WHY_SIZE, "the window has %lld places, it takes up to %d",
                 (long long)k.taps, CVP_PACKED_DEPTH);
        return 0;
    }
    if (k.lanes > 0) return 1;
    snprintf(why, CONVOP_WHY_SIZE, "needs more workspace than the limit of %zu bytes",
             p->workspace_limit);
    return 0;
}

static size_t workspace(const convop_conv_problem *p)
{
    const struct packed k = cvp_conv_packed_plan(p);
    return k.bias_bytes + k.pixel_bytes + (size_t)k.lanes * k.lane_bytes;
}

static size_t packed_bytes(const convop_conv_problem *p)
{
    return cvp_conv_packed_plan(p).weight_bytes;
}

static void pack(const convop_conv_problem *p, const void *weights, void *packed,
                 const convop_context *context)
{
    const struct packed k = cvp_conv_packed_plan(p);
    cvp_conv_packed_all_weights(&k, weights, packed, context);
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *workspace)
{
    const struct packed k = cvp_conv_packed_plan(p);
    const int forward = p->direction == CONVOP_FWD;
    struct job job = {.k = &k,
                      .in = forward ? t->src : t->dst,
                      .weights = t->weights,
                      .bias = t->bias,
                      .packed = t->packed,
                      .out = t->out,
                      .pixels = (char *)workspace + k.bias_bytes};
    job.lanes = job.pixels + k.pixel_bytes;
    if (t->bias && p->bias_stride != 1) {
        cvp_copy_strided(context, 1, &p->oc, workspace, &(int64_t){1}, p->dtype, t->bias,
                         &p->bias_stride, p->dtype);
        job.bias = workspace;
    }
    for (int64_t phase = 0; phase < k.phases; phase++) {
        for (int64_t g = 0; g < p->g; g++) {
            job.b = cvp_conv_packed_block(&k, phase, g);
            const int64_t pixels = p->mb * job.b.s.d.count * job.b.s.h.count * job.b.s.w.count;
            for (int64_t m = 0; m < pixels; m += k.block) {
                job.b.m0 = m;
                job.b.m1 = cvp_min_i64(m + k.block, pixels);
                cvp_parallel_on(context, k.lanes, cvp_ceil_div(job.b.m1 - m, k.height), pack_tiles,
                                &job);
                cvp_parallel_on(context, k.lanes, k.panels * k.shares, run_panels, &job);
            }
        }
        if (job.packed) job.packed += p->g * k.panels * job.b.depth * k.columns * k.size;
    }
    return CONVOP_OK;
}

#define PACKED(row, dir)                                                                           \
    extern const convop_conv_impl row;                                                             \
    const convop_conv_impl row = {                                                                 \
        .struct_size = sizeof(convop_conv_impl),                                                   \
        .name = "packed",                                                                          \
        .direction = dir,                                                                          \
        .version = 1,                                                                              \
        .level = CONVOP_LEVEL_BUILTIN,                                                             \
        .applicable = applicable,                                                                  \
        .workspace = workspace,                                                                    \
        .packed_bytes = packed_bytes,                                                              \
        .pack = pack,                                                                              \
        .run = run,                                                                                \
        .estimate = cvp_conv_packed_estimate,                                                      \
    }

PACKED(cvp_conv_packed_fwd, CONVOP_FWD);
PACKED(cvp_conv_packed_bwd_d, CONVOP_BWD_D);

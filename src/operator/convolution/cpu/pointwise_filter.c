/* The row `pointwise`, backward by weights, for 1x1 windows in N*C:
 *
 *     diff_weights[o][c] += diff_dst[pixel][o] * src[pixel][c]
 *
 * Pixels are the depth of a product of two matrices whose rows are pixels. Of the operand with more
 * channels, vectors are read where it lies; the other is packed into tiles, a part of the pixels at
 * a time. Where src is packed, sums are those of diff_weights turned.
 *
 * Many pixels are cut into chunks with sums of their own, which are added at last: each lane takes
 * whole chunks, so that none reads what another does. While it multiplies, it fetches the lines of
 * the next part. */
#include "src/operator/convolution/cpu/pointwise_filter.h"

#include <string.h>

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/gemm/gemm_kernels.h"

struct job {
    const struct pointwise_filter *f;
    const char *high, *wide; /* operands */
    char *out, *sums, *lanes;
};

/* A chunk's sums, and what a lane multiplies for them. */
struct work {
    const struct job *job;
    char *sums;
    int add;            /* to them, from the first part on */
    int64_t m0;         /* the first pixel */
    int64_t j0, j1;     /* panels */
    char *tiles, *tail; /* packed; the last pixels, with room behind them */
    struct ahead {
        const char *at;
        int64_t left;
    } ahead[2]; /* bytes of the next part, which tiles fetch: of the wider operand first, since
                 * what is packed is read in its order, as processors foresee */
    int64_t lines[CVP_PART_PIXELS];
};

static void pack(const struct work *w, int64_t m0, int64_t m1)
{
    const struct pointwise_filter *f = w->job->f;
    const int64_t block = cvp_conv_pixel_block(f->high * f->size);
    int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
    for (int64_t m = m0; m < m1; m += block)
        for (int64_t i = 0; i < f->tiles; i++) {
            const int64_t at = m * f->high + i * f->height;
            const struct cvp_piece piece = {0, 0, cvp_min_i64(f->height, f->high - i * f->height)};
            cvp_tile_collect_within(f->kernels,
                                    w->tiles + (i * f->tile + (m - m0) * f->pitch) * f->size,
                                    f->pitch, w->job->high + at * f->size, f->pixels * f->high - at,
                                    f->high, cvp_min_i64(block, m1 - m), &piece, 1);
        }
    cvp_stage_leave(outer);
}

/* Packed pixels [m0, m1), the first of which lies at `wide`. */
static void multiply(struct work *w, int64_t m0, int64_t m1, const char *tiles, const char *wide)
{
    const struct pointwise_filter *f = w->job->f;
    static const int64_t none[CVP_PART_PIXELS];
    const int64_t step = (m1 - m0) / 2 * CVP_CACHE_LINE; /* bytes that a tile fetches */
    for (int64_t i = 0; i < f->tiles; i++)
        for (int64_t j = w->j0; j < w->j1; j++) {
            struct ahead *next = &w->ahead[w->ahead[0].left <= 0];
            const struct cvp_tile_run run = {tiles + i * f->tile * f->size,
                                             wide + j * f->columns * f->size, m1 - m0};
            const struct cvp_tile_args t = {
                .runs = &run,
                .num_runs = 1,
                .a_col = f->pitch,
                .b_row = f->wide,
                .is_panels = 1,
                .ahead = next->left > 0 ? next->at : w->sums,
                .ahead_table = next->left > 0 ? w->lines : none,
                .c = w->sums + (i * f->height * f->wide + j * f->columns) * f->size,
                .c_row = f->wide,
                .add = w->add || m0 > w->m0};
            next->at += step;
            next->left -= step;
            cvp_tile_run(f->kernels, &t, (int)cvp_min_i64(f->height, f->high - i * f->height),
                         (int)cvp_min_i64(f->columns, f->wide - j * f->columns));
        }
}

static void add_part(struct work *w, int64_t m0, int64_t m1)
{
    const struct job *job = w->job;
    const struct pointwise_filter *f = job->f;
    const int64_t whole = cvp_max_i64(m0, cvp_min_i64(m1, f->pixels - f->tail));
    pack(w, m0, m1);
    const int64_t next = cvp_min_i64(f->part, f->pixels - m1) * f->size;
    w->ahead[0] = (struct ahead){job->wide + m1 * f->wide * f->size, next * f->wide};
    w->ahead[1] = (struct ahead){job->high + m1 * f->high * f->size, next * f->high};
    int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    if (whole > m0) multiply(w, m0, whole, w->tiles, job->wide + m0 * f->wide * f->size);
    if (whole < m1) {
        memcpy(w->tail, job->wide + whole * f->wide * f->size,
               (size_t)((m1 - whole) * f->wide * f->size));
        multiply(w, whole, m1, w->tiles + (whole - m0) * f->pitch * f->size, w->tail);
    }
    cvp_stage_leave(outer);
}

/* Items are splits of chunks. */
static void run_chunks(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    const struct pointwise_filter *f = job->f;
    struct work w = {.job = job, .tiles = job->lanes + (size_t)lane * f->lane_bytes};
    w.tail = w.tiles + f->tile_bytes;
    memset(w.tail, 0, f->tail_bytes);
    for (int64_t i = 0; i < CVP_PART_PIXELS; i++) w.lines[i] = i * CVP_CACHE_LINE;
    for (int64_t i = begin; i < end; i++) {
        const int64_t chunk = i / f->splits, split = i % f->splits;
        const int64_t last = cvp_min_i64((chunk + 1) * f->chunk, f->pixels);
        const int64_t place = f->is_turned ? chunk : chunk - 1;
        w.sums = place < 0 ? job->out : job->sums + (size_t)place * f->sum_bytes;
        w.add = place < 0 && f->p->add;
        w.m0 = chunk * f->chunk;
        w.j0 = f->panels * split / f->splits;
        w.j1 = f->panels * (split + 1) / f->splits;
        for (int64_t m = w.m0; m < last; m += f->part)
            add_part(&w, m, cvp_min_i64(m + f->part, last));
    }
}

static void put_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    const struct pointwise_filter *f = job->f;
    const int64_t n = f->wide;
    for (int64_t i = begin; i < end; i++)
        cvp_conv_add_chunks(f->p, job->out + i * n * f->size, job->sums, f->sum_bytes,
                            pointwise_filter_apart(f), i * n, n);
}

/* Rows and columns that are turned at a time. */
#define TURNED 32

/* Items are some columns of the sums: output channels. */
static void put_turned(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    const struct pointwise_filter *f = job->f;
    cvp_gemm_pack_rows *turn =
        cvp_gemm_kernels(cvp_conv_float(f->p), (enum cvp_isa)f->p->isa)->pack_rows;
    for (int64_t o = begin * TURNED; o < cvp_min_i64(end * TURNED, f->wide); o += TURNED) {
        const int64_t n = cvp_min_i64(TURNED, f->wide - o);
        for (int64_t c = 0; c < f->high; c += TURNED) {
            double turned[TURNED * TURNED + CVP_GEMM_PACK_SLACK / sizeof(double)];
            const void *rows[TURNED];
            const int64_t width = cvp_min_i64(TURNED, f->high - c);
            for (int64_t i = 0; i < width; i++) {
                const int64_t at = (c + i) * f->wide + o;
                cvp_conv_add_chunks(f->p, job->sums + at * f->size, job->sums + f->sum_bytes,
                                    f->sum_bytes, f->chunks - 1, at, n);
                rows[i] = job->sums + at * f->size;
            }
            turn(turned, (int)width, n, rows);
            cvp_conv_numbers(f->p)->store(job->out + (o * f->high + c) * f->size, f->high, 1,
                                          turned, width, n, width, f->p->add);
        }
    }
}

static int cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE])
{
    struct pointwise_filter *f = cut;
    if (!cvp_conv_is_plain(p, why)) return 0;
    if (!p->channels_last || p->g > 1 || !cvp_conv_is_pointwise(p))
        return cvp_conv_refuse(why,
                               "it takes 1x1 windows without stride and padding, in one group, "
                               "channels last");
    *f = cvp_conv_pointwise_filter_plan(p);
    if (f->sum_bytes > CVP_CHUNK_SUM_BYTES)
        return cvp_conv_refuse(why, "diff_weights has %zu bytes, it takes up to %zu", f->sum_bytes,
                               (size_t)CVP_CHUNK_SUM_BYTES);
    return cvp_conv_has_lanes(p, f->lanes, why);
}

static size_t workspace(const convop_conv_problem *p)
{
    const struct pointwise_filter *f = p->cut;
    return (size_t)pointwise_filter_apart(f) * f->sum_bytes + (size_t)f->lanes * f->lane_bytes;
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *scratch)
{
    const struct pointwise_filter *f = p->cut;
    struct job job = {.f = f,
                      .high = f->is_turned ? t->src : t->dst,
                      .wide = f->is_turned ? t->dst : t->src,
                      .out = t->out,
                      .lanes = scratch,
                      .sums = (char *)scratch + (size_t)f->lanes * f->lane_bytes};
    cvp_parallel_on(context, f->lanes, f->chunks * f->splits, run_chunks, &job);
    if (f->is_turned)
        cvp_parallel_on(context, f->lanes, cvp_ceil_div(f->wide, TURNED), put_turned, &job);
    else if (f->chunks > 1)
        cvp_parallel_on(context, f->lanes, f->high, put_rows, &job);
    return CONVOP_OK;
}

extern const convop_conv_impl cvp_conv_pointwise_bwd_w;
const convop_conv_impl cvp_conv_pointwise_bwd_w = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "pointwise",
    .direction = CONVOP_BWD_W,
    .version = 1,
    .level = CONVOP_LEVEL_BUILTIN,
    .cut = cut,
    .cut_size = CONV_CUT_SIZE(struct pointwise_filter),
    .workspace = workspace,
    .run = run,
    .estimate = cvp_conv_pointwise_filter_estimate,
};

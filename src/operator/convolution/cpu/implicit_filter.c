/* The row `implicit`, backward by weights: sums over pixels of what lies where it lies.
 *
 *     N*C  diff_weights[o][tap][c] += diff_dst[pixel][o] * src[pixel at tap][c]: output channels
 *          are broadcast, input channels are vectors
 *     NC*  the transposed sum: the planes of src are broadcast, and diff_dst is turned into panels
 *          of output channels side by side
 *
 * A run is a row of pixels. One task is a block of output channels and of input channels of one
 * group, for some taps; it walks all images itself, in chunks that stay in a cache, so that the
 * order of its sums depends on no thread. */
#include "src/operator/convolution/cpu/implicit_filter.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/implicit.h"
#include "src/operator/convolution/cpu/window.h"
#include "src/operator/gemm/gemm_kernels.h"

/* Bytes of both operands that a chunk of rows has in a task: a share of the second-level cache. */
#define CHUNK_BYTES ((int64_t)256 << 10)
/* Of a task, at most. */
#define MAX_OUT  128
#define MAX_IN   256
#define MIN_IN   32
#define MAX_RUNS 512

static int64_t cut_evenly(int64_t size, int64_t most, int64_t unit)
{
    const int64_t blocks = cvp_ceil_div(size, most);
    return cvp_min_i64(size, cvp_ceil_div(cvp_ceil_div(size, blocks), unit) * unit);
}

static int64_t count_tasks(struct implicit_filter *f)
{
    f->out_blocks = cvp_ceil_div(f->ocg, f->out_block);
    f->in_blocks = cvp_ceil_div(f->icg, f->in_block);
    f->tap_blocks = cvp_ceil_div(f->taps, f->tap_block);
    return f->tasks = f->p->g * f->out_blocks * f->in_blocks * f->tap_blocks;
}

struct implicit_filter cvp_conv_implicit_filter_plan(const convop_conv_problem *p)
{
    struct implicit_filter f = {.p = p,
                                .kernels =
                                    cvp_tile_kernels(cvp_conv_float(p), (enum cvp_isa)p->isa),
                                .size = (int64_t)cvp_conv_element_size(p),
                                .icg = p->ic / p->g,
                                .ocg = p->oc / p->g,
                                .taps = cvp_conv_taps(p),
                                .lane_bytes = SIZE_MAX};
    f.columns = cvp_tile_columns(f.kernels);
    f.out_block = cut_evenly(f.ocg, MAX_OUT, f.columns);
    f.in_block = cut_evenly(f.icg, MAX_IN, f.columns);
    f.tap_block = f.taps;
    while (count_tasks(&f) < CVP_GEMM_MIN_TASKS) {
        if (f.tap_block > 1)
            f.tap_block = cvp_ceil_div(f.tap_block, 2);
        else if (f.out_block > f.columns)
            f.out_block = cut_evenly(f.ocg, f.out_block / 2, f.columns);
        else if (f.in_block > MIN_IN)
            f.in_block = cut_evenly(f.icg, f.in_block / 2, f.columns);
        else
            break;
    }
    const int64_t row = (f.out_block + f.in_block * p->sw) * p->ow * f.size;
    f.chunk = cvp_max_i64(1, cvp_min_i64(CHUNK_BYTES / row, cvp_min_i64(p->od * p->oh, MAX_RUNS)));
    /* NC*: a chunk of diff_dst as a panel, and the sums of all panels, transposed. */
    int64_t panel = 0, sums = 0;
    if (!p->channels_last) {
        const int64_t panels = cvp_ceil_div(f.out_block, f.columns) * f.columns;
        if (!cvp_mul_i64(f.chunk * p->ow, panels * f.size, &panel) ||
            !cvp_mul_i64(f.in_block * f.tap_block, panels * f.size, &sums))
            return f;
    } else if (f.icg % f.kernels->lanes) {
        /* The last pixels of src, with room behind them for whole vectors. */
        panel = 2 * (f.columns + p->ic) * (p->sw + 1) * f.size;
    }
    f.panel_bytes = cvp_round_up((size_t)panel, CVP_BUFFER_ALIGN);
    f.sum_bytes = cvp_round_up((size_t)sums, CVP_BUFFER_ALIGN);
    f.lane_bytes = f.panel_bytes + f.sum_bytes +
                   cvp_round_up((MAX_RUNS + 1) * sizeof(struct cvp_tile_run), CVP_BUFFER_ALIGN);
    f.lanes = (int)cvp_min_i64(cvp_min_i64(p->threads, f.tasks),
                               (int64_t)(p->workspace_limit / f.lane_bytes));
    return f;
}

/* ---- a task --------------------------------------------------------------------------------- */

struct job {
    const struct implicit_filter *f;
    const char *src, *diff_dst;
    char *out, *lanes;
};

/* Output channels [o0, o1), input channels [c0, c1) and taps [t0, t1) of a group; rows [r0, r1) of
 * image n at a time. */
struct part {
    int64_t g, o0, o1, c0, c1, t0, t1, n, r0, r1;
    struct cvp_tile_run *runs;
    char *panel, *sums;
};

static int inside(int64_t at, int64_t size)
{
    return at >= 0 && at < size;
}

/* The runs of a tap: the pixels of each row that read an element of the image. Rows that follow
 * each other in both operands are one. a_step and b_step: elements from one pixel of dst to the
 * next; a and b: of the operands, where pixel 0 of row r0 of dst and where pixel 0 of the image
 * lie. */
static int64_t list_runs(const struct implicit_filter *f, const struct part *k, int64_t tap,
                         const char *dst, int64_t dst_pixel, const char *src, int64_t src_pixel,
                         int src_is_a)
{
    const convop_conv_problem *p = f->p;
    const int64_t w_at = tap % p->kw * p->dw - p->pw, h_at = tap / p->kw % p->kh * p->dh - p->ph;
    const int64_t d_at = tap / p->kw / p->kh * p->dd - p->pd;
    const int64_t step = p->sw * src_pixel;
    int64_t w0, w1, n = 0;
    window_inside(w_at, p->sw, p->iw, p->ow, &w0, &w1);
    if (w0 >= w1) return 0;
    for (int64_t r = k->r0; r < k->r1; r++) {
        const int64_t d = r / p->oh * p->sd + d_at, h = r % p->oh * p->sh + h_at;
        if (!inside(d, p->id) || !inside(h, p->ih)) continue;
        const char *y = dst + ((r - k->r0) * p->ow + w0) * dst_pixel * f->size;
        const char *x = src + ((d * p->ih + h) * p->iw + w0 * p->sw + w_at) * src_pixel * f->size;
        struct cvp_tile_run run = {.a = src_is_a ? x : y, .b = src_is_a ? y : x, .n = w1 - w0};
        if (n > 0) {
            struct cvp_tile_run *last = &k->runs[n - 1];
            const int64_t a = (src_is_a ? step : dst_pixel) * last->n * f->size;
            const int64_t b = (src_is_a ? dst_pixel : step) * last->n * f->size;
            if ((const char *)last->a + a == run.a && (const char *)last->b + b == run.b) {
                last->n += run.n;
                continue;
            }
        }
        k->runs[n++] = run;
    }
    return n;
}

/* ---- N*C ------------------------------------------------------------------------------------ */

/* Whole vectors of the last channels would be read past the end of src: the pixels where that is so
 * become runs of a copy with room behind it. Answers how many runs there are now. */
static int64_t guard_tail(const struct job *job, const struct part *k, int64_t runs, int64_t at,
                          int64_t valid)
{
    const struct implicit_filter *f = job->f;
    const convop_conv_problem *p = f->p;
    const char *end = job->src + p->mb * cvp_conv_src_pixels(p) * p->ic * f->size;
    const int64_t width = cvp_ceil_div(valid, f->kernels->lanes) * f->kernels->lanes * f->size;
    const int64_t step = p->sw * p->ic * f->size;
    char *to = k->panel;
    for (int64_t r = runs - 1; r >= 0; r--) {
        struct cvp_tile_run *run = &k->runs[r];
        const char *first = (const char *)run->b + at * f->size;
        const int64_t over = first + (run->n - 1) * step + width - end;
        if (over <= 0) break;
        const int64_t moved = cvp_min_i64(run->n, cvp_ceil_div(over, step)), kept = run->n - moved;
        for (int64_t i = 0; i < moved; i++)
            memcpy(to + i * step, first + (kept + i) * step, (size_t)(valid * f->size));
        const struct cvp_tile_run copy = {(const char *)run->a + kept * p->oc * f->size,
                                          to - at * f->size, moved};
        to += moved * step;
        if (kept == 0) {
            *run = copy;
            continue;
        }
        run->n = kept;
        memmove(run + 2, run + 1, (size_t)(runs - r - 1) * sizeof *run);
        run[1] = copy;
        runs++;
    }
    return runs;
}

/* No output reads the image at this tap, so far: the sums begin with zeros. */
static void clear_tap(const struct job *job, const struct part *k, int64_t tap)
{
    const struct implicit_filter *f = job->f;
    for (int64_t o = k->o0; o < k->o1; o++)
        memset(job->out + (((k->g * f->ocg + o) * f->taps + tap) * f->icg + k->c0) * f->size, 0,
               (size_t)((k->c1 - k->c0) * f->size));
}

static void add_last(const struct job *job, const struct part *k)
{
    const int is_first = k->n == 0 && k->r0 == 0;
    const struct implicit_filter *f = job->f;
    const convop_conv_problem *p = f->p;
    const char *dst =
        job->diff_dst +
        ((k->n * cvp_conv_dst_pixels(p) + k->r0 * p->ow) * p->oc + k->g * f->ocg + k->o0) * f->size;
    const char *src =
        job->src + (k->n * cvp_conv_src_pixels(p) * p->ic + k->g * f->icg + k->c0) * f->size;
    const int64_t rows = k->o1 - k->o0, columns = k->c1 - k->c0;
    const int64_t tiles = cvp_ceil_div(rows, f->kernels->rows);
    for (int64_t tap = k->t0; tap < k->t1; tap++) {
        int64_t runs = list_runs(f, k, tap, dst, p->oc, src, p->ic, 0);
        if (runs == 0) {
            if (is_first && !p->add) clear_tap(job, k, tap);
            continue;
        }
        for (int64_t j = 0; j < columns; j += f->columns) {
            const int width = (int)cvp_min_i64(f->columns, columns - j);
            if (width % f->kernels->lanes) runs = guard_tail(job, k, runs, j, width);
            for (int64_t i = 0; i < tiles; i++) {
                const int64_t first = rows * i / tiles, end = rows * (i + 1) / tiles;
                struct cvp_tile_args t = {.runs = k->runs,
                                          .num_runs = runs,
                                          .a_at = first,
                                          .b_at = j,
                                          .a_row = 1,
                                          .a_col = p->oc,
                                          .b_row = p->sw * p->ic,
                                          .c_row = f->taps * f->icg,
                                          .add = p->add || !is_first};
                t.c = job->out +
                      (((k->g * f->ocg + k->o0 + first) * f->taps + tap) * f->icg + k->c0 + j) *
                          f->size;
                cvp_tile_run(f->kernels, &t, (int)(end - first), width);
            }
        }
    }
}

/* ---- NC* ------------------------------------------------------------------------------------ */

static void add_first(const struct job *job, const struct part *k)
{
    const struct implicit_filter *f = job->f;
    const convop_conv_problem *p = f->p;
    const int64_t pixels = (k->r1 - k->r0) * p->ow, plane = cvp_conv_dst_pixels(p);
    const int64_t src_plane = cvp_conv_src_pixels(p);
    const int64_t out = k->o1 - k->o0, rows = k->c1 - k->c0;
    const int64_t panels = cvp_ceil_div(out, f->columns),
                  pitch = cvp_ceil_div(f->out_block, f->columns) * f->columns;
    cvp_gemm_pack *pack = cvp_gemm_kernels(cvp_conv_float(p), (enum cvp_isa)p->isa)->pack_b;
    int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
    for (int64_t j = 0; j < panels; j++)
        cvp_conv_implicit_pack_rows(
            p, pack, k->panel + j * pixels * f->columns * f->size, f->columns,
            cvp_min_i64(f->columns, out - j * f->columns), pixels,
            job->diff_dst +
                ((k->n * p->oc + k->g * f->ocg + k->o0 + j * f->columns) * plane + k->r0 * p->ow) *
                    f->size,
            plane);
    cvp_stage_leave(outer);
    const char *src = job->src + (k->n * p->ic + k->g * f->icg + k->c0) * src_plane * f->size;
    const int64_t tiles = cvp_ceil_div(rows, f->kernels->rows);
    for (int64_t tap = k->t0; tap < k->t1; tap++) {
        const int64_t runs = list_runs(f, k, tap, k->panel, f->columns, src, 1, 1);
        if (runs == 0) continue;
        for (int64_t j = 0; j < panels; j++)
            for (int64_t i = 0; i < tiles; i++) {
                const int64_t first = rows * i / tiles, end = rows * (i + 1) / tiles;
                const struct cvp_tile_args t = {
                    .runs = k->runs,
                    .num_runs = runs,
                    .a_at = first * src_plane,
                    .b_at = j * pixels * f->columns,
                    .a_row = src_plane,
                    .a_col = p->sw,
                    .b_row = f->columns,
                    .c = k->sums +
                         (((tap - k->t0) * f->in_block + first) * pitch + j * f->columns) * f->size,
                    .c_row = pitch,
                    .add = 1};
                cvp_tile_run(f->kernels, &t, (int)(end - first), (int)f->columns);
            }
    }
}

#define T          float
#define NAME(name) name##_f32
#include "src/operator/convolution/cpu/implicit_filter_loops.h"
#undef T
#undef NAME
#define T          double
#define NAME(name) name##_f64
#include "src/operator/convolution/cpu/implicit_filter_loops.h"
#undef T
#undef NAME

/* ---- the row ------------------------------------------------------------------------------- */

static void run_tasks(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    const struct implicit_filter *f = job->f;
    const convop_conv_problem *p = f->p;
    const int64_t rows = p->od * p->oh;
    char *own = job->lanes + (size_t)lane * f->lane_bytes;
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i;
        struct part k = {.panel = own, .sums = own + f->panel_bytes};
        k.runs = (struct cvp_tile_run *)(void *)(k.sums + f->sum_bytes);
        k.t0 = rest % f->tap_blocks * f->tap_block;
        rest /= f->tap_blocks;
        k.c0 = rest % f->in_blocks * f->in_block;
        rest /= f->in_blocks;
        k.o0 = rest % f->out_blocks * f->out_block;
        k.g = rest / f->out_blocks;
        k.t1 = cvp_min_i64(k.t0 + f->tap_block, f->taps);
        k.c1 = cvp_min_i64(k.c0 + f->in_block, f->icg);
        k.o1 = cvp_min_i64(k.o0 + f->out_block, f->ocg);
        if (!p->channels_last) memset(k.sums, 0, f->sum_bytes);
        for (k.n = 0; k.n < p->mb; k.n++)
            for (k.r0 = 0; k.r0 < rows; k.r0 += f->chunk) {
                k.r1 = cvp_min_i64(k.r0 + f->chunk, rows);
                int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
                (p->channels_last ? add_last : add_first)(job, &k);
                cvp_stage_leave(outer);
            }
        if (!p->channels_last) (f->size == 8 ? put_sums_f64 : put_sums_f32)(job, &k);
    }
}

static int applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    if (!cvp_conv_is_plain(p, why)) return 0;
    if (cvp_conv_implicit_filter_plan(p).lanes > 0) return 1;
    snprintf(why, CONVOP_WHY_SIZE, "needs more workspace than the limit of %zu bytes",
             p->workspace_limit);
    return 0;
}

static size_t workspace(const convop_conv_problem *p)
{
    const struct implicit_filter f = cvp_conv_implicit_filter_plan(p);
    return (size_t)f.lanes * f.lane_bytes;
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *scratch)
{
    const struct implicit_filter f = cvp_conv_implicit_filter_plan(p);
    struct job job = {&f, t->src, t->dst, t->out, scratch};
    cvp_parallel_on(context, f.lanes, f.tasks, run_tasks, &job);
    return CONVOP_OK;
}

extern const convop_conv_impl cvp_conv_implicit_bwd_w;
const convop_conv_impl cvp_conv_implicit_bwd_w = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "implicit",
    .direction = CONVOP_BWD_W,
    .version = 1,
    .level = CONVOP_LEVEL_BUILTIN,
    .applicable = applicable,
    .workspace = workspace,
    .run = run,
    .estimate = cvp_conv_implicit_filter_estimate,
};

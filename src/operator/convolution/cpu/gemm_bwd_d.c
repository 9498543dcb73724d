/* The row `gemm`, backward by data: columns = transposed weights x diff_dst, added to diff_src
 * window by window (col2im). A pointwise convolution multiplies straight into diff_src.
 *
 * One task is a block of input channels of one group of one image, so that no two tasks add to the
 * same element; a pointwise task is a block of pixels. */
#include <string.h>

#include "src/common/size.h"
#include "src/operator/convolution/cpu/columns.h"
#include "src/operator/convolution/cpu/estimate.h"
#include "src/operator/convolution/cpu/matmul.h"

/* Rows of columns in a block: many enough that diff_dst is packed seldom. */
#define MIN_ROWS 128
#define MAX_ROWS 2048

struct blocks {
    struct cvp_gemm_choice matmul;
    struct cvp_gemm_lanes lanes;
    int64_t channels; /* of a task; pointwise: all of the group */
    int64_t pixels;   /* multiplied at a time */
    int64_t per_image, tasks;
};

static struct blocks plan_blocks(const convop_conv_problem *p)
{
    struct blocks b = {.matmul = cvp_conv_matmul_for(p)};
    int64_t all = cvp_conv_dst_pixels(p), icg = p->ic / p->g, ocg = p->oc / p->g,
            taps = cvp_conv_taps(p);
    int pointwise = cvp_conv_is_pointwise(p);
    if (pointwise) {
        b.channels = icg;
        b.pixels = cvp_conv_pixel_block(p, 1, all);
        while (b.pixels > 64 && p->mb * p->g * cvp_ceil_div(all, b.pixels) < CVP_GEMM_MIN_TASKS)
            b.pixels = cvp_ceil_div(b.pixels, 2);
        b.per_image = cvp_ceil_div(all, b.pixels);
    } else {
        b.channels = cvp_min_i64(icg, cvp_ceil_div(MAX_ROWS, taps));
        while (b.channels * taps > MIN_ROWS && b.channels > 1 &&
               p->mb * p->g * cvp_ceil_div(icg, b.channels) < CVP_GEMM_MIN_TASKS)
            b.channels = cvp_ceil_div(b.channels, 2);
        b.pixels = cvp_conv_pixel_block(p, b.channels * taps, all);
        b.per_image = cvp_ceil_div(icg, b.channels);
    }
    b.tasks = p->mb * p->g * b.per_image;
    int64_t rows = b.channels * taps, columns = pointwise ? 0 : cvp_conv_columns(rows, b.pixels);
    b.lanes = p->channels_last
                  ? cvp_conv_lanes(p, &b.matmul, b.tasks, columns, b.pixels, rows, ocg)
                  : cvp_conv_lanes(p, &b.matmul, b.tasks, columns, rows, b.pixels, ocg);
    return b;
}

struct job {
    const convop_conv_problem *p;
    const convop_conv_operands *t;
    const struct blocks *blocks;
};

/* columns = transposed weights of channels [c0, c1) x pixels [y0, y1); c is where row 0 goes. */
static void multiply(const struct job *job, int64_t g, int64_t c0, int64_t c1, int64_t y0,
                     int64_t y1, const void *diff_dst, void *c, int64_t c_row, int accumulate,
                     void *scratch)
{
    const convop_conv_problem *p = job->p;
    int64_t taps = cvp_conv_taps(p), icg = p->ic / p->g, ocg = p->oc / p->g, rows = icg * taps;
    const void *weights = cvp_conv_at(p, job->t->weights, g * ocg * rows);
    const void *from = cvp_conv_at(p, diff_dst, y0 * p->dst.w);
    if (!p->channels_last) {
        struct cvp_gemm gemm = {.m = (c1 - c0) * taps,
                                .n = y1 - y0,
                                .k = ocg,
                                .a = cvp_conv_at(p, weights, c0 * taps),
                                .a_row = 1,
                                .a_col = rows,
                                .b = from,
                                .b_row = cvp_conv_dst_pixels(p),
                                .b_col = 1,
                                .c = c,
                                .c_row = c_row,
                                .accumulate = accumulate};
        cvp_gemm_multiply(&job->blocks->matmul, &gemm, scratch);
        return;
    }
    /* A block of channels is contiguous within a tap only; all channels are so across taps. */
    int64_t runs = c1 - c0 == icg ? 1 : taps, run = c1 - c0 == icg ? rows : c1 - c0;
    for (int64_t tap = 0; tap < runs; tap++) {
        struct cvp_gemm gemm = {.m = y1 - y0,
                                .n = run,
                                .k = ocg,
                                .a = from,
                                .a_row = p->oc,
                                .a_col = 1,
                                .b = cvp_conv_at(p, weights, tap * icg + c0),
                                .b_row = rows,
                                .b_col = 1,
                                .c = cvp_conv_at_mut(p, c, tap * run),
                                .c_row = c_row,
                                .accumulate = accumulate};
        cvp_gemm_multiply(&job->blocks->matmul, &gemm, scratch);
    }
}

/* Channels [c0, c1) of a group's image become 0. */
static void clear(const convop_conv_problem *p, int64_t c0, int64_t c1, void *image)
{
    size_t size = cvp_conv_element_size(p);
    if (!p->channels_last) {
        memset(cvp_conv_at_mut(p, image, c0 * p->src.c), 0, (size_t)((c1 - c0) * p->src.c) * size);
        return;
    }
    for (int64_t x = 0; x < cvp_conv_src_pixels(p); x++)
        memset(cvp_conv_at_mut(p, image, x * p->ic + c0), 0, (size_t)(c1 - c0) * size);
}

static void run_task(const void *job_, int64_t task, void *columns, void *scratch)
{
    const struct job *job = job_;
    const convop_conv_problem *p = job->p;
    const struct blocks *b = job->blocks;
    int64_t block = task % b->per_image, g = task / b->per_image % p->g;
    int64_t n = task / b->per_image / p->g, all = cvp_conv_dst_pixels(p);
    int64_t icg = p->ic / p->g, ocg = p->oc / p->g;
    void *image = cvp_conv_at_mut(p, job->t->out, n * p->src.n + g * icg * p->src.c);
    const void *diff_dst = cvp_conv_at(p, job->t->dst, n * p->dst.n + g * ocg * p->dst.c);

    if (cvp_conv_is_pointwise(p)) {
        int64_t y0 = block * b->pixels, y1 = cvp_min_i64(y0 + b->pixels, all);
        multiply(job, g, 0, icg, y0, y1, diff_dst, cvp_conv_at_mut(p, image, y0 * p->src.w),
                 p->channels_last ? p->ic : cvp_conv_src_pixels(p), p->add, scratch);
        return;
    }
    int64_t c0 = block * b->channels, c1 = cvp_min_i64(c0 + b->channels, icg);
    if (!p->add) clear(p, c0, c1, image);
    for (int64_t y0 = 0; y0 < all; y0 += b->pixels) {
        int64_t y1 = cvp_min_i64(y0 + b->pixels, all);
        int64_t ld = p->channels_last ? (c1 - c0) * cvp_conv_taps(p) : y1 - y0;
        multiply(job, g, c0, c1, y0, y1, diff_dst, columns, ld, 0, scratch);
        cvp_conv_col2im(p, columns, ld, c0, c1, y0, y1, image);
    }
}

static int cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE])
{
    if (!cvp_conv_is_plain(p, why)) return 0;
    struct blocks *b = cut;
    *b = plan_blocks(p);
    return cvp_conv_lanes_fit(p, &b->lanes, why);
}

static size_t workspace(const convop_conv_problem *p)
{
    const struct blocks *b = p->cut;
    return cvp_gemm_lanes_bytes(&b->lanes);
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *scratch)
{
    struct job job = {p, t, p->cut};
    cvp_gemm_run_tasks(context, &job.blocks->lanes, job.blocks->tasks, run_task, &job, scratch);
    return CONVOP_OK;
}

static double estimate(const convop_conv_problem *p)
{
    const struct blocks *b = p->cut;
    const double images = (double)p->mb * (double)p->g, taps = (double)cvp_conv_taps(p);
    const double all = (double)cvp_conv_dst_pixels(p), pixels = (double)b->pixels;
    const int by_tap = p->channels_last && b->channels < p->ic / p->g;
    const double rows = (double)b->channels * (by_tap ? 1 : taps);
    struct cvp_conv_products w = {.k = (double)(p->oc / p->g), .tasks = (double)b->tasks};
    w.m = p->channels_last ? pixels : rows;
    w.n = p->channels_last ? rows : pixels;
    w.calls = w.tasks;
    if (!cvp_conv_is_pointwise(p)) {
        w.calls *= cvp_conv_parts(all, pixels) * (by_tap ? taps : 1);
        w.columns = images * (double)(p->ic / p->g) * taps * all;
        w.runs = cvp_conv_column_runs(p, images, (double)(p->ic / p->g) * taps);
    }
    return cvp_conv_products_price(p, &w);
}

extern const convop_conv_impl cvp_conv_gemm_bwd_d;
const convop_conv_impl cvp_conv_gemm_bwd_d = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "gemm",
    .direction = CONVOP_BWD_D,
    .version = 2,
    .level = CONVOP_LEVEL_BUILTIN,
    .cut = cut,
    .cut_size = CONV_CUT_SIZE(struct blocks),
    .workspace = workspace,
    .run = run,
    .estimate = estimate,
};

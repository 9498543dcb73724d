/* The row `gemm`, backward by weights: diff_weights = diff_dst x transposed columns, summed over
 * images and blocks of pixels in their order. A pointwise convolution needs no columns.
 *
 * One task is a block of rows and columns of one group's weights; it walks all images itself, so
 * that the order of its sums depends on no thread. */
#include "src/common/size.h"
#include "src/operator/convolution/cpu/columns.h"
#include "src/operator/convolution/cpu/estimate.h"
#include "src/operator/convolution/cpu/matmul.h"

/* A task's share of the weights: output channels x rows of columns. */
#define MAX_SIDE 512
#define MIN_SIDE 32

struct blocks {
    struct cvp_gemm_choice matmul;
    struct cvp_gemm_lanes lanes;
    int64_t rows;         /* of a group's columns */
    int64_t row_block;    /* of them in a task */
    int64_t filter_block; /* output channels in a task */
    int64_t pixels;       /* summed at a time */
    int64_t row_blocks, filter_blocks, tasks;
};

static void count(struct blocks *b, const convop_conv_problem *p)
{
    int64_t ocg = p->oc / p->g;
    b->row_blocks = cvp_ceil_div(b->rows, b->row_block);
    b->filter_blocks = cvp_ceil_div(ocg, b->filter_block);
    b->tasks = p->g * b->row_blocks * b->filter_blocks;
}

static struct blocks plan_blocks(const convop_conv_problem *p)
{
    struct blocks b = {.matmul = cvp_conv_matmul_for(p), .rows = p->ic / p->g * cvp_conv_taps(p)};
    int64_t ocg = p->oc / p->g;
    b.row_block = cvp_min_i64(b.rows, MAX_SIDE);
    b.filter_block = cvp_min_i64(ocg, MAX_SIDE);
    count(&b, p);
    while (b.tasks < CVP_GEMM_MIN_TASKS) {
        int64_t *side = b.row_block >= b.filter_block ? &b.row_block : &b.filter_block;
        if (*side <= MIN_SIDE) break;
        *side = cvp_max_i64(MIN_SIDE, cvp_ceil_div(*side, 2));
        count(&b, p);
    }
    int pointwise = cvp_conv_is_pointwise(p);
    b.pixels = pointwise ? cvp_conv_dst_pixels(p)
                         : cvp_conv_pixel_block(p, b.row_block, cvp_conv_dst_pixels(p));
    b.lanes = cvp_conv_lanes(p, &b.matmul, b.tasks,
                             pointwise ? 0 : cvp_conv_columns(b.row_block, b.pixels),
                             b.filter_block, b.row_block, b.pixels);
    return b;
}

struct job {
    const convop_conv_problem *p;
    const convop_conv_operands *t;
    const struct blocks *blocks;
};

/* What a task computes, in all images. */
struct part {
    int64_t g, k0, k1, o0, o1;
    void *c;
};

/* Adds pixels [y0, y1) of image n to the part; overwrites it if not `accumulate`. */
static void add_pixels(const struct job *job, const struct part *part, int64_t n, int64_t y0,
                       int64_t y1, int accumulate, void *columns, void *scratch)
{
    const convop_conv_problem *p = job->p;
    int64_t icg = p->ic / p->g, ocg = p->oc / p->g, last = p->channels_last;
    const void *image = cvp_conv_at(p, job->t->src, n * p->src.n + part->g * icg * p->src.c);
    const void *diff_dst = cvp_conv_at(
        p, job->t->dst, n * p->dst.n + (part->g * ocg + part->o0) * p->dst.c + y0 * p->dst.w);

    const void *col = columns;
    int64_t ld = last ? part->k1 - part->k0 : y1 - y0;
    if (cvp_conv_is_pointwise(p)) {
        ld = last ? p->ic : cvp_conv_src_pixels(p);
        col = cvp_conv_at(p, image, part->k0 * p->src.c + y0 * p->src.w);
    } else {
        cvp_conv_im2col(p, image, part->k0, part->k1, y0, y1, columns, ld);
    }
    struct cvp_gemm gemm = {.m = part->o1 - part->o0,
                            .n = part->k1 - part->k0,
                            .k = y1 - y0,
                            .a = diff_dst,
                            .a_row = p->dst.c,
                            .a_col = p->dst.w,
                            .b = col,
                            .b_row = last ? ld : 1,
                            .b_col = last ? 1 : ld,
                            .c = part->c,
                            .c_row = job->blocks->rows,
                            .accumulate = accumulate};
    cvp_gemm_multiply(&job->blocks->matmul, &gemm, scratch);
}

static void run_task(const void *job_, int64_t task, void *columns, void *scratch)
{
    const struct job *job = job_;
    const convop_conv_problem *p = job->p;
    const struct blocks *b = job->blocks;
    int64_t ocg = p->oc / p->g, all = cvp_conv_dst_pixels(p);
    struct part part = {.g = task / b->row_blocks / b->filter_blocks,
                        .k0 = task % b->row_blocks * b->row_block,
                        .o0 = task / b->row_blocks % b->filter_blocks * b->filter_block};
    part.k1 = cvp_min_i64(part.k0 + b->row_block, b->rows);
    part.o1 = cvp_min_i64(part.o0 + b->filter_block, ocg);
    part.c = cvp_conv_at_mut(p, job->t->out, (part.g * ocg + part.o0) * b->rows + part.k0);
    for (int64_t n = 0; n < p->mb; n++)
        for (int64_t y0 = 0; y0 < all; y0 += b->pixels)
            add_pixels(job, &part, n, y0, cvp_min_i64(y0 + b->pixels, all),
                       p->add || n > 0 || y0 > 0, columns, scratch);
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
    const double images = (double)p->mb * (double)p->g, again = (double)b->filter_blocks;
    const double all = (double)cvp_conv_dst_pixels(p), pixels = (double)b->pixels;
    struct cvp_conv_products w = {.m = (double)b->filter_block,
                                  .n = (double)b->row_block,
                                  .k = pixels,
                                  .tasks = (double)b->tasks};
    w.calls = w.tasks * (double)p->mb * cvp_conv_parts(all, pixels);
    if (!cvp_conv_is_pointwise(p)) {
        w.columns = images * (double)b->rows * all * again;
        w.runs = cvp_conv_column_runs(p, images, (double)b->rows) * again;
    }
    return cvp_conv_products_price(p, &w);
}

extern const convop_conv_impl cvp_conv_gemm_bwd_w;
const convop_conv_impl cvp_conv_gemm_bwd_w = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "gemm",
    .direction = CONVOP_BWD_W,
    .version = 3,
    .level = CONVOP_LEVEL_BUILTIN,
    .cut = cut,
    .cut_size = CONV_CUT_SIZE(struct blocks),
    .workspace = workspace,
    .run = run,
    .estimate = estimate,
};

/* The row `gemm`, forward: dst = weights x columns, block of pixels by block of pixels. A pointwise
 * convolution needs no columns: src is the matrix.
 *
 * One task is a block of pixels of one group of one image. */
#include "src/common/size.h"
#include "src/operator/convolution/cpu/columns.h"
#include "src/operator/convolution/cpu/estimate.h"
#include "src/operator/convolution/cpu/finish.h"
#include "src/operator/convolution/cpu/matmul.h"
#include "src/operator/copy.h"

struct blocks {
    struct cvp_gemm_choice matmul;
    struct cvp_gemm_lanes lanes;
    int64_t rows;   /* of the columns: a group's channels times taps */
    int64_t pixels; /* in a block */
    int64_t per_image, tasks;
};

static struct blocks plan_blocks(const convop_conv_problem *p)
{
    struct blocks b = {.matmul = cvp_conv_matmul_for(p), .rows = p->ic / p->g * cvp_conv_taps(p)};
    int64_t all = cvp_conv_dst_pixels(p), ocg = p->oc / p->g;
    int pointwise = cvp_conv_is_pointwise(p);
    b.pixels = cvp_conv_pixel_block(p, pointwise ? 1 : b.rows, all);
    while (b.pixels > 64 && p->mb * p->g * cvp_ceil_div(all, b.pixels) < CVP_GEMM_MIN_TASKS)
        b.pixels = cvp_ceil_div(b.pixels, 2);
    b.per_image = cvp_ceil_div(all, b.pixels);
    b.tasks = p->mb * p->g * b.per_image;
    b.lanes = p->channels_last ? cvp_conv_lanes(p, &b.matmul, b.tasks,
                                                pointwise ? 0 : cvp_conv_columns(b.rows, b.pixels),
                                                b.pixels, ocg, b.rows)
                               : cvp_conv_lanes(p, &b.matmul, b.tasks,
                                                pointwise ? 0 : cvp_conv_columns(b.rows, b.pixels),
                                                ocg, b.pixels, b.rows);
    return b;
}

struct job {
    const convop_conv_problem *p;
    const convop_conv_operands *t;
    const struct blocks *blocks;
};

#define T          float
#define NAME(name) name##_f32
#include "src/operator/convolution/cpu/bias_loops.h"
#undef T
#undef NAME
#define T          double
#define NAME(name) name##_f64
#include "src/operator/convolution/cpu/bias_loops.h"
#undef T
#undef NAME

/* Rows of the product are pixels in N*C, output channels in NC*. */
static void run_task(const void *job_, int64_t task, void *columns, void *scratch)
{
    const struct job *job = job_;
    const convop_conv_problem *p = job->p;
    const struct blocks *b = job->blocks;
    int64_t block = task % b->per_image, g = task / b->per_image % p->g;
    int64_t n = task / b->per_image / p->g;
    int64_t y0 = block * b->pixels, y1 = cvp_min_i64(y0 + b->pixels, cvp_conv_dst_pixels(p));
    int64_t icg = p->ic / p->g, ocg = p->oc / p->g;
    const void *image = cvp_conv_at(p, job->t->src, n * p->src.n + g * icg * p->src.c);
    const void *packed = job->t->packed;
    const char *residual = p->residual ? job->t->residual : NULL;
    const void *weights = cvp_conv_at(p, packed ? packed : job->t->weights, g * ocg * b->rows);
    void *dst = cvp_conv_at_mut(p, job->t->out, n * p->dst.n + g * ocg * p->dst.c + y0 * p->dst.w);

    const void *col = columns;
    int64_t ld = p->channels_last ? b->rows : y1 - y0;
    if (cvp_conv_is_pointwise(p)) {
        ld = p->channels_last ? p->ic : cvp_conv_src_pixels(p);
        col = cvp_conv_at(p, image, p->channels_last ? y0 * p->ic : y0);
    } else {
        cvp_conv_im2col(p, image, 0, b->rows, y0, y1, columns, ld);
    }
    if (job->t->bias)
        (p->dtype.bits == 64 ? add_bias_f64 : add_bias_f32)(
            p, cvp_conv_at(p, job->t->bias, g * ocg * p->bias_stride), y1 - y0, dst);

    struct cvp_gemm gemm = {.k = b->rows, .c = dst, .accumulate = p->add || job->t->bias};
    if (p->channels_last) {
        gemm.m = y1 - y0, gemm.n = ocg, gemm.c_row = p->oc;
        gemm.a = col, gemm.a_row = ld, gemm.a_col = 1;
        gemm.b = weights, gemm.b_row = packed ? ocg : 1, gemm.b_col = packed ? 1 : b->rows;
    } else {
        gemm.m = ocg, gemm.n = y1 - y0, gemm.c_row = cvp_conv_dst_pixels(p);
        gemm.a = weights, gemm.a_row = b->rows, gemm.a_col = 1;
        gemm.b = col, gemm.b_row = ld, gemm.b_col = 1;
    }
    cvp_gemm_multiply(&b->matmul, &gemm, scratch);
    if (!cvp_conv_has_epilogue(p)) return;
    for (int64_t i = 0; i < gemm.m; i++) {
        char *row = (char *)dst + i * gemm.c_row * (int64_t)cvp_conv_element_size(p);
        cvp_conv_finish_line(p, gemm.n, row,
                             residual ? residual + (row - (char *)job->t->out) : NULL);
    }
}

/* In N*C the product wants the weights transposed: rows x output channels for each group. */
static size_t packed_bytes(const convop_conv_problem *p)
{
    if (!p->channels_last) return 0;
    return (size_t)(p->oc * (p->ic / p->g) * cvp_conv_taps(p)) * cvp_conv_element_size(p);
}

static void pack(const convop_conv_problem *p, const void *weights, void *packed,
                 const convop_context *context)
{
    int64_t rows = p->ic / p->g * cvp_conv_taps(p), ocg = p->oc / p->g;
    const int64_t sizes[3] = {p->g, rows, ocg};
    const int64_t to[3] = {rows * ocg, ocg, 1}, from[3] = {rows * ocg, 1, rows};
    cvp_copy_strided(context, 3, sizes, packed, to, p->dtype, weights, from, p->dtype);
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
    const double images = (double)p->mb * (double)p->g, rows = (double)b->rows;
    const double pixels = (double)b->pixels, ocg = (double)(p->oc / p->g);
    struct cvp_conv_products w = {.calls = (double)b->tasks, .k = rows, .tasks = (double)b->tasks};
    w.m = p->channels_last ? pixels : ocg;
    w.n = p->channels_last ? ocg : pixels;
    if (!cvp_conv_is_pointwise(p)) {
        w.columns = images * rows * (double)cvp_conv_dst_pixels(p);
        w.runs = cvp_conv_column_runs(p, images, rows);
    }
    return cvp_conv_products_price(p, &w);
}

extern const convop_conv_impl cvp_conv_gemm_fwd;
const convop_conv_impl cvp_conv_gemm_fwd = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "gemm",
    .direction = CONVOP_FWD,
    .version = 2,
    .level = CONVOP_LEVEL_BUILTIN,
    .cut = cut,
    .cut_size = CONV_CUT_SIZE(struct blocks),
    .workspace = workspace,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .run = run,
    .estimate = estimate,
    .fuses = cvp_conv_fuses_all,
};

/* The row `implicit` for N*C, forward and backward by data: each row of pixels is multiplied where
 * it lies, tap by tap, with weights packed into panels. Nothing is lowered; rows that a window
 * would leave are copied once with zeros around them.
 *
 * One task is a block of pixels of one group of one image (in one phase of the stride, see
 * stencil.h), for all output channels. */
#include "src/operator/convolution/cpu/implicit_last.h"

#include <string.h>

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/finish.h"
#include "src/operator/convolution/cpu/implicit.h"
#include "src/operator/convolution/cpu/window.h"

/* ---- a task --------------------------------------------------------------------------------- */

struct job {
    const struct implicit_last *l;
    const char *in, *panels, *bias, *residual;
    char *out, *lanes;
};

/* A block of pixels of one group of one image. */
struct block {
    struct stencil s;
    int64_t n, g, td, h0, h1, w0, w1;
    /* Where the rows that are read lie: in the image, or in a copy with zeros around. */
    const char *in;
    int64_t pixel;        /* elements from one pixel to the next */
    int64_t row, plane;   /* from one row, and one depth tap or depth, to the next */
    int64_t low_h, low_w; /* the row and pixel that `in` begins with */
    int is_staged;
    struct cvp_tile_run *runs; /* those of row `listed`, for its pixels from w0 on */
    int64_t num_runs, listed;
};

/* n pixels of a group, `apart` bytes from each other, side by side. Sizes that are known here are
 * copied without a call, which would cost more than such a copy. */
static void load_pixels(const struct implicit_last *l, char *to, const char *from, int64_t apart,
                        int64_t n)
{
    const int64_t bytes = l->ends.in.c * l->size;
#define COPY(size)                                                                                 \
    case size:                                                                                     \
        for (int64_t i = 0; i < n; i++) memcpy(to + i * (size), from + i * apart, size);           \
        return
    switch (l->converts ? 0 : bytes) {
        COPY(8);
        COPY(16);
        COPY(32);
        COPY(64);
        COPY(128);
    }
#undef COPY
    for (int64_t i = 0; i < n; i++, from += apart, to += bytes)
        l->stored->load(to, from, 1, l->ends.in.c);
}

/* Copies the rows that the block reads. */
static void stage(const struct implicit_last *l, struct block *b, char *to)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
    const struct stencil *s = &b->s;
    const int64_t rows = stencil_reach(&s->h, b->h1 - b->h0),
                  pixels = stencil_reach(&s->w, b->w1 - b->w0);
    const size_t pixel = (size_t)(l->ends.in.c * l->size);
    const char *image = b->in;
    b->low_h = b->h0 * s->h.in_step + stencil_low(&s->h);
    b->low_w = b->w0 * s->w.in_step + stencil_low(&s->w);
    const int64_t w0 = cvp_min_i64(pixels, cvp_max_i64(0, -b->low_w));
    const int64_t w1 = cvp_max_i64(w0, cvp_min_i64(pixels, s->w.in_size - b->low_w));
    const int64_t apart = l->ends.in.all * l->stored->size;
    for (int64_t j = 0; j < s->d.taps; j++) {
        const int64_t d = b->td * s->d.in_step + s->d.at_first + j * s->d.at_step;
        for (int64_t r = 0; r < rows; r++) {
            char *row = to + (j * rows + r) * pixels * (int64_t)pixel;
            const int64_t h = b->low_h + r;
            if (!inside(d, s->d.in_size) || !inside(h, s->h.in_size)) continue;
            if (w0 == w1) {
                memset(row, 0, (size_t)pixels * pixel);
                continue;
            }
            memset(row, 0, (size_t)w0 * pixel);
            const char *from =
                image + ((d * l->ends.in.h + h) * l->ends.in.w + b->low_w + w0) * apart;
            if (l->ends.in.all == l->ends.in.c)
                l->stored->load(row + (size_t)w0 * pixel, from, 1, (w1 - w0) * l->ends.in.c);
            else
                load_pixels(l, row + (size_t)w0 * pixel, from, apart, w1 - w0);
            memset(row + (size_t)w1 * pixel, 0, (size_t)(pixels - w1) * pixel);
        }
    }
    b->in = to;
    b->pixel = l->ends.in.c;
    b->row = pixels * l->ends.in.c;
    b->plane = rows * b->row;
    b->is_staged = 1;
    cvp_stage_leave(outer);
}

/* The runs of the output row th, with the weights of `panel`; their number. */
static int64_t list_runs(const struct implicit_last *l, const struct block *b, int64_t th,
                         const char *panel)
{
    const struct stencil *s = &b->s;
    const convop_conv_problem *p = l->p;
    /* Taps side by side read pixels side by side: one run. */
    const int is_one = s->w.taps > 0 && (s->w.at_step == 1 || s->w.at_step == -1) &&
                       s->w.k_step == 1 && b->pixel == l->ends.in.c;
    int64_t n = 0;
    for (int64_t jd = 0; jd < s->d.taps; jd++) {
        const int64_t d = b->td * s->d.in_step + s->d.at_first + jd * s->d.at_step;
        if (!inside(d, s->d.in_size)) continue;
        for (int64_t jh = 0; jh < s->h.taps; jh++) {
            const int64_t h = th * s->h.in_step + s->h.at_first + jh * s->h.at_step;
            if (!inside(h, s->h.in_size)) continue;
            const char *row =
                b->in + ((b->is_staged ? jd : d) * b->plane + (h - b->low_h) * b->row) * l->size;
            const int64_t tap =
                ((s->d.k_first + jd * s->d.k_step) * p->kh + s->h.k_first + jh * s->h.k_step) *
                p->kw;
            for (int64_t jw = 0; jw < (is_one ? 1 : s->w.taps); jw++) {
                const int64_t k = s->w.k_first + jw * s->w.k_step;
                const int64_t at = is_one ? stencil_low(&s->w) : s->w.at_first + jw * s->w.at_step;
                const int64_t place = is_one ? 0 : p->direction == CONVOP_FWD ? k : p->kw - 1 - k;
                b->runs[n++] = (struct cvp_tile_run){
                    .a = row + (b->w0 * s->w.in_step + at - b->low_w) * b->pixel * l->size,
                    .b = panel + (tap + place) * l->ends.in.c * l->columns * l->size,
                    .n = is_one ? s->w.taps * l->ends.in.c : l->ends.in.c};
            }
        }
    }
    return n;
}

/* Pixels that no tap reaches: the bias alone, or zeros, and what follows. */
static void fill_row(const convop_conv_problem *p, const struct cvp_tile_args *t, int64_t pixels,
                     int columns)
{
    static const double zeros[CVP_TILE_BYTES / sizeof(double)];
    const int64_t row = t->c_row * t->stored->size;
    if (!t->add || t->column_bias)
        t->stored->store(t->c, t->c_row, 1, t->column_bias ? t->column_bias : zeros, 0, pixels,
                         columns, t->add);
    for (int64_t i = 0; i < pixels && cvp_conv_has_epilogue(p); i++)
        cvp_conv_finish_line(p, columns, (char *)t->c + i * row,
                             t->residual ? (const char *)t->residual + i * row : NULL);
}

/* All panels of a strip of pixels [w0, w1) of rows [h0, h1), one after the other, each of them row
 * by row. */
static void compute_strip(const struct job *job, struct block *b, int64_t h0, int64_t h1,
                          int64_t w0, int64_t w1)
{
    const struct implicit_last *l = job->l;
    const struct stencil *s = &b->s;
    const int64_t panel = l->columns * l->taps * l->ends.in.c;
    const char *weights = job->panels + b->g * l->panels * panel * l->size;
    const int64_t od = s->d.out_first + b->td * s->d.out_step;
    const int64_t ow = s->w.out_first + w0 * s->w.out_step;
    struct cvp_tile_args t = {.runs = b->runs,
                              .a_row = s->w.in_step * b->pixel,
                              .a_col = 1,
                              .b_row = l->columns,
                              .c_row = s->w.out_step * l->ends.out.all,
                              .stored = l->stored,
                              .add = l->p->add,
                              .clamps = l->p->activation != CONVOP_ACTIVATION_NONE,
                              .high = cvp_conv_high(l->p),
                              .streams = l->streams};
    t.a_at = (w0 - b->w0) * t.a_row;
    for (int64_t c = 0; c < l->ends.out.c; c += l->columns, t.b_at += panel) {
        const int columns = (int)cvp_min_i64(l->columns, l->ends.out.c - c);
        if (job->bias) t.column_bias = job->bias + (b->g * l->ends.out.c + c) * l->size;
        for (int64_t th = h0; th < h1; th++) {
            if (th != b->listed) b->num_runs = list_runs(l, b, th, weights);
            b->listed = th;
            t.num_runs = b->num_runs;
            const int64_t oh = s->h.out_first + th * s->h.out_step;
            const int64_t at = (b->n * l->ends.out.image +
                                ((od * l->ends.out.h + oh) * l->ends.out.w + ow) * l->ends.out.all +
                                b->g * l->ends.out.c + c) *
                               l->stored->size;
            t.c = job->out + at;
            if (job->residual) t.residual = job->residual + at;
            if (t.num_runs > 0)
                cvp_tile_run_rows(l->kernels, &t, w1 - w0, columns);
            else
                fill_row(l->p, &t, w1 - w0, columns);
        }
    }
}

/* Strip by strip. */
static void compute_block(const struct job *job, struct block *b)
{
    const struct implicit_last *l = job->l;
    b->listed = -1;
    for (int64_t h = b->h0; h < b->h1; h += l->strip_rows)
        for (int64_t w = b->w0; w < b->w1; w += l->strip_width)
            compute_strip(job, b, h, cvp_min_i64(h + l->strip_rows, b->h1), w,
                          cvp_min_i64(w + l->strip_width, b->w1));
}

static void run_tasks(void *arg, int lane, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    const struct implicit_last *l = job->l;
    char *own = job->lanes + (size_t)lane * l->lane_bytes;
    for (int64_t i = begin; i < end; i++) {
        struct block b = {.runs = (struct cvp_tile_run *)(void *)(own + l->staged_bytes)};
        int64_t rest = i;
        b.w0 = cvp_conv_implicit_next(&rest, l->w_blocks) * l->width;
        b.h0 = cvp_conv_implicit_next(&rest, l->h_blocks) * l->rows;
        b.td = cvp_conv_implicit_next(&rest, l->d_count);
        b.g = cvp_conv_implicit_next(&rest, l->p->g);
        b.n = cvp_conv_implicit_next(&rest, l->mb);
        b.s = cvp_conv_stencil(l->p, rest, 1);
        if (l->is_merged) {
            b.s.w.count *= l->p->mb;
            b.s.w.in_size *= l->p->mb;
        }
        b.h1 = cvp_min_i64(b.h0 + l->rows, b.s.h.count);
        b.w1 = cvp_min_i64(b.w0 + l->width, b.s.w.count);
        if (b.td >= b.s.d.count || b.h0 >= b.h1 || b.w0 >= b.w1) continue; /* a phase with fewer */
        b.in = job->in + (b.n * l->ends.in.image + b.g * l->ends.in.c) * l->stored->size;
        b.pixel = l->ends.in.all;
        b.row = l->ends.in.w * l->ends.in.all;
        b.plane = l->ends.in.h * b.row;
        if ((l->converts && b.s.w.taps > 0) || stencil_leaves_image(&b.s.w)) stage(l, &b, own);
        int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
        compute_block(job, &b);
        cvp_stage_leave(outer);
    }
    if (l->streams) cvp_tile_end_stream();
}

/* ---- the row ------------------------------------------------------------------------------- */

int cvp_conv_implicit_last_cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE])
{
    struct implicit_last *l = cut;
    *l = cvp_conv_implicit_last_plan(p);
    return cvp_conv_has_lanes(p, l->lanes, why);
}

size_t cvp_conv_implicit_last_workspace(const convop_conv_problem *p)
{
    const struct implicit_last *l = p->cut;
    return l->weight_bytes + l->bias_bytes + (size_t)l->lanes * l->lane_bytes;
}

size_t cvp_conv_implicit_last_packed_bytes(const convop_conv_problem *p)
{
    const struct implicit_last *l = p->cut;
    return l->weight_bytes;
}

void cvp_conv_implicit_last_pack(const convop_conv_problem *p, const void *weights, void *packed,
                                 const convop_context *context)
{
    const struct implicit_last *l = p->cut;
    cvp_conv_implicit_last_pack_weights(l, weights, packed, context);
}

convop_status cvp_conv_implicit_last_run(const convop_conv_problem *p,
                                         const convop_conv_operands *t,
                                         const convop_context *context, void *workspace)
{
    const struct implicit_last *l = p->cut;
    const int forward = p->direction == CONVOP_FWD;
    char *bias = (char *)workspace + l->weight_bytes;
    struct job job = {.l = l,
                      .in = forward ? t->src : t->dst,
                      .out = t->out,
                      .panels = t->packed ? t->packed : workspace,
                      .bias = t->bias,
                      .residual = p->residual ? t->residual : NULL,
                      .lanes = bias + l->bias_bytes};
    if (t->bias && (p->bias_stride != 1 || l->converts)) {
        l->stored->load(bias, t->bias, p->bias_stride, p->oc);
        job.bias = bias;
    }
    if (!t->packed) cvp_conv_implicit_last_pack_weights(l, t->weights, workspace, context);
    cvp_parallel_on(context, l->lanes, l->tasks, run_tasks, &job);
    return CONVOP_OK;
}

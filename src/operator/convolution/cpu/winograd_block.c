/* The steps of a block of the row `winograd`. */
#include <string.h>

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/operator/convolution/cpu/window.h"
#include "src/operator/convolution/cpu/winograd.h"

/* The longest vector. */
static const _Alignas(64) float zeros[16];

/* Rows of tiles [first, end), tiles [x0, x0 + width) of each, of a group. */
struct block {
    int64_t g, first, end, x0, width;
};

static struct block block_of(const struct winograd *w, int64_t number)
{
    struct block b = {.x0 = number % w->w_blocks * w->width};
    number /= w->w_blocks;
    b.first = number % w->row_blocks * w->rows;
    b.g = number / w->row_blocks;
    b.end = cvp_min_i64(b.first + w->rows, w->all_rows);
    b.width = cvp_min_i64(w->width, w->tiles_w - b.x0);
    return b;
}

/* Where the image of a row of tiles begins; *h: the row of its first outputs. */
static int64_t image_of(const struct winograd *w, const convop_conv_strides *at, int64_t row,
                        int64_t *h)
{
    const int64_t image = row / w->tiles_h;
    *h = row % w->tiles_h * WINOGRAD_OUT;
    return image / w->p->id * at->n + image % w->p->id * at->d;
}

/* ---- inputs -----------------------------------------------------------------------------------
 */

/* The pixels of a row of tiles that lie in the image: [w0, w1) of the image, the first of them
 * `left` pixels into the row. */
struct span {
    int64_t w0, left, n, all;
};

static struct span span_of(const struct winograd *w, const struct block *b)
{
    const int64_t low = b->x0 * WINOGRAD_OUT - w->pw;
    struct span s = {.all = b->width * WINOGRAD_OUT + 2};
    s.left = cvp_min_i64(s.all, cvp_max_i64(0, -low));
    s.w0 = low + s.left;
    s.n = cvp_max_i64(0, cvp_min_i64(s.all - s.left, w->in_w - s.w0));
    return s;
}

/* One vector of channels of a row of tiles, columns transformed. NC*: rows of pixels are turned
 * into `turned`, image row h at place h modulo six; *next is the first that is not there yet. */
static void columns_of(const struct winograd *w, const struct span *s, const float *image,
                       int64_t h, int channels, float *turned, int64_t *next, float *to)
{
    const struct cvp_winograd_kernels *k = w->kernels;
    const int64_t line = s->all * k->lanes;
    const float *from[WINOGRAD_IN];
    int64_t pixel[WINOGRAD_IN];
    for (int64_t i = 0; i < WINOGRAD_IN; i++) {
        const int64_t row = h - w->ph + i;
        from[i] = zeros;
        pixel[i] = 0;
        if (!inside(row, w->in_h) || s->n == 0) continue;
        from[i] = image + row * w->in_at.h + s->w0 * w->in_at.w;
        pixel[i] = w->in_at.w;
        if (w->p->channels_last) continue;
        float *own = turned + row % WINOGRAD_IN * line;
        if (row >= *next) {
            k->turn_in(own, from[i], w->in_at.c, channels, s->n);
            *next = row + 1;
        }
        from[i] = own;
        pixel[i] = k->lanes;
    }
    k->columns_in(to + s->left * k->lanes, line, from, pixel, s->n,
                  w->p->channels_last ? channels : k->lanes);
    const int64_t right = s->all - s->left - s->n;
    const size_t bytes = (size_t)k->lanes * sizeof(float);
    for (int64_t i = 0; i < WINOGRAD_IN; i++) {
        memset(to + i * line, 0, (size_t)s->left * bytes);
        memset(to + (i + 1) * line - right * k->lanes, 0, (size_t)right * bytes);
    }
}

void cvp_conv_winograd_transform_in(const struct winograd *w, int64_t number, int64_t v0,
                                    int64_t v1, const float *in, float *lines, float *to)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
    const struct block b = block_of(w, number);
    const struct span s = span_of(w, &b);
    const int64_t lanes = w->kernels->lanes, line = s.all * lanes;
    float *turned = lines + WINOGRAD_IN * line;
    for (int64_t v = v0; v < v1; v++) {
        const int channels = (int)cvp_min_i64(lanes, w->in_c - v * lanes);
        const float *plane = in + (b.g * w->in_c + v * lanes) * w->in_at.c;
        int64_t next = 0;
        for (int64_t row = b.first; row < b.end; row++) {
            int64_t h;
            const float *image = plane + image_of(w, &w->in_at, row, &h);
            if (h == 0) next = 0;
            columns_of(w, &s, image, h, channels, turned, &next, lines);
            w->kernels->rows_in(to + (row - b.first) * b.width * w->in_tile + v * lanes,
                                w->in_point, w->in_tile, lines, line, b.width);
        }
    }
    cvp_stage_leave(outer);
}

/* ---- outputs ----------------------------------------------------------------------------------
 */

static void put(const struct winograd *w, const struct block *b, int64_t row, int64_t channel,
                const float *bias, const float *columns, float *turned, float *out)
{
    const struct cvp_winograd_kernels *k = w->kernels;
    int64_t h;
    const int channels = (int)cvp_min_i64(k->lanes, w->out_c - channel);
    const int64_t c = b->g * w->out_c + channel, w0 = b->x0 * WINOGRAD_OUT;
    const int64_t line = b->width * WINOGRAD_OUT * k->lanes;
    const int64_t pixels = cvp_min_i64(b->width * WINOGRAD_OUT, w->out_w - w0);
    out += image_of(w, &w->out_at, row, &h) + c * w->out_at.c + w0 * w->out_at.w;
    const int rows = (int)cvp_min_i64(WINOGRAD_OUT, w->out_h - h);
    float *to[WINOGRAD_OUT];
    for (int i = 0; i < WINOGRAD_OUT; i++)
        to[i] = w->p->channels_last ? out + (h + i) * w->out_at.h : turned + i * line;
    if (bias) bias += c;
    if (w->p->channels_last) {
        k->columns_out(to, rows, w->out_at.w, columns, line, pixels, bias, channels, w->p->add);
        return;
    }
    k->columns_out(to, rows, k->lanes, columns, line, pixels, bias, channels, 0);
    for (int i = 0; i < rows; i++)
        k->turn_out(out + (h + i) * w->out_at.h, w->out_at.c, channels, pixels, to[i], w->p->add);
}

void cvp_conv_winograd_transform_out(const struct winograd *w, int64_t number, int64_t v0,
                                     int64_t v1, const float *sums, const float *bias, float *lines,
                                     float *out)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
    const struct block b = block_of(w, number);
    const int64_t lanes = w->kernels->lanes, line = b.width * WINOGRAD_OUT * lanes;
    for (int64_t v = v0; v < v1; v++)
        for (int64_t row = b.first; row < b.end; row++) {
            const float *from = sums + (row - b.first) * b.width * w->out_tile + v * lanes;
            w->kernels->rows_out(lines, line, from, w->out_point, w->out_tile, b.width);
            put(w, &b, row, v * lanes, bias, lines, lines + WINOGRAD_IN * line, out);
        }
    cvp_stage_leave(outer);
}

/* ---- products ---------------------------------------------------------------------------------
 */

void cvp_conv_winograd_multiply(const struct winograd *w, int64_t number, int64_t q0, int64_t q1,
                                const float *in, const float *panels, float *sums)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    const struct block b = block_of(w, number);
    const int64_t lanes = w->kernels->lanes, panel = w->in_c * w->columns;
    for (int64_t q = q0; q < q1; q++)
        for (int64_t j = 0; j < w->panels; j++) {
            const int64_t vectors = w->out_vectors - j * (w->columns / lanes);
            const struct cvp_tile_run run = {
                in + q * w->in_point,
                panels + (b.g * WINOGRAD_POINTS + q) * w->weight_point + j * panel, w->in_c};
            const struct cvp_tile_args t = {.runs = &run,
                                            .num_runs = 1,
                                            .a_row = w->in_tile,
                                            .a_col = 1,
                                            .b_row = w->columns,
                                            .c = sums + q * w->out_point + j * w->columns,
                                            .c_row = w->out_tile};
            cvp_tile_run_rows(w->tile, &t, (b.end - b.first) * b.width,
                              (int)cvp_min_i64(w->columns, vectors * lanes));
        }
    cvp_stage_leave(outer);
}

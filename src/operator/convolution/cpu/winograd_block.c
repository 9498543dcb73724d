/* The steps of a block of the row `winograd`. */
#include <string.h>

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/operator/convolution/cpu/window.h"
#include "src/operator/convolution/cpu/winograd.h"

/* The longest vector. */
static const _Alignas(64) float zeros[16];

/* Rows of tiles [first, end) of a group, of each phase the tiles [x0, x0 + width). */
struct block {
    int64_t g, first, end, x0, width;
    int64_t tiles; /* of a row, of all phases */
};

static struct block block_of(const struct winograd *w, int64_t number)
{
    struct block b = {.x0 = number % w->w_blocks * w->width};
    number /= w->w_blocks;
    b.first = number % w->row_blocks * w->rows;
    b.g = number / w->row_blocks;
    b.end = cvp_min_i64(b.first + w->rows, w->all_rows);
    b.width = cvp_min_i64(w->width, w->tiles_w - b.x0);
    b.tiles = b.width * w->dw;
    return b;
}

/* A row of tiles: where its image begins, the phase of its rows, the first of its outputs' rows as
 * the phase counts them. */
struct place {
    int64_t image, phase, h;
};

static struct place place_of(const struct winograd *w, const convop_conv_strides *at, int64_t row)
{
    struct place p = {.h = row % w->tiles_h * WINOGRAD_OUT};
    row /= w->tiles_h;
    p.phase = row % w->dh;
    row /= w->dh;
    p.image = row / w->p->id * at->n + row % w->p->id * at->d;
    return p;
}

/* ---- inputs -----------------------------------------------------------------------------------
 */

/* Pixels of an image row, from w0 on, `step` apart: the first is the phase's pixel `left` of `all`
 * that a row of tiles reads. */
struct span {
    int64_t w0, step, left, n, all;
};

static struct span span_of(const struct winograd *w, const struct block *b, int64_t phase)
{
    const int64_t low = phase + b->x0 * WINOGRAD_OUT * w->dw - w->pw;
    struct span s = {.step = w->dw, .all = b->width * WINOGRAD_OUT + 2};
    s.left = low < 0 ? cvp_min_i64(s.all, cvp_ceil_div(-low, w->dw)) : 0;
    s.w0 = low + s.left * w->dw;
    if (s.w0 < w->ends.in.w)
        s.n = cvp_min_i64(s.all - s.left, cvp_ceil_div(w->ends.in.w - s.w0, w->dw));
    return s;
}

/* What all phases read: pixels that follow each other. */
static struct span span_of_all(const struct winograd *w, const struct block *b)
{
    const int64_t low = b->x0 * WINOGRAD_OUT * w->dw - w->pw;
    struct span s = {.step = 1, .all = (b->width * WINOGRAD_OUT + 2) * w->dw};
    s.left = cvp_min_i64(s.all, cvp_max_i64(0, -low));
    s.w0 = low + s.left;
    s.n = cvp_max_i64(0, cvp_min_i64(s.all - s.left, w->ends.in.w - s.w0));
    return s;
}

/* The image row of a phase's row i of inputs. */
static int64_t input_row(const struct winograd *w, const struct place *p, int64_t i)
{
    return p->phase + (p->h + i) * w->dh - w->ph;
}

/* NC*: a vector of channels of the rows that are read, turned; the phase's row i at place i modulo
 * six. *next is the first that is not there yet. */
static void turn_rows(const struct winograd *w, const struct span *all, const float *image,
                      const struct place *p, int channels, float *turned, int64_t *next)
{
    for (int64_t i = cvp_max_i64(p->h, *next); i < p->h + WINOGRAD_IN; i++) {
        const int64_t row = input_row(w, p, i - p->h);
        if (inside(row, w->ends.in.h) && all->n > 0)
            w->kernels->turn_in(turned + i % WINOGRAD_IN * all->all * w->kernels->lanes,
                                image + row * w->ends.in.at.h + all->w0, w->ends.in.at.c, channels,
                                all->n);
    }
    *next = p->h + WINOGRAD_IN;
}

/* One vector of channels of a phase of a row of tiles, columns transformed; from what was turned,
 * in NC*. */
static void columns_of(const struct winograd *w, const struct span *s, const struct span *all,
                       const float *image, const struct place *p, int channels, const float *turned,
                       float *to)
{
    const struct cvp_winograd_kernels *k = w->kernels;
    const int64_t line = s->all * k->lanes;
    const float *from[WINOGRAD_IN];
    int64_t pixel[WINOGRAD_IN];
    for (int64_t i = 0; i < WINOGRAD_IN; i++) {
        const int64_t row = input_row(w, p, i);
        from[i] = zeros;
        pixel[i] = 0;
        if (!inside(row, w->ends.in.h) || s->n == 0) continue;
        pixel[i] = s->step * (w->p->channels_last ? w->ends.in.at.w : k->lanes);
        from[i] = w->p->channels_last
                      ? image + row * w->ends.in.at.h + s->w0 * w->ends.in.at.w
                      : turned + ((p->h + i) % WINOGRAD_IN * all->all + s->w0 - all->w0) * k->lanes;
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
    const struct span all = span_of_all(w, &b);
    const int64_t lanes = w->kernels->lanes;
    for (int64_t v = v0; v < v1; v++) {
        const int channels = (int)cvp_min_i64(lanes, w->ends.in.c - v * lanes);
        const float *plane = in + (b.g * w->ends.in.c + v * lanes) * w->ends.in.at.c;
        int64_t next = 0;
        for (int64_t row = b.first; row < b.end; row++) {
            const struct place p = place_of(w, &w->ends.in.at, row);
            float *tiles = to + (row - b.first) * b.tiles * w->in_tile + v * lanes, *turned = NULL;
            if (p.h == 0) next = 0;
            if (!w->p->channels_last) {
                turned = lines + WINOGRAD_IN * (b.width * WINOGRAD_OUT + 2) * lanes;
                turn_rows(w, &all, plane + p.image, &p, channels, turned, &next);
            }
            for (int64_t phase = 0; phase < w->dw; phase++) {
                const struct span s = span_of(w, &b, phase);
                columns_of(w, &s, &all, plane + p.image, &p, channels, turned, lines);
                w->kernels->rows_in(tiles + phase * b.width * w->in_tile, w->in_point, w->in_tile,
                                    lines, s.all * lanes, b.width);
            }
        }
    }
    cvp_stage_leave(outer);
}

/* ---- outputs ----------------------------------------------------------------------------------
 */

/* A vector of channels of a row of tiles. NC*: the phases' pixels meet in turned rows. */
static void put(const struct winograd *w, const struct block *b, const struct place *p,
                int64_t channel, const float *sums, const float *bias, float *lines, float *out)
{
    const struct cvp_winograd_kernels *k = w->kernels;
    const int64_t c = b->g * w->ends.out.c + channel, line = b->width * WINOGRAD_OUT * k->lanes;
    const int64_t w0 = b->x0 * WINOGRAD_OUT * w->dw, first = p->phase + p->h * w->dh;
    const int channels = (int)cvp_min_i64(k->lanes, w->ends.out.c - channel);
    const int rows = (int)cvp_min_i64(WINOGRAD_OUT, cvp_ceil_div(w->ends.out.h - first, w->dh));
    if (first >= w->ends.out.h) return;
    float *turned = lines + WINOGRAD_IN * line, *to[WINOGRAD_OUT];
    out += p->image + c * w->ends.out.at.c + first * w->ends.out.at.h + w0 * w->ends.out.at.w;
    if (bias) bias += c;
    for (int64_t phase = 0; phase < w->dw && w0 + phase < w->ends.out.w; phase++) {
        const int64_t pixels =
            cvp_min_i64(b->width * WINOGRAD_OUT, cvp_ceil_div(w->ends.out.w - w0 - phase, w->dw));
        k->rows_out(lines, line, sums + phase * b->width * w->out_tile, w->out_point, w->out_tile,
                    b->width);
        for (int i = 0; i < WINOGRAD_OUT; i++)
            to[i] = w->p->channels_last
                        ? out + i * w->dh * w->ends.out.at.h + phase * w->ends.out.at.w
                        : turned + i * line * w->dw + phase * k->lanes;
        k->columns_out(to, rows, w->dw * (w->p->channels_last ? w->ends.out.at.w : k->lanes), lines,
                       line, pixels, bias, channels, w->p->channels_last && w->p->add);
    }
    if (w->p->channels_last) return;
    const int64_t pixels = cvp_min_i64(b->width * WINOGRAD_OUT * w->dw, w->ends.out.w - w0);
    for (int i = 0; i < rows; i++)
        k->turn_out(out + i * w->dh * w->ends.out.at.h, w->ends.out.at.c, channels, pixels,
                    turned + i * line * w->dw, w->p->add);
}

void cvp_conv_winograd_transform_out(const struct winograd *w, int64_t number, int64_t v0,
                                     int64_t v1, const float *sums, const float *bias, float *lines,
                                     float *out)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
    const struct block b = block_of(w, number);
    const int64_t lanes = w->kernels->lanes;
    for (int64_t v = v0; v < v1; v++)
        for (int64_t row = b.first; row < b.end; row++) {
            const struct place p = place_of(w, &w->ends.out.at, row);
            put(w, &b, &p, v * lanes,
                sums + (row - b.first) * b.tiles * w->out_tile + (v - v0) * lanes, bias, lines,
                out);
        }
    cvp_stage_leave(outer);
}

/* ---- products ---------------------------------------------------------------------------------
 */

void cvp_conv_winograd_multiply(const struct winograd *w, int64_t number, int64_t q0, int64_t q1,
                                int64_t num_panels, int64_t columns, const float *in,
                                const float *panels, float *sums)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    const struct block b = block_of(w, number);
    for (int64_t q = q0; q < q1; q++)
        for (int64_t j = 0; j < num_panels; j++) {
            const struct cvp_tile_run run = {
                in + q * w->in_point, panels + q * w->weight_point + j * w->ends.in.c * w->columns,
                w->ends.in.c};
            const struct cvp_tile_args t = {.runs = &run,
                                            .num_runs = 1,
                                            .a_row = w->in_tile,
                                            .a_col = 1,
                                            .b_row = w->columns,
                                            .c = sums + q * w->out_point + j * w->columns,
                                            .c_row = w->out_tile};
            cvp_tile_run_rows(w->tile, &t, (b.end - b.first) * b.tiles,
                              (int)cvp_min_i64(w->columns, columns - j * w->columns));
        }
    cvp_stage_leave(outer);
}

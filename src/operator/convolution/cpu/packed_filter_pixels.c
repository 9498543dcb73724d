/* Panels for the row `packed`, backward by weights: for each pixel, what a tile multiplies, side by
 * side. */
#include <string.h>

#include "src/common/size.h"
#include "src/operator/convolution/cpu/packed_filter.h"
#include "src/operator/convolution/cpu/window.h"

/* N*C */
static void pack_dst_last(const struct packed_filter *f, const char *diff_dst, int64_t o, int valid,
                          int64_t m0, int64_t m1, char *panel)
{
    const int64_t all = f->p->oc, at = m0 * all + o;
    const struct cvp_piece piece = {0, 0, valid};
    cvp_tile_collect_within(f->kernels, panel, f->pitch, diff_dst + at * f->size,
                            f->pixels * all - at, all, m1 - m0, &piece, 1);
}

/* NC*: pixels of an image at a time. */
static void pack_dst_first(const struct packed_filter *f, const char *diff_dst, int64_t o,
                           int valid, int64_t m0, int64_t m1, char *panel)
{
    const int64_t plane = f->rows * f->width;
    while (m0 < m1) {
        const int64_t n = m0 / plane, at = m0 % plane, count = cvp_min_i64(m1 - m0, plane - at);
        f->packers->pack_a(panel, (int)f->height, valid, count,
                           diff_dst + ((n * f->p->oc + o) * plane + at) * f->size, plane, 1);
        panel += count * f->height * f->size;
        m0 += count;
    }
}

/* NC*: pixels at a time, whose channels stay in the first-level cache from one tile to the next. */
#define BLOCK 64

void cvp_conv_packed_filter_dst(const struct packed_filter *f, const char *diff_dst, int64_t m0,
                                int64_t m1, int64_t i0, int64_t i1, char *tiles)
{
    const int64_t block = f->p->channels_last ? cvp_conv_pixel_block(f->p->oc * f->size) : BLOCK;
    for (int64_t m = m0; m < m1; m += block)
        for (int64_t i = i0; i < i1; i++) {
            const int64_t o = i % f->tiles * f->height, first = i / f->tiles * f->ocg + o;
            (f->p->channels_last ? pack_dst_last : pack_dst_first)(
                f, diff_dst, first, (int)cvp_min_i64(f->height, f->ocg - o), m,
                cvp_min_i64(m + block, m1), tiles + (i * f->tile + (m - m0) * f->pitch) * f->size);
        }
}

/* An element of a group's filters: a channel of the group and a place of the window. */
struct element {
    int64_t c, d, h, w;
};

/* A panel's elements, and pixels [w0, w1) of a row of dst. */
struct part {
    struct element e[CVP_GEMM_MAX_WIDTH];
    int num;
    int64_t g, n, d, h, w0, w1;
};

static struct element element_of(const struct packed_filter *f, int64_t j)
{
    const convop_conv_problem *p = f->p;
    const int64_t tap = p->channels_last ? j / f->icg : j % f->taps;
    return (struct element){p->channels_last ? j % f->icg : j / f->taps, tap / p->kw / p->kh,
                            tap / p->kw % p->kh, tap % p->kw};
}

/* Of the image's rows, that which an element multiplies; -1: it is outside. */
static int64_t row_of(const convop_conv_problem *p, const struct part *k, const struct element *e)
{
    const int64_t d = k->d * p->sd - p->pd + e->d * p->dd;
    const int64_t h = k->h * p->sh - p->ph + e->h * p->dh;
    return inside(d, p->id) && inside(h, p->ih) ? d * p->ih + h : -1;
}

/* NC*: n elements of a row of the image from w on, `step` apart, with zeros where it has none. */
static void stage_line(const struct packed_filter *f, const char *row, int64_t w, int64_t step,
                       int64_t n, char *to)
{
    int64_t i0 = n, i1 = n;
    if (row) window_inside(w, step, f->image_width, n, &i0, &i1);
    if (i0 >= i1) i0 = i1 = n;
    memset(to, 0, (size_t)(i0 * f->size));
    if (i0 < i1)
        cvp_conv_numbers(f->p)->load(to + i0 * f->size, row + (w + i0 * step) * f->size, step,
                                     i1 - i0);
    memset(to + i1 * f->size, 0, (size_t)((n - i1) * f->size));
}

/* NC*: the columns of elements j to j + places, a row of the window in one channel: lines of src,
 * read where it lies if they are whole, or staged; 1 if they are. Every stride-th place reads the
 * same line from one pixel further on; without a stride all do. */
static int stage_row(const struct packed_filter *f, const char *src, const struct part *k, int j,
                     int64_t places, char *lines, const void **columns)
{
    const convop_conv_problem *p = f->p;
    const struct element *e = &k->e[j];
    const int64_t n = k->w1 - k->w0, row = row_of(p, k, e), step = p->sw == 1 ? p->dw : 1;
    const int64_t first = k->w0 * p->sw - p->pw + e->w * p->dw;
    const char *from = NULL;
    if (row >= 0)
        from = src + ((k->n * p->ic + k->g * f->icg + e->c) * cvp_conv_src_pixels(p) +
                      row * f->image_width) *
                         f->size;
    const int64_t length = n + (places - 1) / p->sw * step;
    const int is_whole = from && p->sw == 1 && first >= 0 && first + length <= f->image_width;
    for (int64_t i = 0; i < cvp_min_i64(places, p->sw); i++) {
        char *line = lines + (j + i) * f->line * f->size;
        if (!is_whole) stage_line(f, from, first + i * p->dw, p->sw, length, line);
        const char *at = is_whole ? from + first * f->size : line;
        for (int64_t t = i; t < places; t += p->sw, at += step * f->size) columns[t] = at;
    }
    return !is_whole;
}

/* Where all columns are staged, whole vectors are turned: pixels past the last one are anything. */
static void pack_first(const struct packed_filter *f, const char *src, const struct part *k,
                       char *lines, char *panel)
{
    const int64_t n = k->w1 - k->w0, lanes = f->kernels->lanes;
    const void *columns[CVP_GEMM_MAX_WIDTH];
    int staged = 1;
    for (int64_t j = 0, places; j < k->num; j += places) {
        places = f->shares_lines ? cvp_min_i64(f->p->kw - k->e[j].w, k->num - j) : 1;
        staged &= stage_row(f, src, k, (int)j, places, lines, columns + j);
    }
    for (int j = k->num; j < f->columns; j++) columns[j] = columns[j - 1];
    f->packers->pack_rows(panel, (int)f->columns, staged ? cvp_ceil_div(n, lanes) * lanes : n,
                          columns);
}

/* N*C: what follows each other in src, for pixel w; those after it read as far further. */
static int cut_pieces(const struct packed_filter *f, const struct part *k, int64_t w,
                      struct cvp_piece pieces[CVP_GEMM_MAX_WIDTH + 1])
{
    const convop_conv_problem *p = f->p;
    const int64_t image = k->n * cvp_conv_src_pixels(p);
    int num = 0;
    for (int64_t j = 0, n; j < k->num; j += n) {
        const struct element *e = &k->e[j];
        const int64_t row = row_of(p, k, e), x = w * p->sw - p->pw + e->w * p->dw;
        const int is_in = row >= 0 && inside(x, f->image_width);
        n = cvp_min_i64(f->icg - e->c, k->num - j);
        num = cvp_add_piece(
            pieces, num,
            is_in ? (image + row * f->image_width + x) * p->ic + k->g * f->icg + e->c : -1, n);
    }
    if (k->num < f->columns) num = cvp_add_piece(pieces, num, -1, f->columns - k->num);
    return num;
}

/* N*C: pixels [w0, w1) of the part's row, which have the same pieces. */
static void copy_pixels(const struct packed_filter *f, const char *src, const struct part *k,
                        int64_t w0, int64_t w1, char *panel)
{
    const convop_conv_problem *p = f->p;
    struct cvp_piece pieces[CVP_GEMM_MAX_WIDTH + 1];
    const int num = cut_pieces(f, k, w0, pieces);
    const int64_t n = w1 - w0, step = n > 1 ? p->sw * p->ic : 0;
    cvp_tile_collect_within(f->kernels, panel, f->columns, src,
                            p->mb * cvp_conv_src_pixels(p) * p->ic, step, n, pieces, num);
}

/* N*C: pixels of which all elements are inside of the row at a time, or one. */
static void pack_last(const struct packed_filter *f, const char *src, const struct part *k,
                      char *panel)
{
    const convop_conv_problem *p = f->p;
    int64_t in0 = k->w0, in1 = k->w1;
    for (int64_t j = 0; j < k->num; j += f->icg - k->e[j].c) {
        int64_t i0, i1;
        window_inside(k->e[j].w * p->dw - p->pw, p->sw, f->image_width, f->width, &i0, &i1);
        in0 = cvp_max_i64(in0, i0);
        in1 = cvp_min_i64(in1, i1);
    }
    for (int64_t w = k->w0; w < k->w1;) {
        const int64_t end = w == in0 && in0 < in1 ? in1 : w + 1;
        copy_pixels(f, src, k, w, end, panel + (w - k->w0) * f->columns * f->size);
        w = end;
    }
}

void cvp_conv_packed_filter_src(const struct packed_filter *f, const char *src, int64_t g,
                                int64_t j0, int64_t m0, int64_t m1, char *lines, char *panel)
{
    const convop_conv_problem *p = f->p;
    struct part k = {.g = g, .num = (int)cvp_min_i64(f->columns, f->filter - j0)};
    for (int j = 0; j < k.num; j++) k.e[j] = element_of(f, j0 + j);
    while (m0 < m1) {
        const int64_t row = m0 / f->width;
        k.w0 = m0 % f->width;
        k.w1 = cvp_min_i64(f->width, k.w0 + m1 - m0);
        k.n = row / f->rows;
        k.d = row % f->rows / p->oh;
        k.h = row % f->rows % p->oh;
        if (p->channels_last)
            pack_last(f, src, &k, panel);
        else
            pack_first(f, src, &k, lines, panel);
        panel += (k.w1 - k.w0) * f->columns * f->size;
        m0 += k.w1 - k.w0;
    }
}

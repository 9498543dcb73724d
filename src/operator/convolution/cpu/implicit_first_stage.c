/* The copies that the row `implicit` makes for NC*: pixels with zeros around, panels of them, and
 * tiles of the output that do not lie as a tile does. */
#include <string.h>

#include "src/common/size.h"
#include "src/operator/convolution/cpu/finish.h"
#include "src/operator/convolution/cpu/implicit_first.h"
#include "src/operator/convolution/cpu/window.h"

/* ---- staging ------------------------------------------------------------------------------- */

/* Where a tap reads, from where the first one does: the phase of the stride, and steps of it. */
static int64_t place_of(const struct stencil_axis *a, int64_t j)
{
    return a->at_first + j * a->at_step - stencil_low(a);
}

void cvp_conv_implicit_first_fill_table(const struct implicit_first *f,
                                        const struct implicit_first_block *b)
{
    const struct stencil *s = &b->s;
    int64_t *to = b->table;
    if (f->is_plane) {
        for (int64_t c = 0; c < f->chunk; c++) *to++ = c * f->ends.in.plane;
        return;
    }
    for (int64_t c = 0; c < f->chunk; c++)
        for (int64_t jd = 0; jd < s->d.taps; jd++)
            for (int64_t jh = 0; jh < s->h.taps; jh++)
                for (int64_t jw = 0; jw < s->w.taps; jw++) {
                    const int64_t h = place_of(&s->h, jh), w = place_of(&s->w, jw);
                    const int64_t plane =
                        ((jd * f->chunk + c) * f->step_h + h % f->step_h) * f->step_w +
                        w % f->step_w;
                    *to++ = (plane * f->staged_rows + h / f->step_h) * f->pitch + w / f->step_w;
                }
}

/* Rows low_h + i of a plane, or of none, and of each its pixels low_w + k: those that a stride
 * keeps together, every step_h-th row and every step_w-th pixel, lie side by side, `pitch` of a
 * row. What is outside of the plane is 0. Rows are read in their order, for the sake of
 * prefetching. */
static void stage_plane(const struct implicit_first *f, const char *plane, int64_t low_h,
                        int64_t low_w, char *to)
{
    const int64_t line = f->pitch * f->size, phase = f->staged_rows * line;
    for (int64_t phase_w = 0; phase_w < f->step_w; phase_w++, to += phase) {
        const int64_t w = low_w + phase_w;
        int64_t begin, end, phase_h = 0, row = 0;
        window_inside(w, f->step_w, f->ends.in.w, f->pitch, &begin, &end);
        const size_t left = (size_t)(begin * f->size), right = (size_t)((f->pitch - end) * f->size);
        for (int64_t h = low_h; row < f->staged_rows; h++) {
            char *own = to + phase_h * f->step_w * phase + row * line;
            if (plane && inside(h, f->ends.in.h) && begin < end) {
                if (left) memset(own, 0, left);
                f->stored->load(own + left,
                                plane +
                                    (h * f->ends.in.w + w + begin * f->step_w) * f->stored->size,
                                f->step_w, end - begin);
                if (right) memset(own + end * f->size, 0, right);
            } else {
                memset(own, 0, (size_t)line);
            }
            if (++phase_h == f->step_h) phase_h = 0, row++;
        }
    }
}

void cvp_conv_implicit_first_stage(const struct implicit_first *f,
                                   const struct implicit_first_block *b, const char *in, int64_t c0,
                                   int64_t c1)
{
    const struct stencil *s = &b->s;
    const int64_t low_h = b->h0 * f->step_h + stencil_low(&s->h);
    const int64_t low_w = b->w0 * f->step_w + stencil_low(&s->w);
    const int64_t plane = f->step_h * f->step_w * f->staged_rows * f->pitch * f->size;
    for (int64_t jd = 0; jd < s->d.taps; jd++) {
        const int64_t d = b->td * s->d.in_step + s->d.at_first + jd * s->d.at_step;
        for (int64_t c = c0; c < c1; c++) {
            const int64_t at =
                (b->n * f->ends.in.all + b->g * f->ends.in.c + c) * f->ends.in.plane +
                d * f->ends.in.h * f->ends.in.w;
            stage_plane(f, inside(d, s->d.in_size) ? in + at * f->stored->size : NULL, low_h, low_w,
                        b->staged + (jd * f->chunk + c - c0) * plane);
        }
    }
}

/* ---- panels -------------------------------------------------------------------------------- */

/* Every strip's parts of rows, with what of the last vector no pixel fills. */
static int cut_strips(const struct implicit_first *f, const struct implicit_first_block *b,
                      struct cvp_piece pieces[CVP_IMPLICIT_MAX_PIXELS])
{
    const int64_t width = b->w1 - b->w0, all = (b->h1 - b->h0) * width;
    const int is_one = width == f->pitch; /* nothing lies between rows */
    int num = 0;
    for (int64_t y = 0; y < all; y += f->columns) {
        const int64_t columns = cvp_min_i64(f->columns, all - y);
        for (int64_t done = 0; done < columns;) {
            const int64_t left = columns - done, at = is_one ? 0 : (y + done) % width;
            const int64_t n = is_one ? left : cvp_min_i64(left, width - at);
            const int64_t from = is_one ? y + done : (y + done) / width * f->pitch + at;
            pieces[num++] = (struct cvp_piece){from, y / f->columns * b->panel + done, n};
            done += n;
        }
        pieces[num - 1].n += -columns & (f->kernels->lanes - 1);
    }
    return num;
}

/* Of `rows` planes, those of which whole vectors from element `at` of the tensor on may be read. */
static int64_t count_safe(const struct implicit_first *f, int64_t at, int64_t width, int64_t rows)
{
    const int64_t room = f->p->mb * f->ends.in.all * f->ends.in.plane - at - width;
    return room < 0 ? 0 : cvp_min_i64(rows, room / f->ends.in.plane + 1);
}

void cvp_conv_implicit_first_gather(const struct implicit_first *f,
                                    const struct implicit_first_block *b, const char *in,
                                    int64_t c0, int64_t c1)
{
    struct cvp_piece pieces[CVP_IMPLICIT_MAX_PIXELS];
    const int num = cut_strips(f, b, pieces);
    if (!f->is_plane) {
        f->numbers->gather(b->panels, f->columns, b->staged, b->table,
                           (c1 - c0) * implicit_first_taps(b), pieces, num);
        return;
    }
    const int64_t at =
        (b->n * f->ends.in.all + b->g * f->ends.in.c + c0) * f->ends.in.plane + b->w0;
    const struct cvp_piece *last = &pieces[num - 1];
    const int64_t safe = count_safe(f, at, last->from + last->n, c1 - c0);
    if (safe > 0)
        f->stored->gather(b->panels, f->columns, in + at * f->stored->size, b->table, safe, pieces,
                          num);
    for (int64_t p = safe; p < c1 - c0; p++)
        for (int i = 0; i < num; i++) {
            const struct cvp_piece *k = &pieces[i];
            const int64_t n = cvp_min_i64(k->n, b->w1 - b->w0 - k->from);
            char *to = b->panels + (k->to + p * f->columns) * f->size;
            memset(to, 0, (size_t)(k->n * f->size));
            f->stored->load(to, in + (at + p * f->ends.in.plane + k->from) * f->stored->size, 1, n);
        }
}

/* ---- the output ---------------------------------------------------------------------------- */

/* What follows the sum, for n pixels of some channels; forward, pixels lie side by side. */
static void finish_rows(const struct implicit_first_job *job, char *to, int rows, int64_t n)
{
    const struct implicit_first *f = job->f;
    for (int i = 0; i < rows; i++, to += f->ends.out.plane * f->size)
        cvp_conv_finish_line(f->p, n, to, job->residual ? job->residual + (to - job->out) : NULL);
}

void cvp_conv_implicit_first_put(const struct implicit_first_job *job,
                                 const struct implicit_first_block *b,
                                 const struct implicit_first_strip *strip, int64_t channel,
                                 int rows, const void *tile, int64_t tile_row, int add, int is_last)
{
    const struct implicit_first *f = job->f;
    const struct stencil *s = &b->s;
    const int64_t od = s->d.out_first + b->td * s->d.out_step;
    const int64_t width = b->w1 - b->w0, wrap = f->is_flat ? f->pitch : width;
    int64_t done = 0, th = strip->th, w = strip->at;
    while (done < strip->columns) {
        /* What lies between two rows is passed over. */
        const int64_t left = strip->columns - done;
        const int64_t n = cvp_min_i64(left, width - w);
        if (n > 0 && th < b->h1) {
            const int64_t oh = s->h.out_first + th * s->h.out_step;
            const int64_t ow = s->w.out_first + (b->w0 + w) * s->w.out_step;
            char *to = job->out + ((b->n * f->ends.out.all + b->g * f->ends.out.c + channel) *
                                       f->ends.out.plane +
                                   (od * f->ends.out.h + oh) * f->ends.out.w + ow) *
                                      f->stored->size;
            f->stored->store(to, f->ends.out.plane, s->w.out_step,
                             (const char *)tile + done * f->size, tile_row, rows, n, add);
            if (is_last && cvp_conv_has_epilogue(f->p)) finish_rows(job, to, rows, n);
        }
        const int64_t step = cvp_min_i64(left, wrap - w);
        done += step;
        w += step;
        if (w == wrap) {
            w = 0;
            th++;
        }
    }
}

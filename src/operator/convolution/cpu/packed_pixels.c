/* Panels of pixels for the row `packed`: for each element of the depth, what the pixels of a tile
 * read, side by side. */
#include <string.h>

#include "src/common/size.h"
#include "src/operator/convolution/cpu/packed.h"
#include "src/operator/convolution/cpu/window.h"

/* The pixel of its image that a tap reads; -1: it is outside. */
static inline int64_t where(const struct packed *k, const struct packed_block *b,
                            const struct packed_pixel *x, int64_t jd, int64_t jh, int64_t jw)
{
    const struct stencil *s = &b->s;
    const int64_t d = x->d * s->d.in_step + s->d.at_first + jd * s->d.at_step;
    const int64_t h = x->h * s->h.in_step + s->h.at_first + jh * s->h.at_step;
    const int64_t w = x->w * s->w.in_step + s->w.at_first + jw * s->w.at_step;
    const int is_in = inside(d, s->d.in_size) && inside(h, s->h.in_size) && inside(w, s->w.in_size);
    return is_in ? (d * k->ends.in.h + h) * k->ends.in.w + w : -1;
}

/* Input channels at a time, of a pixel outside of the image: zeros. */
#define ZEROS 512
static const char zeros[ZEROS * sizeof(double)];

/* N*C: each pixel has a row of channels. */
static void pack_last(const struct packed *k, const struct packed_block *b, const char *in,
                      const struct packed_pixel at[CVP_PACKED_MAX_ROWS], void *panel)
{
    const struct stencil *s = &b->s;
    const void *from[CVP_PACKED_MAX_ROWS];
    char *to = panel;
    const int height = (int)k->height;
    for (int64_t jd = 0; jd < s->d.taps; jd++)
        for (int64_t jh = 0; jh < s->h.taps; jh++)
            for (int64_t jw = 0; jw < s->w.taps; jw++)
                for (int64_t c = 0; c < k->ends.in.c; c += ZEROS) {
                    const int64_t n = cvp_min_i64(ZEROS, k->ends.in.c - c);
                    for (int i = 0; i < height; i++) {
                        const int64_t x = where(k, b, &at[i], jd, jh, jw);
                        from[i] = x < 0 ? zeros
                                        : in + (at[i].n * k->ends.in.image + x * k->ends.in.all +
                                                b->g * k->ends.in.c + c) *
                                                   k->size;
                    }
                    k->packers->pack_rows(to, height, n, from);
                    to += n * height * k->size;
                }
}

/* NC*: lists what follows each other, for taps [t0, t1), in the planes of a channel. */
static int cut_pieces(const struct packed *k, const struct packed_block *b,
                      const struct packed_pixel at[CVP_PACKED_MAX_ROWS], int64_t t0, int64_t t1,
                      struct cvp_piece *pieces)
{
    const struct stencil *s = &b->s;
    int num = 0;
    for (int64_t t = t0; t < t1; t++) {
        const int64_t jw = t % s->w.taps, jh = t / s->w.taps % s->h.taps;
        const int64_t jd = t / s->w.taps / s->h.taps;
        for (int i = 0; i < k->height; i++) {
            const int64_t x = where(k, b, &at[i], jd, jh, jw);
            num = cvp_add_piece(pieces, num, x < 0 ? -1 : at[i].n * k->ends.in.image + x, 1);
        }
    }
    return num;
}

/* What taps [t0, t1) of each input channel read. */
static void pack_first(const struct packed *k, const struct packed_block *b, const char *in,
                       const struct packed_pixel at[CVP_PACKED_MAX_ROWS], int64_t t0, int64_t t1,
                       struct cvp_piece *pieces, char *panel)
{
    const int num = cut_pieces(k, b, at, t0, t1, pieces);
    const int64_t first = b->g * k->ends.in.c * k->ends.in.plane; /* of the group */
    cvp_tile_collect_within(k->kernels, panel, (t1 - t0) * k->height, in + first * k->size,
                            k->p->mb * k->ends.in.image - first, k->ends.in.plane, k->ends.in.c,
                            pieces, num);
}

void cvp_conv_packed_pixels(const struct packed *k, const struct packed_block *b, const char *in,
                            int64_t m, int rows, struct cvp_piece *pieces, void *panel)
{
    struct packed_pixel at[CVP_PACKED_MAX_ROWS];
    for (int i = 0; i < k->height; i++) at[i] = packed_pixel_at(b, m + (i < rows ? i : rows - 1));
    if (k->p->channels_last) {
        pack_last(k, b, in, at, panel);
        return;
    }
    const int64_t taps = b->depth / k->ends.in.c, step = k->is_by_tap ? 1 : taps;
    char *to = panel;
    for (int64_t t = 0; t < taps; t += step, to += step * k->ends.in.c * k->height * k->size)
        pack_first(k, b, in, at, t, t + step, pieces, to);
}

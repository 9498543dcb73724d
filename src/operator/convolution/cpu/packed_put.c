/* Sums of the row `packed` that were kept apart, on their way to out. */
#include <string.h>

#include "src/common/size.h"
#include "src/operator/convolution/cpu/finish.h"
#include "src/operator/convolution/cpu/packed.h"

/* Pixels that are transposed at a time. */
#define SQUARE 16

/* Where a pixel lies among those of its image. */
static int64_t pixel_in_out(const struct packed *k, const struct stencil *s, struct packed_pixel x)
{
    const int64_t d = s->d.out_first + x.d * s->d.out_step;
    const int64_t h = s->h.out_first + x.h * s->h.out_step;
    return (d * k->ends.out.h + h) * k->ends.out.w + s->w.out_first + x.w * s->w.out_step;
}

/* Pixels from x on, count at most, that lie evenly: of an image, or of a row. */
static int64_t even_run(const struct packed *k, const struct packed_block *b, int64_t m,
                        int64_t count, const struct packed_pixel *x)
{
    const int64_t image = b->s.d.count * b->s.h.count * b->s.w.count;
    return cvp_min_i64(count, k->is_in_order ? image - m % image : b->s.w.count - x->w);
}

#define T          float
#define NAME(name) name##_f32
#include "src/operator/convolution/cpu/packed_loops.h"
#undef T
#undef NAME
#define T          double
#define NAME(name) name##_f64
#include "src/operator/convolution/cpu/packed_loops.h"
#undef T
#undef NAME

void cvp_conv_packed_put(const struct packed *k, const struct packed_block *b, int64_t m0,
                         int64_t m1, int64_t c, int columns, const char *sums, char *out,
                         const char *residual)
{
    const int64_t pixel = k->p->channels_last ? k->ends.out.all : 1;
    const int64_t plane = k->p->channels_last ? 1 : k->ends.out.plane;
    const int64_t step = (b->s.w.count > 1 ? b->s.w.out_step : 1) * pixel;
    for (int64_t m = m0; m < m1;) {
        const struct packed_pixel x = packed_pixel_at(b, m);
        const int64_t n = even_run(k, b, m, m1 - m, &x);
        const int64_t at = (x.n * k->ends.out.image + pixel_in_out(k, &b->s, x) * pixel +
                            (b->g * k->ends.out.c + c) * plane) *
                           k->size;
        char *to = out + at;
        const char *other = residual ? residual + at : NULL;
        const char *from = sums + (m - m0) * k->columns * k->size;
        if (k->p->channels_last)
            (k->size == 8 ? put_rows_f64 : put_rows_f32)(k, n, step, columns, from, to, other);
        else
            (k->size == 8 ? put_planes_f64 : put_planes_f32)(k, n, step, columns, from, to, other);
        m += n;
    }
}

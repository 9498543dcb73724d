/* What a strip of the row `grouped` reads: which channels the lanes of a vector take, and rows of
 * pixels spread for them. */
#include <string.h>

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/operator/convolution/cpu/grouped.h"
#include "src/operator/convolution/cpu/window.h"

struct grouped_vector cvp_conv_grouped_vector(const struct grouped *k, int64_t v)
{
    const int64_t lanes = k->kernels->lanes, in = k->ends.in.c, out = k->ends.out.c;
    struct grouped_vector r = {.out = v * lanes};
    r.lanes = (int)cvp_min_i64(lanes, k->ends.out.all - r.out);
    const int64_t group = r.out / out;
    r.first = group * in;
    for (int l = 0; l < r.lanes; l++) r.index[l] = (int32_t)(((r.out + l) / out - group) * in);
    r.span = r.index[r.lanes - 1] + in;
    return r;
}

void cvp_conv_grouped_planes(const struct conv_end *end, int64_t c0, int64_t n, int64_t at,
                             int64_t rows[GROUPED_MOST_LANES])
{
    for (int l = 0; l < GROUPED_MOST_LANES; l++) rows[l] = l < n ? (c0 + l) * end->plane + at : -1;
}

/* Pixels [x0, x1) of a row of the strip, which lie in the image from element `at` of a plane on. */
static void spread(const struct grouped_strip *s, char *to, int64_t at, int64_t x0, int64_t x1)
{
    const struct grouped *k = s->k;
    const struct cvp_grouped_kernels *kernels = k->kernels;
    const int64_t lanes = kernels->lanes, n = x1 - x0;
    const struct conv_end *in = &k->ends.in;
    const char *from = s->image + (at * in->all + s->v->first) * k->size;
    int64_t pixel = in->all, ahead = k->h.step * in->w * in->all; /* the row after these */
    if (!k->p->channels_last) {
        int64_t rows[GROUPED_MOST_LANES];
        pixel = cvp_ceil_div(s->v->span, lanes) * lanes;
        for (int64_t c = 0; c < s->v->span; c += lanes) {
            cvp_conv_grouped_planes(in, s->v->first + c, s->v->span - c, at, rows);
            kernels->turn_in(s->turned + c * k->size, pixel, s->image, rows, n, k->h.step * in->w);
        }
        from = s->turned;
        ahead = 0;
    }
    kernels->spread(to, k->pixels, from + s->j0 * k->size, pixel, s->v->index, s->j1 - s->j0,
                    s->v->span - s->j0, x0, n, s->pixels - x1, ahead);
}

void cvp_conv_grouped_read(struct grouped_strip *s, int64_t t)
{
    const struct grouped *k = s->k;
    const struct conv_end *in = &k->ends.in;
    const int64_t low = t * k->h.step + k->h.low, high = low + k->h.reach;
    const int64_t x0 = cvp_min_i64(s->pixels, cvp_max_i64(0, -s->low_w));
    const int64_t x1 = cvp_max_i64(x0, cvp_min_i64(s->pixels, in->w - s->low_w));
    const int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
    for (int64_t h = cvp_max_i64(low, s->next); h < high; h++)
        for (int64_t jd = 0; jd < s->d.taps && inside(h, in->h); jd++) {
            const int64_t d = s->td * s->d.in_step + s->d.at_first + jd * s->d.at_step;
            if (inside(d, s->d.in_size))
                spread(s, cvp_conv_grouped_row(s, jd, h), (d * in->h + h) * in->w + s->low_w + x0,
                       x0, x1);
        }
    s->next = cvp_max_i64(high, s->next);
    cvp_stage_leave(outer);
}

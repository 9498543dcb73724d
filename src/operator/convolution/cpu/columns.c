/* im2col and col2im: dispatch by type and layout; the loops are in columns_loops.h. */
#include "src/operator/convolution/cpu/columns.h"

#include <string.h>

#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/operator/convolution/cpu/window.h"

/* A tap, and its offset in src from the pixel that an output's stride leads to. */
struct tap {
    int64_t d, h, w;
};

static inline struct tap tap_at(const convop_conv_problem *p, int64_t tap)
{
    int64_t kw = tap % p->kw, kh = tap / p->kw % p->kh, kd = tap / p->kw / p->kh;
    return (struct tap){kd * p->dd - p->pd, kh * p->dh - p->ph, kw * p->dw - p->pw};
}

/* Where a pixel of dst lies. */
struct pixel {
    int64_t d, h, w;
};

static inline struct pixel pixel_at(const convop_conv_problem *p, int64_t y)
{
    return (struct pixel){y / p->ow / p->oh, y / p->ow % p->oh, y % p->ow};
}

/* The first pixel of the next row, and the next pixel. */
static inline struct pixel next_row(const convop_conv_problem *p, struct pixel at)
{
    at.w = 0;
    if (++at.h == p->oh) {
        at.h = 0;
        at.d++;
    }
    return at;
}

static inline struct pixel next_pixel(const convop_conv_problem *p, struct pixel at)
{
    if (++at.w < p->ow) return at;
    return next_row(p, at);
}

/* Elements of a row that are summed at a time. */
#define SUMMED 256

#define T          float
#define NAME(name) name##_f32
#include "src/operator/convolution/cpu/columns_loops.h"
#undef T
#undef NAME
#define T          double
#define NAME(name) name##_f64
#include "src/operator/convolution/cpu/columns_loops.h"
#undef T
#undef NAME

void cvp_conv_im2col(const convop_conv_problem *p, const void *image, int64_t k0, int64_t k1,
                     int64_t y0, int64_t y1, void *col, int64_t ld)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
    if (p->dtype.bits == 64)
        (p->channels_last ? im2col_last_f64 : im2col_first_f64)(p, image, k0, k1, y0, y1, col, ld);
    else
        (p->channels_last ? im2col_last_f32 : im2col_first_f32)(p, image, k0, k1, y0, y1, col, ld);
    cvp_stage_leave(outer);
}

void cvp_conv_col2im(const convop_conv_problem *p, const void *col, int64_t ld, int64_t c0,
                     int64_t c1, int64_t y0, int64_t y1, void *image)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
    if (p->dtype.bits == 64)
        (p->channels_last ? col2im_last_f64 : col2im_first_f64)(p, col, ld, c0, c1, y0, y1, image);
    else
        (p->channels_last ? col2im_last_f32 : col2im_first_f32)(p, col, ld, c0, c1, y0, y1, image);
    cvp_stage_leave(outer);
}

/* How the loops of Pooling walk: in lines of windows that lie side by side in memory, along the
 * channels where they are the faster axis, else along the last spatial axis. The elements that
 * windows of a line have at the same place are then a line as well, so the inner loops run over
 * windows and need no case for borders. */
#ifndef CVP_POOLING_LINES_H
#define CVP_POOLING_LINES_H

#include "src/operator/pooling/pooling.h"

/* Most windows of a line: their state stays in the first-level cache. */
#define POOL_LANES 64

struct pool_line {
    int64_t n, c, o[POOL_MAX_AXES]; /* the first window */
    int lanes;                      /* windows */
};

/* 1 if lines run along the channels. */
static inline int cvp_pool_by_channels(const struct pool_problem *p)
{
    return p->c > 1 && p->src.c < p->src.at[2];
}

/* Lines next to each other that cover a whole axis. */
static inline int64_t cvp_pool_blocks(const struct pool_problem *p)
{
    return cvp_ceil_div(cvp_pool_by_channels(p) ? p->c : p->axis[2].out, POOL_LANES);
}

/* What each window of a line is divided by: 1, or for averages what it counts for. For maxima, 0
 * where a window has no element (a last window with POOL_FULL). */
void cvp_pool_divisors(const struct pool_problem *p, const struct pool_line *l,
                       double divisor[POOL_LANES]);

/* The address that element (kd, kh, 0) of the line's windows has in a tensor with these strides,
 * if they began at 0 in the last axis: in elements. */
static inline int64_t cvp_pool_row(const struct pool_problem *p, const struct pool_line *l,
                                   const struct pool_strides *s, int64_t kd, int64_t kh)
{
    const struct pool_axis *d = &p->axis[0], *h = &p->axis[1];
    return l->n * s->n + l->c * s->c + (l->o[0] * d->stride - d->pad + kd) * s->at[0] +
           (l->o[1] * h->stride - h->pad + kh) * s->at[1];
}

/* The place of a line in a tensor of dst's shape. */
static inline int64_t cvp_pool_dst(const struct pool_line *l, const struct pool_strides *s)
{
    return l->n * s->n + l->c * s->c + l->o[0] * s->at[0] + l->o[1] * s->at[1] + l->o[2] * s->at[2];
}

/* Elements kw of the line's windows that are inside the axis for at least one of them. */
static inline void cvp_pool_taps(const struct pool_axis *w, const struct pool_line *l,
                                 int64_t *begin, int64_t *end)
{
    int64_t unused;
    cvp_pool_window(w, l->o[2] + l->lanes - 1, begin, &unused);
    cvp_pool_window(w, l->o[2], &unused, end);
}

/* The windows [*begin, *end) of a line along the last axis whose element kw is inside it. */
static inline void cvp_pool_lanes(const struct pool_axis *w, const struct pool_line *l, int64_t kw,
                                  int64_t *begin, int64_t *end)
{
    cvp_pool_reach(w, kw, begin, end);
    *begin = cvp_max_i64(*begin, l->o[2]);
    *end = cvp_min_i64(*end, l->o[2] + l->lanes);
}

#endif

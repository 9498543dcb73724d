/* Grids of the rows `split`; see split.h. */
#include "src/common/size.h"
#include "src/operator/convolution/cpu/split.h"

/* a / b rounded down, b > 0. */
static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t input_of(const struct split_axis *a, int64_t tap)
{
    return a->at.at_first + tap * a->at.at_step;
}

static struct split_axis axis_of(const struct stencil_axis *at)
{
    struct split_axis a = {.at = *at, .phases = 1};
    if (at->taps == 0) return a;
    const int64_t step = at->at_step < 0 ? -at->at_step : at->at_step;
    a.phases = cvp_min_i64(at->taps, at->in_step / cvp_gcd_i64(at->in_step, step));
    const int64_t first = floor_div(input_of(&a, 0), at->in_step);
    const int64_t last = floor_div(input_of(&a, at->taps - 1), at->in_step);
    a.low = cvp_min_i64(first, last);
    a.extra = cvp_max_i64(first, last) - a.low;
    return a;
}

struct split_grid cvp_conv_split_grid(const struct stencil *s)
{
    return (struct split_grid){.d = axis_of(&s->d), .h = axis_of(&s->h), .w = axis_of(&s->w)};
}

int cvp_conv_split_grid_size(struct split_grid *g, const struct split_block *b)
{
    int64_t rows;
    g->pitch = b->width + g->w.extra;
    g->heights = b->height + g->h.extra;
    g->depths = b->depth + g->d.extra;
    if (!cvp_mul_i64(g->heights, g->depths, &rows) || !cvp_mul_i64(rows, b->images, &rows) ||
        !cvp_mul_i64(rows, g->pitch, &g->phase) ||
        !cvp_mul_i64(g->phase, g->d.phases * g->h.phases * g->w.phases, &g->pixels))
        return 0;
    g->sums =
        (((b->images - 1) * g->depths + b->depth - 1) * g->heights + b->height - 1) * g->pitch +
        b->width;
    return 1;
}

/* Of one axis: the phase of a tap, and its pixel there. */
static int64_t phase_of(const struct split_axis *a, int64_t tap)
{
    return tap % a->phases;
}
static int64_t shift_of(const struct split_axis *a, int64_t tap)
{
    return floor_div(input_of(a, tap), a->at.in_step) - a->low;
}

int64_t cvp_conv_split_tap(const struct split_grid *g, int64_t tap)
{
    const int64_t w = tap % g->w.at.taps, h = tap / g->w.at.taps % g->h.at.taps;
    const int64_t d = tap / g->w.at.taps / g->h.at.taps;
    const int64_t phase =
        (phase_of(&g->d, d) * g->h.phases + phase_of(&g->h, h)) * g->w.phases + phase_of(&g->w, w);
    const int64_t row = shift_of(&g->d, d) * g->heights + shift_of(&g->h, h);
    return phase * g->phase + row * g->pitch + shift_of(&g->w, w);
}

/* The input of pixel x of a phase. */
static int64_t input_at(const struct split_axis *a, int64_t phase, int64_t x)
{
    const int64_t first = input_of(a, phase);
    return (x + a->low) * a->at.in_step + first - floor_div(first, a->at.in_step) * a->at.in_step;
}

int64_t cvp_conv_split_rows(const struct split_grid *g, const struct split_block *b)
{
    return g->d.phases * g->h.phases * g->w.phases * b->images * g->depths * g->heights;
}

struct split_row cvp_conv_split_row(const struct split_grid *g, const struct split_block *b,
                                    const struct conv_end *in, int64_t i)
{
    const int64_t rows = b->images * g->depths * g->heights, phase = i / rows, row = i % rows;
    const int64_t fw = phase % g->w.phases, fh = phase / g->w.phases % g->h.phases;
    const int64_t h = input_at(&g->h, fh, b->h0 + row % g->heights);
    const int64_t d =
        input_at(&g->d, phase / g->w.phases / g->h.phases, b->d0 + row / g->heights % g->depths);
    const int64_t w = input_at(&g->w, fw, b->w0), step = g->w.at.in_step;
    struct split_row r = {.at = phase * g->phase + row * g->pitch,
                          .n = b->n0 + row / g->heights / g->depths,
                          .step = step};
    if (h < 0 || h >= g->h.at.in_size || d < 0 || d >= g->d.at.in_size) return r;
    r.begin = cvp_min_i64(w < 0 ? cvp_ceil_div(-w, step) : 0, g->pitch);
    r.end = w < g->w.at.in_size ? cvp_ceil_div(g->w.at.in_size - w, step) : 0;
    r.end = cvp_max_i64(r.begin, cvp_min_i64(r.end, g->pitch));
    r.from = (d * in->h + h) * in->w + w + r.begin * step;
    return r;
}

struct split_outs cvp_conv_split_outs(const struct split_grid *g, const struct split_block *b,
                                      int64_t m, int64_t end)
{
    while (m < end) {
        const int64_t w = m % g->pitch, row = m / g->pitch;
        const int64_t h = row % g->heights, d = row / g->heights % g->depths;
        if (w < b->width && h < b->height && d < b->depth)
            return (struct split_outs){m,
                                       cvp_min_i64(end - m, b->width - w),
                                       b->n0 + row / g->heights / g->depths,
                                       b->d0 + d,
                                       b->h0 + h,
                                       b->w0 + w};
        m += g->pitch - w;
    }
    return (struct split_outs){.m = end};
}

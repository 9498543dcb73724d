/* What the row `implicit` is expected to take. */
#include "src/common/size.h"
#include "src/operator/convolution/cpu/estimate.h"
#include "src/operator/convolution/cpu/implicit.h"
#include "src/operator/convolution/cpu/implicit_filter.h"
#include "src/operator/convolution/cpu/implicit_first.h"
#include "src/operator/convolution/cpu/implicit_last.h"
#include "src/operator/convolution/cpu/window.h"

/* Call; vector multiply-adds; elements broadcast for them; tiles; runs, or vectors gathered into
 * panels; elements of packed weights; elements staged, or packed of diff_dst; elements that tiles
 * leave elsewhere first, or of weights that the first-level cache does not keep from one tile to
 * the next (backward by weights: vectors of src); bytes; elements of weights that the second does
 * not keep from one task to the next. */
enum {
    CALL,
    PRODUCTS,
    BROADCASTS,
    TILES,
    RUNS,
    WEIGHTS,
    STAGED,
    PUT,
    BYTES,
    FETCHED,
    GATHERED = RUNS,
    RELOADED = PUT
};

/* A call is counted as 1.5 us at least: problems so small that it shows were not among those that
 * the prices are fitted to, and there the other rows are quicker. */
static const conv_prices prices[3][2] =
    {
        [CONVOP_FWD] =
            {
                {
                    {1.5e+03, 0.0915, 0.296, 10.2, 0.735, 0, 0.514, 2.06, 0.0216},
                    {1.5e+03, 0.0509, 0.261, 25.6, 1.43, 0, 0.668, 0.681, 0, 0.144},
                    {1.5e+03, 0.0795, 0.145, 23.6, 1.28, 0, 0.36, 0.0236, 0, 0.0975},
                },
                {
                    {1.5e+03, 0.0843, 0.311, 15.5, 0, 0.36, 0.0169, 0, 0.00131},
                    {1.5e+03, 0.083, 0.144, 32.9, 10.4, 0.225, 0.211, 0.00639, 0, 0.0341},
                    {1.5e+03, 0.131, 0.0802, 32.2, 11.9, 0.264, 0, 0, 0.0129, 0.0806},
                },
            },
        [CONVOP_BWD_D] =
            {
                {
                    {1.5e+03, 0, 0.49, 11, 1.17, 2.37, 0.39, 0.521, 0},
                    {1.5e+03, 0.167, 0.0679, 36.9, 1.06, 2.06, 0.302, 0.735, 0, 0.114},
                    {1.5e+03, 0.137, 0.0704, 10.8, 1.18, 1.09, 0.221, 0.208, 0.0012, 0.22},
                },
                {
                    {1.5e+03, 0.174, 0.115, 11.9, 2.32, 0.511, 0.197, 0, 0.00298},
                    {1.5e+03, 0.118, 0.0635, 50, 4.85, 0.183, 0.236, 0.0218, 0, 0.0321},
                    {1.5e+03, 0.103, 0.13, 40.6, 12.8, 0.222, 0.0714, 0.000704, 0.0156, 0.0902},
                },
            },
        [CONVOP_BWD_W] =
            {
                {
                    {1.5e+03, 0.0434, 0.361, 26.8, 0.0422, 0, 0.153, 0.0194, 0},
                    {1.5e+03, 0.17, 0, 59.6, 4.19, 0, 0.171},
                    {1.5e+03, 0.178, 0.00981, 48.1, 3.56, 0, 0.21, 0.244, 0.00822},
                },
                {
                    {1.5e+03, 0.0429, 0.341, 6.39, 0, 0, 0, 0.155, 0.123},
                    {1.5e+03, 0, 0.23, 44.3, 5.46, 0, 0, 0.717},
                    {1.5e+03, 0.0392, 0.313, 0, 0, 0, 0, 0.751, 0.00101},
                },
            },
};

/* Fewer rows of a tile than this take no less time. */
#define FEW_ROWS 4

static double price(const convop_conv_problem *p, double work[CONV_KINDS], double tasks)
{
    work[CALL] = 1;
    work[BYTES] = cvp_conv_image_bytes(p);
    return cvp_conv_price(p, prices[p->direction][p->channels_last], work, tasks);
}

/* Outputs of all phases, and the taps that one of them has. */
static double outputs(const convop_conv_problem *p)
{
    return (double)p->mb * (double)p->g *
           (double)(p->direction == CONVOP_FWD ? cvp_conv_dst_pixels(p) : cvp_conv_src_pixels(p));
}

static double estimate_last(const convop_conv_problem *p)
{
    const struct implicit_last *l = p->cut;
    const double phases = (double)l->phases, taps = (double)l->taps / phases;
    const double pixels = outputs(p), sum = taps * (double)l->ends.in.c;
    const double rows = pixels / (double)l->width; /* parts of rows, of all phases */
    const double tiles =
        rows * cvp_conv_parts((double)l->width, l->kernels->rows) * (double)l->panels;
    const int is_one = (l->staged_bytes > 0 || p->g == 1) && phases == 1 && p->dw == 1;
    const double panel = sum * (double)l->columns; /* elements of weights that a tile reads */
    double work[CONV_KINDS] = {
        [PRODUCTS] = pixels * sum * cvp_conv_parts((double)l->ends.out.c, l->kernels->lanes),
        [BROADCASTS] = pixels * sum * (double)l->panels,
        [TILES] = tiles,
        [RUNS] = tiles * (is_one ? taps / (double)p->kw : taps),
        [WEIGHTS] = p->constant_weights ? 0
                                        : (double)p->g * (double)(l->panels * l->columns) *
                                              (double)l->taps * (double)l->ends.in.c,
        [STAGED] = (double)l->tasks * (double)(l->staged_bytes / (size_t)l->size),
        [RELOADED] = panel * (double)l->size > CONV_FIRST_LEVEL ? tiles * panel : 0,
        [FETCHED] =
            l->weight_bytes > CONV_SECOND_LEVEL ? (double)l->tasks * (double)l->panels * panel : 0,
    };
    return price(p, work, (double)l->tasks);
}

/* Parts of `unit` pixels of all blocks of a plane's rows, in the first phase. */
static double parts_first(const struct implicit_first *f, int64_t unit)
{
    const struct stencil s = cvp_conv_stencil(f->p, 0, f->is_plane);
    const double width = (double)f->width, rows = (double)f->rows, count = (double)s.h.count;
    const double full = (double)(s.h.count / f->rows), rest = count - full * rows;
    const double gap = f->is_flat ? (double)(f->pitch - f->width) : 0;
    if (!f->is_gathered && !f->is_flat)
        return count * (double)f->w_blocks * cvp_conv_parts(width, (double)unit);
    const double last = rest > 0 ? cvp_conv_parts(rest * (width + gap) - gap, (double)unit) : 0;
    return (double)f->w_blocks *
           (full * cvp_conv_parts(rows * (width + gap) - gap, (double)unit) + last);
}

static double estimate_first(const convop_conv_problem *p)
{
    const struct implicit_first *f = p->cut;
    const double taps = (double)cvp_conv_taps(p) / (double)f->phases,
                 sum = taps * (double)f->ends.in.c;
    const double chunks = cvp_conv_parts((double)f->ends.in.c, (double)f->chunk),
                 out = (double)f->ends.out.c;
    const double planes = (double)f->phases * (double)p->mb * (double)p->g * (double)f->d_count;
    const double vectors = planes * parts_first(f, f->kernels->lanes);
    const double strips = planes * parts_first(f, f->columns);
    double work[CONV_KINDS] = {
        [PRODUCTS] = vectors * cvp_conv_most(out, FEW_ROWS) * sum,
        [BROADCASTS] = strips * out * sum,
        [TILES] = strips * (double)f->tiles * chunks,
        [GATHERED] = f->is_gathered && !f->is_direct ? vectors * sum * (double)f->tile_blocks : 0,
        [WEIGHTS] = f->is_raw || p->constant_weights
                        ? 0
                        : (double)p->g * out * (double)f->ends.in.c * (double)cvp_conv_taps(p),
        [STAGED] = f->is_plane ? 0
                               : (double)f->tasks * (double)f->ends.in.c *
                                     (double)(f->step_h * f->step_w * f->depths) *
                                     (double)(f->staged_rows * f->pitch),
        [PUT] = f->is_flat || f->phases > 1 ? outputs(p) * out * chunks : 0,
        [FETCHED] = f->weight_bytes > CONV_SECOND_LEVEL
                        ? (double)(f->tasks / f->tile_blocks) * out * sum
                        : 0,
    };
    return price(p, work, (double)f->tasks);
}

double cvp_conv_implicit_estimate(const convop_conv_problem *p)
{
    return p->channels_last ? estimate_last(p) : estimate_first(p);
}

#define SETS 64 /* of the first-level cache */

/* N*C: 1 if the vectors of src that one tile of a chunk reads are not in the first-level cache when
 * the next one reads them: pixels of so many channels meet in few sets. */
static int is_reloaded(const struct implicit_filter *f)
{
    const convop_conv_problem *p = f->p;
    const int64_t pixel = p->ic * f->step * f->size, lines = pixel / CVP_CACHE_LINE;
    const int64_t every = pixel % CVP_CACHE_LINE ? 1 : cvp_min_i64(lines & -lines, SETS);
    const double sets = cvp_conv_least(SETS, (double)(SETS / every) * f->kernels->vectors);
    const double pixels = (double)f->chunk * (double)p->ow;
    return pixels * f->kernels->vectors > sets * (CONV_FIRST_LEVEL / (CVP_CACHE_LINE * SETS));
}

/* Places of a window's axis that are looked at one by one. */
#define MOST_PLACES 64

/* By weights: the share of the rows that windows read which lie in the image; others are left out.
 */
static double share_of_rows(int64_t in, int64_t out, int64_t k, int64_t s, int64_t d, int64_t pad)
{
    double rows = 0;
    if (k > MOST_PLACES || out == 0) return 1;
    for (int64_t i = 0; i < k; i++) {
        int64_t begin, end;
        window_inside(i * d - pad, s, in, out, &begin, &end);
        if (begin < end) rows += (double)(end - begin);
    }
    return rows / (double)k / (double)out;
}

double cvp_conv_implicit_filter_estimate(const convop_conv_problem *p)
{
    const struct implicit_filter *f = p->cut;
    const double pixels = (double)p->mb * (double)cvp_conv_dst_pixels(p), taps = (double)f->taps;
    const double wide = (double)(p->channels_last ? f->icg : f->ocg);
    const double high = (double)(p->channels_last ? f->ocg : f->icg);
    const double vectors = p->channels_last
                               ? cvp_conv_parts(wide, f->kernels->lanes)
                               : cvp_conv_parts(wide, (double)f->columns) * f->kernels->vectors;
    const double panels = cvp_conv_parts(wide, (double)f->columns), g = (double)p->g;
    const double rows = (double)p->mb * (double)(p->od * p->oh);
    const double chunks = (double)p->mb * cvp_conv_parts((double)(p->od * p->oh), (double)f->chunk);
    const double tiles = g * taps * cvp_conv_parts(high, f->kernels->rows) * panels;
    const double share = share_of_rows(p->id, p->od, p->kd, p->sd, p->dd, p->pd) *
                         share_of_rows(p->ih, p->oh, p->kh, p->sh, p->dh, p->ph);
    const double steps = g * pixels * taps * share, least = p->channels_last ? 0 : FEW_ROWS;
    double work[CONV_KINDS] = {
        [PRODUCTS] = steps * cvp_conv_most(high, least) * vectors,
        [BROADCASTS] = steps * high * panels,
        [TILES] = tiles * chunks,
        [RUNS] = tiles * (cvp_conv_is_pointwise(p) ? chunks : rows),
        [STAGED] =
            p->channels_last ? 0 : pixels * (double)p->oc * (double)(f->in_blocks * f->tap_blocks),
    };
    if (!p->channels_last)
        work[PUT] = (double)p->oc * (double)f->icg * taps;
    else if (is_reloaded(f))
        work[RELOADED] = steps * cvp_conv_parts(high, f->kernels->rows) * vectors;
    /* Every task has its own copies. */
    const double src = (double)p->mb * (double)cvp_conv_src_pixels(p) * (double)p->ic;
    const double converted =
        (double)f->tap_blocks *
        (pixels * (double)p->oc * (double)f->in_blocks + src * (double)f->out_blocks);
    return price(p, work, (double)f->tasks) +
           cvp_conv_convert_price(p, converted, (double)f->tasks);
}

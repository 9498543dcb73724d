/* What the row `packed`, backward by weights, is expected to take. */
#include "src/operator/convolution/cpu/estimate.h"
#include "src/operator/convolution/cpu/packed_filter.h"

/* Call; vector multiply-adds; elements broadcast for them; tiles; elements of diff_dst packed; of
 * src; lines of src, or rows of pixels; elements of lines with a stride or, N*C, pieces of pixels
 * beyond the first; sums that are written; those of weights that the second-level cache does not
 * hold. */
enum { CALL, PRODUCTS, BROADCASTS, TILES, DST, SRC, LINES, PIECES, SUMS, FAR };

static const conv_prices prices[2] = {
    {
        {2.5e+03, 0.0569, 0.394, 0, 0.278, 0.25, 14.4, 0, 0.407, 0.234},
        {2.5e+03, 0.177, 0, 30.1, 0.625, 0.265, 23.5, 0, 0, 0.215},
        {2.5e+03, 0.1, 0.138, 13.3, 0.255, 0.173, 12.5, 0.178, 0, 0.0798},
    },
    {
        {2.5e+03, 0.0553, 0.397, 0, 0.484, 0.26, 33.2, 0, 0.313, 0.3},
        {2.5e+03, 0.208, 0, 0, 0.351, 0.0592, 114, 2.51, 0, 0.216},
        {2.5e+03, 0.132, 0.0814, 4.47, 0.176, 0.125, 37.5, 2.37, 0, 0.0792},
    },
};

/* NC*: of a panel, for each row of pixels. */
static double lines_of(const struct packed_filter *f)
{
    const double columns = cvp_conv_least((double)f->columns, (double)f->filter);
    const double kw = (double)f->p->kw, stride = (double)f->p->sw;
    if (cvp_conv_is_pointwise(f->p)) return 0;
    if (!f->shares_lines) return columns;
    return cvp_conv_parts(columns, cvp_conv_least(kw, columns)) * cvp_conv_least(kw, stride);
}

/* N*C: of a panel, for each pixel. */
static double pieces_of(const struct packed_filter *f)
{
    const convop_conv_problem *p = f->p;
    const double columns = cvp_conv_least((double)f->columns, (double)f->filter);
    const double run = (double)f->icg * (double)(p->g > 1 || p->dw > 1 ? 1 : p->kw);
    return cvp_conv_parts(columns, cvp_conv_least(run, columns));
}

double cvp_conv_packed_filter_estimate(const convop_conv_problem *p)
{
    const struct packed_filter *f = p->cut;
    const double g = (double)p->g, pixels = (double)f->pixels, ocg = (double)f->ocg;
    const double panels = g * (double)f->panels, parts = cvp_conv_parts(pixels, (double)f->part);
    const double packed = panels * (double)f->shares * pixels; /* pixels of panels */
    const double sums = (double)p->oc * (double)f->filter * parts;
    double work[CONV_KINDS] = {
        [CALL] = 1,
        [PRODUCTS] = pixels * ocg * g * cvp_conv_parts((double)f->filter, f->kernels->lanes),
        [BROADCASTS] = pixels * ocg * panels,
        [TILES] = panels * (double)f->tiles * parts,
        [DST] = f->is_in_place ? 0 : pixels * g * (double)(f->tiles * f->height),
        [SRC] = packed * (double)f->columns,
        [LINES] = packed / (double)f->width * (p->channels_last ? 1 : lines_of(f)),
        [SUMS] = sums,
        [FAR] = sums / parts * (double)f->size > CONV_SECOND_LEVEL ? sums : 0,
    };
    if (p->channels_last)
        work[PIECES] = packed * (pieces_of(f) - 1);
    else if (p->sw > 1)
        work[PIECES] = packed * lines_of(f);
    return cvp_conv_price(p, prices[p->channels_last], work,
                          f->chunks > 1 ? (double)(f->chunks * f->splits)
                                        : g * (double)(f->groups * f->shares));
}

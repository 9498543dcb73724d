/* What the row `packed` is expected to take. */
#include "src/operator/convolution/cpu/estimate.h"
#include "src/operator/convolution/cpu/packed.h"

/* Call; vector multiply-adds; elements broadcast for them; tiles; elements of pixels packed; rows
 * of them; elements of weights packed; elements of sums that are kept apart first; bytes. */
enum { CALL, PRODUCTS, BROADCASTS, TILES, PIXELS, ROWS, WEIGHTS, SUMS, BYTES };

/* A call is counted as 2.5 us at least, more than those of other rows: of problems so small that it
 * shows few were among those that the prices are fitted to, and there the others are quicker. */
static const conv_prices prices[2][2] = {
    [CONVOP_FWD] =
        {
            {
                {2.5e+03, 0, 0.62, 62, 0.05, 7, 0.4, 0.1, 0.12},
                {2.5e+03, 0, 0.385, 108, 0.0468, 7.86, 0.111, 0, 0.0782},
                {2.5e+03, 0.188, 0, 101, 0.0355, 8.87, 0.262, 0.469, 0.0846},
            },
            {
                {2.5e+03, 0, 0.62, 21, 0.2, 9, 0.3, 1, 0.03},
                {2.5e+03, 0, 0.379, 27.1, 0.2, 12.6, 0.131, 1.43},
                {2.5e+03, 0.133, 0.065, 123, 0.101, 5.03, 0.212, 0.216, 0.0251},
            },
        },
    [CONVOP_BWD_D] =
        {
            {
                {2.5e+03, 0.13, 0.43, 86, 0.05, 7, 0.2, 0.3, 0.07},
                {2.5e+03, 0.0706, 0.236, 124, 0.49, 5.92, 0.302, 0.257},
                {2.5e+03, 0.158, 0, 212, 0.188, 3.44, 0.315, 0.332, 0.0446},
            },
            {
                {2.5e+03, 0, 0.7, 40, 0.1, 10, 0.1, 0.6, 0.014},
                {2.5e+03, 0, 0.342, 51.5, 0.314, 12.1, 0.225, 0.489},
                {2.5e+03, 0.0829, 0.177, 130, 0.115, 5.67, 0.274, 0.653, 0.0121},
            },
        },
};

/* How much longer it takes to pack an element of all weights, which no cache holds, than one of a
 * chunk; with steps between them. */
#define FAR     3
#define STRIDED 5

/* How much longer it takes to pack pixels of NC* one by one, as a stride leaves them. */
#define APART 34

/* Adds so many pixels of all groups and images, in so many walks, that read so many taps. */
static void add_pixels(const struct packed *k, double pixels, double walks, double taps,
                       double work[CONV_KINDS])
{
    const double lanes = (double)k->kernels->lanes, sum = taps * (double)k->ends.in.c;
    const double chunks = cvp_conv_parts(sum, CVP_PACKED_DEPTH);
    const double blocks = walks * cvp_conv_parts(pixels / walks, (double)k->block);
    work[PRODUCTS] += pixels * sum * cvp_conv_parts((double)k->ends.out.c, lanes);
    work[BROADCASTS] += pixels * sum * (double)k->panels;
    work[TILES] += cvp_conv_parts(pixels, (double)k->height) * (double)k->panels * chunks;
    work[PIXELS] += pixels * sum;
    work[ROWS] += pixels * taps;
    work[WEIGHTS] += blocks * (double)k->shares * (double)(k->panels * k->columns) * sum;
    if (!k->is_direct) work[SUMS] += pixels * (double)k->ends.out.c;
}

static void add_zones(const struct packed *k, double images, double work[CONV_KINDS])
{
    const struct stencil all = cvp_conv_stencil(k->p, 0, 0);
    struct stencil s;
    int64_t at[3] = {0};
    while (cvp_conv_stencil_next_zone(&all, k->zones, at, &s)) {
        const struct packed zone = cvp_conv_packed_zone(k, &s);
        add_pixels(&zone, images * (double)(s.d.count * s.h.count * s.w.count), (double)k->p->g,
                   (double)(s.d.taps * s.h.taps * s.w.taps), work);
    }
    if (k->packs_all)
        work[WEIGHTS] = (k->p->channels_last ? FAR : STRIDED) *
                        (double)(k->p->g * k->panels * k->columns * k->taps * k->ends.in.c);
}

double cvp_conv_packed_estimate(const convop_conv_problem *p)
{
    const struct packed *k = p->cut;
    const double phases = (double)k->phases, images = (double)p->mb * (double)p->g;
    const double pixels = images * (double)(p->direction == CONVOP_FWD ? cvp_conv_dst_pixels(p)
                                                                       : cvp_conv_src_pixels(p));
    double work[CONV_KINDS] = {[CALL] = 1, [BYTES] = cvp_conv_image_bytes(p)};
    if (k->is_zoned)
        add_zones(k, images, work);
    else
        add_pixels(k, pixels, (double)p->g * phases, (double)k->taps / phases, work);
    if (p->constant_weights) work[WEIGHTS] = 0;
    if (!p->channels_last && p->direction == CONVOP_FWD && p->sw > 1 && p->ow > 1)
        work[PIXELS] *= APART;
    return cvp_conv_price(p, prices[p->direction][p->channels_last], work,
                          (double)(k->is_by_block ? k->lanes : k->panels * k->shares));
}

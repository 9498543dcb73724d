/* What the row `grouped` is expected to take. */
#include "src/operator/convolution/cpu/estimate.h"
#include "src/operator/convolution/cpu/grouped.h"

/* Call; vector multiply-adds; rows of taps that they come in; vectors spread; vectors turned from
 * planes or to them; vectors of weights packed, or of sums; bytes that the second-level cache does
 * not keep; vectors spread lane by lane. */
enum { CALL, PRODUCTS, RUNS, SPREAD, TURNED, WEIGHTS, BYTES, GATHERED };

static const conv_prices prices[3][2] =
    {
        [CONVOP_FWD] =
            {
                {{1.5e+03, 0.178, 0, 0, 1.57, 13.5, 0.0467, 1.15},
                 {1.5e+03, 0.238, 5.18, 0.61, 3.6, 8.5, 0, 1.77},
                 {1.5e+03, 0.187, 6.82, 0.629, 1.19, 4.29, 0.0276, 0.519}},
                {{1.5e+03, 0.171, 4.66, 0, 0, 3.24, 0.0694, 1.28},
                 {1.5e+03, 0.167, 8.32, 0.633, 0, 6.01, 0.0875, 2.17},
                 {1.5e+03, 0.18, 1.38, 0.56, 0, 3.97, 0.0501, 0.729}},
            },
        [CONVOP_BWD_D] =
            {
                {{1.5e+03, 0.17, 2.31, 0, 1.53, 10.3, 0.0686, 1.12},
                 {1.5e+03, 0.157, 9, 0.808, 1.65, 7.5, 0.0419, 2.76},
                 {1.5e+03, 0.156, 11.7, 0.628, 1.26, 7.98, 0.0324, 0.561}},
                {{1.5e+03, 0.195, 0, 0, 0, 16.3, 0.111, 0.944},
                 {1.5e+03, 0.153, 11.1, 0.657, 0, 11.3, 0.0965, 2.77},
                 {1.5e+03, 0.128, 20.6, 0.538, 0, 7.88, 0.0453, 0.612}},
            },
        [CONVOP_BWD_W] =
            {
                {{1.5e+03, 0.189, 3.7, 0, 1.45, 10.9, 0.0626, 1.14},
                 {1.5e+03, 0.299, 16.7, 0.695, 2.32, 13.3, 0.0196, 2.29},
                 {1.5e+03, 0.262, 10.5, 0.738, 0.295, 8.17, 0.0398, 0.925}},
                {{1.5e+03, 0.151, 1.55, 0, 0, 13, 0.255, 1.28},
                 {1.5e+03, 0.231, 14.7, 0.47, 0, 9.87, 0.102, 2.06},
                 {1.5e+03, 0.257, 0, 0.38, 0, 10.1, 0.0491, 0.526}},
            },
};

double cvp_conv_grouped_estimate(const convop_conv_problem *p)
{
    const struct grouped *k = p->cut;
    const double vectors = (double)k->vectors, c = (double)k->ends.in.c, kd = (double)p->kd;
    const double passes = cvp_conv_parts(c, (double)k->block);
    const double phases = (double)(k->phases_d * k->h.phases * k->w.phases);
    const double taps = (double)k->taps / phases;
    const double strips = cvp_conv_parts((double)k->w.count, (double)k->width);
    const double planes = (double)p->mb * (double)(k->phases_d * k->d_count) * vectors;
    /* Rows that strips read, of all passes, and vectors of these. */
    const double rows =
        (double)k->row_blocks *
        ((double)(k->rows - 1) * cvp_conv_least((double)k->h.step, (double)k->h.reach) +
         (double)k->h.reach);
    const double read = planes * kd / (double)k->phases_d * rows * strips * (double)k->pixels;
    const double outputs =
        planes * (double)k->h.count * (double)k->w.count * (double)(k->h.phases * k->w.phases);
    const double weights = vectors * c * (double)k->taps;
    double work[CONV_KINDS] = {
        [CALL] = 1,
        [PRODUCTS] = outputs * taps * c,
        [RUNS] = outputs / (double)k->width * kd * (double)p->kh * passes,
        [BYTES] = cvp_conv_most(0, cvp_conv_image_bytes(p) - CONV_SECOND_LEVEL),
    };
    work[k->span > k->kernels->permuted ? GATHERED : SPREAD] = read * c;
    if (!p->channels_last)
        work[TURNED] =
            passes * (read * cvp_conv_parts((double)k->span, k->kernels->lanes) + outputs);
    if (p->direction == CONVOP_BWD_W)
        work[WEIGHTS] = weights * (double)k->parts;
    else if (!p->constant_weights)
        work[WEIGHTS] = weights;
    return cvp_conv_price(p, prices[p->direction][p->channels_last], work, (double)k->tasks);
}

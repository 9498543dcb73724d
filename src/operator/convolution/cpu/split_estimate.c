/* What the row `split` is expected to take, forward and backward by data. */
#include "src/operator/convolution/cpu/estimate.h"
#include "src/operator/convolution/cpu/split_walk.h"

enum kind { CALL, STEPS, PIXELS, ROWS, WEIGHTS, SUMS, FAR, GATHERED };

/* Call; products of 32 x 32 sums by 32; elements of a grid, and its pixels (N*C) or
 * rows of pixels (NC*); weights; sums; products whose operands the second-level cache does not
 * keep; weights that are gathered one by one (NC*). */
static const conv_prices prices[2] = {
    {[CVP_ISA_AVX512] = {1500, 215, 0.172, 35.4, 0.513, 0, 70, 0.85}},
    {[CVP_ISA_AVX512] = {1500, 186, 0.22, 8, 0.4, 0.05, 35}},
};

/* A panel of weights and a grid beyond this part of the share of the second-level cache push each
 * other out of it. */
#define FAR_PART 1.5

double cvp_conv_split_walk_estimate(const convop_conv_problem *p)
{
    const struct split_walk *k = p->cut;
    const int last = p->channels_last;
    double work[CONV_KINDS] = {[CALL] = 1};
    for (int64_t phase = 0; phase < k->phases; phase++) {
        const struct stencil s = cvp_conv_split_stencil(k, phase);
        struct split_grid g = cvp_conv_split_grid(&s);
        cvp_conv_split_grid_size(&g, &k->block);
        const double blocks = (double)(p->g * cvp_conv_split_blocks(&k->block, &s, k->mb));
        const double taps = (double)cvp_conv_stencil_taps(&s);
        const double tiles =
            blocks * (double)k->panels * cvp_conv_parts((double)g.sums, SPLIT_PANEL);
        work[STEPS] += tiles * taps * (double)k->steps;
        work[PIXELS] += blocks * (double)g.pixels * (double)k->steps * SPLIT_DEPTH;
        work[ROWS] +=
            blocks * (double)g.pixels * (last ? 1 : (double)k->steps * 16 / (double)g.pitch);
        const double panel = taps * (double)k->steps * SPLIT_STEP;
        if (panel + (double)k->grid_bytes > FAR_PART * CONV_SECOND_LEVEL)
            work[FAR] += tiles * taps * (double)k->steps;
        if (!p->constant_weights)
            work[WEIGHTS] += (double)(p->g * k->panels * k->steps) * taps * 1024 *
                             (k->is_by_panel ? blocks / (double)p->g : 1);
    }
    if (!last && k->taps > 1) work[GATHERED] = work[WEIGHTS];
    work[SUMS] = cvp_conv_image_bytes(p) / 4;
    return cvp_conv_price(p, prices[last], work,
                          (double)(k->is_by_block ? k->lanes : k->panels * k->shares));
}

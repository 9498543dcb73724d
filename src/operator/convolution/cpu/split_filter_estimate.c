/* What the row `split`, backward by weights, is expected to take. */
#include "src/operator/convolution/cpu/estimate.h"
#include "src/operator/convolution/cpu/split_filter.h"

/* Call; products of 32 x 32 sums by 32; sums that are put; elements of planes; of pairs; pixels, or
 * rows of pixels and channels; products whose operands the second-level cache does not keep; sums
 * of windows of several places that it does not keep, and all such, which are turned. */
enum kind { CALL, STEPS, SUMS, PLANES, PAIRS, ROWS, FAR, APART, TURNED };

static const conv_prices prices[2] = {
    {[CVP_ISA_AVX512] = {1500, 272, 0.16, 0.26, 0.024, 7.1, 30, 0.16, 0.91}},
    {[CVP_ISA_AVX512] = {1500, 232, 0, 0.35, 0.19, 1, 22, 0.13, 0.26}},
};

/* Planes and pairs beyond this part of the share of the second-level cache are not kept there. */
#define FAR_PART 1.2

double cvp_conv_split_filter_estimate(const convop_conv_problem *p)
{
    const struct split_filter *f = p->cut;
    const double g = (double)p->g, blocks = g * (double)f->blocks;
    const double panels = (double)(f->rows * f->columns * f->taps);
    struct split_grid grid = cvp_conv_split_grid(&f->walk);
    cvp_conv_split_grid_size(&grid, &f->block);
    const double numbers = (double)grid.sums, pixels = (double)grid.pixels;
    const double bytes = (double)(f->plane_bytes + f->pair_bytes);
    const double weights = (double)p->oc / g * (double)p->ic * (double)f->taps * sizeof(float);
    double work[CONV_KINDS] = {
        [CALL] = 1,
        [STEPS] = blocks * panels * cvp_conv_parts(numbers, SPLIT_DEPTH),
        [SUMS] = blocks * panels * 1024,
        [PLANES] = blocks * pixels * (double)(f->rows * SPLIT_PANEL),
        [PAIRS] = blocks * numbers * (double)(f->columns * SPLIT_PANEL),
        [ROWS] = p->channels_last ? blocks * (pixels + numbers)
                                  : blocks * pixels / (double)grid.pitch *
                                        (double)(f->rows + f->columns) * SPLIT_PANEL,
    };
    if (bytes > FAR_PART * CONV_SECOND_LEVEL) work[FAR] = work[STEPS];
    if (f->taps > 1) work[TURNED] = work[SUMS];
    if (f->taps > 1 && weights > CONV_SECOND_LEVEL) work[APART] = work[SUMS];
    return cvp_conv_price(p, prices[p->channels_last], work, panels);
}

/* What the row `winograd` is expected to take. */
#include "src/common/cpu.h"
#include "src/operator/convolution/cpu/estimate.h"
#include "src/operator/convolution/cpu/winograd.h"

/* Call; vector multiply-adds; vectors of weights transformed; vectors of channels of tiles
 * transformed, in and out; bytes of weights that go beyond the second-level cache, when they are
 * transformed backward and for each block; bytes; bytes of weights that a forward call transforms
 * past WRITTEN_BYTES. */
enum { CALL, PRODUCTS, WEIGHTS, IN, OUT, STREAMED, BYTES, WRITTEN };

/* So much caches take as fast as it is transformed. */
#define WRITTEN_BYTES ((double)(8 << 20))

static const conv_prices prices[2][2] = {
    [CONVOP_FWD] =
        {
            {
                {1.5e+03, 0.289, 124, 90.4, 0, 0, 0, 0.03},
                {1.5e+03, 0.212, 34.6, 0, 218, 0.0115, 0, 0.03},
                {1.5e+03, 0.261, 85, 0, 0, 0.0107, 0.0664, 0.04},
            },
            {
                {1.5e+03, 0.297, 120, 56, 14.7, 0, 0, 0.08},
                {1.5e+03, 0.248, 46.1, 0, 0, 0, 0.144, 0.08},
                {1.5e+03, 0.263, 100, 0, 0, 0.00948, 0.0407, 0.08},
            },
        },
    [CONVOP_BWD_D] =
        {
            {
                {1.5e+03, 0.297, 114, 0, 53.8, 0.0128, 0},
                {1.5e+03, 0.265, 22.9, 0, 65.7, 0.0367},
                {1.5e+03, 0.227, 100, 0, 0, 0.0663, 0.109},
            },
            {
                {1.5e+03, 0.31, 108, 0, 45.6, 0.00293, 0},
                {1.5e+03, 0.242, 55.8, 92.3, 47.8},
                {1.5e+03, 0.245, 80, 0, 0, 0.0559, 0.0623},
            },
        },
};

double cvp_conv_winograd_estimate(const convop_conv_problem *p)
{
    const struct winograd *w = p->cut;
    const double g = (double)p->g, in_c = (double)w->ends.in.c;
    const double tiles = g * (double)w->all_rows * (double)(w->tiles_w * w->dw);
    const double panels = (double)w->panels, cached = (double)cvp_cpu_l2() / 2;
    /* Those that the cache has to hold at a time, and how often they go beyond it if it does not.
     * Backward they are never transformed before. */
    const double weights = w->is_by_panel ? (double)w->panel_bytes : (double)w->weight_bytes / g;
    const double streams =
        w->is_by_panel ? panels / 2 : (double)w->blocks + (p->direction != CONVOP_FWD);
    const double work[CONV_KINDS] = {
        [CALL] = 1,
        [PRODUCTS] = tiles * WINOGRAD_POINTS * in_c * (double)w->out_vectors,
        [WEIGHTS] =
            p->constant_weights ? 0 : g * in_c * panels * (double)w->columns / w->kernels->lanes,
        [IN] = tiles * (double)w->in_vectors,
        [OUT] = tiles * (double)w->out_vectors,
        [STREAMED] = weights > cached ? weights * streams : 0,
        [BYTES] = cvp_conv_image_bytes(p),
        [WRITTEN] = p->constant_weights ? 0 : cvp_conv_most(0, weights - WRITTEN_BYTES),
    };
    return cvp_conv_price(p, prices[p->direction][p->channels_last], work,
                          (double)w->blocks * (w->is_shared ? WINOGRAD_POINTS : 1));
}

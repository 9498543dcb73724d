/* What depthwise launches cost, from the cut of a problem into blocks alone: bytes between memory
 * and the GPU, and the time that they are expected to take. */
#ifndef CVP_CONV_CUDA_DEPTHWISE_COST_H
#define CVP_CONV_CUDA_DEPTHWISE_COST_H

#include "src/operator/convolution/cuda/depthwise_plan.h"

struct cvp_dw_traffic {
    double image;   /* bytes read of what windows read: src, or the gradient of dst */
    double moved;   /* all: image, the other tensor, partial sums written and read */
    double minimum; /* each element of both tensors once */
};

/* Where cvp_dw_form gives a fixed kernel for any addresses. What a block reads counts once, what
 * two blocks read twice. Weights and bias, which are small and stay in caches, do not count. */
struct cvp_dw_traffic cvp_dw_traffic(const convop_conv_problem *p, int tile);

/* cvp_cuda_way.tiles of depthwise problems: by cost. */
int cvp_dw_tiles(const convop_conv_problem *p, int tiles[CVP_CUDA_MOST_TILES]);

/* Milliseconds on the problem's GPU by tile 0; 0: the bandwidth of its memory is not known. */
double cvp_dw_expected_ms(const convop_conv_problem *p);

#endif

/* The bytes that the depthwise kernels of a fixed window move between memory and the GPU, from the
 * cut of a problem into blocks alone: what a block reads counts once, what two blocks read counts
 * twice. */
#ifndef CUDA_TRAFFIC_H
#define CUDA_TRAFFIC_H

#include "src/operator/convolution/problem.h"

struct cuda_traffic {
    double image;   /* bytes read of what windows read: src, or the gradient of dst */
    double moved;   /* all: image, the other tensor, partial sums written and read */
    double minimum; /* each element of both tensors once */
};

/* Where cvp_dw_form gives a fixed kernel for any addresses. Weights and bias, which are small and
 * stay in caches, do not count. */
struct cuda_traffic cuda_traffic(const convop_conv_problem *p);

#endif

/* NC* images of the row `depthwise` whose rows are narrower than a vector and would leave lanes
 * empty: blocks of as many channels as a vector has lanes are turned to N*C in the workspace,
 * computed there by its kernels, and turned back. */
#ifndef CVP_CONV_DEPTHWISE_TURNED_H
#define CVP_CONV_DEPTHWISE_TURNED_H

#include "src/operator/convolution/cpu/depthwise.h"

/* Bytes of the workspace that a lane needs for that; 0: the problem is computed as it lies. */
size_t cvp_dw_turned_bytes(const convop_conv_problem *p);

#endif

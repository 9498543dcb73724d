/* The order of inputs and outputs of BatchNorm and its gradient, for their tests. */
#ifndef TESTS_OPS_BATCH_NORM_H
#define TESTS_OPS_BATCH_NORM_H

enum { SRC, GAMMA, BETA, MOVING_MEAN, MOVING_VAR };
enum { DST, MEAN, INV_STD };
enum { DIFF_DST, B_SRC, B_GAMMA, B_MEAN, B_INV_STD };
enum { DIFF_SRC, DIFF_GAMMA, DIFF_BETA };

#endif

/* A convolution of conv_case.h through a way to launch CUDA kernels, on the host. */
#ifndef CUDA_CASE_H
#define CUDA_CASE_H

#include "src/operator/convolution/cuda/launch.h"
#include "tests/cuda_host/cuda_host.h"
#include "tests/support/conv_case.h"

/* The canonical problem of a direction of the case. */
convop_conv_problem cuda_case_problem(struct conv_case *c, convop_conv_direction direction);

/* Runs all launches of a direction. 0, or -1 after a line that says what was wrong: a launch, an
 * element of the output that was not stored exactly once. NaN is in the workspace before. Forward,
 * with an activation and a residual, a box as dst, if not NULL. */
int cuda_case_run(struct conv_case *c, const struct cvp_cuda_way *way,
                  convop_conv_direction direction, int activation, const struct box *residual);

/* 1 if the way does not take the direction, or its result is what is expected (conv_case_matches).
 */
int cuda_case_is_right(struct conv_case *c, const struct cvp_cuda_way *way,
                       convop_conv_direction direction, const struct conv_expected *e);

/* Which of the problem's cuts into blocks runs, counted around. */
extern int cuda_case_tile;

/* How often a kernel was launched. */
extern long cuda_case_launches[CVP_CUDA_KERNELS];

#endif

/* Convolutions of chosen sizes for tests, and plain calls of them. */
#ifndef TEST_CONV_FIXED_H
#define TEST_CONV_FIXED_H

#include "convop/context.h"
#include "tests/support/conv_case.h"

/* All axes alike. */
struct conv_size {
    int axes, channels_last, type; /* BOX_F32, ... */
    int64_t mb, ic, oc, g, i, k, s, d, p;
};

/* Small integers, dense tensors, every request WRITE, no bias unless `bias`. */
void conv_case_fixed(struct conv_case *c, const struct conv_size *size, int bias, uint64_t seed);

/* 160 depthwise sizes by number: 1 and 2 axes, 5 numbers of channels, kernel, stride, pad and image
 * of two sizes each; float32. */
#define CONV_GRID_DEPTHWISE 160
struct conv_size conv_grid_depthwise(int i);

/* The case's calls; the bias is NULL where there is none, and so is what is not asked for. */
convop_status conv_case_forward(struct conv_case *c, const convop_exec *exec);
convop_status conv_case_backward(struct conv_case *c, const convop_exec *exec);

/* The rows that compute a direction of these tensors, or gradients in their place; -1 where that is
 * not told. */
#define CONV_CASE_MAX_ROWS 32
int conv_rows(const convop_conv_params *params, convop_conv_direction direction,
              const DLTensor *src, const DLTensor *weights, const DLTensor *dst,
              convop_conv_row rows[CONV_CASE_MAX_ROWS]);

/* Those of the case; none where that is not told. */
int conv_case_rows(struct conv_case *c, convop_conv_direction direction,
                   convop_conv_row rows[CONV_CASE_MAX_ROWS]);

#endif

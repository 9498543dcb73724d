/* The row `implicit`: implicit matrix products, from where the tensors lie. One file for each
 * layout and kind of sum; implicit.c makes the rows of them. */
#ifndef CVP_CONV_IMPLICIT_H
#define CVP_CONV_IMPLICIT_H

#include "src/operator/convolution/impl.h"
#include "src/operator/gemm/gemm_kernels.h"
#include "src/operator/gemm/gemm_tasks.h"
#include "src/operator/tile/tile.h"

/* Takes a task's number apart: its place among `count`, the fastest axis first. */
static inline int64_t cvp_conv_implicit_next(int64_t *number, int64_t count)
{
    const int64_t place = *number % count;
    *number /= count;
    return place;
}

/* Expected milliseconds. */
double cvp_conv_implicit_estimate(const convop_conv_problem *p);
double cvp_conv_implicit_filter_estimate(const convop_conv_problem *p);

/* N*C, forward and backward by data. */
int cvp_conv_implicit_last_cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE]);
size_t cvp_conv_implicit_last_workspace(const convop_conv_problem *p);
size_t cvp_conv_implicit_last_packed_bytes(const convop_conv_problem *p);
void cvp_conv_implicit_last_pack(const convop_conv_problem *p, const void *weights, void *packed,
                                 const convop_context *context);
convop_status cvp_conv_implicit_last_run(const convop_conv_problem *p,
                                         const convop_conv_operands *t,
                                         const convop_context *context, void *workspace);

/* NC*, forward and backward by data. */
int cvp_conv_implicit_first_cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE]);
size_t cvp_conv_implicit_first_workspace(const convop_conv_problem *p);
size_t cvp_conv_implicit_first_packed_bytes(const convop_conv_problem *p);
void cvp_conv_implicit_first_pack(const convop_conv_problem *p, const void *weights, void *packed,
                                  const convop_context *context);
convop_status cvp_conv_implicit_first_run(const convop_conv_problem *p,
                                          const convop_conv_operands *t,
                                          const convop_context *context, void *workspace);

#endif

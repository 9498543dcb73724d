/* How depthwise problems are cut into blocks, for the kernels of a fixed window; what is common to
 * the files that plan them. */
#ifndef CVP_CONV_CUDA_DEPTHWISE_PLAN_H
#define CVP_CONV_CUDA_DEPTHWISE_PLAN_H

#include "src/operator/convolution/cuda/launch.h"

enum cvp_dw_form { CVP_DW_DIRECT, CVP_DW_FIRST, CVP_DW_LAST };

int cvp_dw_is_depthwise(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE]);

/* Ways to cut a problem. */
#define CVP_DW_TILES 4

/* The kind of kernel that runs; t NULL: with addresses that suit all. */
enum cvp_dw_form cvp_dw_form(const convop_conv_problem *p, int tile,
                             const struct cvp_cuda_operands *t);

/* Channels of a thread in N*C (kernels/depthwise_last.cuh). */
static inline int cvp_dw_last_channels(const convop_conv_problem *p)
{
    return p->kw == 3 ? 4 : 2;
}

/* What the kernels compute at a time, a unit (kernels/march.cuh): `outputs` of it in h and in w,
 * and of those `side_by_side` in w; unit n of an axis reads `reach` inputs from first + n * step
 * on. */
struct cvp_dw_units {
    int outputs, side_by_side;
    int64_t h, w; /* units of a plane, side by side ones counted as one */
    int64_t step, reach, first_h, first_w;
    int64_t in_h, in_w, out_h, out_w;
};

struct cvp_dw_units cvp_dw_units_of(const convop_conv_problem *p);

/* The cut of a plane (see struct cvp_dw_args), and for the filter gradient of the tiles into parts.
 */
struct cvp_dw_cut {
    int32_t planes, rows, thread_rows, columns;
    int32_t row_tiles, column_tiles;
    int64_t parts, part_tiles;
    unsigned threads, shared;
};

struct cvp_dw_cut cvp_dw_cut_of(const convop_conv_problem *p, int tile);

/* The launches; where cvp_dw_form is not CVP_DW_DIRECT. */
void cvp_dw_data_step(const convop_conv_problem *p, int tile, const struct cvp_cuda_operands *t,
                      struct cvp_cuda_step *s);
void cvp_dw_filter_step(const convop_conv_problem *p, int tile, const struct cvp_cuda_operands *t,
                        struct cvp_cuda_step *s);

#endif

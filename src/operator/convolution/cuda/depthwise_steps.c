/* Launches of the depthwise kernels of a fixed window, from their cut; see depthwise_plan.h. */
#include "src/common/size.h"
#include "src/operator/convolution/cuda/depthwise_plan.h"

/* Kernels of a layout, in the order of kernel_list.h: three types each. */
enum { K3S1, K3S2, K5S1, K5S2, BACK_K3, BACK_K5, FILTER };
#define TYPES 3

static enum cvp_cuda_kernel kernel_of(const convop_conv_problem *p)
{
    const int layout = p->channels_last ? CVP_CUDA_dw_last_k3s1_f32 : CVP_CUDA_dw_first_k3s1_f32;
    const int five = p->kw == 5, window = (five ? K5S1 : K3S1) + (p->sw == 2);
    int at = window;
    if (p->direction == CONVOP_BWD_W)
        at = FILTER + window;
    else if (p->direction == CONVOP_BWD_D)
        at = p->sw == 2 ? BACK_K3 + five : five ? K5S1 : K3S1;
    return (enum cvp_cuda_kernel)(layout + at * TYPES + (int)cvp_cuda_type(p));
}

void cvp_dw_data_step(const convop_conv_problem *p, int tile, const struct cvp_cuda_operands *t,
                      struct cvp_cuda_step *s)
{
    const int back = p->direction == CONVOP_BWD_D;
    const struct cvp_dw_units u = cvp_dw_units_of(p);
    const struct cvp_dw_cut c = cvp_dw_cut_of(p, tile);
    const int64_t vectors = p->channels_last ? p->ic / cvp_dw_last_channels(p) : 0;
    const int64_t blocks = p->channels_last ? p->mb * cvp_ceil_div(vectors, c.planes)
                                            : cvp_ceil_div(p->mb * p->ic, c.planes);
    *s = (struct cvp_cuda_step){.kernel = kernel_of(p),
                                .grid = {(unsigned)(blocks * c.row_tiles * c.column_tiles), 1, 1},
                                .threads = c.threads,
                                .shared = c.shared,
                                .args.dw = {.in = back ? t->dst : t->src,
                                            .weights = t->weights,
                                            .out = t->out,
                                            .finish = cvp_cuda_finish_of(p, t),
                                            .planes = (int32_t)(p->mb * p->ic),
                                            .channels = (int32_t)p->ic,
                                            .in_h = (int32_t)u.in_h,
                                            .in_w = (int32_t)u.in_w,
                                            .out_h = (int32_t)u.out_h,
                                            .out_w = (int32_t)u.out_w,
                                            .first_h = (int32_t)u.first_h,
                                            .first_w = (int32_t)u.first_w,
                                            .flip = back && u.outputs == 1,
                                            .block_planes = c.planes,
                                            .block_rows = c.rows,
                                            .thread_rows = c.thread_rows,
                                            .block_columns = c.columns,
                                            .row_tiles = c.row_tiles,
                                            .column_tiles = c.column_tiles}};
}

void cvp_dw_filter_step(const convop_conv_problem *p, int tile, const struct cvp_cuda_operands *t,
                        struct cvp_cuda_step *s)
{
    const struct cvp_dw_cut c = cvp_dw_cut_of(p, tile);
    const int64_t channels = p->channels_last ? p->ic / cvp_dw_last_channels(p) : p->ic;
    *s = (struct cvp_cuda_step){
        .kernel = kernel_of(p),
        .grid = {(unsigned)(cvp_ceil_div(channels, c.planes) * c.parts), 1, 1},
        .threads = c.threads,
        .shared = c.shared,
        .args.dw_filter = {.src = t->src,
                           .dst = t->dst,
                           .sums = t->workspace,
                           .mb = (int32_t)p->mb,
                           .channels = (int32_t)p->ic,
                           .in_h = (int32_t)p->ih,
                           .in_w = (int32_t)p->iw,
                           .out_h = (int32_t)p->oh,
                           .out_w = (int32_t)p->ow,
                           .pad_h = (int32_t)p->ph,
                           .pad_w = (int32_t)p->pw,
                           .block_planes = c.planes,
                           .block_rows = c.rows,
                           .thread_rows = c.thread_rows,
                           .block_columns = c.columns,
                           .row_tiles = c.row_tiles,
                           .column_tiles = c.column_tiles,
                           .part_tiles = (int32_t)c.part_tiles}};
}

/* The cost of depthwise launches; see depthwise_cost.h. The model has not been compared with a GPU:
 * its bytes are those that the kernels load, which a test counts, and its figures are published
 * ones. */
#include "src/operator/convolution/cuda/depthwise_cost.h"

#include <string.h>

#include "src/common/size.h"
#include "src/cuda/device.h"

/* What a processor holds of blocks: threads, and bytes of shared memory of the smallest one (CUDA
 * C++ Programming Guide, table of compute capabilities). */
#define PROCESSOR_THREADS 1024
#define PROCESSOR_SHARED  (64 << 10)
/* Where the GPU is not known: of an A100. */
#define PROCESSORS 108
/* A launch costs some microseconds (CUDA C++ Best Practices Guide). */
#define LAUNCH_MS 0.003
/* The first cache gives 128 bytes a clock and processor, 7 to 10 times what memory does on the GPUs
 * of docs/cuda-kernels.md. */
#define CACHE_RATIO 8

/* An axis of a plane as its blocks cut it: `units` in tiles of `tile`; each tile of n units reads
 * (n - 1) * step + reach inputs from first + begin * step on, of those that there are. */
static double inputs_read(int64_t units, int64_t tile, int64_t step, int64_t reach, int64_t first,
                          int64_t size)
{
    double sum = 0;
    for (int64_t u = 0; u < units; u += tile) {
        const int64_t n = cvp_min_i64(tile, units - u);
        const int64_t begin = cvp_max_i64(u * step + first, 0);
        const int64_t end = cvp_min_i64((u + n - 1) * step + reach + first, size);
        if (end > begin) sum += (double)(end - begin);
    }
    return sum;
}

struct cvp_dw_traffic cvp_dw_traffic(const convop_conv_problem *p, int tile)
{
    const struct cvp_dw_units u = cvp_dw_units_of(p);
    const struct cvp_dw_cut c = cvp_dw_cut_of(p, tile);
    double rows = inputs_read(u.h, c.rows, u.step, u.reach, u.first_h, u.in_h);
    /* Of units side by side only those that there are. */
    double columns = inputs_read(cvp_ceil_div(u.out_w, u.outputs), c.columns * u.side_by_side,
                                 u.step, u.reach, u.first_w, u.in_w);
    /* NC*: whole rows, and of several planes all of them. */
    if (!p->channels_last && c.column_tiles == 1) columns = (double)u.in_w;
    if (!p->channels_last && c.planes > 1) rows = (double)u.in_h;
    const double size = (double)cvp_conv_element_size(p), planes = (double)(p->mb * p->ic);
    struct cvp_dw_traffic t = {.image = planes * rows * columns * size};
    const double other = planes * (double)(u.out_h * u.out_w) * size;
    t.minimum = planes * (double)(u.in_h * u.in_w) * size + other;
    t.moved = t.image + other;
    if (p->direction == CONVOP_BWD_W) t.moved += 2.0 * (double)cvp_cuda_parts_bytes(p, c.parts);
    return t;
}

/* ---- time --------------------------------------------------------------------------------------
 */

static int64_t blocks_of(const convop_conv_problem *p, int tile)
{
    const struct cvp_cuda_operands none = {0};
    struct cvp_cuda_step s;
    cvp_cuda_depthwise.step(p, tile, &none, 0, &s);
    return (int64_t)s.grid[0] * s.grid[1] * s.grid[2];
}

/* Bytes that take as long from memory. The last wave of blocks is not a full one, and where there
 * are few the GPU is never full. */
static double cost_of(const convop_conv_problem *p, int tile)
{
    const struct cvp_gpu *gpu = p->gpu;
    const struct cvp_dw_cut c = cvp_dw_cut_of(p, tile);
    const int64_t at_once =
        cvp_max_i64(1, cvp_min_i64(PROCESSOR_THREADS / c.threads,
                                   c.shared ? PROCESSOR_SHARED / c.shared : PROCESSOR_THREADS));
    const int64_t slots = at_once * (gpu ? gpu->processors : PROCESSORS);
    return cvp_dw_traffic(p, tile).moved * (1 + (double)slots / (double)blocks_of(p, tile));
}

/* The direct kernels read each tap of each output from the first cache. */
static double direct_cost(const convop_conv_problem *p)
{
    const double size = (double)cvp_conv_element_size(p);
    const double src = (double)(p->mb * p->ic * cvp_conv_src_pixels(p)) * size;
    const double dst = (double)(p->mb * p->oc * cvp_conv_dst_pixels(p)) * size;
    const double taps = dst * (double)cvp_conv_taps(p) / CACHE_RATIO;
    return taps > src + dst ? taps : src + dst;
}

static int is_fixed(const convop_conv_problem *p, int tile)
{
    return cvp_dw_form(p, tile, NULL) != CVP_DW_DIRECT &&
           cvp_cuda_depthwise.workspace(p, tile) <= p->workspace_limit;
}

int cvp_dw_tiles(const convop_conv_problem *p, int tiles[CVP_CUDA_MOST_TILES])
{
    struct cvp_dw_cut cuts[CVP_DW_TILES];
    double costs[CVP_DW_TILES];
    int count = 0;
    tiles[0] = 0;
    if (!is_fixed(p, 0)) return 1;
    for (int tile = 0; tile < CVP_DW_TILES; tile++) {
        int same = !is_fixed(p, tile), at = count;
        cuts[tile] = cvp_dw_cut_of(p, tile);
        for (int i = 0; i < tile; i++) same |= memcmp(&cuts[i], &cuts[tile], sizeof cuts[i]) == 0;
        if (same) continue;
        costs[tile] = cost_of(p, tile);
        for (; at > 0 && costs[tile] < costs[tiles[at - 1]]; at--) tiles[at] = tiles[at - 1];
        tiles[at] = tile;
        count++;
    }
    return count;
}

double cvp_dw_expected_ms(const convop_conv_problem *p)
{
    const struct cvp_gpu *gpu = p->gpu;
    const double bandwidth = gpu ? gpu->bandwidth : 0;
    const double bytes = is_fixed(p, 0) ? cost_of(p, 0) : direct_cost(p);
    const double launches = (double)cvp_cuda_depthwise.steps(p, 0);
    return bandwidth > 0 ? launches * LAUNCH_MS + bytes / bandwidth : 0;
}

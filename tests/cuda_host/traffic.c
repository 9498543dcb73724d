#include "tests/cuda_host/traffic.h"

#include "src/common/size.h"
#include "src/operator/convolution/cuda/depthwise_plan.h"

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

struct cuda_traffic cuda_traffic(const convop_conv_problem *p)
{
    const struct cvp_cuda_operands none = {0};
    struct cvp_cuda_step s;
    const int filter = p->direction == CONVOP_BWD_W, back = p->direction == CONVOP_BWD_D;
    const int pairs = back && p->sw == 2, outputs = pairs ? 2 : 1;
    const struct cvp_dw_cut c = filter ? cvp_dw_filter_cut(p) : cvp_dw_data_cut(p);
    if (!filter) cvp_dw_data_step(p, &none, &s);
    const int64_t first_h = filter ? -p->ph : s.args.dw.first_h;
    const int64_t first_w = filter ? -p->pw : s.args.dw.first_w;
    const int64_t in_h = back ? p->oh : p->ih, in_w = back ? p->ow : p->iw;
    const int64_t out_h = back ? p->ih : p->oh, out_w = back ? p->iw : p->ow;
    const int64_t step = pairs ? 1 : p->sw, reach = pairs ? p->kw / 2 + 1 : p->kw;
    /* Units in w have some outputs side by side. */
    int64_t side = outputs;
    if (!filter && !pairs)
        side = p->channels_last ? (p->kw == 3 && p->sw == 1 ? 2 : 1) : p->dtype.bits == 16 ? 2 : 1;
    const int64_t tile_w = c.columns * side / outputs, units_w = cvp_ceil_div(out_w, outputs);
    double rows = inputs_read(cvp_ceil_div(out_h, outputs), c.rows, step, reach, first_h, in_h);
    double columns = inputs_read(units_w, tile_w, step, reach, first_w, in_w);
    /* NC*: whole rows, and of several planes all of them. */
    if (!p->channels_last && c.column_tiles == 1) columns = (double)in_w;
    if (!p->channels_last && c.planes > 1) rows = (double)in_h;
    const double size = (double)cvp_conv_element_size(p), planes = (double)(p->mb * p->ic);
    struct cuda_traffic t = {.image = planes * rows * columns * size};
    const double other = planes * (double)(out_h * out_w) * size;
    t.minimum = planes * (double)(in_h * in_w) * size + other;
    t.moved = t.image + other;
    if (filter) t.moved += 2.0 * (double)cvp_cuda_parts_bytes(p, c.parts);
    return t;
}

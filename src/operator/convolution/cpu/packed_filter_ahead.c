/* What the row `packed`, backward by weights, fetches ahead: while tiles multiply a part of the
 * pixels, they ask for the lines of diff_dst and src that are packed next. */
#include "src/common/size.h"
#include "src/operator/convolution/cpu/packed_filter.h"

void cvp_conv_packed_filter_list(const struct packed_filter *f, struct packed_filter_ahead *a)
{
    const int64_t most = f->part / 2; /* lines of a tile: one in two steps */
    int64_t lines = cvp_max_i64(1, most), rows = 1;
    a->apart = lines * CVP_CACHE_LINE;
    if (!f->p->channels_last) {
        lines = cvp_max_i64(1, cvp_min_i64(most, f->part * f->size / CVP_CACHE_LINE + 1));
        rows = cvp_max_i64(1, most / lines);
        a->apart = f->rows * f->width * f->size;
    }
    a->step = rows * a->apart;
    for (int64_t i = 0; i < CVP_PART_PIXELS; i++)
        a->table[i] = i < rows * lines ? i / lines * a->apart + i % lines * CVP_CACHE_LINE : 0;
    a->left[0] = a->left[1] = 0;
}

void cvp_conv_packed_filter_ahead(struct packed_filter_ahead *a, const struct packed_filter *f,
                                  const char *src, const char *diff_dst, int64_t m)
{
    const char *from[2] = {diff_dst, src};
    const int64_t channels[2] = {f->p->oc, f->p->ic}, plane = f->rows * f->width;
    for (int i = 0; i < 2; i++) {
        const int64_t c = channels[i] * f->size;
        a->at[i] =
            from[i] + (f->p->channels_last ? m * c : m / plane * plane * c + m % plane * f->size);
        a->left[i] = f->p->channels_last ? f->part * c : channels[i] * a->apart;
    }
    if (m >= f->pixels) a->left[0] = a->left[1] = 0;
    if (!cvp_conv_is_pointwise(f->p)) a->left[1] = 0;
}

const char *cvp_conv_packed_filter_lines(struct packed_filter_ahead *a, const int64_t **table)
{
    static const int64_t none[CVP_PART_PIXELS];
    const int i = a->left[0] <= 0;
    *table = a->left[i] > 0 ? a->table : none;
    if (a->left[i] <= 0) return (const char *)none;
    const char *at = a->at[i];
    a->at[i] += a->step;
    a->left[i] -= a->step;
    return at;
}

/* Products of the row `split`, backward by weights: 32 channels by 32 channels of a tap, over all
 * pixels of a block. */
#include <string.h>

#include "src/common/size.h"
#include "src/operator/convolution/cpu/split_filter.h"

/* Where the sums of a tap go: of planes' channels [i, ..) by pairs' channels [j, ..). */
static struct split_put put_of(const struct split_filter_job *job, int64_t tap, int64_t i,
                               int64_t j)
{
    const struct split_filter *f = job->f;
    const convop_conv_problem *p = f->p;
    const int64_t icg = p->ic / p->g, ocg = p->oc / p->g;
    const int64_t along = p->channels_last ? 1 : f->taps, across = icg * f->taps;
    const int64_t o = f->planes.is_src ? j : i, c = f->planes.is_src ? i : j;
    return (struct split_put){
        .rows = cvp_min_i64(SPLIT_PANEL, ocg - o),
        .columns = cvp_min_i64(SPLIT_PANEL, icg - c),
        .out =
            job->out + (job->g * ocg + o) * across + tap * (p->channels_last ? icg : 1) + c * along,
        .row = across,
        .column = along,
        .add = job->add,
    };
}

static void put(const struct split_filter *f, struct split_put *to, const float *sums)
{
    _Alignas(64) float turned[SPLIT_PANEL * SPLIT_PANEL];
    const int64_t row = SPLIT_PANEL * (int64_t)sizeof(float);
    to->sums = sums;
    if (f->planes.is_src) {
        for (int64_t y = 0; y < SPLIT_PANEL; y += SPLIT_SIDE)
            for (int64_t x = 0; x < SPLIT_PANEL; x += SPLIT_SIDE)
                f->kernels->turn((char *)(turned + y * SPLIT_PANEL + x), row,
                                 (const char *)(sums + x * SPLIT_PANEL + y), row);
        to->sums = turned;
    }
    f->kernels->put(to);
}

void cvp_conv_split_filter_multiply(const struct split_filter_job *job, int64_t begin, int64_t end)
{
    const struct split_filter *f = job->f;
    _Alignas(64) float sums[SPLIT_PANEL * SPLIT_PANEL];
    struct split_run run = {job->planes, job->pairs, job->steps};
    struct split_product t = {
        .runs = &run,
        .num_runs = 1,
        .a = job->a,
        .b = SPLIT_PACKED_B,
    };
    memset(sums, 0, sizeof sums); /* tiles without channels are turned too */
    /* Input channels follow each other, as they do in diff_weights of N*C. */
    const int64_t ics = f->planes.is_src ? f->rows : f->columns;
    for (int64_t n = begin; n < end; n++) {
        const int64_t c = n % ics, tap = n / ics % f->taps, o = n / ics / f->taps;
        const int64_t i = (f->planes.is_src ? c : o) * SPLIT_PANEL;
        const int64_t j = (f->planes.is_src ? o : c) * SPLIT_PANEL;
        t.a_at = i / SPLIT_PANEL * job->panel + cvp_conv_split_tap(&job->layout, tap) * 2;
        t.b_at = j / SPLIT_PANEL * job->steps * SPLIT_STEP;
        t.rows = f->planes.end.c - i > SPLIT_SIDE ? 2 : 1;
        t.columns = f->pairs.end.c - j > SPLIT_SIDE ? 2 : 1;
        struct split_put to = put_of(job, tap, i, j);
        const int is_direct = !f->planes.is_src && !to.add && to.column == 1 &&
                              to.rows == SPLIT_PANEL && to.columns == SPLIT_PANEL;
        t.c = is_direct ? to.out : sums;
        t.c_row = is_direct ? to.row : SPLIT_PANEL;
        f->kernels->multiply(&t);
        if (!is_direct) put(f, &to, sums);
    }
}

/* The row `implicit`, backward by weights, for N*C: rows of output channels are broadcast from
 * diff_dst, vectors of input channels are read from src. */
#include <string.h>

#include "src/common/size.h"
#include "src/operator/convolution/cpu/implicit_filter.h"

/* Whole vectors of the last channels would be read past the end of src: the pixels where that is so
 * become runs of a copy with room behind it. Answers how many runs there are now. */
static int64_t guard_tail(const struct implicit_filter_job *job,
                          const struct implicit_filter_part *k, int64_t runs, int64_t at,
                          int64_t valid)
{
    const struct implicit_filter *f = job->f;
    const convop_conv_problem *p = f->p;
    const char *end = job->src + p->mb * cvp_conv_src_pixels(p) * p->ic * f->size;
    const int64_t width = cvp_ceil_div(valid, f->kernels->lanes) * f->kernels->lanes * f->size;
    const int64_t step = f->step * p->ic * f->size;
    char *to = k->panel;
    for (int64_t r = runs - 1; r >= 0; r--) {
        struct cvp_tile_run *run = &k->runs[r];
        const char *first = (const char *)run->b + at * f->size;
        const int64_t over = first + (run->n - 1) * step + width - end;
        if (over <= 0) break;
        const int64_t moved = cvp_min_i64(run->n, cvp_ceil_div(over, step)), kept = run->n - moved;
        for (int64_t i = 0; i < moved; i++)
            memcpy(to + i * step, first + (kept + i) * step, (size_t)(valid * f->size));
        const struct cvp_tile_run copy = {(const char *)run->a + kept * p->oc * f->size,
                                          to - at * f->size, moved};
        to += moved * step;
        if (kept == 0) {
            *run = copy;
            continue;
        }
        run->n = kept;
        memmove(run + 2, run + 1, (size_t)(runs - r - 1) * sizeof *run);
        run[1] = copy;
        runs++;
    }
    return runs;
}

/* No output reads the image at this tap, so far: the sums begin with zeros. */
static void clear_tap(const struct implicit_filter_job *job, const struct implicit_filter_part *k,
                      int64_t tap)
{
    const struct implicit_filter *f = job->f;
    for (int64_t o = k->o0; o < k->o1; o++)
        memset(job->out + (((k->g * f->ocg + o) * f->taps + tap) * f->icg + k->c0) * f->size, 0,
               (size_t)((k->c1 - k->c0) * f->size));
}

void cvp_conv_implicit_filter_add_last(const struct implicit_filter_job *job,
                                       const struct implicit_filter_part *k)
{
    const int is_first = k->n == 0 && k->r0 == 0;
    const struct implicit_filter *f = job->f;
    const convop_conv_problem *p = f->p;
    const struct implicit_filter_operand dst = {
        job->diff_dst +
            ((k->n * cvp_conv_dst_pixels(p) + k->r0 * p->ow) * p->oc + k->g * f->ocg + k->o0) *
                f->size,
        p->oc};
    const struct implicit_filter_operand src = {
        job->src + (k->n * cvp_conv_src_pixels(p) * p->ic + k->g * f->icg + k->c0) * f->size,
        p->ic};
    const int64_t rows = k->o1 - k->o0, columns = k->c1 - k->c0;
    for (int64_t tap = k->t0; tap < k->t1; tap++) {
        int64_t runs = cvp_conv_implicit_filter_runs(f, k, tap, dst, src, 0);
        if (runs == 0) {
            if (is_first && !p->add) clear_tap(job, k, tap);
            continue;
        }
        for (int64_t j = 0; j < columns; j += f->columns) {
            const int width = (int)cvp_min_i64(f->columns, columns - j);
            if (width % f->kernels->lanes) runs = guard_tail(job, k, runs, j, width);
            const struct cvp_tile_args t = {
                .runs = k->runs,
                .num_runs = runs,
                .b_at = j,
                .a_row = 1,
                .a_col = p->oc,
                .b_row = f->step * p->ic,
                .c = job->out +
                     (((k->g * f->ocg + k->o0) * f->taps + tap) * f->icg + k->c0 + j) * f->size,
                .c_row = f->taps * f->icg,
                .add = p->add || !is_first};
            cvp_tile_run_rows(f->kernels, &t, rows, width);
        }
    }
}

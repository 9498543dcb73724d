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

/* Where the sums of a tap and channels from j on lie: in the output, or as numbers until all are
 * there. */
struct sums {
    char *at;
    int64_t row; /* from one output channel to the next */
    int add;     /* to what is there, in the first chunk too */
};

static struct sums sums_of(const struct implicit_filter_job *job,
                           const struct implicit_filter_part *k, int64_t tap, int64_t j)
{
    const struct implicit_filter *f = job->f;
    if (f->converts)
        return (struct sums){k->sums + ((tap - k->t0) * f->in_pitch + j) * f->size,
                             f->tap_block * f->in_pitch, 1};
    const int64_t at = ((k->g * f->ocg + k->o0) * f->taps + tap) * f->icg + k->c0 + j;
    return (struct sums){job->out + at * f->size, f->taps * f->icg, f->p->add};
}

void cvp_conv_implicit_filter_add_last(const struct implicit_filter_job *job,
                                       const struct implicit_filter_part *k)
{
    const int is_first = k->n == 0 && k->r0 == 0;
    const struct implicit_filter *f = job->f;
    const convop_conv_problem *p = f->p;
    const struct implicit_filter_operands in = cvp_conv_implicit_filter_operands(job, k);
    const int64_t rows = k->o1 - k->o0, columns = k->c1 - k->c0;
    for (int64_t tap = k->t0; tap < k->t1; tap++) {
        int64_t runs = cvp_conv_implicit_filter_runs(f, k, tap, in.dst, in.src, 0);
        if (runs == 0) {
            if (is_first && !p->add && !f->converts) clear_tap(job, k, tap);
            continue;
        }
        for (int64_t j = 0; j < columns; j += f->columns) {
            const int width = (int)cvp_min_i64(f->columns, columns - j);
            if (width % f->kernels->lanes && !f->converts)
                runs = guard_tail(job, k, runs, j, width);
            const struct sums sums = sums_of(job, k, tap, j);
            const struct cvp_tile_args t = {.runs = k->runs,
                                            .num_runs = runs,
                                            .b_at = j,
                                            .a_row = 1,
                                            .a_col = in.dst.pixel,
                                            .b_row = f->step * in.src.pixel,
                                            .c = sums.at,
                                            .c_row = sums.row,
                                            .stored = cvp_conv_numbers(p),
                                            .add = sums.add || !is_first};
            cvp_tile_run_rows(f->kernels, &t, rows, width);
        }
    }
}

void cvp_conv_implicit_filter_put_last(const struct implicit_filter_job *job,
                                       const struct implicit_filter_part *k)
{
    const struct implicit_filter *f = job->f;
    for (int64_t o = k->o0; o < k->o1; o++)
        f->stored->store(job->out + (((k->g * f->ocg + o) * f->taps + k->t0) * f->icg + k->c0) *
                                        f->stored->size,
                         f->icg, 1, k->sums + (o - k->o0) * f->tap_block * f->in_pitch * f->size,
                         f->in_pitch, k->t1 - k->t0, k->c1 - k->c0, f->p->add);
}

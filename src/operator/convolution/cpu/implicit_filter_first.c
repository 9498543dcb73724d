/* The row `implicit`, backward by weights, for NC*: planes of src are broadcast, and diff_dst is
 * packed into panels of output channels side by side. So the sums are transposed. */
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/operator/convolution/cpu/implicit.h"
#include "src/operator/convolution/cpu/implicit_filter.h"

void cvp_conv_implicit_filter_add_first(const struct implicit_filter_job *job,
                                        const struct implicit_filter_part *k)
{
    const struct implicit_filter *f = job->f;
    const convop_conv_problem *p = f->p;
    const int64_t pixels = (k->r1 - k->r0) * p->ow, plane = cvp_conv_dst_pixels(p);
    const int64_t stored = f->stored->size;
    const int64_t out = k->o1 - k->o0, rows = k->c1 - k->c0;
    const int64_t panels = cvp_ceil_div(out, f->columns);
    cvp_gemm_pack *pack = cvp_stored_pack_b(cvp_conv_stored_type(p), (enum cvp_isa)p->isa);
    int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
    for (int64_t j = 0; j < panels; j++)
        pack(k->panel + j * pixels * f->columns * f->size, (int)f->columns,
             (int)cvp_min_i64(f->columns, out - j * f->columns), pixels,
             job->diff_dst +
                 ((k->n * p->oc + k->g * f->ocg + k->o0 + j * f->columns) * plane + k->r0 * p->ow) *
                     stored,
             plane, 1);
    cvp_stage_leave(outer);
    const struct implicit_filter_operand dst = {k->panel, f->columns};
    const struct implicit_filter_operands in = cvp_conv_implicit_filter_operands(job, k);
    for (int64_t tap = k->t0; tap < k->t1; tap++) {
        const int64_t runs = cvp_conv_implicit_filter_runs(f, k, tap, dst, in.src, 1);
        if (runs == 0) continue;
        for (int64_t j = 0; j < panels; j++) {
            const struct cvp_tile_args t = {
                .runs = k->runs,
                .num_runs = runs,
                .b_at = j * pixels * f->columns,
                .a_row = in.plane,
                .a_col = f->step,
                .b_row = f->columns,
                .c = k->sums + ((tap - k->t0) * f->in_block * f->pitch + j * f->columns) * f->size,
                .c_row = f->pitch,
                .stored = cvp_conv_numbers(p),
                .add = 1};
            cvp_tile_run_rows(f->kernels, &t, rows, (int)f->columns);
        }
    }
}

/* Elements of a filter, and filters, that are transposed at a time. */
#define TURNED 32

#define LOOPS "src/operator/convolution/cpu/implicit_filter_loops.h"
#include "src/operator/convolution/cpu/types.h"

void cvp_conv_implicit_filter_put_first(const struct implicit_filter_job *job,
                                        const struct implicit_filter_part *k)
{
    static void (*const put[])(const struct implicit_filter_job *,
                               const struct implicit_filter_part *) = CONV_INSTANCES(put_sums);
    put[cvp_conv_stored_type(job->f->p)](job, k);
}

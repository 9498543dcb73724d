/* Products of matrices: copies, blocks, lanes. */
#include "src/operator/fully_connected/product.h"

#include "src/common/alloc.h"
#include "src/common/settings.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/operator/common.h"
#include "src/operator/copy.h"

/* A task's share of c. It follows from the problem alone, so that no result depends on threads. */
#define MAX_SIDE 512
#define MIN_SIDE 32

struct fc_matrix cvp_fc_matrix(const DLTensor *t, int split)
{
    return (struct fc_matrix){cvp_group_of(t, 0, split), cvp_group_of(t, split, t->ndim)};
}

struct fc_matrix cvp_fc_transposed(struct fc_matrix m)
{
    return (struct fc_matrix){m.columns, m.rows};
}

/* A side that the GEMM reads where it lies, or a copy of it; 0 if a copy would be too large. */
static int set_side(struct fc_side *side, struct fc_matrix m, size_t size, int unit_columns)
{
    side->at = m;
    side->copy_bytes = 0;
    side->row = m.rows.stride[0];
    side->column = m.columns.stride[0];
    int fits = m.rows.ndim == 1 && m.columns.ndim == 1;
    if (fits && (!unit_columns || side->column == 1 || m.columns.size == 1)) return 1;
    side->row = m.columns.size;
    side->column = 1;
    size_t bytes;
    if (!cvp_mul_size((size_t)(m.rows.size * m.columns.size), size, &bytes) ||
        bytes > SIZE_MAX - CVP_BUFFER_ALIGN)
        return 0;
    side->copy_bytes = cvp_round_up(bytes, CVP_BUFFER_ALIGN);
    return 1;
}

static void cut(struct fc_product *p)
{
    p->tasks = cvp_ceil_div(p->m, p->m_block) * cvp_ceil_div(p->n, p->n_block);
}

static void set_blocks(struct fc_product *p)
{
    p->m_block = cvp_min_i64(p->m, MAX_SIDE);
    p->n_block = cvp_min_i64(p->n, MAX_SIDE);
    cut(p);
    while (p->tasks < CVP_GEMM_MIN_TASKS) {
        int64_t *side = p->m_block >= p->n_block ? &p->m_block : &p->n_block;
        if (*side <= MIN_SIDE) break;
        *side = cvp_max_i64(MIN_SIDE, cvp_ceil_div(*side, 2));
        cut(p);
    }
}

/* Lanes in what the copies leave of the limit; none if not even one fits. */
static void set_lanes(struct fc_product *p, int threads, size_t limit)
{
    size_t size = p->dtype.bits / 8, copies = 0;
    p->lanes.lanes = 0;
    if (!set_side(&p->a, p->a.at, size, 0) || !set_side(&p->b, p->b.at, size, 0) ||
        !set_side(&p->c, p->c.at, size, 1) ||
        !cvp_add_size(p->a.copy_bytes, p->b.copy_bytes, &copies) ||
        !cvp_add_size(copies, p->c.copy_bytes, &copies) || copies > limit)
        return;
    p->lanes = cvp_gemm_lanes_for(&p->gemm, threads, limit - copies, p->tasks, 0, p->m_block,
                                  p->n_block, p->k);
    if (p->lanes.lanes > 0) p->bytes = copies + cvp_gemm_lanes_bytes(&p->lanes);
}

convop_status cvp_fc_product_init(struct fc_product *p, struct fc_matrix a, struct fc_matrix b,
                                  struct fc_matrix c, const DLTensor *bias,
                                  const convop_op_args *args, DLDataType dtype, int add)
{
    enum cvp_isa isa;
    int deterministic, threads = cvp_lanes(args->context);
    CVP_RETURN_IF_ERROR(cvp_isa_in_use(&isa));
    CVP_RETURN_IF_ERROR(cvp_setting_int(CVP_SETTING_DETERMINISTIC, &deterministic));
    *p = (struct fc_product){.m = c.rows.size,
                             .n = c.columns.size,
                             .k = a.columns.size,
                             .dtype = dtype,
                             .add = add,
                             .has_bias = bias != NULL,
                             .a.at = a,
                             .b.at = b,
                             .c.at = c};
    if (bias) cvp_tensor_strides(bias, &p->bias_stride);
    if (p->m == 0 || p->n == 0 || p->k == 0) return CONVOP_OK;
    p->gemm = cvp_gemm_choose(dtype.bits == 64 ? CVP_F64 : CVP_F32, isa, threads, deterministic);
    set_blocks(p);
    set_lanes(p, threads, args->workspace_limit);
    return CONVOP_OK;
}

/* Copies a side into its compact form, or back. */
static void copy_side(const struct fc_product *p, const struct fc_side *side, void *to,
                      int to_compact, const void *from, const convop_context *context)
{
    int64_t sizes[2 * CONVOP_MAX_DIMS], dense[2 * CONVOP_MAX_DIMS], strides[2 * CONVOP_MAX_DIMS];
    int n = 0;
    const struct cvp_group *groups[] = {&side->at.rows, &side->at.columns};
    for (int g = 0; g < 2; g++)
        for (int d = 0; d < groups[g]->ndim; d++) {
            sizes[n] = groups[g]->dim[d];
            strides[n++] = groups[g]->stride[d];
        }
    int64_t span = 1;
    for (int i = n - 1; i >= 0; i--) {
        dense[i] = span;
        span *= sizes[i];
    }
    cvp_copy_strided(context, n, sizes, to, to_compact ? dense : strides, p->dtype, from,
                     to_compact ? strides : dense, p->dtype);
}

struct job {
    const struct fc_product *product;
    const char *a, *b, *bias;
    char *c;
};

#define T          float
#define NAME(name) name##_f32
#include "src/operator/fully_connected/product_loops.h"
#undef T
#undef NAME
#define T          double
#define NAME(name) name##_f64
#include "src/operator/fully_connected/product_loops.h"
#undef T
#undef NAME

static void run_task(const void *job_, int64_t task, void *own, void *scratch)
{
    (void)own;
    const struct job *job = job_;
    const struct fc_product *p = job->product;
    int64_t size = p->dtype.bits / 8, across = cvp_ceil_div(p->n, p->n_block);
    int64_t i0 = task / across * p->m_block, j0 = task % across * p->n_block;
    struct cvp_gemm gemm = {.m = cvp_min_i64(p->m_block, p->m - i0),
                            .n = cvp_min_i64(p->n_block, p->n - j0),
                            .k = p->k,
                            .a = job->a + i0 * p->a.row * size,
                            .a_row = p->a.row,
                            .a_col = p->a.column,
                            .b = job->b + j0 * p->b.column * size,
                            .b_row = p->b.row,
                            .b_col = p->b.column,
                            .c = job->c + (i0 * p->c.row + j0) * size,
                            .c_row = p->c.row,
                            .accumulate = p->add || p->has_bias};
    if (p->has_bias)
        (size == 8 ? set_bias_f64 : set_bias_f32)(p, job->bias + j0 * p->bias_stride * size, gemm.m,
                                                  gemm.n, gemm.c);
    cvp_gemm_multiply(&p->gemm, &gemm, scratch);
}

/* Where a side's copy is in the workspace; NULL if there is none. */
static void *take_copy(const struct fc_side *side, char **workspace)
{
    if (!side->copy_bytes) return NULL;
    void *copy = *workspace;
    *workspace += side->copy_bytes;
    return copy;
}

void cvp_fc_product_run(const struct fc_product *p, const void *a, const void *b, const void *bias,
                        void *c, const convop_context *context, void *workspace_)
{
    if (p->m == 0 || p->n == 0) return;
    if (p->lanes.lanes == 0) {
        struct job job = {p, a, b, bias, c};
        cvp_parallel(context, p->m * p->n, p->dtype.bits == 64 ? plain_f64 : plain_f32, &job);
        return;
    }
    char *workspace = workspace_;
    void *a_copy = take_copy(&p->a, &workspace), *b_copy = take_copy(&p->b, &workspace);
    void *c_copy = take_copy(&p->c, &workspace);
    if (a_copy) copy_side(p, &p->a, a_copy, 1, a, context);
    if (b_copy) copy_side(p, &p->b, b_copy, 1, b, context);
    if (c_copy && p->add) copy_side(p, &p->c, c_copy, 1, c, context);
    struct job job = {p, a_copy ? a_copy : a, b_copy ? b_copy : b, bias, c_copy ? c_copy : c};
    cvp_gemm_run_tasks(context, &p->lanes, p->tasks, run_task, &job, workspace);
    if (c_copy) copy_side(p, &p->c, c, 0, c_copy, context);
}

/* Layout, cut and workspace of BatchNorm. */
#include "src/operator/batch_norm/plan.h"

#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/common/status.h"

/* Elements of a block: 16 KB of float32, twice for the backward pass. */
#define BLOCK 4096
/* Small planes share a block of at least so many elements: joining blocks has its price, and fewer
 * planes at a time keep to the order of memory. */
#define MIN_BLOCK 512
/* Rows of a block at least, so that the arithmetic of joining blocks does not count. */
#define MIN_ROWS 8
/* Items that a parallel loop over channels and parts should have at least. */
#define ITEMS 64
/* For rows each part has sums of all channels: as many, but of some blocks each. */
#define MAX_ROW_PARTS 32
#define PART_BLOCKS   4
/* A table for few channels is repeated up to this length, for the vectoriser. */
#define MIN_PERIOD 128

/* Sizes in the order of memory, which is that of falling strides. 0 if the tensors have gaps, or
 * orders that differ. */
static int set_layout(struct bn_plan *plan, int axis, int num, const DLTensor *const *tensors)
{
    const DLTensor *t = tensors[0];
    int64_t strides[CONVOP_MAX_DIMS], next = 1;
    int order[CONVOP_MAX_DIMS], n = 0;
    cvp_tensor_strides(t, strides);
    for (int d = 0; d < t->ndim; d++) {
        if (t->shape[d] == 1) continue;
        int at = n++;
        for (; at > 0 && strides[d] > strides[order[at - 1]]; at--) order[at] = order[at - 1];
        order[at] = d;
    }
    plan->outer = plan->inner = 1;
    int seen = 0; /* never with one channel: then all of it is inner */
    for (int i = n - 1; i >= 0; i--) {
        int d = order[i];
        if (strides[d] != next) return 0;
        next *= t->shape[d];
        if (d == axis)
            seen = 1;
        else if (seen)
            plan->outer *= t->shape[d];
        else
            plan->inner *= t->shape[d];
    }
    for (int k = 1; k < num; k++) {
        int64_t other[CONVOP_MAX_DIMS];
        cvp_tensor_strides(tensors[k], other);
        for (int i = 0; i < n; i++)
            if (other[order[i]] != strides[order[i]]) return 0;
    }
    return 1;
}

static void cut_planes(struct bn_plan *p)
{
    p->block_inner = cvp_min_i64(p->inner, BLOCK);
    p->plane_blocks = cvp_ceil_div(p->inner, p->block_inner);
    p->block_planes = cvp_min_i64(cvp_ceil_div(MIN_BLOCK, p->inner), p->outer);
    p->blocks = p->plane_blocks * cvp_ceil_div(p->outer, p->block_planes);
    p->parts = cvp_min_i64(p->blocks, cvp_max_i64(ITEMS / p->channels, 1));
}

static void cut_rows(struct bn_plan *p)
{
    p->block_rows = cvp_min_i64(cvp_max_i64(BLOCK / p->channels, MIN_ROWS), p->outer);
    p->blocks = cvp_ceil_div(p->outer, p->block_rows);
    p->parts = cvp_min_i64(cvp_max_i64(p->blocks / PART_BLOCKS, 1), MAX_ROW_PARTS);
    p->period = p->channels * cvp_max_i64(MIN_PERIOD / p->channels, 1);
}

/* Adds n * size bytes at a boundary of its own. 0 on overflow. */
static int add_bytes(size_t *total, size_t *at, int64_t n, int64_t k, size_t size)
{
    size_t bytes;
    *at = cvp_round_up(*total, CVP_BUFFER_ALIGN);
    return cvp_mul_size((size_t)n, (size_t)k, &bytes) && cvp_mul_size(bytes, size, &bytes) &&
           *at >= *total && cvp_add_size(*at, bytes, total);
}

/* Sums that lie a multiple of a page apart are taken for each other by processors that compare
 * addresses by their last 12 bits, so many channels are padded: then no two of up to four kinds
 * are near such a multiple. Few channels lie in one page altogether. */
#define PAGE_DOUBLES 512
#define BESIDE       136

static int set_sums_step(struct bn_plan *p)
{
    p->sums_step = p->channels;
    if (p->channels <= PAGE_DOUBLES / 4) return 1;
    int64_t past = p->channels % PAGE_DOUBLES, pad = (BESIDE - past + PAGE_DOUBLES) % PAGE_DOUBLES;
    return cvp_add_i64(p->channels, pad, &p->sums_step);
}

/* Coefficients of the channels; sums of each part; tables for rows. */
static int set_workspace(struct bn_plan *p, size_t *bytes)
{
    int64_t of_part; /* doubles of one part: two sums a channel, for rows the block's too */
    *bytes = 0;
    if (!set_sums_step(p) || !cvp_mul_i64(p->sums_step, p->inner == 1 ? 4 : 2, &of_part)) return 0;
    p->sums_of_part = (size_t)of_part * sizeof(double);
    return add_bytes(bytes, &p->coef_at, p->channels, BN_COEFS, sizeof(double)) &&
           add_bytes(bytes, &p->sums_at, of_part, p->parts, sizeof(double)) &&
           add_bytes(bytes, &p->table_at, p->period, BN_COEFS, (size_t)p->element_size);
}

convop_status cvp_bn_plan_init(struct bn_plan *p, const convop_op_args *args, int num,
                               const DLTensor *const *tensors, size_t *workspace_bytes)
{
    const DLTensor *t = tensors[0];
    int axis = cvp_bn_axis(args->params, t->ndim);
    *p = (struct bn_plan){.is_double = t->dtype.bits == 64,
                          .element_size = (int64_t)cvp_dtype_size(t->dtype),
                          .elements = cvp_tensor_elements(t),
                          .channels = t->shape[axis]};
    *workspace_bytes = 0;
    enum cvp_isa isa = CVP_ISA_BASELINE;
    CVP_RETURN_IF_ERROR(cvp_isa_in_use(&isa));
    if (p->elements == 0) return CONVOP_OK;
    p->count = p->elements / p->channels;
    if (!set_layout(p, axis, num, tensors)) return CONVOP_OK;
    if (p->inner == 1)
        cut_rows(p);
    else
        cut_planes(p);
    size_t bytes;
    if (!set_workspace(p, &bytes) || bytes > args->workspace_limit) return CONVOP_OK;
    *workspace_bytes = bytes;
    p->kernels = cvp_bn_kernels(p->is_double, isa);
    return CONVOP_OK;
}

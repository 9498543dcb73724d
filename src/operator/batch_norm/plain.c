/* Plain loops over the lines of one channel; sums and results in double, rounded once. */
#include "src/operator/batch_norm/plain.h"

#include "src/operator/common.h"

void cvp_bn_channel_init(struct bn_channel *channel, const DLTensor *t, int axis, int64_t c)
{
    int64_t strides[CONVOP_MAX_DIMS];
    int n = 0;
    cvp_tensor_strides(t, strides);
    for (int d = 0; d < t->ndim; d++) {
        if (d == axis) continue;
        channel->shape[n] = t->shape[d];
        channel->strides[n++] = strides[d];
    }
    channel->tensor = *t;
    channel->tensor.ndim = n;
    channel->tensor.shape = channel->shape;
    channel->tensor.strides = channel->strides;
    channel->tensor.byte_offset += (uint64_t)(c * strides[axis]) * cvp_dtype_size(t->dtype);
}

struct job {
    double mean, sum, product; /* sums are added to */
    const double *coef;
    int add;
};

#define T       float
#define NAME(x) x##_f32
#include "src/operator/batch_norm/plain_lines.h"
#undef T
#undef NAME

#define T       double
#define NAME(x) x##_f64
#include "src/operator/batch_norm/plain_lines.h"
#undef T
#undef NAME

static void run(int num, const DLTensor *const *tensors, cvp_line_body *f32, cvp_line_body *f64,
                struct job *job)
{
    cvp_elementwise_here(num, tensors, tensors[0]->dtype.bits == 64 ? f64 : f32, job);
}

void cvp_bn_plain_moments(const DLTensor *x, double m[2])
{
    struct job job = {0};
    run(1, &x, sum_f32, sum_f64, &job);
    job.mean = job.sum / (double)cvp_tensor_elements(x);
    run(1, &x, squares_f32, squares_f64, &job);
    m[0] = job.mean;
    m[1] = job.product;
}

void cvp_bn_plain_products(const DLTensor *dy, const DLTensor *x, double mean, double s[2])
{
    struct job job = {.mean = mean, .sum = s[0], .product = s[1]};
    run(2, (const DLTensor *const[]){dy, x}, products_f32, products_f64, &job);
    s[0] = job.sum;
    s[1] = job.product;
}

void cvp_bn_plain_scale(const DLTensor *y, const DLTensor *x, const double *coef, int add)
{
    struct job job = {.coef = coef, .add = add};
    run(2, (const DLTensor *const[]){y, x}, scale_f32, scale_f64, &job);
}

void cvp_bn_plain_diff(const DLTensor *dx, const DLTensor *dy, const DLTensor *x,
                       const double *coef, int add)
{
    struct job job = {.coef = coef, .add = add};
    if (x)
        run(3, (const DLTensor *const[]){dx, dy, x}, diff_f32, diff_f64, &job);
    else
        run(2, (const DLTensor *const[]){dx, dy}, diff_scaled_f32, diff_scaled_f64, &job);
}

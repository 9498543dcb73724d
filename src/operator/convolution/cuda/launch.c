/* What all ways to launch CUDA kernels share; see launch.h. */
#include "src/operator/convolution/cuda/launch.h"

#include <math.h>

#include "src/common/size.h"

#define THREADS 256

const char *cvp_cuda_kernel_name(enum cvp_cuda_kernel kernel)
{
    static const char *const names[] = {
#define CUDA_KERNEL(name, args, threads, body) "cvp_" #name,
#include "src/operator/convolution/cuda/kernel_list.h"
#undef CUDA_KERNEL
    };
    return names[kernel];
}

struct cvp_cuda_finish cvp_cuda_finish_of(const convop_conv_problem *p,
                                          const struct cvp_cuda_operands *t)
{
    const int six = p->activation == CONVOP_ACTIVATION_RELU6;
    return (struct cvp_cuda_finish){.bias = p->bias ? t->bias : NULL,
                                    .residual = p->residual ? t->residual : NULL,
                                    .bias_stride = p->bias_stride,
                                    .add = p->add,
                                    .clamps = p->activation != CONVOP_ACTIVATION_NONE,
                                    .high = six ? 6 : INFINITY};
}

int cvp_cuda_sizes_fit(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    const int64_t most = 1 << 28;
    const int64_t sizes[] = {p->ic,
                             p->oc,
                             p->id,
                             p->ih,
                             p->iw,
                             p->od,
                             p->oh,
                             p->ow,
                             p->kd,
                             p->kh,
                             p->kw,
                             p->sd,
                             p->sh,
                             p->sw,
                             p->pd,
                             p->ph,
                             p->pw,
                             (p->kd - 1) * p->dd,
                             (p->kh - 1) * p->dh,
                             (p->kw - 1) * p->dw};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i] > most)
            return cvp_conv_refuse(why, "a size is %lld, it counts to %lld", (long long)sizes[i],
                                   (long long)most);
    return 1;
}

/* Elements of the gradient of weights or bias. */
static int64_t elements(const convop_conv_problem *p)
{
    return p->direction == CONVOP_BWD_B ? p->oc : p->oc * (p->ic / p->g) * cvp_conv_taps(p);
}

size_t cvp_cuda_parts_bytes(const convop_conv_problem *p, int64_t parts)
{
    size_t bytes = cvp_cuda_sum_size(p);
    return cvp_mul_size(bytes, (size_t)elements(p), &bytes) &&
                   cvp_mul_size(bytes, (size_t)parts, &bytes)
               ? bytes
               : SIZE_MAX;
}

int64_t cvp_cuda_most_parts(const convop_conv_problem *p)
{
    const size_t most = p->workspace_limit / cvp_cuda_parts_bytes(p, 1);
    return most > INT32_MAX ? INT32_MAX : (int64_t)most;
}

void cvp_cuda_reduce_step(const convop_conv_problem *p, const struct cvp_cuda_operands *t,
                          int64_t parts, struct cvp_cuda_step *s)
{
    const int is_bias = p->direction == CONVOP_BWD_B;
    const int64_t count = elements(p);
    *s = (struct cvp_cuda_step){.kernel =
                                    (enum cvp_cuda_kernel)(CVP_CUDA_reduce_f32 + cvp_cuda_type(p)),
                                .grid = {(unsigned)cvp_ceil_div(count, THREADS), 1, 1},
                                .threads = THREADS,
                                .args.reduce = {.sums = t->workspace,
                                                .out = t->out,
                                                .out_stride = cvp_cuda_strides_of(&p->weights),
                                                .count = count,
                                                .parts = parts,
                                                .c = cvp_cuda_divide_by(is_bias ? 1 : p->ic / p->g),
                                                .d = cvp_cuda_divide_by(is_bias ? 1 : p->kd),
                                                .h = cvp_cuda_divide_by(is_bias ? 1 : p->kh),
                                                .w = cvp_cuda_divide_by(is_bias ? 1 : p->kw),
                                                .add = p->add}};
    if (is_bias) s->args.reduce.out_stride.n = p->bias_stride;
}

/* The rows of convop's own CUDA kernels: `depthwise`, `gemm`, and `reduce` for the bias gradient.
 * They have no estimate: until something is measured the order of impl_list.h is the rule,
 * depthwise, then cuDNN, then gemm. */
#include "src/common/status.h"
#include "src/operator/convolution/cuda/module.h"
#include "src/operator/convolution/impl.h"

static int takes(const struct cvp_cuda_way *way, const convop_conv_problem *p,
                 char why[CONVOP_WHY_SIZE])
{
    const char *reason;
    if (cvp_cuda_has_kernels(&reason)) return way->takes(p, why);
    snprintf(why, CONVOP_WHY_SIZE, "no CUDA kernels: %s", reason);
    return 0;
}

static int depthwise_applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    if (!p->depthwise_conv_off) return takes(&cvp_cuda_depthwise, p, why);
    snprintf(why, CONVOP_WHY_SIZE, "depthwise_conv_off is set");
    return 0;
}

static int gemm_applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    return takes(&cvp_cuda_gemm, p, why);
}

static int reduce_applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    return takes(&cvp_cuda_bias, p, why);
}

static convop_status run(const struct cvp_cuda_way *way, const convop_conv_problem *p,
                         const convop_conv_operands *t, void *workspace)
{
    const struct cvp_cuda_operands operands = {.src = t->src,
                                               .weights = t->weights,
                                               .bias = t->bias,
                                               .dst = t->dst,
                                               .residual = t->residual,
                                               .out = t->out,
                                               .workspace = workspace};
    const size_t bytes = way->workspace(p);
    if (bytes && !workspace)
        return convop_fail(CONVOP_E_NO_MEMORY,
                           "Convolution: no memory on the GPU for %zu bytes of workspace", bytes);
    struct cvp_gpu_scope scope;
    CVP_RETURN_IF_ERROR(cvp_gpu_enter(p->gpu, t->stream, &scope));
    convop_status status = CONVOP_OK;
    for (int64_t i = 0; i < way->steps(p) && status == CONVOP_OK; i++) {
        struct cvp_cuda_step step;
        way->step(p, &operands, i, &step);
        status = cvp_cuda_launch(&scope, &step);
    }
    cvp_gpu_leave(&scope);
    return status;
}

static convop_status depthwise_run(const convop_conv_problem *p, const convop_conv_operands *t,
                                   const convop_context *context, void *workspace)
{
    (void)context;
    return run(&cvp_cuda_depthwise, p, t, workspace);
}

static convop_status gemm_run(const convop_conv_problem *p, const convop_conv_operands *t,
                              const convop_context *context, void *workspace)
{
    (void)context;
    return run(&cvp_cuda_gemm, p, t, workspace);
}

static convop_status reduce_run(const convop_conv_problem *p, const convop_conv_operands *t,
                                const convop_context *context, void *workspace)
{
    (void)context;
    return run(&cvp_cuda_bias, p, t, workspace);
}

static size_t depthwise_workspace(const convop_conv_problem *p)
{
    return cvp_cuda_depthwise.workspace(p);
}

static size_t gemm_workspace(const convop_conv_problem *p)
{
    return cvp_cuda_gemm.workspace(p);
}

static size_t reduce_workspace(const convop_conv_problem *p)
{
    return cvp_cuda_bias.workspace(p);
}

/* The residual is found by the offset in dst. */
static int fuses(const convop_conv_problem *p)
{
    const convop_conv_strides *d = &p->dst, *r = &p->residual_strides;
    return !p->residual ||
           (d->n == r->n && d->c == r->c && d->d == r->d && d->h == r->h && d->w == r->w);
}

#define ROW(way, suffix, dir)                                                                      \
    extern const convop_conv_impl cvp_conv_cuda_##way##_##suffix;                                  \
    const convop_conv_impl cvp_conv_cuda_##way##_##suffix = {                                      \
        .struct_size = sizeof(convop_conv_impl),                                                   \
        .name = #way,                                                                              \
        .direction = (dir),                                                                        \
        .version = 1,                                                                              \
        .level = CONVOP_LEVEL_BUILTIN,                                                             \
        .applicable = way##_applicable,                                                            \
        .workspace = way##_workspace,                                                              \
        .run = way##_run,                                                                          \
        .fuses = fuses,                                                                            \
        .device_type = kDLCUDA,                                                                    \
    }

ROW(depthwise, fwd, CONVOP_FWD);
ROW(depthwise, bwd_d, CONVOP_BWD_D);
ROW(depthwise, bwd_w, CONVOP_BWD_W);
ROW(gemm, fwd, CONVOP_FWD);
ROW(gemm, bwd_d, CONVOP_BWD_D);
ROW(gemm, bwd_w, CONVOP_BWD_W);
ROW(reduce, bwd_b, CONVOP_BWD_B);

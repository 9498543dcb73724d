/* The rows of convop's own CUDA kernels: `depthwise`, `gemm`, and `reduce` for the bias gradient.
 * Until something is measured the rule is depthwise, then cuDNN, then gemm: so `depthwise` alone
 * has an estimate, and comes before the others, whose order is that of impl_list.h. */
#include <string.h>

#include "src/common/status.h"
#include "src/operator/convolution/cuda/depthwise_cost.h"
#include "src/operator/convolution/cuda/module.h"
#include "src/operator/convolution/impl.h"

static int takes(const struct cvp_cuda_way *way, const convop_conv_problem *p,
                 char why[CONVOP_WHY_SIZE])
{
    const char *reason;
    if (cvp_cuda_has_kernels(&reason)) return way->takes(p, why);
    return cvp_conv_refuse(why, "no CUDA kernels: %s", reason);
}

static int depthwise_applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    if (!p->depthwise_conv_off) return takes(&cvp_cuda_depthwise, p, why);
    return cvp_conv_refuse(why, "depthwise_conv_off is set");
}

static int gemm_applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    return takes(&cvp_cuda_gemm, p, why);
}

static int reduce_applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    return takes(&cvp_cuda_bias, p, why);
}

/* ---- the state: how the problem is cut ---------------------------------------------------------
 */

/* NULL is tile 0, which needs no notes. */
static const struct tile {
    int number;
    const char *notes;
} tiles[CVP_CUDA_MOST_TILES] = {{0, ""}, {1, "tile=1"}, {2, "tile=2"}, {3, "tile=3"}};

static int tile_of(const void *state)
{
    return state ? ((const struct tile *)state)->number : 0;
}

static const char *notes(const void *state)
{
    return tiles[tile_of(state)].notes;
}

static convop_status begin(const struct cvp_cuda_way *way, const convop_conv_problem *p,
                           const char *kept, void **state, size_t *workspace_bytes)
{
    int numbers[CVP_CUDA_MOST_TILES];
    const int count = way->tiles(p, numbers);
    for (int i = 0; i < count; i++) {
        const struct tile *tile = &tiles[numbers[i]];
        if (strcmp(kept, tile->notes) != 0) continue;
        *state = tile->number ? (void *)(uintptr_t)tile : NULL;
        *workspace_bytes = way->workspace(p, tile->number);
        return CONVOP_OK;
    }
    return convop_fail(CONVOP_E_UNSUPPORTED, "Convolution: the problem has no cut \"%s\"", kept);
}

static void alternatives(const struct cvp_cuda_way *way, const convop_conv_problem *p, int most,
                         void (*visit)(void *user, const char *notes), void *user)
{
    int numbers[CVP_CUDA_MOST_TILES];
    const int count = way->tiles(p, numbers);
    for (int i = 0; i < count && i < most; i++) visit(user, tiles[numbers[i]].notes);
}

/* ---- running ------------------------------------------------------------------------------------
 */

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
    const int tile = tile_of(t->state);
    const size_t bytes = way->workspace(p, tile);
    if (bytes && !workspace)
        return convop_fail(CONVOP_E_NO_MEMORY,
                           "Convolution: no memory on the GPU for %zu bytes of workspace", bytes);
    struct cvp_gpu_scope scope;
    CVP_RETURN_IF_ERROR(cvp_gpu_enter(p->gpu, t->stream, &scope));
    convop_status status = CONVOP_OK;
    for (int64_t i = 0; i < way->steps(p, tile) && status == CONVOP_OK; i++) {
        struct cvp_cuda_step step;
        way->step(p, tile, &operands, i, &step);
        status = cvp_cuda_launch(&scope, &step);
    }
    cvp_gpu_leave(&scope);
    return status;
}

/* The residual is found by the offset in dst. */
static int fuses(const convop_conv_problem *p)
{
    const convop_conv_strides *d = &p->dst, *r = &p->residual_strides;
    return !p->residual ||
           (d->n == r->n && d->c == r->c && d->d == r->d && d->h == r->h && d->w == r->w);
}

/* The functions of a row for the way that it launches. */
#define FUNCTIONS(name, way)                                                                       \
    static convop_status name##_run(const convop_conv_problem *p, const convop_conv_operands *t,   \
                                    const convop_context *context, void *workspace)                \
    {                                                                                              \
        (void)context;                                                                             \
        return run(way, p, t, workspace);                                                          \
    }                                                                                              \
    static size_t name##_workspace(const convop_conv_problem *p)                                   \
    {                                                                                              \
        return (way)->workspace(p, 0);                                                             \
    }                                                                                              \
    static convop_status name##_begin(const convop_conv_problem *p, const char *kept,              \
                                      void **state, size_t *workspace_bytes)                       \
    {                                                                                              \
        return begin(way, p, kept, state, workspace_bytes);                                        \
    }                                                                                              \
    static void name##_alternatives(const convop_conv_problem *p, int most,                        \
                                    void (*visit)(void *user, const char *notes), void *user)      \
    {                                                                                              \
        alternatives(way, p, most, visit, user);                                                   \
    }

FUNCTIONS(depthwise, &cvp_cuda_depthwise)
FUNCTIONS(gemm, &cvp_cuda_gemm)
FUNCTIONS(reduce, &cvp_cuda_bias)

#define ROW(way, suffix, dir, time)                                                                \
    extern const convop_conv_impl cvp_conv_cuda_##way##_##suffix;                                  \
    const convop_conv_impl cvp_conv_cuda_##way##_##suffix = {                                      \
        .struct_size = sizeof(convop_conv_impl),                                                   \
        .name = #way,                                                                              \
        .direction = (dir),                                                                        \
        .version = 2,                                                                              \
        .level = CONVOP_LEVEL_BUILTIN,                                                             \
        .applicable = way##_applicable,                                                            \
        .workspace = way##_workspace,                                                              \
        .run = way##_run,                                                                          \
        .estimate = (time),                                                                        \
        .fuses = fuses,                                                                            \
        .device_type = kDLCUDA,                                                                    \
        .begin = way##_begin,                                                                      \
        .notes = notes,                                                                            \
        .alternatives = way##_alternatives,                                                        \
    }

ROW(depthwise, fwd, CONVOP_FWD, cvp_dw_expected_ms);
ROW(depthwise, bwd_d, CONVOP_BWD_D, cvp_dw_expected_ms);
ROW(depthwise, bwd_w, CONVOP_BWD_W, cvp_dw_expected_ms);
ROW(gemm, fwd, CONVOP_FWD, NULL);
ROW(gemm, bwd_d, CONVOP_BWD_D, NULL);
ROW(gemm, bwd_w, CONVOP_BWD_W, NULL);
ROW(reduce, bwd_b, CONVOP_BWD_B, NULL);

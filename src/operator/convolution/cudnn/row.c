/* The rows `cudnn`, one for each direction: a plan of cuDNN as the row's state. */
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/cuda/handle.h"
#include "src/operator/convolution/cudnn/plan.h"
#include "src/operator/convolution/impl.h"

static int applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    const char *reason;
    if (p->cudnn_off) return cvp_conv_refuse(why, "cudnn_off is set");
    if (cvp_cudnn_get(&reason)) return 1;
    return cvp_conv_refuse(why, "no cuDNN: %s", reason);
}

static convop_status begin(const convop_conv_problem *p, const char *notes, void **state,
                           size_t *workspace_bytes)
{
    const char *why;
    int count;
    const struct cvp_cudnn *cudnn = cvp_cudnn_get(&why);
    struct conv_cudnn_plan *plan = cvp_calloc(1, sizeof *plan);
    if (!plan)
        return convop_fail(CONVOP_E_NO_MEMORY, "cuDNN: no memory for a plan, %zu bytes",
                           sizeof *plan);
    convop_status status = notes[0] ? cvp_conv_cudnn_restore(cudnn, p->gpu, p, notes, plan)
                                    : cvp_conv_cudnn_offer(cudnn, p->gpu, p, 1, plan, &count);
    if (status != CONVOP_OK) {
        cvp_free(plan);
        return status;
    }
    *state = plan;
    *workspace_bytes = plan->workspace;
    return CONVOP_OK;
}

static void end(void *state)
{
    cvp_conv_cudnn_plan_end(state);
    cvp_free(state);
}

/* Engines add one tensor beside the bias. */
static int fuses(const convop_conv_problem *p)
{
    return !(p->add && p->residual);
}

static void alternatives(const convop_conv_problem *p, int most,
                         void (*visit)(void *user, const char *notes), void *user)
{
    const char *why;
    int count = 0;
    struct conv_cudnn_plan *plans = cvp_calloc((size_t)most, sizeof *plans);
    if (!plans) return;
    if (cvp_conv_cudnn_offer(cvp_cudnn_get(&why), p->gpu, p, most, plans, &count) != CONVOP_OK)
        count = 0;
    for (int i = 0; i < count; i++) {
        visit(user, plans[i].json);
        cvp_conv_cudnn_plan_end(&plans[i]);
    }
    cvp_free(plans);
}

static const char *notes(const void *state)
{
    const struct conv_cudnn_plan *plan = state;
    return plan->json;
}

/* What a plan reads and writes, by the names in its graph. */
struct bindings {
    int64_t count, uids[6];
    void *pointers[6];
    const char *names[6];
};

static void bind(struct bindings *b, int64_t uid, const char *name, const void *pointer)
{
    b->uids[b->count] = uid;
    b->names[b->count] = name;
    b->pointers[b->count++] = (void *)(uintptr_t)pointer;
}

static void bind_all(struct bindings *b, const convop_conv_problem *p,
                     const convop_conv_operands *t)
{
    bind(b, CONV_UID_SRC, "src", p->direction == CONVOP_BWD_D ? t->out : t->src);
    bind(b, CONV_UID_WEIGHTS, "weights", p->direction == CONVOP_BWD_W ? t->out : t->weights);
    bind(b, CONV_UID_DST, "dst", p->direction == CONVOP_FWD ? t->out : t->dst);
    if (p->bias) bind(b, CONV_UID_BIAS, "bias", t->bias);
    if (p->add && (p->bias || cvp_conv_has_epilogue(p))) bind(b, CONV_UID_OLD, "dst", t->out);
    if (p->residual) bind(b, CONV_UID_RESIDUAL, "residual", t->residual);
}

static convop_status execute(const struct conv_cudnn_plan *plan, const struct bindings *bound,
                             struct cudnnContext *handle, void *workspace)
{
    struct cvp_backend b = cvp_backend_begin(plan->cudnn);
    void *pack = cvp_backend_make(&b, CVP_CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    cvp_backend_set(&b, pack, CVP_CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CVP_CUDNN_TYPE_INT64,
                    bound->count, bound->uids);
    cvp_backend_set(&b, pack, CVP_CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CVP_CUDNN_TYPE_VOID_PTR,
                    bound->count, bound->pointers);
    cvp_backend_set(&b, pack, CVP_CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CVP_CUDNN_TYPE_VOID_PTR, 1,
                    &workspace);
    cvp_backend_finalize(&b, pack, "the tensors of a call");
    convop_status status = b.status;
    if (status == CONVOP_OK)
        status = cvp_cudnn_status(plan->cudnn, plan->cudnn->execute(handle, plan->descriptor, pack),
                                  "running a plan");
    cvp_backend_end(&b);
    return status;
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *workspace)
{
    struct bindings bound = {.count = 0};
    struct cvp_gpu_scope scope;
    struct cvp_cudnn_handle *h;
    (void)context;
    bind_all(&bound, p, t);
    for (int64_t i = 0; i < bound.count; i++)
        if ((uintptr_t)bound.pointers[i] % CONV_CUDNN_ALIGNMENT)
            return convop_fail(CONVOP_E_UNSUPPORTED,
                               "Convolution: %s is at %p on the GPU, cuDNN wants a multiple of %d",
                               bound.names[i], bound.pointers[i], CONV_CUDNN_ALIGNMENT);
    CVP_RETURN_IF_ERROR(cvp_gpu_enter(p->gpu, t->stream, &scope));
    const struct conv_cudnn_plan *plan = t->state;
    convop_status status = cvp_cudnn_handle_take(plan->cudnn, &scope, &h);
    if (status == CONVOP_OK) {
        status = execute(plan, &bound, h->handle, workspace);
        cvp_cudnn_handle_give(h);
    }
    cvp_gpu_leave(&scope);
    return status;
}

#define ROW(suffix, way)                                                                           \
    extern const convop_conv_impl cvp_conv_cudnn_##suffix;                                         \
    const convop_conv_impl cvp_conv_cudnn_##suffix = {                                             \
        .struct_size = sizeof(convop_conv_impl),                                                   \
        .name = "cudnn",                                                                           \
        .direction = (way),                                                                        \
        .version = 1,                                                                              \
        .level = CONVOP_LEVEL_BUILTIN,                                                             \
        .applicable = applicable,                                                                  \
        .run = run,                                                                                \
        .device_type = kDLCUDA,                                                                    \
        .begin = begin,                                                                            \
        .end = end,                                                                                \
        .notes = notes,                                                                            \
        .fuses = fuses,                                                                            \
        .alternatives = alternatives,                                                              \
    }

ROW(fwd, CONVOP_FWD);
ROW(bwd_d, CONVOP_BWD_D);
ROW(bwd_w, CONVOP_BWD_W);

/* Making plans: from a configuration, and from the JSON of an earlier process.
 *
 * A file is not trusted: a plan from one could name tensors of other sizes than the caller's. So
 * only its engine and knobs are used, in a configuration of the caller's own graph. What runs in
 * the end was always finalised from JSON and refers to no other descriptor. */
#include "src/operator/convolution/cudnn/plan.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/status.h"

/* Engines have had up to ten knobs. */
#define MOST_KNOBS 32

void cvp_conv_cudnn_plan_end(struct conv_cudnn_plan *plan)
{
    cvp_backend_release(plan->cudnn, plan->descriptor);
    cvp_free(plan->json);
    *plan = (struct conv_cudnn_plan){0};
}

static void *load(struct cvp_backend *b, void *properties, const char *json)
{
    void *d = cvp_backend_make(b, CVP_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    cvp_backend_link(b, d, CVP_CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, properties);
    cvp_backend_set(b, d, CVP_CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CVP_CUDNN_TYPE_CHAR,
                    (int64_t)strlen(json), json);
    cvp_backend_finalize(b, d, "a plan that was kept");
    return d;
}

/* A descriptor that a get fills; a get needs one that is there. */
static void *get(struct cvp_backend *b, void *from, unsigned name, unsigned type)
{
    void *d = cvp_backend_make(b, type);
    if (b->status == CONVOP_OK &&
        cvp_backend_get(b->cudnn, from, name, CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d) != 1)
        b->status = convop_fail(CONVOP_E_UNSUPPORTED, "cuDNN: a plan lacks its engine");
    return d;
}

static int64_t engine_of(struct cvp_backend *b, void *plan)
{
    int64_t engine = -1;
    void *configuration = get(b, plan, CVP_CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                              CVP_CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    void *d =
        get(b, configuration, CVP_CUDNN_ATTR_ENGINECFG_ENGINE, CVP_CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    if (b->status == CONVOP_OK)
        (void)cvp_backend_get(b->cudnn, d, CVP_CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CVP_CUDNN_TYPE_INT64,
                              1, &engine);
    return engine;
}

convop_status cvp_conv_cudnn_build(const struct cvp_cudnn *cudnn, void *properties,
                                   void *configuration, struct conv_cudnn_plan *plan)
{
    struct cvp_backend b = cvp_backend_begin(cudnn);
    int64_t workspace = 0;
    *plan = (struct conv_cudnn_plan){.cudnn = cudnn};
    void *built = cvp_backend_make(&b, CVP_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    cvp_backend_link(&b, built, CVP_CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, properties);
    cvp_backend_link(&b, built, CVP_CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    cvp_backend_finalize(&b, built, "a plan");
    if (b.status == CONVOP_OK)
        b.status = cvp_backend_text(cudnn, built, CVP_CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                    &plan->json);
    if (b.status == CONVOP_OK) {
        void *loaded = load(&b, properties, plan->json);
        if (b.status == CONVOP_OK &&
            cvp_backend_get(cudnn, loaded, CVP_CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                            CVP_CUDNN_TYPE_INT64, 1, &workspace) != 1)
            b.status = convop_fail(CONVOP_E_UNSUPPORTED, "cuDNN: a plan has no workspace size");
        plan->engine = engine_of(&b, loaded);
        plan->workspace = workspace > 0 ? (size_t)workspace : 0;
        if (b.status == CONVOP_OK) plan->descriptor = cvp_backend_keep(&b, loaded);
    }
    cvp_backend_end(&b);
    if (b.status != CONVOP_OK) cvp_conv_cudnn_plan_end(plan);
    return b.status;
}

/* The same engine and knobs, for another graph. */
static void *configure(struct cvp_backend *b, void *properties, void *graph, void *loaded)
{
    void *knobs[MOST_KNOBS];
    void *old = get(b, loaded, CVP_CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                    CVP_CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    const int64_t index = engine_of(b, loaded);
    for (int i = 0; i < MOST_KNOBS; i++)
        knobs[i] = cvp_backend_make(b, CVP_CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    const int64_t count =
        b->status == CONVOP_OK
            ? cvp_backend_get(b->cudnn, old, CVP_CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                              CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR, MOST_KNOBS, knobs)
            : 0;
    void *engine = cvp_backend_make(b, CVP_CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cvp_backend_link(b, engine, CVP_CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
    cvp_backend_link(b, engine, CVP_CUDNN_ATTR_ENGINE_DEVICEPROP, properties);
    cvp_backend_set(b, engine, CVP_CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CVP_CUDNN_TYPE_INT64, 1, &index);
    cvp_backend_finalize(b, engine, "an engine");
    void *d = cvp_backend_make(b, CVP_CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    cvp_backend_link(b, d, CVP_CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    if (count > 0)
        cvp_backend_set(b, d, CVP_CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                        CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR, count, knobs);
    cvp_backend_finalize(b, d, "the knobs of an engine");
    return d;
}

convop_status cvp_conv_cudnn_restore(const struct cvp_cudnn *cudnn, const struct cvp_gpu *gpu,
                                     const convop_conv_problem *p, const char *json,
                                     struct conv_cudnn_plan *plan)
{
    void *properties;
    CVP_RETURN_IF_ERROR(cvp_gpu_properties(cudnn, gpu, &properties));
    struct cvp_backend b = cvp_backend_begin(cudnn);
    void *loaded = load(&b, properties, json);
    void *graph = cvp_conv_cudnn_graph(&b, p);
    void *configuration = configure(&b, properties, graph, loaded);
    convop_status status = b.status;
    if (status == CONVOP_OK) status = cvp_conv_cudnn_build(cudnn, properties, configuration, plan);
    cvp_backend_end(&b);
    const size_t needs = plan->workspace;
    if (status != CONVOP_OK || needs <= p->workspace_limit) return status;
    cvp_conv_cudnn_plan_end(plan);
    return convop_fail(
        CONVOP_E_UNSUPPORTED,
        "Convolution: cuDNN's kept plan needs %zu bytes of workspace, allowed are %zu", needs,
        p->workspace_limit);
}

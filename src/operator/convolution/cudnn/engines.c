/* Which engines may run: cuDNN ranks them, and what they note of themselves decides. */
#include <stdio.h>
#include <string.h>

#include "src/common/status.h"
#include "src/operator/convolution/cudnn/plan.h"

/* cuDNN 9.19 names up to 117. */
#define MOST_CONFIGURATIONS 200
#define MOST_NOTES          32

/* Why configurations were left out. */
enum reason { MAY_RUN, NOT_DETERMINISTIC, NOT_EXACT, TOO_LARGE, NOT_BUILT, REASONS };

/* One search. */
struct search {
    const struct cvp_cudnn *cudnn;
    void *properties;
    const convop_conv_problem *problem;
    struct conv_cudnn_plan *plans;
    int most, count;
    int left_out[REASONS];
    size_t least_workspace; /* of those that were too large; SIZE_MAX: none */
    char said[200];         /* by cuDNN, of the last that it did not build */
};

static int allows_tf32(const convop_conv_problem *p)
{
    return p->math == CONVOP_MATH_TF32;
}

static int is_strict(const convop_conv_problem *p)
{
    return p->math == CONVOP_MATH_STRICT;
}

/* Sums are taken in float32 at least, float32 is not cut to TF32 unless that is allowed, and strict
 * arithmetic has neither Winograd nor Fourier transforms. Tensor cores multiply 16-bit and float64
 * elements as exactly as other units do. */
static enum reason judge(const struct search *s, const unsigned *notes, int64_t count)
{
    const convop_conv_problem *p = s->problem;
    const int tf32 = allows_tf32(p), strict = is_strict(p);
    for (int64_t i = 0; i < count; i++) {
        switch (notes[i]) {
        case CVP_CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
            if (p->deterministic) return NOT_DETERMINISTIC;
            break;
        case CVP_CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION: return NOT_EXACT;
        case CVP_CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
            if (!tf32) return NOT_EXACT;
            break;
        case CVP_CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
            if (p->dtype.bits == 32 && !tf32) return NOT_EXACT;
            break;
        case CVP_CUDNN_NUMERICAL_NOTE_FFT:
        case CVP_CUDNN_NUMERICAL_NOTE_WINOGRAD:
        case CVP_CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
        case CVP_CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
        case CVP_CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
            if (strict) return NOT_EXACT;
            break;
        default: break;
        }
    }
    return MAY_RUN;
}

static int is_there(const struct search *s, const struct conv_cudnn_plan *plan)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->plans[i].json, plan->json) == 0) return 1;
    return 0;
}

static enum reason consider(struct search *s, void *configuration)
{
    struct cvp_backend b = cvp_backend_begin(s->cudnn);
    unsigned notes[MOST_NOTES];
    void *engine = cvp_backend_make(&b, CVP_CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    enum reason reason = NOT_BUILT;
    if (b.status == CONVOP_OK &&
        cvp_backend_get(s->cudnn, configuration, CVP_CUDNN_ATTR_ENGINECFG_ENGINE,
                        CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine) == 1)
        reason = judge(s, notes,
                       cvp_backend_get(s->cudnn, engine, CVP_CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                       CVP_CUDNN_TYPE_NUMERICAL_NOTE, MOST_NOTES, notes));
    cvp_backend_end(&b);
    if (reason != MAY_RUN) return reason;

    struct conv_cudnn_plan plan;
    if (cvp_conv_cudnn_build(s->cudnn, s->properties, configuration, &plan) != CONVOP_OK) {
        strncpy(s->said, convop_last_error(), sizeof s->said - 1);
        return NOT_BUILT;
    }
    if (plan.workspace > s->problem->workspace_limit) {
        if (plan.workspace < s->least_workspace) s->least_workspace = plan.workspace;
        reason = TOO_LARGE;
    }
    if (reason == MAY_RUN && !is_there(s, &plan))
        s->plans[s->count++] = plan;
    else
        cvp_conv_cudnn_plan_end(&plan);
    return reason;
}

/* The configurations that one of cuDNN's heuristics names, the best first. */
static convop_status ask(struct search *s, void *graph, unsigned mode)
{
    struct cvp_backend b = cvp_backend_begin(s->cudnn);
    void *found[MOST_CONFIGURATIONS];
    int64_t count = 0, room = 0;
    void *heuristics = cvp_backend_make(&b, CVP_CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    cvp_backend_link(&b, heuristics, CVP_CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    cvp_backend_link(&b, heuristics, CVP_CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, s->properties);
    cvp_backend_set(&b, heuristics, CVP_CUDNN_ATTR_ENGINEHEUR_MODE, CVP_CUDNN_TYPE_HEUR_MODE, 1,
                    &mode);
    cvp_backend_finalize(&b, heuristics, "the heuristics");
    while (b.status == CONVOP_OK && room < MOST_CONFIGURATIONS &&
           s->cudnn->descriptor_create(CVP_CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &found[room]) ==
               CVP_CUDNN_STATUS_SUCCESS)
        room++;
    if (room > 0)
        count = cvp_backend_get(s->cudnn, heuristics, CVP_CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR, room, found);
    if (b.status == CONVOP_OK && count == 0) {
        s->cudnn->last_error(s->said, sizeof s->said);
        cvp_text_one_line(s->said);
    }
    for (int64_t i = 0; i < count && i < room && s->count < s->most; i++)
        s->left_out[consider(s, found[i])]++;
    while (room > 0) (void)s->cudnn->descriptor_destroy(found[--room]);
    cvp_backend_end(&b);
    return b.status;
}

static convop_status fail_to_find(const struct search *s)
{
    const int *n = s->left_out;
    char least[64] = "";
    if (s->least_workspace < SIZE_MAX)
        snprintf(least, sizeof least, " (the least %zu bytes)", s->least_workspace);
    return convop_fail(CONVOP_E_UNSUPPORTED,
                       "cuDNN: no engine runs it: %d not deterministic, %d less exact than asked "
                       "for, %d over the workspace limit%s, %d not built%s%s",
                       n[NOT_DETERMINISTIC], n[NOT_EXACT], n[TOO_LARGE], least, n[NOT_BUILT],
                       s->said[0] ? ": " : "", s->said);
}

convop_status cvp_conv_cudnn_offer(const struct cvp_cudnn *cudnn, const struct cvp_gpu *gpu,
                                   const convop_conv_problem *p, int most,
                                   struct conv_cudnn_plan plans[], int *count)
{
    static const unsigned modes[] = {CVP_CUDNN_HEUR_MODE_A, CVP_CUDNN_HEUR_MODE_B,
                                     CVP_CUDNN_HEUR_MODE_FALLBACK};
    struct search s = {
        .cudnn = cudnn, .problem = p, .plans = plans, .most = most, .least_workspace = SIZE_MAX};
    CVP_RETURN_IF_ERROR(cvp_gpu_properties(cudnn, gpu, &s.properties));
    struct cvp_backend b = cvp_backend_begin(cudnn);
    void *graph = cvp_conv_cudnn_graph(&b, p);
    convop_status status = b.status;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0] && s.count < most; i++)
        /* A heuristic that knows nothing of the graph is no failure while another does. */
        if (b.status == CONVOP_OK) status = ask(&s, graph, modes[i]);
    cvp_backend_end(&b);
    *count = s.count;
    if (s.count > 0) return CONVOP_OK;
    return status == CONVOP_OK ? fail_to_find(&s) : status;
}

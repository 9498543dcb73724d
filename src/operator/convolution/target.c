/* Choosing for a GPU that is not here (convop/cuda.h). */
#include "convop/cuda.h"

#include <stdio.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/cuda/properties.h"
#include "src/operator/convolution/key.h"
#include "src/operator/convolution/query.h"

struct convop_cuda_target {
    const struct cvp_cudnn *cudnn;
    struct cvp_gpu gpu;
};

static convop_status find_cudnn(const struct cvp_cudnn **cudnn)
{
    const char *why;
    *cudnn = cvp_cudnn_get(&why);
    return *cudnn ? CONVOP_OK : convop_fail(CONVOP_E_DEVICE, "there is no cuDNN: %s", why);
}

convop_status convop_cuda_properties(int device, char *json, size_t size, size_t *length)
{
    const char *why;
    char *text;
    const struct cvp_cudnn *cudnn;
    if (!length || (!json && size > 0))
        return convop_fail(CONVOP_E_INVALID, "convop_cuda_properties: %s is NULL",
                           length ? "json" : "length");
    const struct cvp_gpu *gpu = cvp_gpu_get(device, &why);
    if (!gpu) return convop_fail(CONVOP_E_DEVICE, "cuda:%d is not here: %s", device, why);
    CVP_RETURN_IF_ERROR(find_cudnn(&cudnn));
    CVP_RETURN_IF_ERROR(cvp_gpu_json(cudnn, gpu, &text));
    *length = strlen(text);
    if (size > 0) snprintf(json, size, "%s", text);
    cvp_free(text);
    return CONVOP_OK;
}

convop_status convop_cuda_target_create(const char *json, convop_cuda_target **out)
{
    const struct cvp_cudnn *cudnn;
    if (!json || !out)
        return convop_fail(CONVOP_E_INVALID, "convop_cuda_target_create: %s is NULL",
                           json ? "out" : "json");
    CVP_RETURN_IF_ERROR(find_cudnn(&cudnn));
    convop_cuda_target *target = cvp_calloc(1, sizeof *target);
    if (!target)
        return convop_fail(CONVOP_E_NO_MEMORY, "convop_cuda_target_create: no memory for %zu bytes",
                           sizeof *target);
    target->cudnn = cudnn;
    convop_status status = cvp_gpu_absent(cudnn, json, &target->gpu);
    if (status != CONVOP_OK) {
        cvp_free(target);
        return status;
    }
    *out = target;
    return CONVOP_OK;
}

void convop_cuda_target_destroy(convop_cuda_target **target)
{
    if (!target || !*target) return;
    cvp_gpu_absent_end((*target)->cudnn, &(*target)->gpu);
    cvp_free(*target);
    *target = NULL;
}

/* What rows said when they were to begin. */
struct refusals {
    struct conv_candidates all;
    char why[CONV_MAX_CANDIDATES][CONVOP_WHY_SIZE];
};

/* The first row that begins, by the rule of the order. */
static convop_status choose(struct conv_plan *plan, struct refusals *refusals)
{
    convop_status status = CONVOP_E_UNSUPPORTED;
    plan->ms = 0;
    cvp_conv_candidates(plan, "", NULL, &refusals->all);
    for (size_t i = 0; i < refusals->all.count && status == CONVOP_E_UNSUPPORTED; i++) {
        status = cvp_conv_plan_take(plan, &refusals->all.at[i], CONVOP_CHOICE_ESTIMATED, "");
        if (status != CONVOP_OK)
            snprintf(refusals->why[i], CONVOP_WHY_SIZE, "%.*s", CONVOP_WHY_SIZE - 1,
                     convop_last_error());
    }
    if (status == CONVOP_E_UNSUPPORTED) plan->impl = NULL;
    return status;
}

static convop_status keep(const struct conv_plan *plan, const struct cvp_tune_key *key)
{
    const convop_conv_impl *row = plan->impl;
    struct cvp_tune_choice answer = {.impl_version = row->version, .workspace_bytes = plan->bytes};
    if (!plan->state || !CONV_IMPL_HAS(row, notes) || !row->notes)
        return CONVOP_OK; /* any process would choose so */
    char *notes = cvp_strdup(row->notes(plan->state));
    if (!notes)
        return convop_fail(CONVOP_E_NO_MEMORY,
                           "convop_cuda_plan_conv: no memory for a plan's notes, %zu bytes",
                           strlen(row->notes(plan->state)) + 1);
    snprintf(answer.impl, sizeof answer.impl, "%s", row->name);
    answer.plan = notes;
    convop_status status = cvp_tune_store(key, &answer);
    cvp_free(notes);
    return status;
}

static convop_status plan_and_keep(struct conv_plan *plan, struct refusals *refusals)
{
    struct conv_key texts;
    const struct cvp_tune_key key = cvp_conv_key(plan, &texts);
    convop_status status = cvp_conv_take_cached(plan, &key, NULL, 0);
    if (status != CONVOP_E_UNSUPPORTED) return status;
    status = choose(plan, refusals);
    return status == CONVOP_OK ? keep(plan, &key) : status;
}

static void add_refusals(const struct refusals *refusals, convop_conv_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < refusals->all.count; j++) {
            if (strcmp(rows[i].name, refusals->all.at[j].impl->name) != 0 || !refusals->why[j][0])
                continue;
            rows[i].applicable = 0;
            memcpy(rows[i].why_not, refusals->why[j], CONVOP_WHY_SIZE);
        }
}

convop_status convop_cuda_plan_conv(const convop_cuda_target *target,
                                    const convop_conv_params *params,
                                    convop_conv_direction direction, const DLTensor *src,
                                    const DLTensor *weights, const DLTensor *dst,
                                    const convop_exec *exec, convop_conv_row *rows, size_t *count)
{
    const struct conv_query q = {
        "convop_cuda_plan_conv", params, direction, src, weights, dst, exec};
    struct conv_terms terms = {.mode = CVP_AUTOTUNE_UNSET};
    convop_conv_problem problem;
    const convop_context *context;
    if (!target || !count || (!rows && *count > 0))
        return convop_fail(CONVOP_E_INVALID, "convop_cuda_plan_conv: %s is NULL",
                           !target ? "target"
                           : count ? "rows"
                                   : "count");
    CVP_RETURN_IF_ERROR(cvp_conv_query_read(&q, &terms.mode, &problem, &context));
    problem.device_type = kDLCUDA;
    problem.gpu = &target->gpu;
    struct refusals *refusals = cvp_calloc(1, sizeof *refusals);
    if (!refusals)
        return convop_fail(CONVOP_E_NO_MEMORY, "convop_cuda_plan_conv: no memory for %zu bytes",
                           sizeof *refusals);
    struct conv_plan plan;
    cvp_conv_plan_start(&plan, &problem, &terms, context);
    convop_status status = plan_and_keep(&plan, refusals);
    const size_t room = *count;
    /* A problem that no row runs is no failure here: the rows say why. */
    if (status == CONVOP_E_UNSUPPORTED) status = CONVOP_OK;
    if (status == CONVOP_OK) {
        cvp_conv_query_rows(&plan, rows, count);
        add_refusals(refusals, rows, room < *count ? room : *count);
    }
    cvp_conv_plan_end(&plan);
    cvp_free(refusals);
    return status;
}

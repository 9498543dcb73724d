/* Choosing the row: policy only. */
#include "src/operator/convolution/select.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/epoch.h"
#include "src/common/log.h"
#include "src/common/settings.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/cuda/context.h"
#include "src/operator/convolution/key.h"
#include "src/operator/convolution/lines.h"
#include "src/operator/convolution/measure.h"

convop_status cvp_conv_mode(const convop_conv_params *params, enum cvp_autotune *mode)
{
    int set;
    CVP_RETURN_IF_ERROR(cvp_setting_int(CVP_SETTING_AUTOTUNE, &set));
    switch (set == CVP_AUTOTUNE_UNSET ? params->cudnn_tune : CONVOP_TUNE_DEFAULT) {
    case CONVOP_TUNE_OFF: *mode = CVP_AUTOTUNE_OFF; break;
    case CONVOP_TUNE_LIMITED_WORKSPACE: *mode = CVP_AUTOTUNE_LIMITED; break;
    case CONVOP_TUNE_FASTEST: *mode = CVP_AUTOTUNE_FASTEST; break;
    default: *mode = (enum cvp_autotune)set; break;
    }
    return CONVOP_OK;
}

size_t cvp_conv_workspace_limit(const convop_conv_params *params, enum cvp_autotune mode,
                                size_t call_limit)
{
    size_t own = mode == CVP_AUTOTUNE_FASTEST ? SIZE_MAX : params->workspace_bytes;
    return own < call_limit ? own : call_limit;
}

/* What one thread does in so little time is done before another is awake: to wake a sleeping thread
 * of a virtual machine takes 20 microseconds and more. */
static int is_light(const struct conv_plan *plan)
{
    const int light_us = cvp_setting_int_or(CVP_SETTING_LIGHT_WORK, 0);
    if (plan->problem.threads == 1 || light_us == 0 || cvp_conv_is_on_gpu(&plan->problem)) return 0;
    /* Measured on all threads; one takes no less. */
    if (plan->ms * 1e3 >= light_us) return 0;
    const double ms = cvp_conv_estimate_alone(plan->impl, &plan->problem);
    return ms > 0 && ms * 1e3 < light_us;
}

/* The state of a row that has one. What it wants of workspace lies behind the copies. */
static convop_status begin(struct conv_plan *plan, const convop_conv_impl *row, const char *notes)
{
    cvp_conv_plan_end_state(plan);
    if (!CONV_IMPL_HAS(row, end) || !row->begin) return CONVOP_OK;
    const size_t copies = plan->given.workspace_limit - plan->problem.workspace_limit;
    size_t own = plan->bytes - copies;
    plan->impl = row; /* which ends it */
    convop_status status = row->begin(&plan->problem, notes, &plan->state, &own);
    if (!cvp_add_size(copies, own, &plan->bytes)) plan->bytes = SIZE_MAX;
    return status;
}

/* The view that a row was asked about, and what it made of it, where that is not in the plan yet.
 */
static convop_status ask(struct conv_plan *plan, const struct conv_candidate *candidate)
{
    convop_conv_problem behind;
    size_t bytes;
    char why[CONVOP_WHY_SIZE];
    if (candidate->is_in_plan) return CONVOP_OK;
    if (candidate->copies) cvp_conv_plan_behind(plan, &behind, &bytes);
    cvp_conv_row_view(candidate->impl, candidate->copies ? &behind : &plan->given, &plan->problem);
    if (!cvp_conv_cuts(candidate->impl) ||
        cvp_conv_ask(candidate->impl, &plan->problem, &plan->cut, why))
        return CONVOP_OK;
    return convop_fail(CONVOP_E_INTERNAL,
                       "Convolution: implementation %s took a problem and now does not: %s",
                       candidate->impl->name, why);
}

convop_status cvp_conv_plan_take(struct conv_plan *plan, const struct conv_candidate *candidate,
                                 convop_conv_choice choice, const char *notes)
{
    CVP_RETURN_IF_ERROR(ask(plan, candidate));
    plan->copies = candidate->copies;
    plan->is_finished_apart = candidate->finished_apart;
    plan->choice = choice;
    plan->bytes = candidate->bytes;
    CVP_RETURN_IF_ERROR(begin(plan, candidate->impl, notes));
    if (plan->bytes > plan->given.workspace_limit)
        return convop_fail(CONVOP_E_INTERNAL,
                           "Convolution: implementation %s wants %zu bytes of workspace for a "
                           "problem that it takes, allowed are %zu",
                           candidate->impl->name, plan->bytes, plan->given.workspace_limit);
    plan->impl = candidate->impl;
    plan->is_light = is_light(plan);
    return CONVOP_OK;
}

/* ---- what the cache knows -------------------------------------------------------------------- */

/* The row that an answer of the cache means, if it still fits; then the plan holds what it was
 * asked. */
static int find_answer(struct conv_plan *plan, const struct cvp_tune_choice *answer,
                       const convop_conv_impl *without, struct conv_candidate *found)
{
    const size_t limit = plan->given.workspace_limit;
    convop_conv_problem behind;
    size_t bytes = 0, i = 0;
    const struct conv_row_list rows = cvp_conv_rows_for(plan->rows, &plan->given);
    while (i < rows.count && strcmp(rows.at[i]->name, answer->impl) != 0) i++;
    if (i == rows.count || rows.at[i] == without || rows.at[i]->version != answer->impl_version ||
        answer->workspace_bytes > limit)
        return 0;
    char why[CONVOP_WHY_SIZE];
    int has_copies = cvp_conv_plan_behind(plan, &behind, &bytes);
    found->is_in_plan = cvp_conv_consider(plan, has_copies ? &behind : NULL, bytes, rows.at[i],
                                          &plan->problem, &plan->cut, found, why);
    return found->is_in_plan && found->bytes <= limit;
}

static void drop(const struct cvp_tune_key *key)
{
    cvp_tune_drop(key);
    cvp_epoch_advance();
}

static convop_status take_answer(struct conv_plan *plan, const struct conv_candidate *candidate,
                                 const struct cvp_tune_choice *answer, convop_conv_choice choice)
{
    plan->ms = answer->ms;
    return cvp_conv_plan_take(plan, candidate, choice, answer->plan ? answer->plan : "");
}

convop_status cvp_conv_take_cached(struct conv_plan *plan, const struct cvp_tune_key *key,
                                   const convop_conv_impl *without, int is_timed)
{
    struct conv_candidate found;
    struct cvp_tune_choice answer;
    if (!cvp_tune_lookup(key, &answer)) {
        if (cvp_verbose(2)) cvp_conv_log_look_up(plan, key, "miss", NULL);
        return CONVOP_E_UNSUPPORTED;
    }
    convop_status status = CONVOP_E_UNSUPPORTED;
    const int fits = find_answer(plan, &answer, without, &found);
    const int counts = fits && (answer.ms > 0 || !is_timed);
    if (cvp_verbose(2)) cvp_conv_log_look_up(plan, key, fits ? "hit" : "dropped", &answer);
    if (counts) status = take_answer(plan, &found, &answer, CONVOP_CHOICE_CACHED);
    cvp_free(answer.plan);
    if (!fits || (counts && status == CONVOP_E_UNSUPPORTED)) drop(key);
    return status;
}

/* ---- the rule -------------------------------------------------------------------------------- */

static int measures(const struct conv_plan *plan)
{
    return plan->terms.mode == CVP_AUTOTUNE_LIMITED || plan->terms.mode == CVP_AUTOTUNE_FASTEST;
}

/* The first that does not turn out not to run the problem. */
static convop_status take_first(struct conv_plan *plan, const struct conv_candidates *all,
                                convop_conv_choice choice)
{
    convop_status status = CONVOP_E_UNSUPPORTED;
    plan->ms = 0;
    for (size_t i = 0; i < all->count && status == CONVOP_E_UNSUPPORTED; i++) {
        status = cvp_conv_plan_take(plan, &all->at[i], choice, "");
        if (status != CONVOP_OK && cvp_verbose(1))
            cvp_conv_log_fault(plan, all->at[i].impl, convop_last_error());
    }
    return status;
}

/* A capture is no time to measure: that waits for the GPU, and loads what it runs. The epoch ends
 * the plan that is made instead with its call, so that the next one outside of a capture measures.
 */
static int is_captured(const struct conv_plan *plan)
{
    if (!cvp_conv_is_on_gpu(&plan->given) ||
        !cvp_gpu_is_captured(plan->given.gpu, plan->terms.stream))
        return 0;
    if (cvp_verbose(1)) cvp_conv_log_tune(plan, "captured", NULL, 0);
    cvp_epoch_advance();
    return 1;
}

/* Measures, keeps what it finds and takes it. */
static convop_status measure(struct conv_plan *plan, const struct cvp_tune_key *key,
                             const struct conv_candidates *all)
{
    const struct conv_measuring how = {.budget_ms =
                                           cvp_setting_int_or(CVP_SETTING_TUNE_BUDGET, 1000),
                                       .verify = cvp_setting_int_or(CVP_SETTING_TUNE_VERIFY, 0)};
    struct conv_result results[CONV_MAX_CANDIDATES];
    const struct conv_candidate *winner;
    struct cvp_tune_choice answer;
    if (cvp_conv_measure(plan, all, &how, results, &winner) != CONVOP_OK)
        return CONVOP_E_UNSUPPORTED;
    if (cvp_conv_answer(all, results, winner, &answer)) (void)cvp_tune_store(key, &answer);
    convop_status status = take_answer(plan, winner, &answer, CONVOP_CHOICE_MEASURED);
    cvp_free(answer.plan);
    if (status == CONVOP_E_UNSUPPORTED) drop(key);
    return status;
}

/* As one thread of those that need it. UNSUPPORTED where nothing could be measured, or another
 * thread is at it and nobody waits. */
static convop_status measure_once(struct conv_plan *plan, const struct cvp_tune_key *key,
                                  const convop_conv_impl *without,
                                  const struct conv_candidates *all)
{
    const int wait = cvp_setting_int_or(CVP_SETTING_TUNE_WAIT, 1);
    convop_status status = CONVOP_E_UNSUPPORTED;
    if (is_captured(plan)) return status;
    while (!cvp_tune_begin(key, wait)) {
        if (wait) status = cvp_conv_take_cached(plan, key, without, 1);
        if (!wait || status != CONVOP_E_UNSUPPORTED) return status;
    }
    /* It may have been measured between this thread's look and its begin. */
    status = cvp_conv_take_cached(plan, key, without, 1);
    if (status == CONVOP_E_UNSUPPORTED) status = measure(plan, key, all);
    cvp_tune_end(key);
    return status;
}

/* 1 if there is more than one way for the direction: of one there is nothing to be known. */
static int rows_compete(const struct conv_plan *plan)
{
    const struct conv_row_list rows = cvp_conv_rows_for(plan->rows, &plan->given);
    if (rows.count != 1) return rows.count > 1;
    return CONV_IMPL_HAS(rows.at[0], alternatives) && rows.at[0]->alternatives;
}

/* The rule below "forced". A choice that was made without the device has no time, and is only good
 * until there is one. */
static convop_status choose(struct conv_plan *plan, const convop_conv_impl *without)
{
    struct conv_candidates all;
    struct conv_key texts;
    struct cvp_tune_key key;
    convop_status status = CONVOP_E_UNSUPPORTED;
    int asks = plan->terms.mode != CVP_AUTOTUNE_OFF && rows_compete(plan);
    if (asks) {
        key = cvp_conv_key(plan, &texts);
        status = cvp_conv_take_cached(plan, &key, without, measures(plan));
        if (status != CONVOP_E_UNSUPPORTED) return status;
    }
    cvp_conv_candidates(plan, "", without, &all);
    if (all.count == 0) return cvp_conv_fail_to_find(plan, "");
    if (asks && measures(plan) && (all.count > 1 || cvp_conv_is_on_gpu(&plan->given)))
        status = measure_once(plan, &key, without, &all);
    if (status != CONVOP_E_UNSUPPORTED) return status;
    return take_first(plan, &all, CONVOP_CHOICE_ESTIMATED);
}

static convop_status force(struct conv_plan *plan, const char *name)
{
    struct conv_candidates all;
    cvp_conv_candidates(plan, name, NULL, &all);
    if (all.count == 0) return cvp_conv_fail_to_find(plan, name);
    return take_first(plan, &all, CONVOP_CHOICE_FORCED);
}

convop_status cvp_conv_select(struct conv_plan *plan, const convop_conv_impl *without)
{
    char name[256];
    CVP_RETURN_IF_ERROR(cvp_setting_text(CVP_SETTING_IMPL, name, sizeof name));
    int named = cvp_conv_is_named(plan->rows, name, &plan->given);
    convop_status status = named ? force(plan, name) : choose(plan, without);
    if (status == CONVOP_OK && cvp_verbose(2)) cvp_conv_log_choice(plan);
    return status;
}

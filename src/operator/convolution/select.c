/* Choosing the row: policy only. */
#include "src/operator/convolution/select.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/epoch.h"
#include "src/common/log.h"
#include "src/common/settings.h"
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

/* The state of a row that has one. */
static convop_status begin(struct conv_plan *plan, const convop_conv_impl *row, const char *notes)
{
    cvp_conv_plan_end_state(plan);
    if (!CONV_IMPL_HAS(row, end) || !row->begin) return CONVOP_OK;
    plan->impl = row; /* which ends it */
    return row->begin(&plan->problem, notes, &plan->state, &plan->bytes);
}

convop_status cvp_conv_plan_take(struct conv_plan *plan, const struct conv_candidate *candidate,
                                 convop_conv_choice choice, const char *notes)
{
    size_t copy_bytes = 0;
    convop_conv_problem behind;
    char why[CONVOP_WHY_SIZE];
    if (candidate->copies) cvp_conv_plan_behind(plan, &behind, &copy_bytes);
    cvp_conv_row_view(candidate->impl, candidate->copies ? &behind : &plan->given, &plan->problem);
    if (cvp_conv_cuts(candidate->impl) &&
        !cvp_conv_ask(candidate->impl, &plan->problem, &plan->cut, why))
        return convop_fail(CONVOP_E_INTERNAL,
                           "Convolution: implementation %s took a problem and now does not: %s",
                           candidate->impl->name, why);
    plan->copies = candidate->copies;
    plan->is_finished_apart = candidate->finished_apart;
    plan->choice = choice;
    plan->bytes = candidate->bytes;
    CVP_RETURN_IF_ERROR(begin(plan, candidate->impl, notes));
    if (plan->bytes > plan->given.workspace_limit)
        return convop_fail(CONVOP_E_INTERNAL,
                           "Convolution: implementation %s wants %zu bytes of workspace for a "
                           "problem that it takes, allowed are %zu",
                           candidate->impl->name, plan->bytes - copy_bytes,
                           plan->problem.workspace_limit);
    plan->impl = candidate->impl;
    plan->is_light = is_light(plan);
    return CONVOP_OK;
}

/* The row that an answer of the cache means, if it still fits. */
static int find_answer(const struct conv_plan *plan, const struct cvp_tune_choice *answer,
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
    return cvp_conv_consider(plan, has_copies ? &behind : NULL, bytes, rows.at[i], 0, found, why) &&
           found->bytes <= limit;
}

static void drop(const struct cvp_tune_key *key)
{
    cvp_tune_drop(key);
    cvp_epoch_advance();
}

int cvp_conv_look_up(const struct conv_plan *plan, const struct cvp_tune_key *key,
                     const convop_conv_impl *without, struct conv_candidate *found,
                     struct cvp_tune_choice *answer)
{
    if (!cvp_tune_lookup(key, answer)) {
        if (cvp_verbose(2)) cvp_conv_log_look_up(plan, key, "miss", NULL);
        return 0;
    }
    int fits = find_answer(plan, answer, without, found);
    if (cvp_verbose(2)) cvp_conv_log_look_up(plan, key, fits ? "hit" : "dropped", answer);
    if (fits) return 1;
    cvp_free(answer->plan);
    answer->plan = NULL;
    drop(key);
    return 0;
}

/* What a choice is made with, and what it comes to. */
struct choosing {
    struct conv_plan *plan;
    const convop_conv_impl *without;
    struct cvp_tune_key key;
    struct conv_candidate found;
    struct cvp_tune_choice answer;
};

static int measures(const struct conv_plan *plan)
{
    return plan->terms.mode == CVP_AUTOTUNE_LIMITED || plan->terms.mode == CVP_AUTOTUNE_FASTEST;
}

/* A choice that was made without the device has no time, and is only good until there is one. */
static int is_cached(struct choosing *c)
{
    if (!cvp_conv_look_up(c->plan, &c->key, c->without, &c->found, &c->answer)) return 0;
    if (c->answer.ms > 0 || !measures(c->plan)) return 1;
    cvp_free(c->answer.plan);
    c->answer.plan = NULL;
    return 0;
}

static convop_status take_answer(struct choosing *c, convop_conv_choice choice)
{
    const char *notes = c->answer.plan ? c->answer.plan : "";
    c->plan->ms = c->answer.ms;
    convop_status status = cvp_conv_plan_take(c->plan, &c->found, choice, notes);
    cvp_free(c->answer.plan);
    c->answer.plan = NULL;
    if (status == CONVOP_E_UNSUPPORTED) drop(&c->key);
    return status;
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

/* Measures and keeps what it finds, as one thread of those that need it. NONE where nothing could
 * be measured, or another thread is at it and nobody waits. */
static convop_conv_choice measure(struct choosing *c, const struct conv_candidates *all)
{
    const int wait = cvp_setting_int_or(CVP_SETTING_TUNE_WAIT, 1);
    if (is_captured(c->plan)) return CONVOP_CHOICE_NONE;
    while (!cvp_tune_begin(&c->key, wait)) {
        if (!wait) return CONVOP_CHOICE_NONE;
        if (is_cached(c)) return CONVOP_CHOICE_CACHED;
    }
    /* It may have been measured between this thread's look and its begin. */
    convop_conv_choice choice = is_cached(c) ? CONVOP_CHOICE_CACHED : CONVOP_CHOICE_NONE;
    if (choice == CONVOP_CHOICE_NONE) {
        const struct conv_measuring how = {
            .budget_ms = cvp_setting_int_or(CVP_SETTING_TUNE_BUDGET, 1000),
            .verify = cvp_setting_int_or(CVP_SETTING_TUNE_VERIFY, 0)};
        struct conv_result results[CONV_MAX_CANDIDATES];
        const struct conv_candidate *winner;
        if (cvp_conv_measure(c->plan, all, &how, results, &winner) == CONVOP_OK) {
            choice = CONVOP_CHOICE_MEASURED;
            c->found = *winner;
            if (cvp_conv_answer(all, results, winner, &c->answer))
                (void)cvp_tune_store(&c->key, &c->answer);
        }
    }
    cvp_tune_end(&c->key);
    return choice;
}

/* 1 if there is more than one way for the direction: of one there is nothing to be known. */
static int rows_compete(const struct conv_plan *plan)
{
    const struct conv_row_list rows = cvp_conv_rows_for(plan->rows, &plan->given);
    if (rows.count != 1) return rows.count > 1;
    return CONV_IMPL_HAS(rows.at[0], alternatives) && rows.at[0]->alternatives;
}

/* The rule below "forced". */
static convop_status choose(struct conv_plan *plan, const convop_conv_impl *without)
{
    struct conv_candidates all;
    struct conv_key texts;
    struct choosing c = {.plan = plan, .without = without};
    convop_conv_choice choice = CONVOP_CHOICE_NONE;
    convop_status status = CONVOP_E_UNSUPPORTED;
    int asks = plan->terms.mode != CVP_AUTOTUNE_OFF && rows_compete(plan);
    if (asks) {
        c.key = cvp_conv_key(plan, &texts);
        if (is_cached(&c)) status = take_answer(&c, CONVOP_CHOICE_CACHED);
        if (status != CONVOP_E_UNSUPPORTED) return status;
    }
    cvp_conv_candidates(plan, "", without, &all);
    if (all.count == 0) return cvp_conv_fail_to_find(plan, "");
    if (asks && measures(plan) && (all.count > 1 || cvp_conv_is_on_gpu(&plan->given)))
        choice = measure(&c, &all);
    if (choice != CONVOP_CHOICE_NONE) status = take_answer(&c, choice);
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

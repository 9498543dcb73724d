/* convop_conv_tune: measures the rows of one direction of a problem, whatever the process is set
 * to, and keeps the winner. */
#include <stdio.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/fpenv.h"
#include "src/common/status.h"
#include "src/operator/convolution/key.h"
#include "src/operator/convolution/measure.h"
#include "src/operator/convolution/query.h"

static convop_status read_options(const convop_tune_options *from, convop_tune_options *to)
{
    const convop_tune_options defaults = CONVOP_TUNE_OPTIONS_INIT;
    *to = defaults;
    if (from) CVP_RETURN_IF_ERROR(cvp_read_struct(to, sizeof *to, from, "convop_tune_options"));
    /* Also refuses a NaN. */
    if (!(to->budget_ms >= 0))
        return convop_fail(CONVOP_E_INVALID, "convop_conv_tune: budget_ms is %g, must be 0 or more",
                           to->budget_ms);
    int number;
    CVP_RETURN_IF_ERROR(cvp_setting_int(CVP_SETTING_TUNE_BUDGET, &number));
    if (to->budget_ms == 0) to->budget_ms = number;
    CVP_RETURN_IF_ERROR(cvp_setting_int(CVP_SETTING_TUNE_VERIFY, &number));
    if (to->verify < 0) to->verify = number;
    return CONVOP_OK;
}

/* Adds what was measured to the rows that the caller has room for. */
static void set_times(const struct conv_candidates *all, const struct conv_result results[],
                      convop_conv_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < all->count; j++) {
            if (strcmp(rows[i].name, all->at[j].impl->name) != 0) continue;
            rows[i].ms = results[j].ms;
            snprintf(rows[i].why_not, sizeof rows[i].why_not, "%s", results[j].why);
        }
}

/* The plan takes what the cache knows, or the winner; results[] are those of all candidates. */
static convop_status decide(struct conv_plan *plan, const struct cvp_tune_key *key,
                            const struct conv_candidates *all, const convop_tune_options *o,
                            struct conv_result results[])
{
    const struct conv_measuring how = {.budget_ms = o->budget_ms, .verify = o->verify};
    struct cvp_tune_choice answer;
    if (!o->again) {
        convop_status status = cvp_conv_take_cached(plan, key, NULL, 1);
        if (status != CONVOP_E_UNSUPPORTED) return status;
    }
    const struct conv_candidate *winner;
    CVP_RETURN_IF_ERROR(cvp_conv_measure(plan, all, &how, results, &winner));
    const int can_keep = cvp_conv_answer(all, results, winner, &answer);
    plan->ms = answer.ms;
    convop_status status =
        cvp_conv_plan_take(plan, winner, CONVOP_CHOICE_MEASURED, answer.plan ? answer.plan : "");
    if (status == CONVOP_OK && o->keep && can_keep) status = cvp_tune_store(key, &answer);
    cvp_free(answer.plan);
    return status;
}

static convop_status tune(struct conv_plan *plan, const convop_tune_options *o,
                          convop_conv_row *rows, size_t *count)
{
    struct conv_candidates all;
    struct conv_result results[CONV_MAX_CANDIDATES];
    struct conv_key texts;
    const struct cvp_tune_key key = cvp_conv_key(plan, &texts);
    memset(results, 0, sizeof results);
    cvp_conv_candidates(plan, "", NULL, &all);
    if (all.count > 0) {
        while (!cvp_tune_begin(&key, 1)) continue;
        convop_status status = decide(plan, &key, &all, o, results);
        cvp_tune_end(&key);
        CVP_RETURN_IF_ERROR(status);
    }
    const size_t room = *count;
    cvp_conv_query_rows(plan, rows, count);
    if (plan->choice == CONVOP_CHOICE_MEASURED)
        set_times(&all, results, rows, room < *count ? room : *count);
    return CONVOP_OK;
}

convop_status convop_conv_tune(const convop_conv_params *params, convop_conv_direction direction,
                               const DLTensor *src, const DLTensor *weights, const DLTensor *dst,
                               const convop_exec *exec, const convop_tune_options *options,
                               convop_conv_row *rows, size_t *count)
{
    const struct conv_query q = {"convop_conv_tune", params, direction, src, weights, dst, exec};
    struct conv_terms terms = {.constants = 0};
    convop_tune_options o;
    convop_conv_problem problem;
    const convop_context *context;
    if (!count || (!rows && *count > 0))
        return convop_fail(CONVOP_E_INVALID, "convop_conv_tune: %s is NULL",
                           count ? "rows" : "count");
    CVP_RETURN_IF_ERROR(read_options(options, &o));
    terms.mode = o.fastest ? CVP_AUTOTUNE_FASTEST : CVP_AUTOTUNE_LIMITED;
    CVP_RETURN_IF_ERROR(cvp_conv_query_read(&q, &terms.mode, &problem, &context));
    struct conv_plan plan;
    cvp_conv_plan_start(&plan, &problem, &terms, context);
    unsigned host = cvp_fpenv_enter();
    convop_status status = tune(&plan, &o, rows, count);
    cvp_fpenv_leave(host);
    cvp_conv_plan_end(&plan);
    return status;
}

/* Measuring: which candidates are worth it, for how long, and which one wins. */
#include "src/operator/convolution/measure.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/log.h"
#include "src/common/status.h"
#include "src/engine/context.h"
#include "src/operator/convolution/lines.h"

/* An estimate that is so many times the best measured time is taken to be right about the row. */
#define FAR_BY_ESTIMATE 20

/* The state of one measuring. */
struct contest {
    const struct conv_plan *plan;
    const struct conv_candidates *all;
    const struct conv_measuring *how;
    struct conv_result *results;
    struct conv_sets sets;
    double deadline;
    const struct conv_candidate *best;
    double best_ms;
    char *best_notes;
    convop_status failed; /* of the last that did */
    /* With verify: what a row computed that the others are held against. */
    void *model;
    const char *model_name;
};

static void set_why(struct conv_result *result, const char *why)
{
    snprintf(result->why, sizeof result->why, "%s", why[0] ? why : "it failed");
}

/* Compares what the row computes with the model, or makes it the model. */
static convop_status verify(struct contest *c, struct conv_runner *r, size_t i)
{
    const size_t bytes = c->sets.each.size[c->sets.each.out];
    cvp_conv_sets_refill(&c->sets, c->plan);
    r->next = 0;
    CVP_RETURN_IF_ERROR(cvp_conv_runner_run(r));
    const convop_conv_operands t = cvp_conv_sets_operands(&c->sets, 0);
    if (!c->model_name) {
        memcpy(c->model, t.out, bytes);
        c->model_name = c->all->at[i].impl->name;
        return CONVOP_OK;
    }
    char why[CONVOP_WHY_SIZE];
    if (!cvp_conv_results_agree(c->plan, c->model, t.out, bytes, c->model_name, why))
        return convop_fail(CONVOP_E_INTERNAL, "%s", why);
    return CONVOP_OK;
}

static void measure_one(struct contest *c, size_t i)
{
    const struct conv_candidate *row = &c->all->at[i];
    struct conv_result *result = &c->results[i];
    struct conv_runner r;
    const double now = cvp_conv_measure_now();
    double ms = 0;
    if (c->best && (now + row->estimated_ms > c->deadline ||
                    row->estimated_ms > FAR_BY_ESTIMATE * c->best_ms)) {
        if (cvp_verbose(2)) cvp_conv_log_measured(c->plan, row->impl, row->estimated_ms, 0, 0);
        return;
    }
    convop_status status = cvp_conv_runner_make(&r, &c->sets, c->plan, row);
    if (status == CONVOP_OK && c->model) status = verify(c, &r, i);
    if (status == CONVOP_OK) {
        /* A share of what is left for each row that is left. */
        const double start = cvp_conv_measure_now();
        const double share = (c->deadline - start) / (double)(c->all->count - i);
        status = cvp_conv_runner_time(&r, row->estimated_ms, c->best_ms, start + share, &ms);
    }
    if (cvp_verbose(2)) cvp_conv_log_measured(c->plan, row->impl, row->estimated_ms, ms, r.runs);
    if (status == CONVOP_OK && (!c->best || ms < c->best_ms)) {
        c->best = row;
        c->best_ms = ms;
        cvp_free(c->best_notes);
        c->best_notes = cvp_conv_plan_notes(&r.base);
    }
    cvp_conv_runner_free(&r);
    if (status != CONVOP_OK) {
        c->failed = status;
        set_why(result, convop_last_error());
        if (cvp_verbose(1)) cvp_conv_log_fault(c->plan, row->impl, result->why);
        return;
    }
    result->ms = ms;
}

/* With verify the most promising built-in row is the first, since the others are held against it.
 */
static size_t first_of(const struct contest *c)
{
    for (size_t i = 0; c->how->verify && i < c->all->count; i++)
        if (c->all->at[i].impl->level == CONVOP_LEVEL_BUILTIN) return i;
    return 0;
}

/* What it takes; on failure nothing is held. */
static convop_status open_contest(struct contest *c)
{
    const convop_allocator *memory = &c->plan->context->allocator;
    convop_status status = cvp_conv_sets_make(&c->sets, c->plan);
    if (status == CONVOP_OK && c->how->verify) {
        c->model = cvp_buffer_alloc(memory, c->sets.each.size[c->sets.each.out]);
        if (!c->model) status = CONVOP_E_NO_MEMORY;
    }
    if (status == CONVOP_OK) return status;
    cvp_conv_sets_free(&c->sets);
    if (status == CONVOP_E_NO_MEMORY) {
        convop_fail(status, "Convolution: no memory to measure %zu implementations in",
                    c->all->count);
        if (cvp_verbose(1)) cvp_conv_log_tune(c->plan, "no_memory", NULL, 0);
    }
    return status;
}

convop_status cvp_conv_measure(const struct conv_plan *plan, const struct conv_candidates *all,
                               const struct conv_measuring *how, struct conv_result results[],
                               const struct conv_candidate **winner)
{
    struct contest c = {.plan = plan, .all = all, .how = how, .results = results};
    if (cvp_conv_is_on_gpu(&plan->given))
        return cvp_conv_measure_gpu(plan, all, how, results, winner);
    *winner = NULL;
    memset(results, 0, all->count * sizeof *results);
    if (cvp_verbose(1)) cvp_conv_log_tune(plan, "begin", NULL, how->budget_ms);
    c.deadline = cvp_conv_measure_now() + how->budget_ms;
    CVP_RETURN_IF_ERROR(open_contest(&c));
    const size_t first = first_of(&c);
    measure_one(&c, first);
    for (size_t i = 0; i < all->count; i++)
        if (i != first) measure_one(&c, i);
    if (c.model)
        cvp_buffer_free(&plan->context->allocator, c.model, c.sets.each.size[c.sets.each.out]);
    cvp_conv_sets_free(&c.sets);
    if (cvp_verbose(1)) cvp_conv_log_tune(plan, "end", c.best ? c.best->impl : NULL, c.best_ms);
    *winner = c.best;
    if (!c.best) return c.failed;
    results[c.best - all->at].notes = c.best_notes;
    return CONVOP_OK;
}

int cvp_conv_answer(const struct conv_candidates *all, const struct conv_result results[],
                    const struct conv_candidate *winner, struct cvp_tune_choice *answer)
{
    *answer = (struct cvp_tune_choice){.impl_version = winner->impl->version,
                                       .ms = results[winner - all->at].ms,
                                       .estimated_ms = results[0].ms,
                                       .workspace_bytes = winner->bytes,
                                       .plan = results[winner - all->at].notes};
    const int length = snprintf(answer->impl, sizeof answer->impl, "%s", winner->impl->name);
    return length < (int)sizeof answer->impl;
}

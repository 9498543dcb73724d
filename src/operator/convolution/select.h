/* The choice of a row: who competes, and the rule (convop/tune.h). */
#ifndef CVP_CONV_SELECT_H
#define CVP_CONV_SELECT_H

#include "src/operator/convolution/plan.h"
#include "src/operator/tuning/tuning.h"

/* A row that computes the problem, and how. */
struct conv_candidate {
    const convop_conv_impl *impl;
    int copies;          /* it gets copies of the tensors */
    int finished_apart;  /* what follows the sum is a pass of its own */
    double estimated_ms; /* 0: not known */
    double rank;         /* what candidates with an estimate are sorted by */
    size_t bytes;        /* of workspace: the copies, then its own; above the limit where it lies */
    int is_in_plan;      /* the plan holds what the row was asked, and its cut */
};

/* The best ones; more compete only where a program registers that many. */
#define CONV_MAX_CANDIDATES 32

/* Sorted: the first is the choice where nothing was measured. Rows above CONVOP_LEVEL_BUILTIN are
 * in front, in their order; then those with an estimate, the least first; then those without one;
 * last is the row "reference". With the setting "deterministic" estimates for one thread decide,
 * so that the choice, and with it the bits, depends on no number of threads. A row that takes the
 * tensors as they are comes before any that needs copies, but for the last. */
struct conv_candidates {
    size_t count;
    struct conv_candidate at[CONV_MAX_CANDIDATES];
};

/* A problem as a row is shown it: 1 with all of it, or 0 without what follows the sum. */
int cvp_conv_row_view(const convop_conv_impl *row, const convop_conv_problem *p,
                      convop_conv_problem *seen);

/* Whether one row computes the plan's problem: 1, with *candidate, or 0 with the reason. What it is
 * shown of the problem is in *seen, with its cut. behind NULL: there are no copies. */
int cvp_conv_consider(const struct conv_plan *plan, const convop_conv_problem *behind,
                      size_t copy_bytes, const convop_conv_impl *row, convop_conv_problem *seen,
                      struct conv_cut *cut, struct conv_candidate *candidate,
                      char why[CONVOP_WHY_SIZE]);

/* The same with the row's estimate, for who wants the candidate alone. */
int cvp_conv_rate(const struct conv_plan *plan, const convop_conv_problem *behind,
                  size_t copy_bytes, const convop_conv_impl *row, struct conv_candidate *candidate,
                  char why[CONVOP_WHY_SIZE]);

/* Rows of that name ("": of any), but for `without` (may be NULL). */
void cvp_conv_candidates(const struct conv_plan *plan, const char *name,
                         const convop_conv_impl *without, struct conv_candidates *all);

/* Whether a name is a choice for the problem. The built-ins have one row for the bias gradient, so
 * a name that is meant for the others leaves it alone. */
int cvp_conv_is_named(const struct conv_rows *rows, const char *name, const convop_conv_problem *p);

/* Makes the plan run a candidate, with what the cache notes of it ("": nothing). INTERNAL if that
 * takes more workspace than it may; UNSUPPORTED if the row finds so when it begins. */
convop_status cvp_conv_plan_take(struct conv_plan *plan, const struct conv_candidate *candidate,
                                 convop_conv_choice choice, const char *notes);

/* Chooses by the rule and takes; may measure. `without` is a row that has just failed, or NULL. */
convop_status cvp_conv_select(struct conv_plan *plan, const convop_conv_impl *without);

/* Takes what the cache knows of the key. UNSUPPORTED if that is nothing, or does not fit any more
 * or is `without`, when it is dropped. With `is_timed` an answer that was not measured does not
 * count.
 */
convop_status cvp_conv_take_cached(struct conv_plan *plan, const struct cvp_tune_key *key,
                                   const convop_conv_impl *without, int is_timed);

/* Says why there is none: UNSUPPORTED with each row's reason, INVALID for an unknown name. */
convop_status cvp_conv_fail_to_find(const struct conv_plan *plan, const char *name);

#endif

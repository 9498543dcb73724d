/* The lines of log of a convolution; docs/tuning.md has their forms. Ask cvp_verbose first. */
#ifndef CVP_CONV_LINES_H
#define CVP_CONV_LINES_H

#include "src/operator/convolution/plan.h"
#include "src/operator/tuning/tuning.h"

const char *cvp_conv_choice_name(convop_conv_choice choice);

/* Level 1: a plan ran. */
void cvp_conv_log_exec(const struct conv_plan *plan, const convop_context *context, double ms);

/* Level 1: measuring begins, and what came of it: "begin", "end", "no_memory"; winner may be NULL.
 */
void cvp_conv_log_tune(const struct conv_plan *plan, const char *what,
                       const convop_conv_impl *winner, double ms);

/* Level 1: a row that does not win, whatever its time: it failed, or its result is a wrong one. */
void cvp_conv_log_fault(const struct conv_plan *plan, const convop_conv_impl *row, const char *why);

/* Level 2: a look into the cache: "hit", "miss", "dropped"; answer NULL if there was none. */
void cvp_conv_log_look_up(const struct conv_plan *plan, const struct cvp_tune_key *key,
                          const char *what, const struct cvp_tune_choice *answer);

/* Level 2: a row was measured; ms 0: it was not, being too far behind or out of budget. */
void cvp_conv_log_measured(const struct conv_plan *plan, const convop_conv_impl *row,
                           double estimated_ms, double ms, int runs);

/* Level 2: the plan, and what each row had to say. */
void cvp_conv_log_choice(const struct conv_plan *plan);

#endif

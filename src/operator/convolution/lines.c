/* Lines of log: one of each kind for each thing that happens, comma-separated, the fields that all
 * have in front. */
#include "src/operator/convolution/lines.h"

#include "src/common/cpu.h"
#include "src/common/log.h"
#include "src/common/text.h"
#include "src/engine/context.h"
#include "src/operator/convolution/select.h"

/* What all lines say of a problem. */
struct subject {
    const char *direction;
    char problem[1024];
};

static void describe(struct subject *s, const convop_conv_problem *p)
{
    s->direction = cvp_conv_problem_direction(p);
    struct cvp_text t = cvp_text_in(s->problem, sizeof s->problem);
    cvp_conv_problem_put(&t, p);
}

const char *cvp_conv_choice_name(convop_conv_choice choice)
{
    switch (choice) {
    case CONVOP_CHOICE_NONE: return "none";
    case CONVOP_CHOICE_FORCED: return "forced";
    case CONVOP_CHOICE_CACHED: return "cached";
    case CONVOP_CHOICE_ESTIMATED: return "estimated";
    case CONVOP_CHOICE_MEASURED: return "measured";
    }
    return "unknown";
}

/* Multiplications and additions, those with the padding among them, as benchdnn counts. */
static double flops_of(const convop_conv_problem *p)
{
    double pixels = (double)p->mb * (double)p->oc * (double)cvp_conv_dst_pixels(p);
    if (p->direction == CONVOP_BWD_B) return pixels;
    return 2 * pixels * (double)(p->ic / p->g) * (double)cvp_conv_taps(p);
}

void cvp_conv_log_exec(const struct conv_plan *plan, const convop_context *context, double ms)
{
    const convop_conv_problem *p = &plan->given;
    struct subject s;
    describe(&s, p);
    cvp_log(&context->sink, "exec,Convolution,%s,%s:%s,%s,%s,%.4f,%.2f", s.direction,
            plan->impl->name, cvp_isa_name((enum cvp_isa)p->isa), s.problem,
            cvp_conv_choice_name(plan->choice), ms, ms > 0 ? flops_of(p) / ms * 1e-6 : 0.0);
}

void cvp_conv_log_tune(const struct conv_plan *plan, const char *what,
                       const convop_conv_impl *winner, double ms)
{
    struct subject s;
    describe(&s, &plan->given);
    cvp_log(&plan->context->sink, "tune,Convolution,%s,%s,%s,%s,%.4f", s.direction, s.problem, what,
            winner ? winner->name : "-", ms);
}

void cvp_conv_log_fault(const struct conv_plan *plan, const convop_conv_impl *row, const char *why)
{
    struct subject s;
    describe(&s, &plan->given);
    cvp_log(&plan->context->sink, "fault,Convolution,%s,%s,%s,%s", s.direction, s.problem,
            row->name, why);
}

void cvp_conv_log_look_up(const struct conv_plan *plan, const struct cvp_tune_key *key,
                          const char *what, const struct cvp_tune_choice *answer)
{
    cvp_log(&plan->context->sink, "lookup,Convolution,%s,%s,%s", key->problem, what,
            answer ? answer->impl : "-");
}

void cvp_conv_log_measured(const struct conv_plan *plan, const convop_conv_impl *row,
                           double estimated_ms, double ms, int runs)
{
    struct subject s;
    describe(&s, &plan->given);
    cvp_log(&plan->context->sink, "measure,Convolution,%s,%s,%s,%.4f,%.4f,%d", s.direction,
            s.problem, row->name, estimated_ms, ms, runs);
}

void cvp_conv_log_choice(const struct conv_plan *plan)
{
    struct subject s;
    convop_conv_problem behind;
    size_t bytes = 0;
    int has_copies = cvp_conv_plan_behind(plan, &behind, &bytes);
    describe(&s, &plan->given);
    cvp_log(&plan->context->sink, "create,Convolution,%s,%s,%s,%s,%zu", s.direction, s.problem,
            plan->impl->name, cvp_conv_choice_name(plan->choice), plan->bytes);
    const struct conv_row_list rows = cvp_conv_rows_for(plan->rows, &plan->given);
    for (size_t i = 0; i < rows.count; i++) {
        const convop_conv_impl *row = rows.at[i];
        struct conv_candidate c = {.estimated_ms = 0};
        char why[CONVOP_WHY_SIZE];
        int takes = cvp_conv_rate(plan, has_copies ? &behind : NULL, bytes, row, &c, why);
        cvp_log(&plan->context->sink, "dispatch,Convolution,%s,%s,%s,%.4f,%s", s.direction,
                row->name,
                row == plan->impl ? "chosen"
                : takes           ? "applicable"
                                  : "no",
                c.estimated_ms, takes ? "-" : why);
    }
}

/* One direction, planned: the row that runs it, the copies that make its tensors what the row
 * takes, and what was made of weights that stay the same. */
#ifndef CVP_CONV_PLAN_H
#define CVP_CONV_PLAN_H

#include "src/common/settings.h"
#include "src/operator/convolution/impl.h"

/* What the choice of a row depends on beside the problem. */
struct conv_terms {
    enum cvp_autotune mode;
    int constants; /* the weights stay the same over many runs: they are copied and packed once */
    void *stream;  /* of the call that it is made for, on a GPU; NULL: the default one */
};

/* The setting "autotune" where it is set, else the operator's parameter. INVALID if the setting
 * does not parse. */
convop_status cvp_conv_mode(const convop_conv_params *params, enum cvp_autotune *mode);

/* The workspace that a call may use: what the call allows, and the operator's parameter unless the
 * fastest row is asked for. */
size_t cvp_conv_workspace_limit(const convop_conv_params *params, enum cvp_autotune mode,
                                size_t call_limit);

/* The tensors of a problem. */
enum conv_place { CONV_SRC, CONV_WEIGHTS, CONV_BIAS, CONV_DST, CONV_RESIDUAL, CONV_PLACES };

/* One of them: as the caller has it, and as a row behind copies has it: compact, and float32 where
 * the caller's is a 16-bit type. */
struct conv_side {
    int64_t sizes[5]; /* n, c, d, h, w; weights: oc, ic / g, ...; bias: 1, oc or 0, 1, 1, 1 */
    convop_conv_strides have, want;
};

/* Immutable once made; may run in many threads. */
struct conv_plan {
    convop_conv_problem given;   /* as the caller has it */
    convop_conv_problem problem; /* as the row sees it, with its cut */
    struct conv_terms terms;
    unsigned differing;           /* bit of each place whose copy is not what the caller has */
    const struct conv_rows *rows; /* held until the plan ends */
    const convop_context *context;

    const convop_conv_impl *impl; /* NULL: no row was chosen */
    int copies;                   /* 1: it gets copies of the differing tensors */
    int is_light;                 /* 1: not worth a second thread */
    int is_finished_apart;        /* 1: activation and residual follow in a pass of their own */
    convop_conv_choice choice;
    double ms;    /* of the row; 0: not measured */
    size_t bytes; /* of workspace: the copies, then the row's */

    void *state; /* what the row's begin() made, owned */

    /* Of constant weights, owned: the copy that the row takes, or what it packed. */
    void *prepared;
    size_t prepared_bytes;
    int is_packed;

    struct conv_cut cut; /* what problem.cut points to: a plan stays where it was made */
};

/* Chooses for a problem. Where copies fit the workspace limit, rows that do not take it as it is
 * are among the candidates, for the copies. UNSUPPORTED, INVALID as cvp_conv_fail_to_find. */
convop_status cvp_conv_plan_init(struct conv_plan *plan, const convop_conv_problem *p,
                                 const struct conv_terms *terms, const convop_context *context);

/* The same without its last step: a plan with no row, to be ended. */
void cvp_conv_plan_start(struct conv_plan *plan, const convop_conv_problem *p,
                         const struct conv_terms *terms, const convop_context *context);

/* The problem as a row behind copies sees it, and the bytes of the copies. 0: it needs none, or
 * they exceed the limit. */
int cvp_conv_plan_behind(const struct conv_plan *plan, convop_conv_problem *behind, size_t *bytes);

/* For weights that stay the same until the plan ends: copies and packs them once.
 * NO_MEMORY leaves the plan as it was. */
convop_status cvp_conv_plan_prepare(struct conv_plan *plan, const void *weights);
void cvp_conv_plan_unprepare(struct conv_plan *plan);

/* Ends what the row's begin() made. */
void cvp_conv_plan_end_state(struct conv_plan *plan);

/* What the row notes of that for the cache, the caller's to free; NULL: nothing, or no memory. */
char *cvp_conv_plan_notes(const struct conv_plan *plan);

/* t->packed is set by this function. Where a cached row turns out not to run the problem, another
 * one does. */
convop_status cvp_conv_plan_run(const struct conv_plan *plan, const convop_conv_operands *t,
                                const convop_context *context, void *workspace);

/* The same for this very row, and without a line of log. */
convop_status cvp_conv_plan_compute(const struct conv_plan *plan, const convop_conv_operands *t,
                                    const convop_context *context, void *workspace);

/* Ends a plan; one that was zeroed or never made is left alone. */
void cvp_conv_plan_end(struct conv_plan *plan);

struct conv_side cvp_conv_side(const struct conv_plan *plan, enum conv_place place);

/* The place that the direction computes. */
enum conv_place cvp_conv_output(const struct conv_plan *plan);

static inline int cvp_conv_is_copied(const struct conv_plan *plan, enum conv_place place)
{
    return plan->copies && (plan->differing >> place & 1);
}

/* Copies from the caller's tensor to the row's, and back. */
void cvp_conv_gather(const struct conv_plan *plan, enum conv_place place,
                     const convop_context *context, void *to, const void *from);
void cvp_conv_scatter(const struct conv_plan *plan, enum conv_place place,
                      const convop_context *context, void *to, const void *from);

/* Bytes of a copy, rounded up to the alignment of buffers. */
size_t cvp_conv_copy_bytes(const struct conv_plan *plan, enum conv_place place);

#endif

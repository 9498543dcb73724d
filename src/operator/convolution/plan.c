/* Planning one direction of the convolution: its tensors, and the copies of them that a row may
 * need. */
#include "src/operator/convolution/plan.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/common/tensor.h"
#include "src/operator/convolution/select.h"
#include "src/operator/copy.h"

struct conv_side cvp_conv_side(const struct conv_plan *plan, enum conv_place place)
{
    const convop_conv_problem *p = &plan->given;
    const int has_bias = p->bias || p->direction == CONVOP_BWD_B;
    convop_conv_problem dense = *p;
    cvp_conv_problem_make_dense(&dense);
    switch (place) {
    case CONV_SRC:
        return (struct conv_side){{p->mb, p->ic, p->id, p->ih, p->iw}, p->src, dense.src};
    case CONV_DST:
        return (struct conv_side){{p->mb, p->oc, p->od, p->oh, p->ow}, p->dst, dense.dst};
    case CONV_WEIGHTS:
        return (struct conv_side){
            {p->oc, p->ic / p->g, p->kd, p->kh, p->kw}, p->weights, dense.weights};
    case CONV_RESIDUAL:
        return (struct conv_side){
            {p->mb, p->residual ? p->oc : 0, p->od, p->oh, p->ow}, p->residual_strides, dense.dst};
    case CONV_BIAS:
    case CONV_PLACES: break;
    }
    return (struct conv_side){{1, has_bias ? p->oc : 0, 1, 1, 1}, {.c = p->bias_stride}, {.c = 1}};
}

enum conv_place cvp_conv_output(const struct conv_plan *plan)
{
    switch (plan->given.direction) {
    case CONVOP_FWD: return CONV_DST;
    case CONVOP_BWD_D: return CONV_SRC;
    case CONVOP_BWD_W: return CONV_WEIGHTS;
    case CONVOP_BWD_B: break;
    }
    return CONV_BIAS;
}

size_t cvp_conv_copy_bytes(const struct conv_plan *plan, enum conv_place place)
{
    /* Inference has bounded the product for elements of eight bytes. */
    size_t n = cvp_conv_is_wide(&plan->given) ? cvp_conv_element_size(&plan->given) : sizeof(float);
    const struct conv_side side = cvp_conv_side(plan, place);
    for (int i = 0; i < 5; i++) n *= (size_t)side.sizes[i];
    return cvp_round_up(n, CVP_BUFFER_ALIGN);
}

static void copy(const convop_context *context, const struct conv_side *side, void *to,
                 const convop_conv_strides *ts, DLDataType to_type, const void *from,
                 const convop_conv_strides *fs, DLDataType from_type)
{
    const int64_t to_strides[5] = {ts->n, ts->c, ts->d, ts->h, ts->w};
    const int64_t from_strides[5] = {fs->n, fs->c, fs->d, fs->h, fs->w};
    cvp_copy_strided(context, 5, side->sizes, to, to_strides, to_type, from, from_strides,
                     from_type);
}

void cvp_conv_gather(const struct conv_plan *plan, enum conv_place place,
                     const convop_context *context, void *to, const void *from)
{
    const struct conv_side side = cvp_conv_side(plan, place);
    copy(context, &side, to, &side.want, plan->problem.dtype, from, &side.have, plan->given.dtype);
}

void cvp_conv_scatter(const struct conv_plan *plan, enum conv_place place,
                      const convop_context *context, void *to, const void *from)
{
    const struct conv_side side = cvp_conv_side(plan, place);
    copy(context, &side, to, &side.have, plan->given.dtype, from, &side.want, plan->problem.dtype);
}

static int differs(const struct conv_plan *plan, enum conv_place place)
{
    const struct conv_side side = cvp_conv_side(plan, place);
    const convop_conv_strides *have = &side.have, *want = &side.want;
    return !cvp_conv_is_wide(&plan->given) || have->n != want->n || have->c != want->c ||
           have->d != want->d || have->h != want->h || have->w != want->w;
}

/* The bias gradient reads diff_dst once, whatever it is: a copy would be a second pass. Rows of a
 * GPU take tensors as they are. */
static int may_copy(const convop_conv_problem *p)
{
    return !(p->dense && cvp_conv_is_wide(p)) && p->direction != CONVOP_BWD_B &&
           !cvp_conv_is_on_gpu(p);
}

int cvp_conv_plan_behind(const struct conv_plan *plan, convop_conv_problem *behind, size_t *bytes)
{
    const convop_conv_problem *p = &plan->given;
    if (!may_copy(p)) return 0;
    *bytes = 0;
    for (int i = 0; i < CONV_PLACES; i++)
        if ((plan->differing >> i & 1) &&
            !cvp_add_size(*bytes, cvp_conv_copy_bytes(plan, (enum conv_place)i), bytes))
            return 0;
    if (*bytes > p->workspace_limit) return 0;
    *behind = *p;
    if (!cvp_conv_is_wide(p)) behind->dtype = (DLDataType){kDLFloat, 32, 1};
    cvp_conv_problem_make_dense(behind);
    behind->bias_stride = 1;
    behind->workspace_limit -= *bytes;
    return 1;
}

void cvp_conv_plan_start(struct conv_plan *plan, const convop_conv_problem *p,
                         const struct conv_terms *terms, const convop_context *context)
{
    memset(plan, 0, offsetof(struct conv_plan, cut));
    plan->given = *p;
    plan->terms = *terms;
    plan->context = context;
    plan->given.constant_weights = terms->constants;
    for (int i = 0; i < CONV_PLACES && may_copy(p); i++)
        plan->differing |= (unsigned)differs(plan, (enum conv_place)i) << i;
    plan->rows = cvp_conv_rows_acquire();
}

convop_status cvp_conv_plan_init(struct conv_plan *plan, const convop_conv_problem *p,
                                 const struct conv_terms *terms, const convop_context *context)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_PLAN);
    cvp_conv_plan_start(plan, p, terms, context);
    convop_status status = cvp_conv_select(plan, NULL);
    cvp_stage_leave(outer);
    if (status != CONVOP_OK) cvp_conv_plan_end(plan);
    return status;
}

void cvp_conv_plan_end_state(struct conv_plan *plan)
{
    if (plan->state && plan->impl->end) plan->impl->end(plan->state);
    plan->state = NULL;
}

char *cvp_conv_plan_notes(const struct conv_plan *plan)
{
    const convop_conv_impl *row = plan->impl;
    return plan->state && CONV_IMPL_HAS(row, notes) && row->notes
               ? cvp_strdup(row->notes(plan->state))
               : NULL;
}

void cvp_conv_plan_end(struct conv_plan *plan)
{
    cvp_conv_plan_unprepare(plan);
    cvp_conv_plan_end_state(plan);
    if (plan->rows) cvp_conv_rows_release(plan->rows);
    memset(plan, 0, sizeof *plan);
}

/* Planning one direction of the convolution: which row, and for which copies of the tensors. */
#include "src/operator/convolution/plan.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/log.h"
#include "src/common/settings.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/operator/copy.h"

size_t cvp_conv_copy_bytes(const struct conv_plan *plan, const struct conv_side *side)
{
    /* Inference has bounded the product for elements of eight bytes. */
    size_t n = cvp_conv_element_size(&plan->problem);
    for (int i = 0; i < 5; i++) n *= (size_t)side->sizes[i];
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

void cvp_conv_gather(const struct conv_plan *plan, const struct conv_side *side,
                     const convop_context *context, void *to, const void *from)
{
    copy(context, side, to, &side->want, plan->problem.dtype, from, &side->have, plan->dtype);
}

void cvp_conv_scatter(const struct conv_plan *plan, const struct conv_side *side,
                      const convop_context *context, void *to, const void *from)
{
    copy(context, side, to, &side->have, plan->dtype, from, &side->want, plan->problem.dtype);
}

static void set_sides(struct conv_plan *plan, const convop_conv_problem *p)
{
    plan->src = (struct conv_side){{p->mb, p->ic, p->id, p->ih, p->iw}, .have = p->src};
    plan->dst = (struct conv_side){{p->mb, p->oc, p->od, p->oh, p->ow}, .have = p->dst};
    plan->weights =
        (struct conv_side){{p->oc, p->ic / p->g, p->kd, p->kh, p->kw}, .have = p->weights};
    plan->bias = (struct conv_side){{1, p->bias ? p->oc : 0, 1, 1, 1}, .have.c = p->bias_stride};
}

/* Decides whether a side goes through a copy, and counts its bytes; 0 if they overflow. */
static int plan_copy(const struct conv_plan *plan, struct conv_side *side,
                     const convop_conv_strides *want, size_t *bytes)
{
    const convop_conv_strides *have = &side->have;
    side->want = *want;
    side->copied = plan->dtype.bits != plan->problem.dtype.bits || have->n != want->n ||
                   have->c != want->c || have->d != want->d || have->h != want->h ||
                   have->w != want->w;
    return !side->copied || cvp_add_size(*bytes, cvp_conv_copy_bytes(plan, side), bytes);
}

/* Makes plan->problem the one that a row sees behind the copies; 0 if these exceed the limit. */
static int plan_copies(struct conv_plan *plan, size_t *bytes)
{
    convop_conv_problem *p = &plan->problem;
    if (!cvp_conv_is_wide(p)) p->dtype = (DLDataType){kDLFloat, 32, 1};
    cvp_conv_problem_make_dense(p);
    *bytes = 0;
    if (!plan_copy(plan, &plan->src, &p->src, bytes) ||
        !plan_copy(plan, &plan->weights, &p->weights, bytes) ||
        !plan_copy(plan, &plan->bias, &(convop_conv_strides){.c = 1}, bytes) ||
        !plan_copy(plan, &plan->dst, &p->dst, bytes) || *bytes > p->workspace_limit)
        return 0;
    p->bias_stride = 1;
    p->workspace_limit -= *bytes;
    return 1;
}

/* Takes back what plan_copies did. */
static void plan_no_copies(struct conv_plan *plan, const convop_conv_problem *p)
{
    plan->problem = *p;
    plan->src.copied = plan->weights.copied = plan->bias.copied = plan->dst.copied = 0;
}

static int is_last_resort(const convop_conv_impl *impl)
{
    return !impl || strcmp(impl->name, CONV_REFERENCE) == 0;
}

/* Chooses, for the tensors as they are or for copies. NULL if there is no row. */
static const convop_conv_impl *choose(struct conv_plan *plan, const convop_conv_problem *p,
                                      const char *name, size_t *copies)
{
    const convop_conv_impl *as_is = cvp_conv_find(plan->rows, name, p);
    *copies = 0;
    /* The bias gradient reads diff_dst once, whatever it is: a copy would be a second pass. */
    if (!is_last_resort(as_is) || (p->dense && cvp_conv_is_wide(p)) || p->direction == CONVOP_BWD_B)
        return as_is;
    if (plan_copies(plan, copies)) {
        const convop_conv_impl *copied = cvp_conv_find(plan->rows, name, &plan->problem);
        if (!is_last_resort(copied)) return copied;
    }
    plan_no_copies(plan, p);
    *copies = 0;
    return as_is;
}

static void log_choice(const struct conv_plan *plan)
{
    const convop_conv_problem *p = &plan->problem;
    for (size_t i = 0; i < plan->rows->count; i++) {
        const convop_conv_impl *row = plan->rows->at[i];
        char why[CONVOP_WHY_SIZE];
        if (row->direction != p->direction) continue;
        const char *answer = row == plan->impl           ? "chosen"
                             : cvp_conv_ask(row, p, why) ? "applicable"
                                                         : why;
        cvp_log(NULL, "dispatch,Convolution,%s,%s,%s", cvp_conv_direction_name(p->direction),
                row->name, answer);
    }
}

convop_status cvp_conv_plan_init(struct conv_plan *plan, const convop_conv_problem *p,
                                 const convop_context *context)
{
    char name[256];
    CVP_RETURN_IF_ERROR(cvp_setting_text(CVP_SETTING_IMPL, name, sizeof name));
    *plan = (struct conv_plan){.problem = *p, .dtype = p->dtype, .context = context};
    set_sides(plan, p);
    plan->rows = cvp_conv_rows_acquire();
    size_t copies;
    plan->impl = choose(plan, p, name, &copies);
    size_t row_bytes =
        plan->impl && plan->impl->workspace ? plan->impl->workspace(&plan->problem) : 0;
    convop_status status = CONVOP_OK;
    if (!plan->impl)
        status = cvp_conv_fail_to_find(plan->rows, name, p);
    else if (row_bytes > plan->problem.workspace_limit ||
             !cvp_add_size(copies, row_bytes, &plan->bytes))
        status = convop_fail(CONVOP_E_INTERNAL,
                             "Convolution: implementation %s wants %zu bytes of workspace for a "
                             "problem that it takes, allowed are %zu",
                             plan->impl->name, row_bytes, plan->problem.workspace_limit);
    if (status == CONVOP_OK && cvp_verbose(2)) log_choice(plan);
    if (status != CONVOP_OK) cvp_conv_plan_end(plan);
    return status;
}

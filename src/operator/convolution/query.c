/* Questions about a direction: checked as a call is, but that data is not read. */
#include "src/operator/convolution/query.h"

#include <string.h>

#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/engine/context.h"
#include "src/operator/call.h"
#include "src/operator/convolution/convolution.h"
#include "src/operator/convolution/infer.h"
#include "src/operator/convolution/params.h"
#include "src/operator/device.h"
#include "src/registry/registry_internal.h"

static convop_status check_tensors(const convop_conv_params *p, const struct conv_tensors *t,
                                   convop_shape *src, convop_shape *dst)
{
    const DLTensor *all[] = {t->src, t->weights, t->dst};
    static const char *const names[] = {"src", "weights", "dst"};
    for (int i = 0; i < 3; i++) {
        if (!all[i]) return convop_fail(CONVOP_E_INVALID, "Convolution: %s is NULL", names[i]);
        CVP_RETURN_IF_ERROR(cvp_op_check_tensor(&cvp_op_Convolution, names[i], all[i], CVP_QUERY));
        if (!cvp_dtype_equal(all[i]->dtype, t->src->dtype))
            return convop_fail(CONVOP_E_INVALID, "Convolution: %s and src differ in dtype",
                               names[i]);
    }
    *src = cvp_conv_shape_of(t->src);
    *dst = cvp_conv_shape_of(t->dst);
    convop_shape weights = cvp_conv_shape_of(t->weights);
    return cvp_conv_infer(
        p, &(struct conv_shapes){
               .src = src, .weights = &weights, .dst = dst, .names = cvp_conv_forward_names});
}

convop_status cvp_conv_query_read(const struct conv_query *q, enum cvp_autotune *mode,
                                  convop_conv_problem *problem, const convop_context **context)
{
    convop_conv_params p;
    CVP_RETURN_IF_ERROR(cvp_conv_params_read(q->params, &p));
    if ((unsigned)q->direction > CONVOP_BWD_B)
        return convop_fail(CONVOP_E_INVALID, "%s: direction %d, allowed is 0..3", q->caller,
                           (int)q->direction);
    if (q->direction != CONVOP_FWD) CVP_RETURN_IF_ERROR(cvp_conv_params_check_plain(&p));
    convop_exec x = CONVOP_EXEC_INIT;
    if (q->exec) CVP_RETURN_IF_ERROR(cvp_read_struct(&x, sizeof x, q->exec, "convop_exec"));
    CVP_RETURN_IF_ERROR(cvp_context_get(x.context, context));
    if (*mode == CVP_AUTOTUNE_UNSET) CVP_RETURN_IF_ERROR(cvp_conv_mode(&p, mode));

    struct conv_tensors t = {.src = q->src, .weights = q->weights, .dst = q->dst};
    convop_shape src_shape, dst_shape;
    CVP_RETURN_IF_ERROR(check_tensors(&p, &t, &src_shape, &dst_shape));
    size_t limit;
    cvp_call_workspace(&x, &limit);
    CVP_RETURN_IF_ERROR(cvp_conv_problem_init(problem, &p, q->direction, q->src->dtype, &src_shape,
                                              &dst_shape, &t, *context,
                                              cvp_conv_workspace_limit(&p, *mode, limit)));
    if (problem->mb == 0) problem->mb = 1;
    problem->residual = q->direction == CONVOP_FWD && p.residual;
    return CONVOP_OK;
}

static void fill_row(convop_conv_row *to, const struct conv_plan *plan,
                     const convop_conv_problem *behind, size_t copy_bytes,
                     const convop_conv_impl *row)
{
    struct conv_candidate c;
    memset(to, 0, sizeof *to);
    to->name = row->name;
    to->version = row->version;
    to->error_bound = cvp_conv_error_bound(row);
    to->applicable = cvp_conv_rate(plan, behind, copy_bytes, row, &c, to->why_not);
    if (!to->applicable) return;
    to->why_not[0] = '\0';
    to->workspace_bytes = c.bytes;
    to->estimated_ms = c.estimated_ms;
    to->chosen = row == plan->impl;
    if (!to->chosen) return;
    to->workspace_bytes = plan->bytes;
    to->choice = plan->choice;
    to->ms = plan->ms;
}

void cvp_conv_query_rows(const struct conv_plan *plan, convop_conv_row *rows, size_t *count)
{
    convop_conv_problem behind;
    size_t bytes = 0;
    int has_copies = cvp_conv_plan_behind(plan, &behind, &bytes);
    const struct conv_row_list list = cvp_conv_rows_for(plan->rows, &plan->given);
    for (size_t i = 0; i < list.count && i < *count; i++)
        fill_row(&rows[i], plan, has_copies ? &behind : NULL, bytes, list.at[i]);
    *count = list.count;
}

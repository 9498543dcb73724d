/* convop_conv_explain: which row would run, and what keeps the others from it. */
#include <stdio.h>
#include <string.h>

#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/engine/context.h"
#include "src/operator/call.h"
#include "src/operator/convolution/convolution.h"
#include "src/operator/convolution/infer.h"
#include "src/operator/convolution/params.h"
#include "src/operator/convolution/plan.h"

static convop_status check_tensors(const convop_conv_params *p, const struct conv_tensors *t,
                                   convop_shape *src, convop_shape *dst)
{
    const DLTensor *all[] = {t->src, t->weights, t->dst};
    static const char *const names[] = {"src", "weights", "dst"};
    for (int i = 0; i < 3; i++) {
        if (!all[i]) return convop_fail(CONVOP_E_INVALID, "Convolution: %s is NULL", names[i]);
        CVP_RETURN_IF_ERROR(cvp_tensor_check("Convolution", names[i], all[i], CVP_QUERY));
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

static void fill_row(convop_conv_row *row, const convop_conv_impl *impl,
                     const struct conv_plan *plan, size_t copies, int chosen)
{
    memset(row, 0, sizeof *row);
    row->name = impl->name;
    row->version = impl->version;
    row->applicable = cvp_conv_ask(impl, &plan->problem, row->why_not);
    if (!row->applicable) return;
    row->workspace_bytes = copies + (impl->workspace ? impl->workspace(&plan->problem) : 0);
    row->chosen = chosen;
}

convop_status convop_conv_explain(const convop_conv_params *params, convop_conv_direction direction,
                                  const DLTensor *src, const DLTensor *weights, const DLTensor *dst,
                                  const convop_exec *exec, convop_conv_row *rows, size_t *count)
{
    convop_conv_params p;
    CVP_RETURN_IF_ERROR(cvp_conv_params_read(params, &p));
    if (!count || (!rows && *count > 0))
        return convop_fail(CONVOP_E_INVALID, "convop_conv_explain: %s is NULL",
                           count ? "rows" : "count");
    if ((unsigned)direction > CONVOP_BWD_B)
        return convop_fail(CONVOP_E_INVALID, "convop_conv_explain: direction %d, allowed is 0..3",
                           (int)direction);
    convop_exec x = CONVOP_EXEC_INIT;
    if (exec) CVP_RETURN_IF_ERROR(cvp_read_struct(&x, sizeof x, exec, "convop_exec"));
    const convop_context *context;
    CVP_RETURN_IF_ERROR(cvp_context_get(x.context, &context));

    struct conv_tensors t = {.src = src, .weights = weights, .dst = dst};
    convop_shape src_shape, dst_shape;
    CVP_RETURN_IF_ERROR(check_tensors(&p, &t, &src_shape, &dst_shape));
    size_t limit;
    cvp_call_workspace(&x, &limit);
    convop_conv_problem problem;
    CVP_RETURN_IF_ERROR(cvp_conv_problem_init(&problem, &p, direction, src->dtype, &src_shape,
                                              &dst_shape, &t, context, limit));
    /* A call with an empty batch runs nothing; the rows answer for one image. */
    if (problem.mb == 0) problem.mb = 1;
    /* A problem that no row runs is no failure here: the rows say why. */
    struct conv_plan plan;
    convop_status status = cvp_conv_plan_init(&plan, &problem, context);
    if (status != CONVOP_OK && status != CONVOP_E_UNSUPPORTED) return status;
    if (status != CONVOP_OK) plan.problem = problem;
    const struct conv_rows *all = cvp_conv_rows_acquire();
    size_t own = plan.impl && plan.impl->workspace ? plan.impl->workspace(&plan.problem) : 0;

    size_t room = *count, n = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (all->at[i]->direction != direction) continue;
        if (n < room)
            fill_row(&rows[n], all->at[i], &plan, plan.bytes - own, all->at[i] == plan.impl);
        n++;
    }
    cvp_conv_rows_release(all);
    cvp_conv_plan_end(&plan);
    *count = n;
    return CONVOP_OK;
}

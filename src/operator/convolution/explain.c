/* convop_conv_explain: which row would run, and what keeps the others from it. It measures nothing:
 * where a call would, it says what the call begins with, the estimate. */
#include "src/common/status.h"
#include "src/operator/convolution/query.h"

convop_status convop_conv_explain(const convop_conv_params *params, convop_conv_direction direction,
                                  const DLTensor *src, const DLTensor *weights, const DLTensor *dst,
                                  const convop_exec *exec, convop_conv_row *rows, size_t *count)
{
    const struct conv_query q = {"convop_conv_explain", params, direction, src, weights, dst, exec};
    struct conv_terms terms = {.mode = CVP_AUTOTUNE_UNSET};
    convop_conv_problem problem;
    const convop_context *context;
    if (!count || (!rows && *count > 0))
        return convop_fail(CONVOP_E_INVALID, "convop_conv_explain: %s is NULL",
                           count ? "rows" : "count");
    CVP_RETURN_IF_ERROR(cvp_conv_query_read(&q, &terms.mode, &problem, &context));
    if (terms.mode != CVP_AUTOTUNE_OFF) terms.mode = CVP_AUTOTUNE_UNSET;
    struct conv_plan plan;
    cvp_conv_plan_start(&plan, &problem, &terms, context);
    /* A problem that no row runs is no failure here: the rows say why. */
    convop_status status = cvp_conv_select(&plan, NULL);
    if (status == CONVOP_E_UNSUPPORTED) status = CONVOP_OK;
    if (status == CONVOP_OK) cvp_conv_query_rows(&plan, rows, count);
    cvp_conv_plan_end(&plan);
    return status;
}

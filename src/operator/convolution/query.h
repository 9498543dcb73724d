/* A question about one direction of a convolution that no call asks: by explaining and by tuning.
 */
#ifndef CVP_CONV_QUERY_H
#define CVP_CONV_QUERY_H

#include "src/operator/convolution/select.h"

/* What such a call is given. */
struct conv_query {
    const char *caller;
    const convop_conv_params *params;
    convop_conv_direction direction;
    const DLTensor *src, *weights, *dst;
    const convop_exec *exec;
};

/* Checks it, and builds the problem; with an empty batch that of one image. mode: in, UNSET is "as
 * set"; out: what is in force. */
convop_status cvp_conv_query_read(const struct conv_query *q, enum cvp_autotune *mode,
                                  convop_conv_problem *problem, const convop_context **context);

/* Lists what the rows of the plan's direction say; `rows` and `count` as convop_conv_explain. The
 * plan's row, if it has one, is the chosen one. */
void cvp_conv_query_rows(const struct conv_plan *plan, convop_conv_row *rows, size_t *count);

#endif

/* The calls of the library that a case makes. */
#include "tools/bench/bench.h"

/* convop_tuple and the like are copied; tensors that the direction does not have are NULL. */
static DLTensor *view(struct bench_case *c, enum operand o)
{
    return c->tensor[o].block ? &c->tensor[o].view : NULL;
}

convop_status case_run(struct bench_case *c)
{
    DLTensor *src = view(c, SRC), *weights = view(c, WEI), *bias = view(c, BIA),
             *dst = view(c, DST);
    convop_request requests[3] = {
        case_writes(c, SRC) ? CONVOP_REQ_WRITE : CONVOP_REQ_NULL,
        case_writes(c, WEI) ? CONVOP_REQ_WRITE : CONVOP_REQ_NULL,
        case_writes(c, BIA) ? CONVOP_REQ_WRITE : CONVOP_REQ_NULL,
    };
    switch (c->direction) {
    case BWD_D:
        return convop_conv_backward(&c->params, dst, NULL, weights, src, NULL, NULL, requests,
                                    &c->exec);
    case BWD_W:
    case BWD_WB:
        return convop_conv_backward(&c->params, dst, src, NULL, NULL, weights, bias, requests,
                                    &c->exec);
    default:
        return convop_conv_forward(&c->params, src, weights, bias, dst, CONVOP_REQ_WRITE, &c->exec);
    }
}

convop_status case_rows(const struct bench_case *c, convop_conv_row *rows, size_t *count,
                        int *chosen)
{
    size_t room = *count;
    convop_conv_direction direction = c->direction == BWD_D ? CONVOP_BWD_D
                                      : c->direction == BWD_W || c->direction == BWD_WB
                                          ? CONVOP_BWD_W
                                          : CONVOP_FWD;
    *chosen = -1;
    convop_status status =
        convop_conv_explain(&c->params, direction, &c->tensor[SRC].view, &c->tensor[WEI].view,
                            &c->tensor[DST].view, &c->exec, rows, count);
    if (status != CONVOP_OK) {
        *count = 0;
        return status;
    }
    if (*count > room) *count = room;
    for (size_t i = 0; i < *count; i++)
        if (rows[i].chosen) *chosen = (int)i;
    return CONVOP_OK;
}

/* The calls of the library that a case makes. */
#include "tools/bench/bench.h"

/* Tensors that the direction does not have are NULL. */
static DLTensor *view(struct bench_case *c, enum operand o)
{
    return c->tensor[o].block ? &c->tensor[o].view : NULL;
}

/* What is added behind the convolution, or NULL. */
static DLTensor *addend(struct bench_case *c)
{
    const enum addend kind = c->problem->settings.post_ops.addend;
    return kind == ADD_NOTHING ? NULL : view(c, kind == ADD_DST ? DST : ADDEND);
}

static convop_request forward_request(const struct bench_case *c)
{
    return c->problem->settings.post_ops.addend == ADD_DST ? CONVOP_REQ_INPLACE : CONVOP_REQ_WRITE;
}

convop_status case_prepare(struct bench_case *c)
{
    convop_instance_destroy(&c->instance);
    if (!c->problem->settings.prepared) return CONVOP_OK;
    const struct post_ops *post_ops = &c->problem->settings.post_ops;
    const int adds = post_ops->addend != ADD_NOTHING;
    const DLTensor *constants[4] = {NULL}, *inputs[4] = {view(c, SRC), addend(c)};
    DLTensor *outputs[] = {view(c, DST)};
    const convop_request request = forward_request(c);
    constants[1 + adds] = view(c, WEI);
    constants[2 + adds] = view(c, BIA);
    convop_status status = convop_instance_create_typed(
        adds                   ? "FusedConvolutionAdd"
        : post_ops->activation ? "FusedConvolution"
                               : "Convolution",
        &c->query.params, 2 + adds + case_has_bias(c), constants, c->exec.context, &c->instance);
    if (status != CONVOP_OK) return status;
    return convop_instance_reshape(c->instance, inputs, outputs, &request, SIZE_MAX, NULL);
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
    const convop_conv_params *params = &c->query.params;
    if (c->instance) {
        const DLTensor *inputs[] = {src, addend(c), NULL, NULL};
        return convop_instance_run(c->instance, inputs, &dst, &c->exec);
    }
    switch (c->direction) {
    case BWD_D:
        return convop_conv_backward(params, dst, NULL, weights, src, NULL, NULL, requests,
                                    &c->exec);
    case BWD_W:
    case BWD_WB:
        return convop_conv_backward(params, dst, src, NULL, NULL, weights, bias, requests,
                                    &c->exec);
    default:
        if (!addend(c))
            return convop_conv_forward(params, src, weights, bias, dst, CONVOP_REQ_WRITE, &c->exec);
        return convop_conv_forward_add(params, src, weights, bias, addend(c), dst,
                                       forward_request(c), &c->exec);
    }
}

convop_status case_rows(const struct bench_case *c, convop_conv_row *rows, size_t *count,
                        int *chosen)
{
    size_t room = *count;
    const struct query *q = &c->query;
    *chosen = -1;
    convop_status status = convop_conv_explain(&q->params, library_direction(c->direction), &q->src,
                                               &q->weights, &q->dst, &c->exec, rows, count);
    if (status != CONVOP_OK) {
        *count = 0;
        return status;
    }
    if (*count > room) *count = room;
    for (size_t i = 0; i < *count; i++)
        if (rows[i].chosen) *chosen = (int)i;
    return CONVOP_OK;
}

/* Calls of a case's convolution. */
#include <string.h>

#include "tests/cases/conv.h"

/* NULL where the request is NULL: such a pointer may be NULL, so it is. */
static DLTensor *asked(struct conv *v, int output)
{
    return v->req[output] == CONVOP_REQ_NULL ? NULL : &v->out[output].dl;
}

static const DLTensor *given(struct conv *v, int input)
{
    return v->in[input].memory.pages != NULL ? &v->in[input].dl : NULL;
}

convop_status conv_call(struct conv *v, const convop_exec *exec)
{
    if (!v->backward)
        return conv_forward(&v->params, given(v, DATA), given(v, WEIGHT), given(v, BIAS),
                            asked(v, OUTPUT), v->req[OUTPUT], exec);
    return conv_backward(&v->params, given(v, OUT_GRAD), given(v, DATA), given(v, WEIGHT),
                         asked(v, DATA_GRAD), asked(v, WEIGHT_GRAD), asked(v, BIAS_GRAD),
                         v->req + DATA_GRAD, exec);
}

convop_status conv_invoke(struct conv *v, const convop_exec *exec)
{
    const DLTensor *forward[] = {given(v, DATA), given(v, WEIGHT), given(v, BIAS)};
    const DLTensor *backward[] = {given(v, OUT_GRAD), given(v, DATA), given(v, WEIGHT)};
    DLTensor *outputs[] = {asked(v, OUTPUT)};
    DLTensor *gradients[] = {asked(v, DATA_GRAD), asked(v, WEIGHT_GRAD), asked(v, BIAS_GRAD)};
    if (!v->backward)
        return convop_invoke("Convolution", v->num_pairs, v->keys, v->values, 2 + v->has_bias,
                             forward, 1, outputs, v->req, exec);
    return convop_invoke("_backward_Convolution", v->num_pairs, v->keys, v->values, 3, backward,
                         2 + v->has_bias, gradients, v->req + DATA_GRAD, exec);
}

convop_status conv_instance(struct conv *v, int packs_weights)
{
    const DLTensor *forward[] = {given(v, DATA), given(v, WEIGHT), given(v, BIAS)};
    const DLTensor *backward[] = {given(v, OUT_GRAD), given(v, DATA), given(v, WEIGHT)};
    const DLTensor *const *inputs = v->backward ? backward : forward;
    DLTensor *outputs[] = {asked(v, OUTPUT)};
    DLTensor *gradients[] = {asked(v, DATA_GRAD), asked(v, WEIGHT_GRAD), asked(v, BIAS_GRAD)};
    DLTensor *const *results = v->backward ? gradients : outputs;
    const DLTensor *constants[3] = {NULL};
    int weight = v->backward ? 2 : 1;
    if (packs_weights) constants[weight] = inputs[weight];
    convop_instance *instance = NULL;
    convop_status status = convop_instance_create_typed(
        v->backward ? "_backward_Convolution" : "Convolution", &v->params,
        v->backward ? 3 : 2 + v->has_bias, constants, NULL, &instance);
    if (status == CONVOP_OK)
        status = convop_instance_reshape(instance, inputs, results,
                                         v->backward ? v->req + DATA_GRAD : v->req, SIZE_MAX, NULL);
    if (status == CONVOP_OK) status = convop_instance_run(instance, inputs, results, NULL);
    convop_instance_destroy(&instance);
    return status;
}

convop_conv_direction conv_direction(int output)
{
    return output == OUTPUT        ? CONVOP_FWD
           : output == DATA_GRAD   ? CONVOP_BWD_D
           : output == WEIGHT_GRAD ? CONVOP_BWD_W
                                   : CONVOP_BWD_B;
}

size_t conv_rows(struct conv *v, convop_conv_direction direction, convop_conv_row *rows,
                 size_t room)
{
    const DLTensor *src = direction == CONVOP_BWD_D ? &v->out[DATA_GRAD].dl : &v->in[DATA].dl;
    const DLTensor *weights =
        direction == CONVOP_BWD_W ? &v->out[WEIGHT_GRAD].dl : &v->in[WEIGHT].dl;
    const DLTensor *dst = v->backward ? &v->in[OUT_GRAD].dl : &v->out[OUTPUT].dl;
    size_t count = room;
    if (convop_conv_explain(&v->params, direction, src, weights, dst, NULL, rows, &count) !=
        CONVOP_OK)
        return 0;
    return count < room ? count : room;
}

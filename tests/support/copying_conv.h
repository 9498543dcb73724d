/* A 1x1 convolution that copies its image, so that a row that does something else shows. */
#ifndef CVP_TEST_COPYING_CONV_H
#define CVP_TEST_COPYING_CONV_H

#include "convop/convolution.h"

enum { CHANNELS = 4, SIDE = 5, IMAGE = CHANNELS * SIDE * SIDE };

struct problem {
    convop_conv_params params;
    float src[IMAGE], weights[CHANNELS * CHANNELS], dst[IMAGE]; /* src[i] is i */
    int64_t image[4], filter[4];
    DLTensor s, w, d;
};

static inline DLTensor view(float *data, int64_t *shape, int ndim)
{
    return (DLTensor){.data = data,
                      .device = {kDLCPU, 0},
                      .ndim = ndim,
                      .dtype = {kDLFloat, 32, 1},
                      .shape = shape};
}

static inline void make_problem(struct problem *x)
{
    const convop_conv_params defaults = CONVOP_CONV_PARAMS_INIT;
    *x = (struct problem){.params = defaults,
                          .image = {1, CHANNELS, SIDE, SIDE},
                          .filter = {CHANNELS, CHANNELS, 1, 1}};
    x->params.kernel = convop_tuple2(1, 1);
    x->params.num_filter = CHANNELS;
    x->params.no_bias = 1;
    for (int i = 0; i < IMAGE; i++) x->src[i] = (float)i;
    for (int i = 0; i < CHANNELS; i++) x->weights[i * (CHANNELS + 1)] = 1;
    x->s = view(x->src, x->image, 4);
    x->w = view(x->weights, x->filter, 4);
    x->d = view(x->dst, x->image, 4);
}

static inline convop_status forward(struct problem *x)
{
    return convop_conv_forward(&x->params, &x->s, &x->w, NULL, &x->d, CONVOP_REQ_WRITE, NULL);
}

#endif

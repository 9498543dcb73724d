/* A program of a user: one convolution with a known answer, and that what it refuses is said so.
 * C99, C11 and C++11 alike. */
#include <convop/convop.h>
#include <stdio.h>
#include <string.h>

static DLTensor tensor(float *data, int ndim, int64_t *shape)
{
    DLTensor t;
    memset(&t, 0, sizeof t);
    t.data = data;
    t.device.device_type = kDLCPU;
    t.ndim = ndim;
    t.dtype.code = kDLFloat;
    t.dtype.bits = 32;
    t.dtype.lanes = 1;
    t.shape = shape;
    return t;
}

int main(void)
{
    float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w[4] = {1, 0, 0, 1}, y[4] = {0, 0, 0, 0};
    const float expected[4] = {6, 8, 12, 14};
    int64_t x_shape[4] = {1, 1, 3, 3}, w_shape[4] = {1, 1, 2, 2}, y_shape[4] = {1, 1, 2, 2};
    DLTensor src = tensor(x, 4, x_shape), weights = tensor(w, 4, w_shape);
    DLTensor dst = tensor(y, 4, y_shape);
    convop_conv_params params = CONVOP_CONV_PARAMS_INIT;
    params.kernel = convop_tuple2(2, 2);
    params.num_filter = 1;
    params.no_bias = 1;

    if (conv_forward(&params, &src, &weights, NULL, &dst, CONVOP_REQ_WRITE, NULL) != CONVOP_OK) {
        printf("%s\n", convop_last_error());
        return 1;
    }
    if (memcmp(y, expected, sizeof y) != 0) {
        printf("%g %g %g %g, expected 6 8 12 14\n", y[0], y[1], y[2], y[3]);
        return 1;
    }
    params.num_filter = 2;
    if (conv_forward(&params, &src, &weights, NULL, &dst, CONVOP_REQ_WRITE, NULL) !=
            CONVOP_E_INVALID ||
        !strstr(convop_last_error(), "Convolution")) {
        printf("a wrong num_filter: \"%s\"\n", convop_last_error());
        return 1;
    }
    return 0;
}

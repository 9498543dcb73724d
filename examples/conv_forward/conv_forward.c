/* A 3x3 convolution of one image, to copy from.
 *     cc conv_forward.c $(pkg-config --cflags --libs convop) && ./a.out */
#include <convop/convop.h>
#include <stdio.h>

/* A DLPack view of float32 memory that we own. */
static DLTensor view(float *data, int64_t *shape, int ndim)
{
    DLTensor t = {.data = data, .ndim = ndim, .shape = shape};
    t.device.device_type = kDLCPU;
    t.dtype.code = kDLFloat;
    t.dtype.bits = 32;
    t.dtype.lanes = 1;
    return t;
}

int main(void)
{
    float image[1 * 1 * 4 * 4], filter[2 * 1 * 3 * 3], result[1 * 2 * 4 * 4];
    int64_t image_shape[] = {1, 1, 4, 4}, filter_shape[] = {2, 1, 3, 3};
    int64_t result_shape[] = {1, 2, 4, 4};
    for (int i = 0; i < 16; i++) image[i] = (float)i;
    for (int i = 0; i < 18; i++) filter[i] = i < 9 ? 1.0f / 9 : (i == 13); /* mean; copy */

    convop_conv_params p = CONVOP_CONV_PARAMS_INIT;
    p.kernel = convop_tuple2(3, 3);
    p.pad_begin = p.pad_end = convop_tuple2(1, 1);
    p.num_filter = 2;
    p.no_bias = 1;

    DLTensor src = view(image, image_shape, 4), weights = view(filter, filter_shape, 4);
    DLTensor dst = view(result, result_shape, 4);
    if (conv_forward(&p, &src, &weights, NULL, &dst, CONVOP_REQ_WRITE, NULL) != CONVOP_OK) {
        fprintf(stderr, "%s\n", convop_last_error());
        return 1;
    }
    for (int i = 0; i < 32; i++) printf("%6.2f%s", (double)result[i], i % 4 == 3 ? "\n" : " ");
    return 0;
}

/* Loads the plug-in, uses its operator and its row, and unloads it again.
 *     cc use_plugin.c $(pkg-config --cflags --libs convop) -o use_plugin && ./use_plugin
 * ./example.so */
#include <convop/convop.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHANNELS = 8, SIDE = 6, PIXELS = SIDE * SIDE };

static void check(convop_status status)
{
    if (status == CONVOP_OK) return;
    fprintf(stderr, "%s\n", convop_last_error());
    exit(1);
}

static DLTensor view(float *data, int64_t *shape, int ndim)
{
    DLTensor t = {.data = data, .ndim = ndim, .shape = shape};
    t.device.device_type = kDLCPU;
    t.dtype.code = kDLFloat;
    t.dtype.bits = 32;
    t.dtype.lanes = 1;
    return t;
}

/* Convolves and says which row did it. */
static void convolve(const convop_conv_params *p, const DLTensor *src, const DLTensor *weights,
                     DLTensor *dst)
{
    convop_conv_row rows[16];
    size_t n = 16;
    check(convop_conv_explain(p, CONVOP_FWD, src, weights, dst, NULL, rows, &n));
    for (size_t i = 0; i < n && i < 16; i++)
        if (rows[i].chosen) printf("Convolution runs %s\n", rows[i].name);
    check(convop_conv_forward(p, src, weights, NULL, dst, CONVOP_REQ_WRITE, NULL));
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: use_plugin ./example.so\n");
        return 2;
    }
    static float image[CHANNELS * PIXELS], filter[CHANNELS * 9];
    static float without[CHANNELS * PIXELS], with[CHANNELS * PIXELS];
    int64_t image_shape[] = {1, CHANNELS, SIDE, SIDE}, filter_shape[] = {CHANNELS, 1, 3, 3};
    for (int i = 0; i < CHANNELS * PIXELS; i++) image[i] = (float)(i % 17 - 8);
    for (int i = 0; i < CHANNELS * 9; i++) filter[i] = (float)(i % 5 - 2);
    DLTensor src = view(image, image_shape, 4), weights = view(filter, filter_shape, 4);
    DLTensor dst0 = view(without, image_shape, 4), dst = view(with, image_shape, 4);

    convop_conv_params p = CONVOP_CONV_PARAMS_INIT;
    p.kernel = convop_tuple2(3, 3);
    p.pad_begin = p.pad_end = convop_tuple2(1, 1);
    p.num_filter = p.num_group = CHANNELS;
    p.no_bias = 1;
    convolve(&p, &src, &weights, &dst0);

    convop_plugin_handle *plugin = NULL;
    check(convop_plugin_load(argv[1], &plugin));
    convolve(&p, &src, &weights, &dst);
    for (int i = 0; i < CHANNELS * PIXELS; i++)
        if (with[i] != without[i]) {
            fprintf(stderr, "element %d is %g with the plug-in, %g without\n", i, (double)with[i],
                    (double)without[i]);
            return 1;
        }

    float x[] = {-4, -1, 0, 1, 4}, y[5];
    int64_t five = 5;
    DLTensor in = view(x, &five, 1), out = view(y, &five, 1);
    const DLTensor *ins[] = {&in};
    DLTensor *outs[] = {&out};
    check(convop_invoke("HardSwish", 0, NULL, NULL, 1, ins, 1, outs, NULL, NULL));
    for (int i = 0; i < 5; i++) printf("HardSwish(%g) = %.4f\n", (double)x[i], (double)y[i]);

    convop_plugin_unload(&plugin);
    convolve(&p, &src, &weights, &dst);
    return 0;
}

/* A host that has used convop, and forks: parent and child go on with the same context and the same
 * prepared instance, and with the process default. */
#include <convop/convop.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { C = 32, N = 56, SIZE = C * N * N };

static float x[SIZE], w[C * C * 9], y[SIZE], expected[SIZE];

static DLTensor view(float *data, int64_t *shape)
{
    DLTensor t = {data, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, NULL, 0};
    return t;
}

static int failed(const char *what)
{
    printf("%s: %s\n", what, convop_last_error());
    return 1;
}

/* Runs both ways and compares with what the parent computed first. */
static int run(const convop_instance *instance, const convop_conv_params *params)
{
    int64_t image[4] = {1, C, N, N}, filter[4] = {C, C, 3, 3};
    DLTensor src = view(x, image), weights = view(w, filter), dst = view(y, image);
    const DLTensor *inputs[2] = {&src, NULL};
    DLTensor *outputs[1] = {&dst};

    memset(y, 0, sizeof y);
    if (convop_instance_run(instance, inputs, outputs, NULL) != CONVOP_OK) return failed("run");
    if (memcmp(y, expected, sizeof y) != 0) return failed("run differs");
    memset(y, 0, sizeof y);
    if (convop_conv_forward(params, &src, &weights, NULL, &dst, CONVOP_REQ_WRITE, NULL) !=
        CONVOP_OK)
        return failed("forward");
    if (memcmp(y, expected, sizeof y) != 0) return failed("forward differs");
    return 0;
}

int main(void)
{
    for (int i = 0; i < SIZE; i++) x[i] = (float)(i % 7);
    for (int i = 0; i < C * C * 9; i++) w[i] = (float)(i % 5);
    int64_t image[4] = {1, C, N, N}, filter[4] = {C, C, 3, 3};
    DLTensor src = view(x, image), weights = view(w, filter), dst = view(expected, image);

    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    options.num_threads = 2;
    convop_context *context = NULL;
    if (convop_context_create(&options, &context) != CONVOP_OK) return failed("context");

    convop_conv_params params = CONVOP_CONV_PARAMS_INIT;
    params.kernel = convop_tuple2(3, 3);
    params.pad_begin = params.pad_end = convop_tuple2(1, 1);
    params.num_filter = C;
    params.no_bias = 1;
    const DLTensor *constants[2] = {NULL, &weights}, *inputs[2] = {&src, NULL};
    DLTensor *outputs[1] = {&dst};
    convop_instance *instance = NULL;
    if (convop_instance_create_typed("Convolution", &params, 2, constants, context, &instance) !=
            CONVOP_OK ||
        convop_instance_reshape(instance, inputs, NULL, NULL, (size_t)1 << 30, NULL) != CONVOP_OK ||
        convop_instance_run(instance, inputs, outputs, NULL) != CONVOP_OK)
        return failed("instance");

    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) _exit(run(instance, &params));
        int status = -1;
        if (run(instance, &params) || waitpid(child, &status, 0) != child || status != 0) {
            printf("the child ended with %d\n", status);
            return 1;
        }
    }
    convop_instance_destroy(&instance);
    convop_context_destroy(&context);
    return 0;
}

/* What a call costs beside its arithmetic: nanoseconds of conv_forward, conv_backward and a
 * prepared instance on small problems, next to plain loops that compute the same. The minimum and
 * the median of many blocks of calls; the machine is rarely alone. One thread. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "convop/convop.h"

#define BLOCKS   201
#define BLOCK_NS 200000 /* long against the clock's own cost, short against interrupts */

struct problem {
    int mb, ic, ih, oc, kh, ph;
    int64_t src_shape[4], weights_shape[4], dst_shape[4];
    float *src, *weights, *dst, *diff_src, *diff_weights;
    DLTensor s, w, d, ds, dw;
    convop_conv_params params;
    convop_exec exec;
    convop_instance *instance;
};

static void check(convop_status status, const char *what)
{
    if (status == CONVOP_OK) return;
    fprintf(stderr, "call_cost: %s: %s\n", what, convop_last_error());
    exit(1);
}

static float *numbers(const int64_t *shape, DLTensor *t, int64_t *shape_of_t)
{
    size_t n = 1;
    for (int i = 0; i < 4; i++) n *= (size_t)shape[i];
    float *at = malloc(n * sizeof *at);
    if (!at) {
        fprintf(stderr, "call_cost: no memory\n");
        exit(1);
    }
    for (size_t i = 0; i < n; i++) at[i] = (float)(i % 7) - 3;
    *t = (DLTensor){.data = at,
                    .device = {kDLCPU, 0},
                    .ndim = 4,
                    .dtype = {kDLFloat, 32, 1},
                    .shape = shape_of_t};
    return at;
}

static void make(struct problem *x)
{
    const convop_conv_params defaults = CONVOP_CONV_PARAMS_INIT;
    const convop_exec exec = CONVOP_EXEC_INIT;
    const int64_t oh = x->ih + 2 * x->ph - x->kh + 1;
    x->params = defaults;
    x->params.kernel = convop_tuple2(x->kh, x->kh);
    x->params.pad_begin = x->params.pad_end = convop_tuple2(x->ph, x->ph);
    x->params.num_filter = x->oc;
    x->params.no_bias = 1;
    const int64_t shapes[3][4] = {
        {x->mb, x->ic, x->ih, x->ih}, {x->oc, x->ic, x->kh, x->kh}, {x->mb, x->oc, oh, oh}};
    for (int i = 0; i < 4; i++) {
        x->src_shape[i] = shapes[0][i];
        x->weights_shape[i] = shapes[1][i];
        x->dst_shape[i] = shapes[2][i];
    }
    x->src = numbers(shapes[0], &x->s, x->src_shape);
    x->weights = numbers(shapes[1], &x->w, x->weights_shape);
    x->dst = numbers(shapes[2], &x->d, x->dst_shape);
    x->diff_src = numbers(shapes[0], &x->ds, x->src_shape);
    x->diff_weights = numbers(shapes[1], &x->dw, x->weights_shape);

    const DLTensor *in[] = {&x->s, NULL}, *constants[] = {NULL, &x->w};
    x->exec = exec;
    check(convop_instance_create_typed("Convolution", &x->params, 2, constants, NULL, &x->instance),
          "create");
    check(convop_instance_reshape(x->instance, in, NULL, NULL, SIZE_MAX, &x->exec.workspace_bytes),
          "reshape");
    if (x->exec.workspace_bytes) {
        x->exec.workspace = malloc(x->exec.workspace_bytes);
        if (!x->exec.workspace) check(CONVOP_E_NO_MEMORY, "workspace");
    }
}

static void release(struct problem *x)
{
    convop_instance_destroy(&x->instance);
    free(x->exec.workspace);
    free(x->src), free(x->weights), free(x->dst), free(x->diff_src), free(x->diff_weights);
}

/* ---- what is timed ------------------------------------------------------------------------- */

static void forward(struct problem *x)
{
    check(conv_forward(&x->params, &x->s, &x->w, NULL, &x->d, CONVOP_REQ_WRITE, NULL), "forward");
}

static void backward(struct problem *x)
{
    const convop_request all[] = {CONVOP_REQ_WRITE, CONVOP_REQ_WRITE, CONVOP_REQ_NULL};
    check(conv_backward(&x->params, &x->d, &x->s, &x->w, &x->ds, &x->dw, NULL, all, NULL),
          "backward");
}

static void instance(struct problem *x)
{
    const DLTensor *in[] = {&x->s, NULL};
    DLTensor *out[] = {&x->d};
    check(convop_instance_run(x->instance, in, out, &x->exec), "instance");
}

/* Calls body for each multiply-add of the convolution. */
#define EACH_TAP(x, body)                                                                          \
    const int64_t *ss = (x)->src_shape, *ws = (x)->weights_shape, *os = (x)->dst_shape;            \
    for (int64_t n = 0; n < os[0]; n++)                                                            \
        for (int64_t o = 0; o < os[1]; o++)                                                        \
            for (int64_t y = 0; y < os[2]; y++)                                                    \
                for (int64_t z = 0; z < os[3]; z++)                                                \
                    for (int64_t c = 0; c < ws[1]; c++)                                            \
                        for (int64_t k = 0; k < ws[2]; k++)                                        \
                            for (int64_t l = 0; l < ws[3]; l++) {                                  \
                                int64_t v = y + k - (x)->ph, h = z + l - (x)->ph;                  \
                                if (v < 0 || v >= ss[2] || h < 0 || h >= ss[3]) continue;          \
                                const int64_t at_src = ((n * ss[1] + c) * ss[2] + v) * ss[3] + h;  \
                                const int64_t at_w = ((o * ws[1] + c) * ws[2] + k) * ws[3] + l;    \
                                const int64_t at_dst = ((n * os[1] + o) * os[2] + y) * os[3] + z;  \
                                body                                                               \
                            }

static void clear(float *at, const int64_t *shape)
{
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2] * shape[3]; i++) at[i] = 0;
}

static void plain_forward(struct problem *x)
{
    clear(x->dst, x->dst_shape);
    EACH_TAP(x, x->dst[at_dst] += x->src[at_src] * x->weights[at_w];)
}

static void plain_backward(struct problem *x)
{
    clear(x->diff_src, x->src_shape);
    clear(x->diff_weights, x->weights_shape);
    EACH_TAP(x, x->diff_src[at_src] += x->dst[at_dst] * x->weights[at_w];
             x->diff_weights[at_w] += x->dst[at_dst] * x->src[at_src];)
}

/* ---- the clock ----------------------------------------------------------------------------- */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double block(void (*run)(struct problem *), struct problem *x, int calls)
{
    double start = now_ns();
    for (int i = 0; i < calls; i++) run(x);
    return (now_ns() - start) / calls;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *what, void (*run)(struct problem *), struct problem *x)
{
    double ns[BLOCKS];
    run(x);
    double first = block(run, x, 20);
    int calls = (int)(BLOCK_NS / (first > 1 ? first : 1)) + 1;
    for (int i = 0; i < BLOCKS; i++) ns[i] = block(run, x, calls);
    qsort(ns, BLOCKS, sizeof ns[0], by_value);
    printf("  %-14s %9.0f %9.0f\n", what, ns[0], ns[BLOCKS / 2]);
}

int main(void)
{
    struct problem problems[] = {
        {.mb = 1, .ic = 1, .ih = 3, .oc = 1, .kh = 1},
        {.mb = 1, .ic = 1, .ih = 3, .oc = 1, .kh = 3},
        {.mb = 1, .ic = 1, .ih = 4, .oc = 1, .kh = 3, .ph = 1},
        {.mb = 1, .ic = 8, .ih = 8, .oc = 8, .kh = 1},
        {.mb = 1, .ic = 16, .ih = 14, .oc = 16, .kh = 3, .ph = 1},
    };
    check(convop_set("num_threads", "1"), "num_threads");
    printf("nanoseconds a call, float32, one thread: minimum, median of %d blocks\n", BLOCKS);
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        struct problem *x = &problems[i];
        make(x);
        printf("mb%dic%dih%doc%dkh%dph%d\n", x->mb, x->ic, x->ih, x->oc, x->kh, x->ph);
        measure("conv_forward", forward, x);
        measure("instance", instance, x);
        measure("plain forward", plain_forward, x);
        measure("conv_backward", backward, x);
        measure("plain backward", plain_backward, x);
        release(x);
    }
    return 0;
}

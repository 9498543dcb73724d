/* The network, layer by layer. */
#include "examples/mobilenet/mobilenet_v1.h"

#include <stdio.h>

#define RETURN_IF_ERROR(expr)                                                                      \
    do {                                                                                           \
        convop_status s_ = (expr);                                                                 \
        if (s_ != CONVOP_OK) return s_;                                                            \
    } while (0)

/* Each block is a depthwise 3x3 convolution, then a pointwise one to so many channels (in units of
 * the first layer's). */
static const struct block {
    int stride, width;
} blocks[] = {{1, 2},  {2, 4},  {1, 4},  {2, 8},  {1, 8},  {2, 16}, {1, 16},
              {1, 16}, {1, 16}, {1, 16}, {1, 16}, {2, 32}, {1, 32}};

#define NUM_BLOCKS (int)(sizeof blocks / sizeof blocks[0])

struct builder {
    const struct mobilenet *net;
    struct cvp_symbol *symbol;
    struct cvp_entry at; /* the last layer */
};

static convop_status apply(struct builder *b, const char *op, const char *layer, const char *what,
                           size_t n, const char *const *keys, const char *const *values)
{
    char name[96];
    snprintf(name, sizeof name, "%s%s", layer, what);
    return cvp_symbol_apply(b->symbol, op, name, n, keys, values, 1, &b->at, &b->at);
}

/* Convolution without bias, BatchNorm, ReLU. */
static convop_status conv(struct builder *b, const char *layer, int kernel, int stride,
                          int64_t filters, int64_t groups)
{
    char k[32], s[32], p[32], f[32], g[32];
    snprintf(k, sizeof k, "(%d, %d)", kernel, kernel);
    snprintf(s, sizeof s, "(%d, %d)", stride, stride);
    snprintf(p, sizeof p, "(%d, %d)", kernel / 2, kernel / 2);
    snprintf(f, sizeof f, "%lld", (long long)filters);
    snprintf(g, sizeof g, "%lld", (long long)groups);
    const char *keys[] = {
        "kernel", "stride", "pad", "num_filter", "num_group", "no_bias", "depthwise_conv_off"};
    const char *values[] = {k, s, p, f, g, "True", b->net->depthwise_conv_off ? "True" : "False"};
    RETURN_IF_ERROR(apply(b, "Convolution", layer, "_conv2d", 7, keys, values));
    const char *fix[] = {"fix_gamma"}, *yes[] = {"True"};
    RETURN_IF_ERROR(apply(b, "BatchNorm", layer, "_batchnorm", 1, fix, yes));
    const char *type[] = {"act_type"}, *relu[] = {"relu"};
    return apply(b, "Activation", layer, "_relu", 1, type, relu);
}

static convop_status body(struct builder *b)
{
    int64_t base = (int64_t)(32 * b->net->multiplier), channels = base;
    char name[32];
    RETURN_IF_ERROR(conv(b, "conv_1", 3, 2, base, 1));
    for (int i = 0; i < NUM_BLOCKS; i++) {
        snprintf(name, sizeof name, "conv_%d_dw", i + 2);
        RETURN_IF_ERROR(conv(b, name, 3, blocks[i].stride, channels, channels));
        channels = base * blocks[i].width;
        snprintf(name, sizeof name, "conv_%d", i + 2);
        RETURN_IF_ERROR(conv(b, name, 1, 1, channels, 1));
    }
    return CONVOP_OK;
}

static convop_status head(struct builder *b)
{
    /* Over the whole image, of whatever size five halvings left. */
    const char *pool_keys[] = {"pool_type", "global_pool"}, *pool_values[] = {"avg", "True"};
    RETURN_IF_ERROR(apply(b, "Pooling", "global_pool", "", 2, pool_keys, pool_values));
    RETURN_IF_ERROR(apply(b, "Flatten", "flatten", "", 0, NULL, NULL));
    char classes[32];
    snprintf(classes, sizeof classes, "%d", b->net->num_classes);
    const char *keys[] = {"num_hidden"}, *values[] = {classes};
    RETURN_IF_ERROR(apply(b, "FullyConnected", "fc", "", 1, keys, values));
    RETURN_IF_ERROR(apply(b, "SoftmaxOutput", "softmax", "", 0, NULL, NULL));
    return cvp_symbol_output(b->symbol, b->at);
}

convop_status mobilenet_v1(const struct mobilenet *net, struct cvp_symbol **out)
{
    struct builder b = {.net = net};
    *out = NULL;
    RETURN_IF_ERROR(cvp_symbol_create(&b.symbol));
    convop_status status = cvp_symbol_variable(b.symbol, "data", &b.at);
    if (status == CONVOP_OK) status = body(&b);
    if (status == CONVOP_OK) status = head(&b);
    if (status == CONVOP_OK)
        *out = b.symbol;
    else
        cvp_symbol_release(&b.symbol);
    return status;
}

/* The functions of Activation and their derivatives, as loops over lines of elements. */
#include <math.h>

#include "src/operator/activation/activation.h"

#define T          float
#define NAME(name) name##_f32
#define M(name)    name##f
#include "src/operator/activation/loops.h"
#undef T
#undef NAME
#undef M

#define T          double
#define NAME(name) name##_f64
#define M(name)    name
#include "src/operator/activation/loops.h"
#undef T
#undef NAME
#undef M

#define TABLE(type)                                                                                \
    {                                                                                              \
        [ACTIVATION_RELU] = relu_##type, [ACTIVATION_SIGMOID] = sigmoid_##type,                    \
        [ACTIVATION_TANH] = tanh_##type, [ACTIVATION_SOFTRELU] = softrelu_##type,                  \
        [ACTIVATION_SOFTSIGN] = softsign_##type                                                    \
    }

cvp_line_body *const cvp_activation_forward[2][ACTIVATION_TYPES] = {TABLE(f32), TABLE(f64)};

#define BACKWARD_TABLE(type)                                                                       \
    {                                                                                              \
        [ACTIVATION_RELU] = diff_relu_##type, [ACTIVATION_SIGMOID] = diff_sigmoid_##type,          \
        [ACTIVATION_TANH] = diff_tanh_##type, [ACTIVATION_SOFTRELU] = diff_softrelu_##type,        \
        [ACTIVATION_SOFTSIGN] = diff_softsign_##type                                               \
    }

cvp_line_body *const cvp_activation_backward[2][ACTIVATION_TYPES] = {BACKWARD_TABLE(f32),
                                                                     BACKWARD_TABLE(f64)};

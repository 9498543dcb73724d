/* Activation's loops for one type T: NAME names the instance, M the function of math.h. Included
 * once for each type; no guard. */

/* y = function(x), or y += it. `hint` stands before the loops that a compiler can vectorise. */
#define FORWARD(name, function, hint)                                                              \
    static void NAME(name)(void *arg, int64_t count, void *const *at, const int64_t *step)         \
    {                                                                                              \
        T *y = at[0];                                                                              \
        const T *x = at[1];                                                                        \
        const int64_t ys = step[0], xs = step[1];                                                  \
        if (*(const convop_request *)arg == CONVOP_REQ_ADD) {                                      \
            hint for (int64_t i = 0; i < count; i++) y[i * ys] += function(x[i * xs]);             \
        } else if (ys == 1 && xs == 1) {                                                           \
            hint for (int64_t i = 0; i < count; i++) y[i] = function(x[i]);                        \
        } else {                                                                                   \
            hint for (int64_t i = 0; i < count; i++) y[i * ys] = function(x[i * xs]);              \
        }                                                                                          \
    }

/* dx = function(dy, y), or dx += it. */
#define BACKWARD(name, function, hint)                                                             \
    static void NAME(name)(void *arg, int64_t count, void *const *at, const int64_t *step)         \
    {                                                                                              \
        T *dx = at[0];                                                                             \
        const T *dy = at[1], *y = at[2];                                                           \
        const int64_t dxs = step[0], dys = step[1], ys = step[2];                                  \
        if (*(const convop_request *)arg == CONVOP_REQ_ADD) {                                      \
            hint for (int64_t i = 0; i < count; i++) dx[i * dxs] +=                                \
                function(dy[i * dys], y[i * ys]);                                                  \
        } else if (dxs == 1 && dys == 1 && ys == 1) {                                              \
            hint for (int64_t i = 0; i < count; i++) dx[i] = function(dy[i], y[i]);                \
        } else {                                                                                   \
            hint for (int64_t i = 0; i < count; i++) dx[i * dxs] =                                 \
                function(dy[i * dys], y[i * ys]);                                                  \
        }                                                                                          \
    }

static inline T NAME(relu_of)(T x)
{
    return x < 0 ? 0 : x; /* so written, NaN stays */
}
static inline T NAME(sigmoid_of)(T x)
{
    return 1 / (1 + M(exp)(-x));
}
static inline T NAME(tanh_of)(T x)
{
    return M(tanh)(x);
}
static inline T NAME(softrelu_of)(T x)
{
    /* exp of what is not above 0: no overflow, no lost digits. */
    return x > 0 ? x + M(log1p)(M(exp)(-x)) : M(log1p)(M(exp)(x));
}
static inline T NAME(softsign_of)(T x)
{
    return x / (1 + M(fabs)(x));
}

FORWARD(relu, NAME(relu_of), CVP_INDEPENDENT)
FORWARD(sigmoid, NAME(sigmoid_of), )
FORWARD(tanh, NAME(tanh_of), )
FORWARD(softrelu, NAME(softrelu_of), )
FORWARD(softsign, NAME(softsign_of), CVP_INDEPENDENT)

static inline T NAME(diff_relu_of)(T dy, T y)
{
    return y != y ? y : y > 0 ? dy : 0;
}
static inline T NAME(diff_sigmoid_of)(T dy, T y)
{
    return dy * (y * (1 - y));
}
static inline T NAME(diff_tanh_of)(T dy, T y)
{
    return dy * ((1 - y) * (1 + y));
}
static inline T NAME(diff_softrelu_of)(T dy, T y)
{
    return dy * -M(expm1)(-y); /* y = log(1 + exp(x)), so sigmoid(x) = 1 - exp(-y) */
}
static inline T NAME(diff_softsign_of)(T dy, T y)
{
    T one_minus = 1 - M(fabs)(y); /* 1 / (1 + |x|) */
    return dy * (one_minus * one_minus);
}

BACKWARD(diff_relu, NAME(diff_relu_of), CVP_INDEPENDENT)
BACKWARD(diff_sigmoid, NAME(diff_sigmoid_of), CVP_INDEPENDENT)
BACKWARD(diff_tanh, NAME(diff_tanh_of), CVP_INDEPENDENT)
BACKWARD(diff_softrelu, NAME(diff_softrelu_of), )
BACKWARD(diff_softsign, NAME(diff_softsign_of), CVP_INDEPENDENT)

#undef FORWARD
#undef BACKWARD

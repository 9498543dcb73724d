/* Kernels over lines of one channel, for one type T. No guard: included once for each. */

typedef T NAME(vector)
    __attribute__((vector_size(VECTOR_SIZE * sizeof(T)), aligned(sizeof(T)), may_alias));

static inline doubles NAME(load)(const T *x)
{
#if defined WIDEN
    return WIDEN(x);
#else
    return __builtin_convertvector(*(const NAME(vector) *)x, doubles);
#endif
}

/* Two passes: the block that a call is for stays in the first-level cache. */
static void NAME(moments)(const void *x_, int64_t lines, int64_t step, int64_t n, double m[2])
{
    doubles sum[VECTORS], squares[VECTORS];
    UNROLL for (int v = 0; v < VECTORS; v++) sum[v] = squares[v] = (doubles){0};
    double sum_rest = 0, squares_rest = 0;
    for (int64_t l = 0; l < lines; l++) {
        const T *x = (const T *)x_ + l * step;
        int64_t i = 0;
        for (; i + LANES <= n; i += LANES)
            UNROLL for (int v = 0; v < VECTORS; v++) sum[v] += NAME(load)(x + i + v * VECTOR_SIZE);
        for (; i < n; i++) sum_rest += (double)x[i];
    }
    double mean = (sum_of(sum) + sum_rest) / ((double)lines * (double)n);
    for (int64_t l = 0; l < lines; l++) {
        const T *x = (const T *)x_ + l * step;
        int64_t i = 0;
        for (; i + LANES <= n; i += LANES) UNROLL for (int v = 0; v < VECTORS; v++)
            {
                doubles d = NAME(load)(x + i + v * VECTOR_SIZE) - mean;
                squares[v] += d * d;
            }
        for (; i < n; i++) squares_rest += ((double)x[i] - mean) * ((double)x[i] - mean);
    }
    m[0] = mean;
    m[1] = sum_of(squares) + squares_rest;
}

static void NAME(products)(const void *dy_, const void *x_, int64_t lines, int64_t step, int64_t n,
                           double mean, double s[2])
{
    doubles sum[VECTORS], product[VECTORS];
    UNROLL for (int v = 0; v < VECTORS; v++) sum[v] = product[v] = (doubles){0};
    double sum_rest = 0, product_rest = 0;
    for (int64_t l = 0; l < lines; l++) {
        const T *dy = (const T *)dy_ + l * step, *x = (const T *)x_ + l * step;
        int64_t i = 0;
        for (; i + LANES <= n; i += LANES) UNROLL for (int v = 0; v < VECTORS; v++)
            {
                doubles d = NAME(load)(dy + i + v * VECTOR_SIZE);
                sum[v] += d;
                product[v] += d * (NAME(load)(x + i + v * VECTOR_SIZE) - mean);
            }
        for (; i < n; i++) {
            sum_rest += (double)dy[i];
            product_rest += (double)dy[i] * ((double)x[i] - mean);
        }
    }
    s[0] += sum_of(sum) + sum_rest;
    s[1] += sum_of(product) + product_rest;
}

static void NAME(scale)(void *y_, const void *x_, int64_t n, const double *coef, int add)
{
    T *y = y_;
    const T *x = x_;
    const T mean = (T)coef[BN_MEAN], scale = (T)coef[BN_SCALE], shift = (T)coef[BN_SHIFT];
    if (add) {
        CVP_INDEPENDENT
        for (int64_t i = 0; i < n; i++) y[i] += (x[i] - mean) * scale + shift;
    } else {
        CVP_INDEPENDENT
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] - mean) * scale + shift;
    }
}

static void NAME(diff)(void *dx_, const void *dy_, const void *x_, int64_t n, const double *coef,
                       int add)
{
    T *dx = dx_;
    const T *dy = dy_, *x = x_;
    const T mean = (T)coef[BN_DIFF_MEAN], by_dy = (T)coef[BN_BY_DY], by_x = (T)coef[BN_BY_X],
            shift = (T)coef[BN_DIFF_SHIFT];
    if (!x && add) {
        CVP_INDEPENDENT
        for (int64_t i = 0; i < n; i++) dx[i] += by_dy * dy[i];
    } else if (!x) {
        CVP_INDEPENDENT
        for (int64_t i = 0; i < n; i++) dx[i] = by_dy * dy[i];
    } else if (add) {
        CVP_INDEPENDENT
        for (int64_t i = 0; i < n; i++) dx[i] += by_dy * dy[i] + (by_x * (x[i] - mean) + shift);
    } else {
        CVP_INDEPENDENT
        for (int64_t i = 0; i < n; i++) dx[i] = by_dy * dy[i] + (by_x * (x[i] - mean) + shift);
    }
}

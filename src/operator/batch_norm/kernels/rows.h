/* Kernels over rows of all channels, for one type T. No guard: included once for each. Four rows at
 * a time, so that the sums, which lie in memory, are touched a quarter as often. */

static void NAME(moments_rows)(const void *x_, int64_t rows, int64_t channels, double *mean,
                               double *m2)
{
    const T *x = x_;
    for (int64_t c = 0; c < channels; c++) mean[c] = m2[c] = 0;
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        const T *a = x + r * channels, *b = a + channels, *d = b + channels, *e = d + channels;
        CVP_INDEPENDENT
        for (int64_t c = 0; c < channels; c++)
            mean[c] += ((double)a[c] + (double)b[c]) + ((double)d[c] + (double)e[c]);
    }
    for (; r < rows; r++) {
        const T *a = x + r * channels;
        CVP_INDEPENDENT
        for (int64_t c = 0; c < channels; c++) mean[c] += (double)a[c];
    }
    for (int64_t c = 0; c < channels; c++) mean[c] /= (double)rows;
    for (r = 0; r + 4 <= rows; r += 4) {
        const T *a = x + r * channels, *b = a + channels, *d = b + channels, *e = d + channels;
        CVP_INDEPENDENT
        for (int64_t c = 0; c < channels; c++) {
            double da = (double)a[c] - mean[c], db = (double)b[c] - mean[c],
                   dd = (double)d[c] - mean[c], de = (double)e[c] - mean[c];
            m2[c] += (da * da + db * db) + (dd * dd + de * de);
        }
    }
    for (; r < rows; r++) {
        const T *a = x + r * channels;
        CVP_INDEPENDENT
        for (int64_t c = 0; c < channels; c++)
            m2[c] += ((double)a[c] - mean[c]) * ((double)a[c] - mean[c]);
    }
}

static void NAME(products_rows)(const void *dy_, const void *x_, int64_t rows, int64_t channels,
                                const double *mean, double *s0, double *s1)
{
    int64_t r = 0;
    for (; r + 2 <= rows; r += 2) {
        const T *dy = (const T *)dy_ + r * channels, *x = (const T *)x_ + r * channels;
        const T *dy2 = dy + channels, *x2 = x + channels;
        CVP_INDEPENDENT
        for (int64_t c = 0; c < channels; c++) {
            double d = (double)dy[c], d2 = (double)dy2[c];
            s0[c] += d + d2;
            s1[c] += d * ((double)x[c] - mean[c]) + d2 * ((double)x2[c] - mean[c]);
        }
    }
    for (; r < rows; r++) {
        const T *dy = (const T *)dy_ + r * channels, *x = (const T *)x_ + r * channels;
        CVP_INDEPENDENT
        for (int64_t c = 0; c < channels; c++) {
            s0[c] += (double)dy[c];
            s1[c] += (double)dy[c] * ((double)x[c] - mean[c]);
        }
    }
}

static void NAME(fill_table)(void *table_, int64_t period, int64_t channels, int coefs,
                             const double *coef)
{
    T *table = table_;
    for (int k = 0; k < coefs; k++)
        for (int64_t i = 0; i < period; i += channels)
            for (int64_t c = 0; c < channels; c++)
                table[k * period + i + c] = (T)coef[c * BN_COEFS + k];
}

static void NAME(scale_rows)(void *y_, const void *x_, int64_t n, int64_t period,
                             const void *table_, int add)
{
    const T *mean = (const T *)table_ + BN_MEAN * period, *scale = mean + period,
            *shift = scale + period;
    for (int64_t begin = 0; begin < n; begin += period) {
        T *y = (T *)y_ + begin;
        const T *x = (const T *)x_ + begin;
        int64_t count = n - begin < period ? n - begin : period;
        if (add) {
            CVP_INDEPENDENT
            for (int64_t i = 0; i < count; i++) y[i] += (x[i] - mean[i]) * scale[i] + shift[i];
        } else {
            CVP_INDEPENDENT
            for (int64_t i = 0; i < count; i++) y[i] = (x[i] - mean[i]) * scale[i] + shift[i];
        }
    }
}

static void NAME(diff_rows)(void *dx_, const void *dy_, const void *x_, int64_t n, int64_t period,
                            const void *table_, int add)
{
    const T *mean = (const T *)table_ + BN_DIFF_MEAN * period, *by_dy = mean + period,
            *by_x = by_dy + period, *shift = by_x + period;
    for (int64_t begin = 0; begin < n; begin += period) {
        T *dx = (T *)dx_ + begin;
        const T *dy = (const T *)dy_ + begin, *x = x_ ? (const T *)x_ + begin : NULL;
        int64_t count = n - begin < period ? n - begin : period;
        if (!x && add) {
            CVP_INDEPENDENT
            for (int64_t i = 0; i < count; i++) dx[i] += by_dy[i] * dy[i];
        } else if (!x) {
            CVP_INDEPENDENT
            for (int64_t i = 0; i < count; i++) dx[i] = by_dy[i] * dy[i];
        } else if (add) {
            CVP_INDEPENDENT
            for (int64_t i = 0; i < count; i++)
                dx[i] += by_dy[i] * dy[i] + (by_x[i] * (x[i] - mean[i]) + shift[i]);
        } else {
            CVP_INDEPENDENT
            for (int64_t i = 0; i < count; i++)
                dx[i] = by_dy[i] * dy[i] + (by_x[i] * (x[i] - mean[i]) + shift[i]);
        }
    }
}

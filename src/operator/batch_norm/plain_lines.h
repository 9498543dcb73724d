/* The plain loops for one type T. No guard: included once for each. */

static void NAME(sum)(void *arg, int64_t n, void *const *at, const int64_t *step)
{
    struct job *job = arg;
    const T *x = at[0];
    for (int64_t i = 0; i < n; i++) job->sum += (double)x[i * step[0]];
}

static void NAME(squares)(void *arg, int64_t n, void *const *at, const int64_t *step)
{
    struct job *job = arg;
    const T *x = at[0];
    for (int64_t i = 0; i < n; i++) {
        double d = (double)x[i * step[0]] - job->mean;
        job->product += d * d;
    }
}

static void NAME(products)(void *arg, int64_t n, void *const *at, const int64_t *step)
{
    struct job *job = arg;
    const T *dy = at[0], *x = at[1];
    for (int64_t i = 0; i < n; i++) {
        double d = (double)dy[i * step[0]];
        job->sum += d;
        job->product += d * ((double)x[i * step[1]] - job->mean);
    }
}

static void NAME(scale)(void *arg, int64_t n, void *const *at, const int64_t *step)
{
    const struct job *job = arg;
    const double *k = job->coef;
    T *y = at[0];
    const T *x = at[1];
    for (int64_t i = 0; i < n; i++) {
        T *to = y + i * step[0];
        double v = ((double)x[i * step[1]] - k[BN_MEAN]) * k[BN_SCALE] + k[BN_SHIFT];
        *to = (T)(job->add ? (double)*to + v : v);
    }
}

static void NAME(diff)(void *arg, int64_t n, void *const *at, const int64_t *step)
{
    const struct job *job = arg;
    const double *k = job->coef;
    T *dx = at[0];
    const T *dy = at[1], *x = at[2];
    for (int64_t i = 0; i < n; i++) {
        T *to = dx + i * step[0];
        double v = k[BN_BY_DY] * (double)dy[i * step[1]] +
                   (k[BN_BY_X] * ((double)x[i * step[2]] - k[BN_DIFF_MEAN]) + k[BN_DIFF_SHIFT]);
        *to = (T)(job->add ? (double)*to + v : v);
    }
}

static void NAME(diff_scaled)(void *arg, int64_t n, void *const *at, const int64_t *step)
{
    const struct job *job = arg;
    T *dx = at[0];
    const T *dy = at[1];
    for (int64_t i = 0; i < n; i++) {
        T *to = dx + i * step[0];
        double v = job->coef[BN_BY_DY] * (double)dy[i * step[1]];
        *to = (T)(job->add ? (double)*to + v : v);
    }
}

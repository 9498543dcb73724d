/* The updates of a line, for one type. No guard: included once for each type T, with NAME to name
 * the instance. The order of operations is MXNet's, so that bits agree with it.
 *
 * A NaN in the gradient passes through the cut and reaches the weight. */

/* Params as the type that is computed in. */
struct NAME(rates) {
    T keep;  /* 1 - lr * wd */
    T decay; /* lr * wd */
    T lr, rescale, clip, momentum;
};

static struct NAME(rates) NAME(rates_of)(const struct sgd_params *p)
{
    T lr = (T)p->lr, wd = (T)p->wd;
    return (struct NAME(rates)){.keep = 1 - lr * wd,
                                .decay = lr * wd,
                                .lr = lr,
                                .rescale = (T)p->rescale_grad,
                                .clip = p->clip_gradient >= 0 ? (T)p->clip_gradient : (T)INFINITY,
                                .momentum = (T)p->momentum};
}

static inline T NAME(step)(const struct NAME(rates) * r, T grad)
{
    T g = r->rescale * grad;
    g = g > r->clip ? r->clip : g;
    g = g < -r->clip ? -r->clip : g;
    return r->lr * g;
}

#define PLAIN(weight, grad) (r.keep * (weight)-NAME(step)(&r, grad))

/* dst and weight may be the same memory. */
static void NAME(sgd_line)(void *arg, int64_t n, void *const *at, const int64_t *step)
{
    const struct sgd_job *job = arg;
    const struct NAME(rates) r = NAME(rates_of)(job->params);
    T *dst = at[0];
    const T *weight = at[1], *grad = at[2];
    if (!job->add && step[0] == 1 && step[1] == 1 && step[2] == 1) {
        ANY_ORDER
        for (int64_t i = 0; i < n; i++) dst[i] = PLAIN(weight[i], grad[i]);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        T *to = &dst[i * step[0]], v = PLAIN(weight[i * step[1]], grad[i * step[2]]);
        *to = job->add ? *to + v : v;
    }
}

#undef PLAIN
#define MOMENTUM(mom, weight, grad) (r.momentum * (mom)-r.decay * (weight)-NAME(step)(&r, grad))

/* The momentum alone: dst is not asked for. */
static void NAME(momentum_line)(void *arg, int64_t n, void *const *at, const int64_t *step)
{
    const struct sgd_job *job = arg;
    const struct NAME(rates) r = NAME(rates_of)(job->params);
    T *mom = at[0];
    const T *weight = at[1], *grad = at[2];
    for (int64_t i = 0; i < n; i++)
        mom[i * step[0]] = MOMENTUM(mom[i * step[0]], weight[i * step[1]], grad[i * step[2]]);
}

static void NAME(sgd_mom_line)(void *arg, int64_t n, void *const *at, const int64_t *step)
{
    const struct sgd_job *job = arg;
    const struct NAME(rates) r = NAME(rates_of)(job->params);
    T *dst = at[0], *mom = at[3];
    const T *weight = at[1], *grad = at[2];
    if (!job->add && step[0] == 1 && step[1] == 1 && step[2] == 1 && step[3] == 1) {
        ANY_ORDER
        for (int64_t i = 0; i < n; i++) {
            T w = weight[i], m = MOMENTUM(mom[i], w, grad[i]);
            mom[i] = m;
            dst[i] = w + m;
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        T w = weight[i * step[1]], m = MOMENTUM(mom[i * step[3]], w, grad[i * step[2]]);
        T *to = &dst[i * step[0]];
        mom[i * step[3]] = m;
        *to = job->add ? *to + (w + m) : w + m;
    }
}
#undef MOMENTUM

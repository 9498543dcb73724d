/* Pooling of a line of windows, for one type. No guard: included once for each type T, with LOWEST
 * its lowest finite number and NAME to name the instance. */

/* The state of each window: sums are in double. */
struct NAME(lanes) {
    double sum[POOL_LANES];
    T max[POOL_LANES];
};

static inline void NAME(sum_tap)(double *sum, const T *src, int64_t step, int64_t n)
{
    if (step == 1)
        for (int64_t i = 0; i < n; i++) sum[i] += (double)src[i];
    else
        for (int64_t i = 0; i < n; i++) sum[i] += (double)src[i * step];
}

/* A NaN is larger than any number. */
static inline T NAME(larger)(T max, T v)
{
    return ((v > max) | (v != v)) ? v : max;
}

static inline void NAME(max_tap)(T *max, const T *src, int64_t step, int64_t n)
{
    if (step == 1)
        for (int64_t i = 0; i < n; i++) max[i] = NAME(larger)(max[i], src[i]);
    else
        for (int64_t i = 0; i < n; i++) max[i] = NAME(larger)(max[i], src[i * step]);
}

/* n elements, `step` apart, go to the windows from `first` on. */
static void NAME(tap)(const struct pool_problem *p, struct NAME(lanes) * lanes, int64_t first,
                      const T *src, int64_t step, int64_t n)
{
    if (p->type == POOL_MAX)
        NAME(max_tap)(lanes->max + first, src, step, n);
    else
        NAME(sum_tap)(lanes->sum + first, src, step, n);
}

/* One row of the windows' elements. */
static void NAME(row)(const struct job *job, const struct pool_line *l, const T *row,
                      struct NAME(lanes) * lanes)
{
    const struct pool_problem *p = job->p;
    const struct pool_axis *w = &p->axis[2];
    int64_t begin, end, from, to, step = p->src.at[2];
    if (job->by_channels) {
        cvp_pool_window(w, l->o[2], &begin, &end);
        for (int64_t kw = begin; kw < end; kw++) NAME(tap)
        (p, lanes, 0, row + (l->o[2] * w->stride - w->pad + kw) * step, p->src.c, l->lanes);
        return;
    }
    if (w->out == 1) { /* the lanes are parts of the only window */
        cvp_pool_window(w, 0, &begin, &end);
        for (int64_t kw = begin; kw < end; kw += POOL_LANES) NAME(tap)
        (p, lanes, 0, row + (kw - w->pad) * step, step, cvp_min_i64(end - kw, POOL_LANES));
        return;
    }
    cvp_pool_taps(w, l, &begin, &end);
    for (int64_t kw = begin; kw < end; kw++) {
        cvp_pool_lanes(w, l, kw, &from, &to);
        NAME(tap)
        (p, lanes, from - l->o[2], row + (from * w->stride - w->pad + kw) * step, step * w->stride,
         to - from);
    }
}

/* Parts of one window become one. */
static void NAME(join)(struct NAME(lanes) * lanes, int parts)
{
    for (int i = 1; i < parts; i++) {
        lanes->sum[0] += lanes->sum[i];
        lanes->max[0] = NAME(larger)(lanes->max[0], lanes->max[i]);
    }
}

static void NAME(line)(const struct job *job, const struct pool_line *l)
{
    const struct pool_problem *p = job->p;
    int is_split = !job->by_channels && p->axis[2].out == 1;
    int used = is_split ? (int)cvp_min_i64(p->axis[2].kernel, POOL_LANES) : l->lanes;
    struct NAME(lanes) lanes;
    double divisor[POOL_LANES];
    for (int i = 0; i < used; i++) {
        lanes.sum[i] = 0;
        lanes.max[i] = -(T)INFINITY;
    }
    int64_t d0, d1, h0, h1;
    cvp_pool_window(&p->axis[0], l->o[0], &d0, &d1);
    cvp_pool_window(&p->axis[1], l->o[1], &h0, &h1);
    for (int64_t kd = d0; kd < d1; kd++)
        for (int64_t kh = h0; kh < h1; kh++)
            NAME(row)(job, l, (const T *)job->src + cvp_pool_row(p, l, &p->src, kd, kh), &lanes);
    if (is_split) NAME(join)(&lanes, used);

    cvp_pool_divisors(p, l, divisor);
    T *dst = (T *)job->dst + cvp_pool_dst(l, &p->dst);
    int64_t step = job->by_channels ? p->dst.c : p->dst.at[2];
    for (int i = 0; i < l->lanes; i++) {
        T v;
        if (p->type == POOL_MAX)
            v = divisor[i] == 0 ? LOWEST : lanes.max[i];
        else
            v = (T)(lanes.sum[i] / divisor[i]);
        dst[i * step] = job->add ? dst[i * step] + v : v;
    }
}

static void NAME(lines)(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    for (int64_t i = begin; i < end; i++) {
        struct pool_line l = line_at(job, i);
        NAME(line)(job, &l);
    }
}

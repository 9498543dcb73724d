/* The gradient of a line of windows, for one type. No guard: included once for each type T, with
 * NAME to name the instance. */

/* What each window still has to give, and its maximum. */
struct NAME(lanes) {
    T give[POOL_LANES], max[POOL_LANES];
    int has_nan; /* a maximum is one */
};

static inline void NAME(add_tap)(T *diff, int64_t step, const T *give, int64_t n)
{
    if (step == 1)
        for (int64_t i = 0; i < n; i++) diff[i] += give[i];
    else
        for (int64_t i = 0; i < n; i++) diff[i * step] += give[i];
}

/* Windows whose element is their maximum give it all they have, and have nothing after that. None
 * of the maxima is a NaN. Written with two comparisons, because compilers make a branch of one. */
static inline void NAME(max_tap)(T *restrict diff, int64_t diff_step, const T *restrict src,
                                 int64_t step, T *restrict give, const T *restrict max, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        T g = give[i], v = src[i * step], m = max[i], zero = 0;
        T hit = v == m ? g : zero, left = v != m ? g : zero;
        diff[i * diff_step] += hit;
        give[i] = left;
    }
}

/* The same where a maximum is a NaN. */
static void NAME(nan_tap)(T *diff, int64_t diff_step, const T *src, int64_t step, T *give,
                          const T *max, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        T v = src[i * step];
        if (v != max[i] && (v == v || max[i] == max[i])) continue;
        diff[i * diff_step] += give[i];
        give[i] = 0;
    }
}

/* n elements, `step` windows' elements apart, of the windows from `first` on. */
static void NAME(tap)(const struct job *job, struct NAME(lanes) * lanes, int64_t first, T *diff,
                      int64_t diff_step, const T *src, int64_t step, int64_t n)
{
    if (job->p->type != POOL_MAX)
        NAME(add_tap)(diff, diff_step, lanes->give + first, n);
    else if (lanes->has_nan)
        NAME(nan_tap)(diff, diff_step, src, step, lanes->give + first, lanes->max + first, n);
    else if (diff_step == 1 && step == 1)
        NAME(max_tap)(diff, 1, src, 1, lanes->give + first, lanes->max + first, n);
    else
        NAME(max_tap)(diff, diff_step, src, step, lanes->give + first, lanes->max + first, n);
}

/* One row of the windows' elements. */
static void NAME(row)(const struct job *job, const struct pool_line *l, struct NAME(lanes) * lanes,
                      T *diff, const T *src)
{
    const struct pool_problem *p = job->p;
    const struct pool_axis *w = &p->axis[2];
    int64_t begin, end, from, to, step = p->src.at[2], diff_step = job->diff_src_at->at[2];
    if (job->by_channels || w->out == 1) {
        /* One window in this axis: its elements one after the other. */
        int64_t first = l->o[2] * w->stride - w->pad;
        cvp_pool_window(w, l->o[2], &begin, &end);
        for (int64_t kw = begin; kw < end; kw++) NAME(tap)
        (job, lanes, 0, diff + (first + kw) * diff_step, job->diff_src_at->c,
         src + (first + kw) * step, p->src.c, l->lanes);
        return;
    }
    cvp_pool_taps(w, l, &begin, &end);
    for (int64_t kw = begin; kw < end; kw++) {
        cvp_pool_lanes(w, l, kw, &from, &to);
        int64_t first = from * w->stride - w->pad + kw;
        NAME(tap)
        (job, lanes, from - l->o[2], diff + first * diff_step, diff_step * w->stride,
         src + first * step, step * w->stride, to - from);
    }
}

static void NAME(line)(const struct job *job, const struct pool_line *l)
{
    const struct pool_problem *p = job->p;
    struct NAME(lanes) lanes;
    double divisor[POOL_LANES];
    const T *diff_dst = (const T *)job->diff_dst + cvp_pool_dst(l, job->diff_dst_at);
    const T *dst = (const T *)job->dst + cvp_pool_dst(l, &p->dst);
    int64_t diff_step = job->by_channels ? job->diff_dst_at->c : job->diff_dst_at->at[2];
    int64_t step = job->by_channels ? p->dst.c : p->dst.at[2];
    cvp_pool_divisors(p, l, divisor);
    lanes.has_nan = 0;
    for (int i = 0; i < l->lanes; i++) {
        T g = diff_dst[i * diff_step];
        lanes.give[i] = p->type == POOL_AVG ? (T)((double)g / divisor[i]) : g;
        lanes.max[i] = p->type == POOL_MAX ? dst[i * step] : 0;
        lanes.has_nan |= lanes.max[i] != lanes.max[i];
    }
    int64_t d0, d1, h0, h1;
    cvp_pool_window(&p->axis[0], l->o[0], &d0, &d1);
    cvp_pool_window(&p->axis[1], l->o[1], &h0, &h1);
    for (int64_t kd = d0; kd < d1; kd++)
        for (int64_t kh = h0; kh < h1; kh++) NAME(row)
    (job, l, &lanes, (T *)job->diff_src + cvp_pool_row(p, l, job->diff_src_at, kd, kh),
     (const T *)job->src + cvp_pool_row(p, l, &p->src, kd, kh));
}

/* An image's channels [c, c + n) become 0. */
static void NAME(clear)(const struct job *job, int64_t image, int64_t c, int64_t n)
{
    const struct pool_strides *s = job->diff_src_at;
    const struct pool_axis *axis = job->p->axis;
    for (int64_t y = 0; y < axis[0].in * axis[1].in; y++) {
        T *row = (T *)job->diff_src + image * s->n + c * s->c + y / axis[1].in * s->at[0] +
                 y % axis[1].in * s->at[1];
        for (int64_t x = 0; x < axis[2].in; x++)
            for (int64_t i = 0; i < n; i++) row[x * s->at[2] + i * s->c] = 0;
    }
}

/* All windows of one channel, or of channels side by side. */
static void NAME(task)(const struct job *job, int64_t image, int64_t c, int channels)
{
    const struct pool_axis *axis = job->p->axis;
    if (!job->add) NAME(clear)(job, image, c, channels);
    struct pool_line l = {.n = image, .c = c, .lanes = channels};
    for (l.o[0] = 0; l.o[0] < axis[0].out; l.o[0]++)
        for (l.o[1] = 0; l.o[1] < axis[1].out; l.o[1]++)
            for (l.o[2] = 0; l.o[2] < axis[2].out; l.o[2] += job->by_channels ? 1 : POOL_LANES) {
                if (!job->by_channels) l.lanes = (int)cvp_min_i64(POOL_LANES, axis[2].out - l.o[2]);
                NAME(line)(job, &l);
            }
}

static void NAME(tasks)(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    for (int64_t i = begin; i < end; i++) {
        int64_t image = i / job->tasks_per_image, c = i % job->tasks_per_image;
        if (job->by_channels) c *= POOL_LANES;
        NAME(task)
        (job, image, c, job->by_channels ? (int)cvp_min_i64(POOL_LANES, job->p->c - c) : 1);
    }
}

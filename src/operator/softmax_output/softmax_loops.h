/* The softmax of a block of positions, for one type. No guard: included once for each type T, with
 * EXP its exponential and NAME to name the instance.
 *
 * The largest score is taken off first, so that no exponential overflows; sums are in double. A NaN
 * or an infinity of plus sign among the scores makes the position's probabilities NaN. */

static void NAME(softmax_block)(const struct job *job, int64_t row, int64_t first, int lanes)
{
    const struct softmax_axes *a = &job->src_axes, *b = &job->dst_axes;
    const T *src = (const T *)job->src + cvp_group_at(&a->rows, row);
    T *dst = (T *)job->dst + cvp_group_at(&b->rows, row);
    int64_t from[LANES], to[LANES];
    T max[LANES];
    double sum[LANES];
    for (int l = 0; l < lanes; l++) {
        from[l] = cvp_group_at(&a->positions, first + l);
        to[l] = cvp_group_at(&b->positions, first + l);
        max[l] = -(T)INFINITY;
        sum[l] = 0;
    }
    for (int64_t c = 0; c < a->classes.size; c++) {
        const T *s = src + cvp_group_at(&a->classes, c);
        for (int l = 0; l < lanes; l++) {
            T v = s[from[l]];
            max[l] = v > max[l] ? v : max[l];
        }
    }
    /* The exponentials are kept in dst, unless it is to be added to. */
    for (int64_t c = 0; c < a->classes.size; c++) {
        const T *s = src + cvp_group_at(&a->classes, c);
        T *d = dst + cvp_group_at(&b->classes, c);
        for (int l = 0; l < lanes; l++) {
            T e = EXP(s[from[l]] - max[l]);
            sum[l] += (double)e;
            if (!job->add) d[to[l]] = e;
        }
    }
    for (int64_t c = 0; c < a->classes.size; c++) {
        const T *s = src + cvp_group_at(&a->classes, c);
        T *d = dst + cvp_group_at(&b->classes, c);
        for (int l = 0; l < lanes; l++) {
            if (job->add)
                d[to[l]] += (T)((double)EXP(s[from[l]] - max[l]) / sum[l]);
            else
                d[to[l]] = (T)((double)d[to[l]] / sum[l]);
        }
    }
}

static void NAME(softmax)(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    for (int64_t i = begin; i < end; i++) {
        int64_t first = i % job->blocks * LANES;
        NAME(softmax_block)
        (job, i / job->blocks, first,
         (int)cvp_min_i64(LANES, job->src_axes.positions.size - first));
    }
}

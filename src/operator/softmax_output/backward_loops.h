/* The gradient of one class in one row, at all positions, for one type. No guard: included once for
 * each type T, with NAME to name the instance. diff_src and dst may be the same memory. */

/* Of one element: what the target is depends on whether the class is the label's. */
static inline T NAME(gradient_at)(const struct job *job, double label, int64_t c, double off, T p)
{
    if (is_ignored(job->params, label)) return 0;
    double target = (int64_t)label == c ? 1 - job->params->smooth_alpha : off;
    return (T)(((double)p - target) * job->scale);
}

static void NAME(gradient_line)(const struct job *job, int64_t row, int64_t c)
{
    int64_t classes = job->dst_axes.classes.size, positions = job->dst_axes.positions.size;
    double off = classes > 1 ? job->params->smooth_alpha / (double)(classes - 1) : 0;
    const T *dst = (const T *)job->dst + cvp_group_at(&job->dst_axes.rows, row) +
                   cvp_group_at(&job->dst_axes.classes, c);
    T *diff_src = (T *)job->diff_src + cvp_group_at(&job->diff_src_axes.rows, row) +
                  cvp_group_at(&job->diff_src_axes.classes, c);
    const T *diff_dst = job->diff_dst;
    if (diff_dst)
        diff_dst += cvp_group_at(&job->diff_dst_axes.rows, row) +
                    cvp_group_at(&job->diff_dst_axes.classes, c);
    for (int64_t i = 0; i < positions; i++) {
        T g = NAME(gradient_at)(job, label_at(job, row, i), c, off,
                                dst[cvp_group_at(&job->dst_axes.positions, i)]);
        if (diff_dst) g *= diff_dst[cvp_group_at(&job->diff_dst_axes.positions, i)];
        T *to = &diff_src[cvp_group_at(&job->diff_src_axes.positions, i)];
        *to = job->add ? *to + g : g;
    }
}

/* The same of one row without positions, along the classes. */
static void NAME(gradient_row)(const struct job *job, int64_t row)
{
    int64_t classes = job->dst_axes.classes.size;
    double off = classes > 1 ? job->params->smooth_alpha / (double)(classes - 1) : 0;
    double label = label_at(job, row, 0);
    const T *dst = (const T *)job->dst + cvp_group_at(&job->dst_axes.rows, row);
    T *diff_src = (T *)job->diff_src + cvp_group_at(&job->diff_src_axes.rows, row);
    const T *diff_dst = job->diff_dst;
    if (diff_dst) diff_dst += cvp_group_at(&job->diff_dst_axes.rows, row);
    for (int64_t c = 0; c < classes; c++) {
        T g = NAME(gradient_at)(job, label, c, off, dst[cvp_group_at(&job->dst_axes.classes, c)]);
        if (diff_dst) g *= diff_dst[cvp_group_at(&job->diff_dst_axes.classes, c)];
        T *to = &diff_src[cvp_group_at(&job->diff_src_axes.classes, c)];
        *to = job->add ? *to + g : g;
    }
}

static void NAME(gradient)(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    int64_t classes = job->dst_axes.classes.size;
    for (int64_t i = begin; i < end; i++)
        if (job->by_row)
            NAME(gradient_row)(job, i);
        else
            NAME(gradient_line)(job, i / classes, i % classes);
}

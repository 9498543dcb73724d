/* The sums of diff_dst's columns, for one type. No guard: included once for each type T, with NAME
 * to name the instance. */

static void NAME(sum)(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct sum_job *job = arg;
    const struct cvp_group *rows = &job->diff_dst.rows, *columns = &job->diff_dst.columns;
    int64_t step = columns->stride[0]; /* the columns are one dimension */
    for (int64_t block = begin; block < end; block++) {
        int64_t first = block * LANES, n = cvp_min_i64(LANES, columns->size - first);
        double sum[LANES] = {0};
        for (int64_t i = 0; i < rows->size; i++) {
            const T *from = (const T *)job->from + cvp_group_at(rows, i) + first * step;
            if (step == 1)
                for (int64_t l = 0; l < n; l++) sum[l] += (double)from[l];
            else
                for (int64_t l = 0; l < n; l++) sum[l] += (double)from[l * step];
        }
        T *to = (T *)job->to + first * job->to_stride;
        for (int64_t l = 0; l < n; l++) {
            T v = (T)sum[l];
            to[l * job->to_stride] = job->add ? to[l * job->to_stride] + v : v;
        }
    }
}

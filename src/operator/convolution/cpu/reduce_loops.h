/* The loops of the row `reduce` for one type T, read by LOAD and
 * rounded by STORE. Included once for each; no guard. */

/* Channels [c0, c1) of one image, at most CHANNELS: sum[i] += all pixels of channel c0 + i. Rows
 * are summed apart first: the error then grows with the rows, not with the pixels. */
static void NAME(sum_image)(const convop_conv_problem *p, const T *image, int64_t c0, int64_t c1,
                            double *sum)
{
    const convop_conv_strides s = p->dst;
    for (int64_t d = 0; d < p->od; d++)
        for (int64_t h = 0; h < p->oh; h++) {
            const T *row = image + d * s.d + h * s.h;
            double part[CHANNELS] = {0};
            if (s.c == 1) {
                for (int64_t w = 0; w < p->ow; w++)
                    for (int64_t c = c0; c < c1; c++) part[c - c0] += LOAD(row[w * s.w + c]);
            } else {
                for (int64_t c = c0; c < c1; c++)
                    for (int64_t w = 0; w < p->ow; w++)
                        part[c - c0] += LOAD(row[w * s.w + c * s.c]);
            }
            for (int64_t c = c0; c < c1; c++) sum[c - c0] += part[c - c0];
        }
}

static void NAME(bwd_b)(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    const convop_conv_problem *p = job->p;
    const T *diff_dst = job->t->dst;
    T *diff_bias = job->t->out;
    for (int64_t c0 = begin; c0 < end; c0 += CHANNELS) {
        int64_t c1 = c0 + CHANNELS < end ? c0 + CHANNELS : end;
        double sum[CHANNELS] = {0};
        for (int64_t n = 0; n < p->mb; n++)
            NAME(sum_image)(p, diff_dst + n * p->dst.n, c0, c1, sum);
        for (int64_t c = c0; c < c1; c++) {
            T *to = diff_bias + c * p->bias_stride;
            *to = STORE(p->add ? LOAD(*to) + sum[c - c0] : sum[c - c0]);
        }
    }
}

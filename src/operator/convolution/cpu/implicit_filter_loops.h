/* The end of a transposed sum, for one type T. Included once for each; no guard. */

static void NAME(put_sums)(const struct implicit_filter_job *job,
                           const struct implicit_filter_part *k)
{
    const struct implicit_filter *f = job->f;
    const T *sums = (const T *)(const void *)k->sums;
    for (int64_t o = k->o0; o < k->o1; o++) {
        T *filter = (T *)(void *)job->out + (k->g * f->ocg + o) * f->icg * f->taps;
        for (int64_t c = k->c0; c < k->c1; c++)
            for (int64_t tap = k->t0; tap < k->t1; tap++) {
                const T sum =
                    sums[((tap - k->t0) * f->in_block + c - k->c0) * f->pitch + o - k->o0];
                T *to = &filter[c * f->taps + tap];
                *to = f->p->add ? *to + sum : sum;
            }
    }
}

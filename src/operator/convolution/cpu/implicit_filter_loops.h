/* The end of a transposed sum, for one type T. Included once for each; no guard. */

/* `width` elements that follow each other in each filter: their sums are rows, over channels. */
static void NAME(put_turned)(const struct implicit_filter_job *job,
                             const struct implicit_filter_part *k, const void *const *rows,
                             int width, int64_t at)
{
    const struct implicit_filter *f = job->f;
    const int64_t filter = f->icg * f->taps;
    cvp_gemm_pack_rows *turn =
        cvp_gemm_kernels(cvp_conv_float(f->p), (enum cvp_isa)f->p->isa)->pack_rows;
    T *to = (T *)(void *)job->out + (k->g * f->ocg + k->o0) * filter + at;
    for (int64_t o = 0; o < k->o1 - k->o0; o += TURNED, to += TURNED * filter) {
        NUMBER turned[TURNED * TURNED + CVP_GEMM_PACK_SLACK / sizeof(NUMBER)];
        const void *part[TURNED];
        const int64_t n = cvp_min_i64(TURNED, k->o1 - k->o0 - o);
        for (int i = 0; i < width; i++) part[i] = (const NUMBER *)rows[i] + o;
        turn(turned, width, n, part);
        f->stored->store(to, filter, 1, turned, width, n, width, f->p->add);
    }
}

/* Some of the taps: nothing is long enough to be turned. */
static void NAME(put_taps)(const struct implicit_filter_job *job,
                           const struct implicit_filter_part *k)
{
    const struct implicit_filter *f = job->f;
    const NUMBER *sums = (const NUMBER *)(const void *)k->sums;
    for (int64_t o = k->o0; o < k->o1; o++) {
        T *filter = (T *)(void *)job->out + (k->g * f->ocg + o) * f->icg * f->taps;
        for (int64_t c = k->c0; c < k->c1; c++)
            for (int64_t tap = k->t0; tap < k->t1; tap++) {
                const NUMBER sum =
                    sums[((tap - k->t0) * f->in_block + c - k->c0) * f->pitch + o - k->o0];
                T *to = &filter[c * f->taps + tap];
                *to = STORE(f->p->add ? (NUMBER)LOAD(*to) + sum : sum);
            }
    }
}

/* All taps: of the channels c0 to c1, a filter's elements follow each other. */
static void NAME(put_sums)(const struct implicit_filter_job *job,
                           const struct implicit_filter_part *k)
{
    const struct implicit_filter *f = job->f;
    const NUMBER *sums = (const NUMBER *)(const void *)k->sums;
    const int64_t end = k->c1 * f->taps;
    if (k->t1 - k->t0 < f->taps) {
        NAME(put_taps)(job, k);
        return;
    }
    for (int64_t at = k->c0 * f->taps; at < end; at += TURNED) {
        const void *rows[TURNED];
        const int width = (int)cvp_min_i64(TURNED, end - at);
        for (int i = 0; i < width; i++) {
            const int64_t c = (at + i) / f->taps - k->c0, tap = (at + i) % f->taps;
            rows[i] = sums + (tap * f->in_block + c) * f->pitch;
        }
        NAME(put_turned)(job, k, rows, width, at);
    }
}

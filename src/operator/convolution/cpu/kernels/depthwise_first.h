/* Correlations of NC* tensors, plane by plane. No guard. */

/* How the planes of a range are computed. */
struct NAME(way) {
    NAME(windows_of) * windows;   /* or NULL */
    void (*pairs)(const PLANE *); /* or NULL */
    EDGES row;
};

static void NAME(find_way)(WAY *way, const struct cvp_dw_job *job)
{
    const struct cvp_dw_axis *h = job->h.at, *w = job->w.at;
    way->windows = NULL;
    way->pairs = NULL;
    for (int k = 3; k <= WINDOW; k += 2)
        for (int s = 1; s <= 2; s++)
            if (is_window(h, w, k, s) && NAME(make_row)(&way->row, k, s, w))
                way->windows = NAME(all_windows)[k == 5][s == 2];
    if (job->w.n != 2 || w[0].step != 2) return;
    for (int64_t r = 0; r < job->h.n; r++)
        if (h[r].taps > PAIR_TAPS) return;
    int64_t taps = w[0].taps * 10 + w[1].taps;
    if (taps == 12) way->pairs = NAME(pairs_1_2);
    if (taps == 21) way->pairs = NAME(pairs_2_1);
#if WINDOW == 5
    if (taps == 23) way->pairs = NAME(pairs_2_3);
    if (taps == 32) way->pairs = NAME(pairs_3_2);
#endif
}

/* All phases of a plane's rows [y0, y1). */
static void NAME(plane_rows)(PLANE *p, const struct cvp_dw_job *job, const WAY *way, int64_t y0,
                             int64_t y1)
{
    for (int64_t r = 0; r < job->h.n; r++) {
        p->h = &job->h.at[r];
        p->j0 = y0;
        p->j1 = y1;
        if (job->h.step > 1) {
            p->j0 = y0 <= r ? 0 : (y0 - r - 1) / job->h.step + 1;
            p->j1 = y1 <= r ? 0 : (y1 - r - 1) / job->h.step + 1;
        }
        p->w = job->w.at;
        if (way->windows)
            way->windows(p, &way->row);
        else if (way->pairs)
            way->pairs(p);
        else
            for (int64_t i = 0; i < job->w.n; i++, p->w++) NAME(any)(p);
    }
}

/* Rows [y0, y1) of a plane that no input reaches: bias, or zero, and what follows. */
static void NAME(empty_rows)(const PLANE *p, const struct cvp_dw_job *job, int64_t y0, int64_t y1)
{
    for (int64_t y = y0; y < y1; y++)
        for (int64_t x = 0; x < job->out_w; x += LANES) NAME(put)
    (p->out + y * p->out_row + x, NAME(all)(p->bias), &p->end, 1, NAME(lanes)(0, job->out_w - x));
}

/* Which item: counted up, since planes may be so small that divisions would be felt. */
struct NAME(item) {
    int64_t n, c, z, block;
};

static void NAME(next_item)(ITEM *i, const struct cvp_dw_job *job)
{
    if (++i->block < job->row_blocks) return;
    i->block = 0;
    if (++i->z < job->out_d) return;
    i->z = 0;
    if (++i->c < job->channels) return;
    i->c = 0;
    i->n++;
}

static void NAME(first)(const struct cvp_dw_job *job, int64_t begin, int64_t end)
{
    WAY way;
    NAME(find_way)(&way, job);
    const convop_conv_problem *q = job->p;
    const int64_t taps = q->kh * q->kw, of_each = job->multiplier;
    const int64_t rest = begin / job->row_blocks;
    ITEM at = {.block = begin % job->row_blocks,
               .z = rest % job->out_d,
               .c = rest / job->out_d % job->channels,
               .n = rest / job->out_d / job->channels};
    for (int64_t item = begin; item < end; item++, NAME(next_item)(&at, job)) {
        int64_t y0 = at.block * job->block_rows, y1 = y0 + job->block_rows;
        if (y1 > job->out_h) y1 = job->out_h;
        const struct cvp_dw_axis *d = job->d.at;
        int64_t z = at.z, d0, d1;
        if (job->d.step > 1) {
            d += z % job->d.step;
            z /= job->d.step;
        }
        z = d->at + z * d->move;
        taps_inside(z, d->tap, d->size, d->taps, &d0, &d1);

        const int64_t terms = (job->backward ? of_each : 1) * (d1 > d0 ? d1 - d0 : 0);
        PLANE p = {.end = NAME(end_of)(job, 1, terms <= 1),
                   .out_row = job->out_stride.h,
                   .in_row = job->in_stride.h,
                   .weights_row = q->kw};
        p.out = (STORED *)job->out + at.n * job->out_stride.n + at.c * job->out_stride.c +
                at.z * job->out_stride.d;
        if (job->bias) p.bias = NAME(get)((const STORED *)job->bias + at.c * q->bias_stride);
        if (d0 >= d1) NAME(empty_rows)(&p, job, y0, y1);
        int64_t term = 0;
        for (int64_t m = 0; m < (job->backward ? of_each : 1); m++)
            for (int64_t i = d0; i < d1; i++) {
                int64_t from = of_each == 1    ? at.c
                               : job->backward ? at.c * of_each + m
                                               : at.c / of_each;
                p.in = (const STORED *)job->in + at.n * job->in_stride.n + from * job->in_stride.c +
                       (z + i * d->tap) * job->in_stride.d;
                p.weights = (const STORED *)job->weights +
                            ((job->backward ? from : at.c) * q->kd + d->k + i * d->k_step) * taps;
                NAME(plane_rows)(&p, job, &way, y0, y1);
                p.bias = 0;
                p.end = NAME(end_of)(job, 0, ++term + 1 == terms);
            }
    }
}

#undef PAIR_TAPS

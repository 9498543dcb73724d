/* The gradient by data of 3x3 windows at stride 2, in N*C: a row of outputs at a time. The taps of
 * every second row, and pixel, are two, those between are one. So an input is loaded for the two
 * outputs of its own place and the one between it and the next, and each output is stored once, in
 * their order. No guard.
 *
 * Products are summed column by column. */

/* Of the axis's two phases, the one of so many taps. */
static const struct cvp_dw_axis *NAME(phase_of)(const struct cvp_dw_phases *a, int64_t taps)
{
    return a->at[0].taps == taps ? &a->at[0] : &a->at[1];
}

/* 1 if the width has a phase of one tap and one of two, of neighbours, and each output reads an
 * input. */
static int NAME(spreads)(const struct cvp_dw_phases *a)
{
    if (a->n != 2 || a->at[0].taps + a->at[1].taps != 3 || a->at[0].taps == 0 || a->at[1].taps == 0)
        return 0;
    const struct cvp_dw_axis *one = NAME(phase_of)(a, 1), *two = NAME(phase_of)(a, 2);
    return one->move == 1 && two->move == 1 && two->tap == 1 && one->at >= 0 &&
           one->at + one->count <= one->size && two->at >= -1 && two->at + two->count <= two->size;
}

/* `rows` of inputs, 1 or 2, those of the width's taps. */
CVP_INLINE void NAME(spread)(const int rows, const int mode, const CHANNELS *c, const TAPS *k,
                             const struct cvp_dw_phases *width, STORED *row)
{
    const struct cvp_dw_axis *h = k->h, *one = NAME(phase_of)(width, 1),
                             *two = NAME(phase_of)(width, 2);
    const STORED *in = c->in + k->d_at * c->in_d + (k->h_at + k->h0 * h->tap) * c->in_h;
    VEC w[2][3]; /* by row; of the single tap, of the first of two, of the second */
    CVP_UNROLL for (int i = 0; i < rows; i++)
    {
        const SCALAR *by = c->weights + (h->k + (k->h0 + i) * h->k_step) * 3 * LANES;
        w[i][0] = *(const VEC *)(by + one->k * LANES);
        w[i][1] = *(const VEC *)(by + two->k * LANES);
        w[i][2] = *(const VEC *)(by + (two->k + two->k_step) * LANES);
    }
    STORED *to_one = row + (one->begin - one->at * one->step) * c->out_w;
    STORED *to_two = row + (two->begin - two->at * two->step) * c->out_w;
    const int64_t out_w = two->step * c->out_w;
    VEC between = c->bias; /* of an output and the one before: its first tap's products */
    for (int64_t x = 0; x < one->size; x++, in += c->in_w, to_one += out_w, to_two += out_w) {
        VEC here = c->bias, next = c->bias;
        CVP_UNROLL for (int i = 0; i < rows; i++)
        {
            const VEC v = NAME(load_channels)(c, mode, in + i * h->tap * c->in_h);
            between += v * w[i][2];
            here += v * w[i][0];
            next += v * w[i][1];
        }
        if (x > two->at && x - 1 - two->at < two->count) NAME(put)
        (to_two - out_w, between, &c->end, mode != WHOLE, c->mask);
        if (x >= one->at && x - one->at < one->count) NAME(put)
        (to_one, here, &c->end, mode != WHOLE, c->mask);
        between = next;
    }
    if (two->at + two->count == two->size) NAME(put)
    (to_two - out_w, between, &c->end, mode != WHOLE, c->mask);
}

/* One row; 0: it goes another way. */
CVP_INLINE int NAME(spread_row)(const int mode, const CHANNELS *c, const TAPS *k,
                                const struct cvp_dw_phases *width, STORED *row)
{
    if (k->h1 - k->h0 == 1)
        NAME(spread)(1, mode, c, k, width, row);
    else if (k->h1 - k->h0 == 2)
        NAME(spread)(2, mode, c, k, width, row);
    else
        return 0;
    return 1;
}

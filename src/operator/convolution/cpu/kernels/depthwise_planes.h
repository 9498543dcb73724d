/* What computes an NC* plane, and the way for any taps: an output at a time, as a vector. No guard.
 */

/* What a sum goes through before it is stored: it is added to what is there, the residual is added,
 * it is clamped to [0, high]. */
enum NAME(step) { NAME(ADD) = 1, NAME(RESIDUAL) = 2, NAME(CLAMP) = 4 };

struct NAME(end) {
    int steps;
    int64_t residual; /* bytes from out to it: it lies as out does */
    SCALAR high;
};

/* Of the term of a sum which may be its first, its last, or both. */
static END NAME(end_of)(const struct cvp_dw_job *job, int is_first, int is_last)
{
    const convop_conv_problem *q = job->p;
    END e = {.steps = q->add || !is_first ? NAME(ADD) : 0, .high = (SCALAR)cvp_conv_high(q)};
    if (is_last && job->residual) {
        e.steps |= NAME(RESIDUAL);
        e.residual = (int64_t)((uintptr_t)job->residual - (uintptr_t)job->out);
    }
    if (is_last && q->activation) e.steps |= NAME(CLAMP);
    return e;
}

/* A plane of out from one of in and the weights of one depth. */
struct NAME(plane) {
    STORED *out;
    const STORED *in, *weights;
    SCALAR bias;
    END end;
    int64_t out_row, in_row, weights_row;
    const struct cvp_dw_axis *h, *w;
    int64_t j0, j1; /* of h */
};

CVP_INLINE void NAME(put)(STORED *to, VEC v, const END *end, const int masked, MASK m)
{
    if (end->steps) {
        const STORED *r = (const STORED *)((uintptr_t)to + (uintptr_t)end->residual);
        if (end->steps & NAME(ADD)) v += masked ? NAME(load_some)(to, m) : NAME(load)(to);
        if (end->steps & NAME(RESIDUAL)) v += masked ? NAME(load_some)(r, m) : NAME(load)(r);
        if (end->steps & NAME(CLAMP)) v = CVP_CLAMP_VECTOR(v, NAME(all)(end->high));
    }
    if (masked)
        NAME(store_some)(to, m, v);
    else
        NAME(store)(to, v);
}

/* 1 if all taps of all lanes from x on are inside. */
CVP_INLINE int NAME(is_whole)(const struct cvp_dw_axis *w, int64_t x)
{
    int64_t at = w->at + x;
    return w->move == 1 && at >= 0 && at + (w->taps - 1) * w->tap + LANES <= w->size;
}

/* Outputs x and on of row j, its taps [i0, i1) of the height. */
CVP_INLINE VEC NAME(taps)(const PLANE *p, int64_t j, int64_t i0, int64_t i1, int64_t x,
                          const int masked)
{
    VEC sum = NAME(all)(p->bias);
    const struct cvp_dw_axis *h = p->h, *w = p->w;
    const int64_t at = w->at + x * w->move;
    const STORED *in = p->in + (h->at + j * h->move) * p->in_row + at;
    const STORED *weights = p->weights + h->k * p->weights_row + w->k;
    for (int64_t t = 0; t < w->taps; t++) {
        int64_t pos = t * w->tap;
        MASK m = masked ? NAME(lanes)(-at - pos, w->size - at - pos) : NAME(lanes)(0, LANES);
        for (int64_t i = i0; i < i1; i++) {
            const STORED *from = in + i * h->tap * p->in_row + pos;
            VEC by = NAME(everywhere)(weights + i * h->k_step * p->weights_row + t * w->k_step);
            if (w->move != 1) {
                VEC v = {0}, some = {0};
                for (int64_t l = 0; l < LANES; l++)
                    if (at + pos + l * w->move >= 0 && at + pos + l * w->move < w->size)
                        v[l] = NAME(get)(from + l * w->move), some[l] = by[l];
                sum += v * some;
            } else if (masked) {
                sum += NAME(load_some)(from, m) * NAME(keep)(m, by);
            } else {
                sum += NAME(load)(from) * by;
            }
        }
    }
    return sum;
}

static void NAME(any)(const PLANE *p)
{
    const struct cvp_dw_axis *h = p->h, *w = p->w;
    for (int64_t j = p->j0; j < p->j1; j++) {
        int64_t i0, i1;
        taps_inside(h->at + j * h->move, h->tap, h->size, h->taps, &i0, &i1);
        STORED *out = p->out + (h->begin + j * h->step) * p->out_row + w->begin;
        for (int64_t x = 0; x < w->count; x += LANES) {
            VEC v = NAME(is_whole)(w, x) ? NAME(taps)(p, j, i0, i1, x, 0)
                                         : NAME(taps)(p, j, i0, i1, x, 1);
            if (w->step == 1 && x + LANES <= w->count)
                NAME(put)(out + x, v, &p->end, 0, NAME(lanes)(0, LANES));
            else if (w->step == 1)
                NAME(put)(out + x, v, &p->end, 1, NAME(lanes)(0, w->count - x));
            else
                for (int64_t l = 0; l < LANES && x + l < w->count; l++) { /* backward */
                    STORED *to = out + (x + l) * w->step;
                    NAME(set)(to, p->end.steps & NAME(ADD) ? NAME(get)(to) + v[l] : v[l]);
                }
        }
    }
}

/* Where the vectors of an NC* row lie, for windows of k taps side by side at stride 1 or 2: most
 * are whole, those at the ends of a row are masked. No guard.
 *
 * A lane whose tap falls on padding has the weight (or the gradient) and the input cleared, so that
 * padding is multiplied with nothing, be it infinite. */

#define MOST_EDGES 6

/* A vector of outputs of which some tap of some lane is outside, or which is not full. */
struct NAME(edge) {
    int64_t x;             /* its first output */
    MASK load[WINDOW + 1]; /* of the vectors that `columns` loads */
    MASK keep[WINDOW];     /* lanes for which tap i is inside */
    MASK store;            /* lanes that there are */
};

struct NAME(row) {
    int64_t begin, end; /* outputs of whole vectors */
    int edges;
    EDGE edge[MOST_EDGES];
};

/* xs[i]: inputs of tap i; `in` is the input of tap 0 of lane 0. */
CVP_INLINE void NAME(columns)(const int k, const int s, const int masked, const STORED *in,
                              const MASK *load, VEC *xs)
{
    if (s == 1) {
        CVP_UNROLL for (int i = 0; i < k; i++)
        {
            xs[i] = masked ? NAME(load_some)(in + i, load[i]) : NAME(load)(in + i);
        }
        return;
    }
    CVP_UNROLL for (int i = 0; i < k; i += 2)
    {
        VEC a = masked ? NAME(load_some)(in + i, load[i]) : NAME(load)(in + i);
        VEC b = masked ? NAME(load_some)(in + i + LANES, load[i + 1]) : NAME(load)(in + i + LANES);
        xs[i] = NAME(even)(a, b);
        if (i + 1 < k) xs[i + 1] = NAME(odd)(a, b);
    }
}

static void NAME(make_edge)(EDGE *e, int k, int s, const struct cvp_dw_axis *w, int64_t x)
{
    int64_t at = w->at + x * s;
    e->x = x;
    e->store = NAME(lanes)(0, w->count - x);
    for (int i = 0; i < k; i++) {
        int64_t low = -at - i, high = w->size - at - i;
        if (s == 2) {
            low = low > 0 ? (low + 1) / 2 : 0;
            high = high > 0 ? (high + 1) / 2 : 0;
        }
        e->keep[i] = NAME(lanes)(low, high) & e->store;
    }
    for (int i = 0; i <= k; i++) {
        int64_t from = s == 1 ? at + i : at + i / 2 * 2 + i % 2 * LANES;
        e->load[i] = NAME(lanes)(-from, w->size - from);
        if (s == 1 && i < k) e->load[i] &= e->store;
    }
}

/* 0: more edges than there is room for. */
static int NAME(make_row)(EDGES *r, int k, int s, const struct cvp_dw_axis *w)
{
    r->edges = 0;
    r->begin = r->end = 0;
    for (int64_t x = 0; x < w->count; x += LANES) {
        int64_t at = w->at + x * s;
        if (at >= 0 && x + LANES <= w->count && at + k - 1 + s * LANES <= w->size) {
            /* All up to the first that is not. */
            int64_t whole = (w->size - (k - 1) - s * LANES - at) / (s * LANES) + 1;
            int64_t full = (w->count - x) / LANES;
            r->begin = x;
            r->end = x + (whole < full ? whole : full) * LANES;
            x = r->end - LANES;
            continue;
        }
        if (r->edges == MOST_EDGES) return 0;
        NAME(make_edge)(&r->edge[r->edges++], k, s, w, x);
    }
    return 1;
}

#undef MOST_EDGES

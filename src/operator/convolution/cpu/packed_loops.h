/* Sums on their way to out, for one type T. Included once for each; no guard. */

static void NAME(put_line)(T *to, int64_t step, const T *from, int64_t n, int add)
{
    if (add)
        for (int64_t j = 0; j < n; j++) to[j * step] += from[j];
    else if (step == 1)
        memcpy(to, from, (size_t)n * sizeof(T));
    else
        for (int64_t j = 0; j < n; j++) to[j * step] = from[j];
}

/* N*C: n pixels, `step` elements apart. */
static void NAME(put_rows)(const struct packed *k, int64_t n, int64_t step, int columns,
                           const char *sums, char *out)
{
    const T *from = (const T *)(const void *)sums;
    T *to = (T *)(void *)out;
    for (int64_t i = 0; i < n; i++, to += step, from += k->columns)
        NAME(put_line)(to, 1, from, columns, k->p->add);
}

/* NC* */
static void NAME(put_planes)(const struct packed *k, int64_t n, int64_t step, int columns,
                             const char *sums, char *out)
{
    for (int64_t i = 0; i < n; i += SQUARE) {
        T turned[CVP_PACKED_MAX_COLUMNS * SQUARE + CVP_GEMM_PACK_SLACK / sizeof(T)];
        const void *rows[SQUARE];
        const int width = (int)cvp_min_i64(SQUARE, n - i);
        for (int j = 0; j < width; j++) rows[j] = sums + (i + j) * k->columns * (int64_t)sizeof(T);
        k->packers->pack_rows(turned, width, columns, rows);
        T *to = (T *)(void *)out + i * step;
        for (int c = 0; c < columns; c++, to += k->out_plane)
            NAME(put_line)(to, step, turned + c * width, width, k->p->add);
    }
}

/* Sums on their way to out, for one type T. Included once for each; no guard. */

/* n elements, `step` apart; with what follows the sum, forward, where the step is 1. */
static void NAME(put_line)(const convop_conv_problem *p, T *to, int64_t step, const T *from,
                           int64_t n, const T *residual)
{
    if (p->add)
        for (int64_t j = 0; j < n; j++) to[j * step] += from[j];
    else if (step == 1)
        memcpy(to, from, (size_t)n * sizeof(T));
    else
        for (int64_t j = 0; j < n; j++) to[j * step] = from[j];
    if (cvp_conv_has_epilogue(p)) cvp_conv_finish_line(p, n, to, residual);
}

/* N*C: n pixels, `step` elements apart. */
static void NAME(put_rows)(const struct packed *k, int64_t n, int64_t step, int columns,
                           const char *sums, char *out, const char *residual)
{
    const T *from = (const T *)(const void *)sums, *other = (const T *)(const void *)residual;
    T *to = (T *)(void *)out;
    for (int64_t i = 0; i < n; i++, to += step, from += k->columns)
        NAME(put_line)(k->p, to, 1, from, columns, other ? other + i * step : NULL);
}

/* NC* */
static void NAME(put_planes)(const struct packed *k, int64_t n, int64_t step, int columns,
                             const char *sums, char *out, const char *residual)
{
    const T *other = (const T *)(const void *)residual;
    for (int64_t i = 0; i < n; i += SQUARE) {
        T turned[CVP_PACKED_MAX_COLUMNS * SQUARE + CVP_GEMM_PACK_SLACK / sizeof(T)];
        const void *rows[SQUARE];
        const int width = (int)cvp_min_i64(SQUARE, n - i);
        for (int j = 0; j < width; j++) rows[j] = sums + (i + j) * k->columns * (int64_t)sizeof(T);
        k->packers->pack_rows(turned, width, columns, rows);
        for (int c = 0; c < columns; c++) {
            const int64_t at = c * k->ends.out.plane + i * step;
            NAME(put_line)
            (k->p, (T *)(void *)out + at, step, turned + c * width, width,
             other ? other + at : NULL);
        }
    }
}

/* Copies of implicit_first.c for one type T. Included once for each; no guard. */

/* The pixels of a row that are staged: `pitch` in each of the stride's phases, low_w + place. What
 * is outside of the row, or of no row, is 0. */
static void NAME(stage_row)(const struct implicit_first *f, const char *row, int64_t low_w,
                            char *to_)
{
    const T *from = (const T *)(const void *)row;
    for (int64_t phase = 0; phase < f->step_w; phase++) {
        T *to = (T *)(void *)to_ + phase * f->staged_rows * f->pitch;
        int64_t begin, end;
        window_inside(low_w + phase, f->step_w, f->in_w, f->pitch, &begin, &end);
        if (!row || end < begin) end = begin = cvp_min_i64(begin, f->pitch);
        memset(to, 0, (size_t)begin * sizeof(T));
        const int64_t at = low_w + phase;
        if (begin < end && f->step_w == 1)
            memcpy(to + begin, from + at + begin, (size_t)(end - begin) * sizeof(T));
        else
            for (int64_t i = begin; i < end; i++) to[i] = from[at + i * f->step_w];
        memset(to + end, 0, (size_t)(f->pitch - end) * sizeof(T));
    }
}

/* Writes or adds n pixels of some channels. */
static void NAME(put_rows)(char *to_, int64_t plane, int64_t step, const char *from_,
                           int64_t columns, int rows, int64_t n, int add)
{
    T *to = (T *)(void *)to_;
    const T *from = (const T *)(const void *)from_;
    for (int i = 0; i < rows; i++, to += plane, from += columns) {
        if (add)
            for (int64_t j = 0; j < n; j++) to[j * step] += from[j];
        else if (step == 1)
            memcpy(to, from, (size_t)n * sizeof(T));
        else
            for (int64_t j = 0; j < n; j++) to[j * step] = from[j];
    }
}

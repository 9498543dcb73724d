/* im2col and col2im for one type T. Included once for each; no guard. */

/* One row of dst: outputs [w0, w1) of row (d, h) for one tap and channel plane. */
static void NAME(row_of_columns)(const convop_conv_problem *p, const T *plane, struct tap tap,
                                 struct pixel at, int64_t w1, T *to)
{
    int64_t d = at.d * p->sd + tap.d, h = at.h * p->sh + tap.h, begin, end;
    window_inside(tap.w, p->sw, p->iw, p->ow, &begin, &end);
    begin = inside(d, p->id) && inside(h, p->ih) ? cvp_max_i64(begin, at.w) : w1;
    end = cvp_max_i64(begin, cvp_min_i64(end, w1));
    begin = cvp_min_i64(begin, w1);
    end = cvp_min_i64(end, w1);
    for (int64_t w = at.w; w < begin; w++) *to++ = 0;
    if (end > begin) {
        const T *from = plane + (d * p->ih + h) * p->iw + begin * p->sw + tap.w;
        if (p->sw == 1)
            memcpy(to, from, (size_t)(end - begin) * sizeof(T));
        else
            for (int64_t w = begin; w < end; w++) to[w - begin] = from[(w - begin) * p->sw];
        to += end - begin;
    }
    for (int64_t w = end; w < w1; w++) *to++ = 0;
}

static void NAME(im2col_first)(const convop_conv_problem *p, const void *image_, int64_t k0,
                               int64_t k1, int64_t y0, int64_t y1, void *col_, int64_t ld)
{
    const T *image = image_;
    T *col = col_;
    int64_t taps = cvp_conv_taps(p), plane = cvp_conv_src_pixels(p);
    const struct pixel first = pixel_at(p, y0);
    for (int64_t k = k0; k < k1; k++) {
        struct tap tap = tap_at(p, k % taps);
        struct pixel at = first;
        T *to = col + (k - k0) * ld;
        for (int64_t y = y0; y < y1;) {
            int64_t w1 = cvp_min_i64(p->ow, at.w + (y1 - y));
            NAME(row_of_columns)(p, image + k / taps * plane, tap, at, w1, to);
            to += w1 - at.w;
            y += w1 - at.w;
            at = next_row(p, at);
        }
    }
}

static void NAME(im2col_last)(const convop_conv_problem *p, const void *image_, int64_t k0,
                              int64_t k1, int64_t y0, int64_t y1, void *col_, int64_t ld)
{
    const T *image = image_;
    T *col = col_;
    int64_t icg = p->ic / p->g;
    struct pixel at = pixel_at(p, y0);
    for (int64_t y = y0; y < y1; y++, at = next_pixel(p, at)) {
        T *to = col + (y - y0) * ld;
        for (int64_t k = k0; k < k1;) {
            struct tap tap = tap_at(p, k / icg);
            int64_t c = k % icg, n = cvp_min_i64(icg - c, k1 - k);
            int64_t d = at.d * p->sd + tap.d, h = at.h * p->sh + tap.h, w = at.w * p->sw + tap.w;
            if (inside(d, p->id) && inside(h, p->ih) && inside(w, p->iw))
                memcpy(to, image + ((d * p->ih + h) * p->iw + w) * p->ic + c,
                       (size_t)n * sizeof(T));
            else
                for (int64_t i = 0; i < n; i++) to[i] = 0;
            to += n;
            k += n;
        }
    }
}

/* Adds n pixels of a row of columns. */
static void NAME(add_row)(const T *from, int64_t n, int64_t step, T *to)
{
    for (int64_t i = 0; i < n; i++) to[i * step] += from[i];
}

/* Adds pixels [w0, w1) for all places of a row of the window, `ld` apart. Those that a stride leads
 * to the same elements in turn are summed first, so that few are added a stride apart. */
static void NAME(add_rows)(const convop_conv_problem *p, const T *col, int64_t ld, int64_t w0,
                           int64_t w1, T *row)
{
    for (int64_t k = 0; k < p->sw; k++) {
        const int64_t places = (p->kw - 1 - k) / p->sw + 1;
        int64_t begin, end;
        window_inside(k - p->pw, p->sw, p->iw, w1 + places - 1, &begin, &end);
        for (int64_t t = cvp_max_i64(begin, w0), stop; t < end; t = stop) {
            T sums[SUMMED];
            stop = cvp_min_i64(end, t + SUMMED);
            memset(sums, 0, (size_t)(stop - t) * sizeof(T));
            for (int64_t j = 0; j < places; j++) {
                const int64_t first = cvp_max_i64(t, w0 + j), last = cvp_min_i64(stop, w1 + j);
                if (first < last) NAME(add_row)
                (col + (k + j * p->sw) * ld + first - j - w0, last - first, 1, sums + first - t);
            }
            NAME(add_row)(sums, stop - t, p->sw, row + t * p->sw + k - p->pw);
        }
    }
}

static void NAME(col2im_first)(const convop_conv_problem *p, const void *col_, int64_t ld,
                               int64_t c0, int64_t c1, int64_t y0, int64_t y1, void *image_)
{
    const T *col = col_;
    T *image = image_;
    int64_t taps = cvp_conv_taps(p), plane = cvp_conv_src_pixels(p);
    const struct pixel first = pixel_at(p, y0);
    const int by_rows = p->sw > 1 && p->dw == 1 && (p->kw - 1) / 2 >= p->sw;
    for (int64_t k = 0; k < (c1 - c0) * taps; k += by_rows ? p->kw : 1) {
        struct tap tap = tap_at(p, k % taps);
        int64_t begin, end;
        window_inside(tap.w, p->sw, p->iw, p->ow, &begin, &end);
        T *to = image + (c0 + k / taps) * plane;
        const T *from = col + k * ld;
        struct pixel at = first;
        for (int64_t y = y0; y < y1;) {
            int64_t w1 = cvp_min_i64(p->ow, at.w + (y1 - y));
            int64_t d = at.d * p->sd + tap.d, h = at.h * p->sh + tap.h;
            if (inside(d, p->id) && inside(h, p->ih)) {
                T *row = to + (d * p->ih + h) * p->iw;
                const int64_t w = cvp_max_i64(begin, at.w), n = cvp_min_i64(end, w1) - w;
                if (by_rows)
                    NAME(add_rows)(p, from, ld, at.w, w1, row);
                else if (n > 0)
                    NAME(add_row)(from + w - at.w, n, p->sw, row + w * p->sw + tap.w);
            }
            from += w1 - at.w;
            y += w1 - at.w;
            at = next_row(p, at);
        }
    }
}

static void NAME(col2im_last)(const convop_conv_problem *p, const void *col_, int64_t ld,
                              int64_t c0, int64_t c1, int64_t y0, int64_t y1, void *image_)
{
    const T *col = col_;
    T *image = image_;
    int64_t taps = cvp_conv_taps(p), n = c1 - c0;
    struct pixel at = pixel_at(p, y0);
    for (int64_t y = y0; y < y1; y++, at = next_pixel(p, at)) {
        for (int64_t k = 0; k < taps; k++) {
            struct tap tap = tap_at(p, k);
            int64_t d = at.d * p->sd + tap.d, h = at.h * p->sh + tap.h, w = at.w * p->sw + tap.w;
            if (!inside(d, p->id) || !inside(h, p->ih) || !inside(w, p->iw)) continue;
            T *to = image + ((d * p->ih + h) * p->iw + w) * p->ic + c0;
            const T *from = col + (y - y0) * ld + k * n;
            for (int64_t c = 0; c < n; c++) to[c] += from[c];
        }
    }
}

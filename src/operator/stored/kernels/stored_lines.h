/* Lines of elements of one type: included with STORED, NUMBER, LANES (numbers of a vector), WIDEN
 * and NARROW (of vectors), EVEN and EVEN_ODD (the elements 0, 2, ... of two vectors, and those of
 * one with 1, 3, ... of the other), GET and SET (of an element) and NAME set. No guard. */

#define ELEMENTS NAME(elements)
#define NUMBERS  NAME(numbers)

typedef STORED ELEMENTS
    __attribute__((vector_size(LANES * sizeof(STORED)), aligned(sizeof(STORED)), may_alias));
typedef NUMBER NUMBERS
    __attribute__((vector_size(CVP_VECTOR_BYTES), aligned(sizeof(NUMBER)), may_alias));

static void NAME(load)(void *to_, const void *from_, int64_t step, int64_t n)
{
    NUMBER *to = to_;
    const STORED *from = from_;
    int64_t i = 0;
    if (step == 1)
        for (; i + LANES <= n; i += LANES)
            *(NUMBERS *)(to + i) = WIDEN(*(const ELEMENTS *)(from + i));
    if (step == 2 && n >= LANES) {
        for (; i + LANES < n; i += LANES)
            *(NUMBERS *)(to + i) = WIDEN((ELEMENTS)EVEN(*(const ELEMENTS *)(from + 2 * i),
                                                        *(const ELEMENTS *)(from + 2 * i + LANES)));
        /* The last ones, some again: nothing is read past the last element. */
        from += 2 * n - LANES;
        *(NUMBERS *)(to + n - LANES) = WIDEN(
            (ELEMENTS)EVEN_ODD(*(const ELEMENTS *)(from - LANES), *(const ELEMENTS *)(from - 1)));
        return;
    }
    for (; i < n; i++) to[i] = GET(from[i * step]);
}

static void NAME(store)(void *to_, int64_t to_row, int64_t step, const void *from_,
                        int64_t from_row, int64_t rows, int64_t n, int add)
{
    STORED *to = to_;
    const NUMBER *from = from_;
    for (int64_t r = 0; r < rows; r++, to += to_row, from += from_row) {
        int64_t i = 0;
        if (step == 1)
            for (; i + LANES <= n; i += LANES) {
                NUMBERS v = *(const NUMBERS *)(from + i);
                if (add) v += WIDEN(*(const ELEMENTS *)(to + i));
                *(ELEMENTS *)(to + i) = NARROW(v);
            }
        for (; i < n; i++) to[i * step] = SET(add ? GET(to[i * step]) + from[i] : from[i]);
    }
}

static void NAME(gather)(void *panel, int64_t columns, const void *from_, const int64_t *table,
                         int64_t n, const struct cvp_piece *pieces, int num_pieces)
{
    const STORED *from = from_;
    NUMBER *to = panel;
    for (int64_t p = 0; p < n; p++, to += columns) {
        const STORED *row = from + table[p];
        for (int i = 0; i < num_pieces; i++) {
            const struct cvp_piece *piece = &pieces[i];
            for (int64_t j = 0; j < piece->n; j += LANES)
                *(NUMBERS *)(to + piece->to + j) =
                    WIDEN(*(const ELEMENTS *)(row + piece->from + j));
        }
    }
}

#undef ELEMENTS
#undef NUMBERS

/* The tile kernels of one type: included with SCALAR and NAME set. One tile for every number of
 * rows and of vectors, so that a row of pixels can be cut into equal tiles. */

#define LOOSE NAME(loose)
#define LANES (CVP_VECTOR_BYTES / (int)sizeof(SCALAR))

typedef SCALAR LOOSE
    __attribute__((vector_size(CVP_VECTOR_BYTES), aligned(sizeof(SCALAR)), may_alias));

#include "src/operator/tile/kernels/tile_store.h"

/* Vector v of a row. */
CVP_INLINE LOOSE NAME(load)(const int vectors, const int v, const SCALAR *row, NAME(mask) last)
{
    if (v + 1 == vectors) return NAME(load_some)(row + v * LANES, last);
    return *(const LOOSE *)(row + v * LANES);
}

CVP_INLINE void NAME(add_rows)(const int rows, const int vectors, LOOSE (*sum)[CVP_TILE_VECTORS],
                               const SCALAR *from, int64_t step, NAME(mask) last)
{
    CVP_UNROLL for (int i = 0; i < rows; i++, from += step)
    {
        CVP_UNROLL for (int v = 0; v < vectors; v++) sum[i][v] +=
            NAME(load)(vectors, v, from, last);
    }
}

/* One element of the depth: the rows of a from several bases, `each` of them from one. */
CVP_INLINE void NAME(step)(const int rows, const int vectors, const int each,
                           LOOSE (*sum)[CVP_TILE_VECTORS], const SCALAR *const *a, int64_t a_row,
                           int64_t a_at, const SCALAR *b)
{
    LOOSE bv[CVP_TILE_VECTORS];
    CVP_UNROLL for (int v = 0; v < vectors; v++) bv[v] = *(const LOOSE *)(b + v * LANES);
    CVP_UNROLL for (int i = 0; i < rows; i++)
    {
        LOOSE av =
            a[i / each][i % each * a_row + a_at] - (LOOSE){0}; /* in every lane: x - 0 is x */
        CVP_IN_REGISTER(av);
        CVP_UNROLL for (int v = 0; v < vectors; v++) CVP_MULTIPLY_ADD(sum[i][v], av, bv[v]);
    }
}

CVP_INLINE void NAME(tile)(const int rows, const int vectors, const int kind,
                           const struct cvp_tile_args *t)
{
    /* Set without a condition and with loops that run at least once: otherwise gcc keeps a copy of
     * the whole array on the stack. */
    LOOSE sum[CVP_TILE_ROWS][CVP_TILE_VECTORS];
    CVP_UNROLL for (int i = 0; i < rows; i++)
    {
        CVP_UNROLL for (int v = 0; v < vectors; v++) sum[i][v] = (LOOSE){0};
    }
    const int64_t a_row = kind == PANELS ? 1 : t->a_row;
    const int64_t a_col = kind == ALONG ? 2 : t->a_col; /* of two steps at a time */
    const int64_t b_row = t->b_row;
    const char *ahead = t->ahead;
    const int64_t *ahead_table = t->ahead_table;
    const struct cvp_tile_run *run = t->runs, *end = run + t->num_runs;
    /* Three rows from one base: x86 has such addresses, and few registers. */
    const int each = kind == PANELS ? rows : 3;
    do {
        const SCALAR *a[(CVP_TILE_ROWS + 2) / 3], *b = run->b;
        b += t->b_at;
        CVP_UNROLL for (int i = 0; i < rows; i += each)
        {
            a[i / each] = (const SCALAR *)run->a + t->a_at + i * a_row;
        }
        const int64_t *table = t->b_table;
        int64_t n = run->n;
        do {
            if (kind == PANELS) __builtin_prefetch(ahead + *ahead_table++, 0, 2);
            NAME(step)(rows, vectors, each, sum, a, a_row, 0, kind == TABLE ? b + *table++ : b);
            if (kind != TABLE) b += b_row;
            if (kind == PANELS) a[0] += a_col;
            if (kind == PANELS || kind == ALONG) {
                if (--n == 0) break;
                NAME(step)(rows, vectors, each, sum, a, a_row, kind == ALONG, b);
                b += b_row;
            }
            CVP_UNROLL for (int i = 0; i < rows; i += each) a[i / each] += a_col;
        } while (--n);
    } while ((kind == EVEN || kind == ALONG) && ++run < end);

    /* Otherwise gcc at -O2 keeps sums on the stack, in the loop too. */
    CVP_UNROLL for (int i = 0; i < rows; i++)
    {
        CVP_UNROLL for (int v = 0; v < vectors; v++) CVP_IN_REGISTER(sum[i][v]);
    }
    const NAME(mask) last = NAME(mask_of)(t->last);
    if (t->column_bias) {
        const SCALAR *bias = t->column_bias;
        CVP_UNROLL for (int v = 0; v < vectors; v++)
        {
            const LOOSE x = NAME(load)(vectors, v, bias, last);
            CVP_UNROLL for (int i = 0; i < rows; i++) sum[i][v] += x;
        }
    }
    if (t->row_bias) {
        const SCALAR *bias = t->row_bias;
        CVP_UNROLL for (int i = 0; i < rows; i++)
        {
            const LOOSE x = bias[i * t->row_bias_step] - (LOOSE){0};
            CVP_UNROLL for (int v = 0; v < vectors; v++) sum[i][v] += x;
        }
    }
    SCALAR *c = t->c;
    const int64_t c_row = t->c_row;
    if (t->add) NAME(add_rows)(rows, vectors, sum, c, c_row, last);
    if (t->residual) NAME(add_rows)(rows, vectors, sum, t->residual, c_row, last);
    if (t->clamps) {
        const LOOSE high = (SCALAR)t->high - (LOOSE){0};
        CVP_UNROLL for (int i = 0; i < rows; i++)
        {
            CVP_UNROLL for (int v = 0; v < vectors; v++) sum[i][v] =
                CVP_CLAMP_VECTOR(sum[i][v], high);
        }
    }
    if (t->streams) {
        CVP_UNROLL for (int i = 0; i < rows; i++, c += c_row)
        {
            CVP_UNROLL for (int v = 0; v < vectors; v++) NAME(stream)(c + v * LANES, sum[i][v]);
        }
        return;
    }
    CVP_UNROLL for (int i = 0; i < rows; i++, c += c_row)
    {
        CVP_UNROLL for (int v = 0; v + 1 < vectors; v++) * (LOOSE *)(c + v * LANES) = sum[i][v];
        NAME(store_some)(c + (vectors - 1) * LANES, last, sum[i][vectors - 1]);
    }
}

#define TILE(rows, vectors)                                                                        \
    static void NAME(tile_##rows##x##vectors)(const struct cvp_tile_args *t)                       \
    {                                                                                              \
        NAME(tile)(rows, vectors, EVEN, t);                                                        \
    }                                                                                              \
    static void NAME(along_tile_##rows##x##vectors)(const struct cvp_tile_args *t)                 \
    {                                                                                              \
        NAME(tile)(rows, vectors, ALONG, t);                                                       \
    }                                                                                              \
    static void NAME(table_tile_##rows##x##vectors)(const struct cvp_tile_args *t)                 \
    {                                                                                              \
        NAME(tile)(rows, vectors, TABLE, t);                                                       \
    }                                                                                              \
    static void NAME(panel_tile_##rows##x##vectors)(const struct cvp_tile_args *t)                 \
    {                                                                                              \
        NAME(tile)(rows, vectors, PANELS, t);                                                      \
    }
#define ROWS(rows) CVP_EACH_VECTORS(TILE, rows)
CVP_EACH_ROWS(ROWS)
#undef TILE

#define TILE(rows, vectors) NAME(tile_##rows##x##vectors),
static cvp_tile *const NAME(tiles)[] = {CVP_EACH_ROWS(ROWS)};
#undef TILE
#define TILE(rows, vectors) NAME(along_tile_##rows##x##vectors),
static cvp_tile *const NAME(along_tiles)[] = {CVP_EACH_ROWS(ROWS)};
#undef TILE
#define TILE(rows, vectors) NAME(table_tile_##rows##x##vectors),
static cvp_tile *const NAME(table_tiles)[] = {CVP_EACH_ROWS(ROWS)};
#undef TILE
#define TILE(rows, vectors) NAME(panel_tile_##rows##x##vectors),
static cvp_tile *const NAME(panel_tiles)[] = {CVP_EACH_ROWS(ROWS)};
#undef TILE
#undef ROWS

static void NAME(collect)(void *panel, int64_t columns, const void *image, int64_t plane, int64_t n,
                          const struct cvp_piece *pieces, int num_pieces)
{
    const SCALAR *row = image;
    SCALAR *to = panel;
    for (int64_t p = 0; p < n; p++, to += columns, row += plane) {
        for (int i = 0; i < num_pieces; i++) {
            const struct cvp_piece *piece = &pieces[i];
            for (int64_t j = 0; j < piece->n; j += LANES) {
                const LOOSE x =
                    piece->from < 0 ? (LOOSE){0} : *(const LOOSE *)(row + piece->from + j);
                *(LOOSE *)(to + piece->to + j) = x;
            }
        }
    }
}

extern const struct cvp_tile_kernels PASTE(NAME(cvp_tile), CVP_ISA_SUFFIX);
const struct cvp_tile_kernels PASTE(NAME(cvp_tile), CVP_ISA_SUFFIX) = {
    .size = (int)sizeof(SCALAR),
    .rows = CVP_TILE_ROWS,
    .lanes = LANES,
    .vectors = CVP_TILE_VECTORS,
    .masks = CVP_TILE_MASKS,
    .tiles = NAME(tiles),
    .along_tiles = NAME(along_tiles),
    .table_tiles = NAME(table_tiles),
    .panel_tiles = NAME(panel_tiles),
    .collect = NAME(collect),
};

#undef CVP_TILE_MASKS
#undef LOOSE
#undef LANES

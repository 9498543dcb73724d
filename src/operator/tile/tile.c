/* The list of tile kernels, and tiles that are not as wide as their vectors. */
#include "src/operator/tile/tile.h"

#include <string.h>
#if defined __x86_64__
#include <xmmintrin.h>
#endif

#include "src/common/isa_list.h"
#include "src/common/size.h"

#define DECLARE(ISA, isa)                                                                          \
    extern const struct cvp_tile_kernels cvp_tile_f32_##isa, cvp_tile_f64_##isa;
CVP_EACH_ISA(DECLARE)

#define ENTRY(ISA, isa) [CVP_ISA_##ISA] = {&cvp_tile_f32_##isa, &cvp_tile_f64_##isa},
static const struct cvp_tile_kernels *const tables[CVP_ISA_VECTORS][CVP_FLOAT_COUNT] = {
    CVP_EACH_ISA(ENTRY)};

const struct cvp_tile_kernels *cvp_tile_kernels(enum cvp_float type, enum cvp_isa isa)
{
    return tables[cvp_isa_vectors(isa)][type];
}

/* Of n planes, those of which whole vectors may be read. */
static int64_t count_safe(const struct cvp_tile_kernels *k, int64_t size, int64_t plane, int64_t n,
                          const struct cvp_piece *pieces, int num_pieces)
{
    int64_t end = 0;
    for (int i = 0; i < num_pieces; i++)
        if (pieces[i].from >= 0)
            end = cvp_max_i64(end, pieces[i].from + cvp_ceil_div(pieces[i].n, k->lanes) * k->lanes);
    if (size < end) return 0;
    return plane > 0 ? cvp_min_i64(n, (size - end) / plane + 1) : n;
}

void cvp_tile_collect_within(const struct cvp_tile_kernels *k, void *panel, int64_t columns,
                             const void *image, int64_t size, int64_t plane, int64_t n,
                             const struct cvp_piece *pieces, int num_pieces)
{
    const int64_t safe = count_safe(k, size, plane, n, pieces, num_pieces);
    k->collect(panel, columns, image, plane, safe, pieces, num_pieces);
    for (int64_t p = safe; p < n; p++)
        for (int i = 0; i < num_pieces; i++) {
            const struct cvp_piece *q = &pieces[i];
            char *to = (char *)panel + (p * columns + q->to) * k->size;
            const size_t bytes = (size_t)(q->n * k->size);
            if (q->from < 0)
                memset(to, 0, bytes);
            else
                memcpy(to, (const char *)image + (p * plane + q->from) * k->size, bytes);
        }
}

static const struct cvp_stored *stored_of(const struct cvp_tile_kernels *k,
                                          const struct cvp_tile_args *t)
{
    if (t->stored) return t->stored;
    return cvp_stored(k->size == 8 ? CVP_STORED_F64 : CVP_STORED_F32, CVP_ISA_BASELINE);
}

/* Rows of c that are so many bytes apart, or more, the processor does not see coming; products of
 * so few elements, or fewer, are done before their lines are there. */
#define FAR_ROW     1024
#define SHORT_DEPTH 16

/* Asks for what a tile will write while it is computed. */
static void fetch_far_rows(const struct cvp_tile_kernels *k, const struct cvp_tile_args *t,
                           int rows, int columns)
{
    const char *c = t->c;
    const int64_t row = t->c_row * k->size, bytes = (int64_t)columns * k->size;
    if (row < FAR_ROW) return;
    for (int i = 0; i < rows; i++, c += row)
        for (int64_t at = 0; at < bytes; at += CVP_CACHE_LINE) __builtin_prefetch(c + at, 1);
}

/* Past the caches go whole vectors, where the processor takes them. */
static int is_streamed(const struct cvp_tile_kernels *k, const struct cvp_tile_args *t, int columns)
{
    const uint64_t at = (uintptr_t)t->c | (uint64_t)(t->c_row * k->size);
    return columns % k->lanes == 0 && !t->add && at % (uint64_t)(k->lanes * k->size) == 0;
}

void cvp_tile_end_stream(void)
{
#if defined __x86_64__
    _mm_sfence();
#endif
}

void cvp_tile_run(const struct cvp_tile_kernels *k, const struct cvp_tile_args *t, int rows,
                  int columns)
{
    const int vectors = (columns + k->lanes - 1) / k->lanes, whole = vectors * k->lanes;
    cvp_tile *const *tiles = t->is_panels    ? k->panel_tiles
                             : t->b_table    ? k->table_tiles
                             : t->a_col == 1 ? k->along_tiles
                                             : k->tiles;
    cvp_tile *tile = tiles[(rows - 1) * k->vectors + vectors - 1];
    if ((columns == whole || k->masks) && (!t->stored || t->stored->size == k->size)) {
        const int streams = t->streams && is_streamed(k, t, columns);
        if (!streams && t->num_runs == 1 && t->runs->n <= SHORT_DEPTH)
            fetch_far_rows(k, t, rows, columns);
        if (columns == whole && streams == t->streams) {
            tile(t);
            return;
        }
        struct cvp_tile_args here = *t;
        here.last = columns % k->lanes;
        here.streams = streams;
        tile(&here);
        return;
    }
    /* On the side, by the same kernel. */
    const struct cvp_stored *stored = stored_of(k, t);
    _Alignas(64) char c[CVP_TILE_BYTES];
    _Alignas(64) char bias[2 * 64] = {0};
    _Alignas(64) char residual[CVP_TILE_BYTES];
    struct cvp_tile_args side = *t;
    side.streams = 0;
    side.c = c;
    side.c_row = whole;
    const size_t width = (size_t)(whole * k->size);
    const size_t valid = (size_t)(columns * k->size);
    for (int i = 0; i < rows && t->add; i++) {
        memset(c + i * width + valid, 0, width - valid);
        stored->load(c + i * width, (char *)t->c + i * t->c_row * stored->size, 1, columns);
    }
    for (int i = 0; i < rows && t->residual; i++) {
        memset(residual + i * width + valid, 0, width - valid);
        stored->load(residual + i * width, (const char *)t->residual + i * t->c_row * stored->size,
                     1, columns);
        side.residual = residual;
    }
    if (t->column_bias) {
        memcpy(bias, t->column_bias, valid);
        side.column_bias = bias;
    }
    tile(&side);
    stored->store(t->c, t->c_row, 1, c, side.c_row, rows, columns, 0);
}

void cvp_tile_run_rows(const struct cvp_tile_kernels *k, const struct cvp_tile_args *t,
                       int64_t rows, int columns)
{
    if (rows <= k->rows) {
        cvp_tile_run(k, t, (int)rows, columns);
        return;
    }
    /* Some have a row less than the others. */
    const int64_t tiles = cvp_ceil_div(rows, k->rows), most = cvp_ceil_div(rows, tiles);
    const int64_t full = rows - tiles * (most - 1), row = t->c_row * stored_of(k, t)->size;
    struct cvp_tile_args part = *t;
    for (int64_t i = 0; i < tiles; i++) {
        const int64_t height = i < full ? most : most - 1;
        cvp_tile_run(k, &part, (int)height, columns);
        part.a_at += height * t->a_row;
        part.c = (char *)part.c + height * row;
        if (t->residual) part.residual = (const char *)part.residual + height * row;
    }
}

/* The micro-kernel of implicit matrix products: a tile of c is summed over runs, without a copy of
 * either operand having been made as long as its rows lie evenly.
 *
 *     c[i][j] = clamp((add ? c[i][j] : 0) + bias + sum over runs r, p < r.n of
 *               r.a[a_at + i * a_row + p * a_col] * r.b[b_at + p * b_row + j] + residual[i][j])
 *
 * A convolution is such a sum: a run is a tap of the window, or an image row. The rows of a are
 * broadcast from where they lie; those of b are read as vectors. Each element is one chain of fused
 * multiply-adds over the runs in their order (multiply and add apart without FMA); so its bits do
 * not depend on the tile's shape. Nothing outside of the named elements is read or written. */
#ifndef CVP_TILE_H
#define CVP_TILE_H

#include "convop/base.h"
#include "src/common/cpu.h"
#include "src/operator/gemm/gemm.h"
#include "src/operator/stored/stored.h"

struct cvp_tile_run {
    const void *a, *b; /* of a tile at 0, 0: see a_at, b_at */
    int64_t n;         /* >= 1 */
};

struct cvp_tile_args {
    const struct cvp_tile_run *runs;
    int64_t num_runs;   /* >= 1 */
    int64_t a_at, b_at; /* added to each run's operands, so that tiles may share their runs */
    int64_t a_row, a_col, b_row; /* strides in elements */
    void *c;
    int64_t c_row;
    /* What c and residual hold, which cvp_tile_run converts; NULL: numbers as tiles compute with.
     */
    const struct cvp_stored *stored;
    /* Where the rows of b lie anywhere, and there is one run: its b[p * b_row + j] is then
     * b[b_table[p] + j]. NULL: they lie evenly. */
    const int64_t *b_table;
    /* a is a panel: a_row is 1, and there is one run. Meanwhile memory that is read next is
     * fetched: steps 2 * p and after fetch ahead[ahead_table[p]], in bytes. What is fetched need
     * not be anyone's memory. */
    int is_panels;
    const char *ahead;
    const int64_t *ahead_table;
    int add;              /* 0: c is only written */
    const void *row_bias; /* one element a row, row_bias_step apart; or NULL */
    int64_t row_bias_step;
    const void *column_bias; /* one element a column, side by side; or NULL */
    const void *residual;    /* lies as c does, apart from it; or NULL */
    int clamps;              /* 1: to [0, high]; NaN and the sign of 0 stay */
    double high;
    /* 1: c is written past the caches, where it is aligned to vectors and `add` is 0. When all is
     * written, cvp_tile_end_stream. */
    int streams;
    int last; /* elements of c's last vector, where it has not all: cvp_tile_run's to set */
};

typedef void cvp_tile(const struct cvp_tile_args *t);

/* Copies rows of planes of pixels into a panel, whose rows follow each other, with zeros between
 * pieces that are there:
 *
 *     panel[p * columns + to + j] = from < 0 ? 0 : image[p * plane + from + j], p < n
 *
 * for each piece, j < its n. Pieces follow each other, and cover all columns. Whole vectors are
 * read and written: up to one less an element is read past each piece, and written past the last
 * row. */
typedef void cvp_tile_collect(void *panel, int64_t columns, const void *image, int64_t plane,
                              int64_t n, const struct cvp_piece *pieces, int num_pieces);

/* The kernels of one instruction set for one type. */
struct cvp_tile_kernels {
    int size;           /* bytes of an element */
    int rows;           /* of a tile at most */
    int lanes, vectors; /* elements of a vector; vectors across a tile at most */
    int masks;          /* tiles take `last` */
    /* [(rows - 1) * vectors + (v - 1)]: rows x (v * lanes) */
    cvp_tile *const *tiles, *const *along_tiles, *const *table_tiles, *const *panel_tiles;
    cvp_tile_collect *collect;
};

/* Appends n elements from `from` on, below 0 as many zeros, to pieces that follow each other; what
 * goes on where the last one ends becomes part of it. Returns how many there are. */
static inline int cvp_add_piece(struct cvp_piece *pieces, int num, int64_t from, int64_t n)
{
    struct cvp_piece *last = num > 0 ? &pieces[num - 1] : NULL;
    if (last && (from < 0 ? last->from < 0 : last->from >= 0 && last->from + last->n == from)) {
        last->n += n;
        return num;
    }
    pieces[num] = (struct cvp_piece){from, last ? last->to + last->n : 0, n};
    return num + 1;
}

/* As `collect` does, but of an image that has `size` elements: none past them is read. */
void cvp_tile_collect_within(const struct cvp_tile_kernels *k, void *panel, int64_t columns,
                             const void *image, int64_t size, int64_t plane, int64_t n,
                             const struct cvp_piece *pieces, int num_pieces);

/* Bytes of the largest tile of any set: 14 x 2 vectors of 64 bytes. */
#define CVP_TILE_BYTES (14 * 2 * 64)

/* Elements across a tile, at most. */
static inline int cvp_tile_columns(const struct cvp_tile_kernels *k)
{
    return k->lanes * k->vectors;
}

/* Those for an instruction set that the CPU has; never NULL (a lower set where this build lacks
 * it).
 */
const struct cvp_tile_kernels *cvp_tile_kernels(enum cvp_float type, enum cvp_isa isa);

/* A tile of any size up to the largest. b must have whole vectors in memory, as panels have; c's
 * elements beyond `columns` are left alone. */
void cvp_tile_run(const struct cvp_tile_kernels *k, const struct cvp_tile_args *t, int rows,
                  int columns);

/* Any number of rows, in tiles that are as equal as can be: 56 rows are 4 of 14, 30 are 3 of 10. t
 * is the first tile's. */
void cvp_tile_run_rows(const struct cvp_tile_kernels *k, const struct cvp_tile_args *t,
                       int64_t rows, int columns);

/* What tiles of this thread wrote past the caches is there before anything that it writes next. */
void cvp_tile_end_stream(void);

#endif

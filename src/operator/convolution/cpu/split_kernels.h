/* Products of float32 by tiles of bfloat16 (Intel AMX), and how their operands are made.
 *
 * A float32 is the sum of three bfloat16 terms, each the nearest to what those before it leave:
 * 8 + 8 + 8 significant bits and two signs, no bit of it lost. Of the nine products of two such
 * sums six are computed; the other three are below 2^-26 of the product, less than the rounding of
 * a float32 sum. A tile multiplies 16 times as fast as float32 vectors do, so that six products
 * take 0.38 of the time of one. After Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial
 * Intelligence Datatype For Higher-Precision Computations" (2019).
 *
 * The five small products of all steps are summed first, then the large one: so the sum is rounded
 * as often at its own size as a sum of float32 products is. */
#ifndef CVP_CONV_SPLIT_KERNELS_H
#define CVP_CONV_SPLIT_KERNELS_H

#include <stdint.h>

#define SPLIT_TERMS 3
#define SPLIT_SIDE  16 /* rows and columns of a tile of sums */
#define SPLIT_DEPTH 32 /* products of a sum that a step adds */
#define SPLIT_LINE  64 /* bytes of a row of a tile: 32 elements, or 16 sums */
#define SPLIT_BYTES (SPLIT_SIDE * SPLIT_LINE)

/* At least so many bytes, in an odd number of lines: rows of tiles that are so far apart lie in
 * different sets of the first-level cache. */
static inline int64_t split_odd_lines(int64_t bytes)
{
    return ((bytes + SPLIT_LINE - 1) / SPLIT_LINE | 1) * SPLIT_LINE;
}

/* Bytes of all terms of two tiles: what a step takes of an operand. */
#define SPLIT_STEP (SPLIT_TERMS * 2 * SPLIT_BYTES)

/* How an operand of tiles lies, in bytes. Rows of a are its rows, each 32 elements along the depth;
 * rows of b are pairs along the depth, each of 16 columns. */
struct split_operand {
    int64_t row, tile, term; /* to the next row; to the tile below or beside; to the next term */
    int64_t step;            /* to the next 32 of the depth */
};

/* One that is read from its first byte to its last: two tiles of a below, those of b beside each
 * other. */
#define SPLIT_PACKED_A                                                                             \
    ((struct split_operand){SPLIT_LINE, SPLIT_BYTES, 2 * SPLIT_BYTES, SPLIT_STEP})
#define SPLIT_PACKED_B                                                                             \
    ((struct split_operand){2 * SPLIT_LINE, SPLIT_LINE, 2 * SPLIT_BYTES, SPLIT_STEP})

struct split_run {
    const char *a, *b; /* the largest term of the first step */
    int64_t steps;
};

/* c = the sum over runs and their steps of a times b. */
struct split_product {
    const struct split_run *runs;
    int64_t num_runs;
    int64_t a_at, b_at; /* added to each run's operands, so that tiles may share their runs */
    struct split_operand a, b;
    int rows, columns; /* tiles, each 1 or 2 */
    float *c;
    int64_t c_row; /* elements */
};

/* Sums on their way out, with what follows them. */
struct split_put {
    const float *sums;     /* row i, column j at sums[i * SPLIT_PANEL + j] */
    int64_t rows, columns; /* at most SPLIT_PANEL of each */
    float *out;
    int64_t row, column; /* elements from one row, or column, to the next in out, residual */
    const float *row_bias, *column_bias, *residual; /* or NULL */
    int add;
    int clamps; /* to [0, high]; NaN and the sign of 0 stay */
    float high;
};

/* Rows and columns of all tiles of a product. */
#define SPLIT_PANEL (2 * SPLIT_SIDE)

/* Elements are `along` apart, at most. */
#define SPLIT_MAX_ALONG (1 << 20)

struct cvp_split_kernels {
    /* This thread's tile registers are set up, and given back: between these no other code of the
     * thread may use them. */
    void (*begin)(void);
    void (*end)(void);
    void (*multiply)(const struct split_product *p);

    /* The terms of n elements, `along` apart: those of each 32 side by side at to + i * step + term
     * * term_step, zeros behind the last. from may be NULL: all zeros. */
    void (*rows)(char *to, int64_t step, int64_t term_step, const float *from, int64_t along,
                 int64_t n);
    /* The terms of n pairs, elements of either `along` apart: one of each side by side at to + term
     * * term_step; NULL: zeros. No others are written. */
    void (*pairs)(char *to, int64_t term_step, const float *even, const float *odd, int64_t along,
                  int64_t n);
    /* 16 x 16 pairs, or sums, transposed: between rows of a and pairs of b. Rows are so many bytes
     * apart. */
    void (*turn)(char *to, int64_t to_row, const char *from, int64_t from_row);
    void (*put)(const struct split_put *p);
};

/* NULL: no tiles may be used with this instruction set. */
const struct cvp_split_kernels *cvp_split_kernels(int isa);

#endif

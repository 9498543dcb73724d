/* What a set of GEMM kernels consists of: one table for each instruction set and type, filled in
 * kernels/gemm_kernels.c, listed in gemm_kernels.c. The driver (gemm.c) knows no type.
 *
 * A panel is `width` rows of a (or columns of b) side by side: element (i, p) lies at
 * panel[p * width + i]. Panels are in the workspace, 64-byte aligned where width allows. */
#ifndef CVP_GEMM_KERNELS_H
#define CVP_GEMM_KERNELS_H

#include "src/operator/gemm/gemm.h"

/* What a tile is computed from. */
struct cvp_gemm_tile_args {
    int64_t k; /* >= 1 */
    void *a_panel, *b_panel;
    void *c;
    int64_t c_row;
    int add; /* 0: c is only written */
    /* For packing tiles: the first elements of the tile, of which all rows and columns are there.
     * b's columns lie side by side. */
    const void *a, *b;
    int64_t a_row, a_col, b_row;
};

/* c[i][j] = (add ? c[i][j] : 0) + sum over p < k of a(i, p) * b(p, j), for a whole tile. a's panel
 * has as many rows as the tile, b's always nr columns. */
typedef void cvp_gemm_tile(const struct cvp_gemm_tile_args *t);

/* Panels that a packing tile reads from the operand instead, and fills on the way. */
enum { CVP_GEMM_PACK_A = 1, CVP_GEMM_PACK_B = 2, CVP_GEMM_PACKS = 4 };

/* Fills a panel from src, whose element (i, p) is at src[i * across + p * along], i < valid.
 * Lanes from valid to width repeat the last valid one, so that they raise no floating-point
 * exception of their own. May write up to CVP_GEMM_PACK_SLACK bytes past the panel: fill panels in
 * ascending order. */
typedef void cvp_gemm_pack(void *panel, int width, int valid, int64_t k, const void *src,
                           int64_t across, int64_t along);

#define CVP_GEMM_PACK_SLACK 64

#define CVP_GEMM_MAX_WIDTH 32

/* The same from `width` rows that lie anywhere, element (i, p) at rows[i][p]. */
typedef void cvp_gemm_pack_rows(void *panel, int width, int64_t k, const void *const *rows);

/* Bytes of the largest tile of any set: 14 x 2 vectors of 64 bytes. */
#define CVP_GEMM_TILE_BYTES (14 * 2 * 64)

struct cvp_gemm_kernels {
    const char *isa;
    enum cvp_float type;
    int size;                      /* bytes of an element */
    int mr;                        /* most rows of a tile */
    int nr;                        /* columns of a full tile: vectors * lanes */
    int lanes, vectors;            /* elements of a vector; vectors across a full tile */
    int64_t a_block;               /* rows of a packed at a time at most: a multiple of mr */
    int64_t b_block;               /* columns of b packed at a time at most: a multiple of nr */
    cvp_gemm_pack *pack_a;         /* any width up to mr */
    cvp_gemm_pack *pack_b;         /* width nr only */
    cvp_gemm_pack_rows *pack_rows; /* any width up to CVP_GEMM_MAX_WIDTH */
    /* [(rows - 1) * vectors + (v - 1)]: rows x (v * lanes), rows 1..mr, v 1..vectors */
    cvp_gemm_tile *const *tiles;
    /* [packs][rows - 1]: rows x nr; those of 0 are not there */
    cvp_gemm_tile *const *packing_tiles[CVP_GEMM_PACKS];
};

#endif

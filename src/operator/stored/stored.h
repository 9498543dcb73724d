/* Elements between tensors as they are stored and the type that kernels compute in: float16 and
 * bfloat16 are float32 there, float32 and float64 are what they are. Where they are converted, they
 * are rounded once, to nearest even; denormals are kept. */
#ifndef CVP_STORED_H
#define CVP_STORED_H

#include "convop/base.h"
#include "src/common/cpu.h"
#include "src/operator/gemm/gemm_kernels.h"

enum cvp_stored_type {
    CVP_STORED_F32,
    CVP_STORED_F64,
    CVP_STORED_F16,
    CVP_STORED_BF16,
    CVP_STORED_COUNT
};

/* `n` elements of each row that lie side by side, and their place in a panel's row. */
struct cvp_piece {
    int64_t from, to, n;
};

/* The kernels of one instruction set for one type of tensors; "element" is one as stored, "number"
 * one as computed with. */
struct cvp_stored {
    int size; /* bytes of an element */

    /* to[i] = from[i * step], i < n: numbers of elements. */
    void (*load)(void *to, const void *from, int64_t step, int64_t n);

    /* Elements of numbers, in rows that are to_row elements and from_row numbers apart:
     *
     *     to[r][i * step] = (add ? to[r][i * step] : 0) + from[r][i], r < rows, i < n */
    void (*store)(void *to, int64_t to_row, int64_t step, const void *from, int64_t from_row,
                  int64_t rows, int64_t n, int add);

    /* Copies rows that lie anywhere into a panel, whose rows follow each other:
     *
     *     panel[p * columns + to + j] = from[table[p] + from + j], p < n, for each piece, j < its n
     *
     * numbers of elements. Pieces ascend in `to`. Whole vectors are read and written: up to one
     * less an element is read past each piece, and written past the last row. */
    void (*gather)(void *panel, int64_t columns, const void *from, const int64_t *table, int64_t n,
                   const struct cvp_piece *pieces, int num_pieces);

    /* Panels of numbers, of elements that lie anywhere; NULL: those of cvp_gemm_kernels. */
    cvp_gemm_pack *pack_a, *pack_b;
};

/* Those for an instruction set that the CPU has; never NULL. */
const struct cvp_stored *cvp_stored(enum cvp_stored_type type, enum cvp_isa isa);

/* Of either kind of type. */
cvp_gemm_pack *cvp_stored_pack_a(enum cvp_stored_type type, enum cvp_isa isa);
cvp_gemm_pack *cvp_stored_pack_b(enum cvp_stored_type type, enum cvp_isa isa);

#endif

/* Kernels of stored elements for one instruction set: the same source, compiled once for each with
 * its flags and CVP_ISA_SUFFIX, its name in the tables. */
#include "src/operator/stored/kernels/half_vector.h"
#include "src/operator/stored/stored.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)

/* ---- lines --------------------------------------------------------------------------------- */

#if CVP_VECTOR_BYTES == 64
#define EVEN_SINGLES(a, b)                                                                         \
    __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define EVEN_ODD_SINGLES(a, b)                                                                     \
    __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31)
#define EVEN_DOUBLES(a, b)     __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define EVEN_ODD_DOUBLES(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 9, 11, 13, 15)
#elif CVP_VECTOR_BYTES == 32
#define EVEN_SINGLES(a, b)     __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define EVEN_ODD_SINGLES(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 9, 11, 13, 15)
#define EVEN_DOUBLES(a, b)     __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define EVEN_ODD_DOUBLES(a, b) __builtin_shufflevector(a, b, 0, 2, 5, 7)
#else
#define EVEN_SINGLES(a, b)     __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define EVEN_ODD_SINGLES(a, b) __builtin_shufflevector(a, b, 0, 2, 5, 7)
#define EVEN_DOUBLES(a, b)     __builtin_shufflevector(a, b, 0, 2)
#define EVEN_ODD_DOUBLES(a, b) __builtin_shufflevector(a, b, 0, 3)
#endif

#define WIDEN(v)  (v)
#define NARROW(v) (v)
#define GET(x)    (x)
#define SET(x)    (x)

#define STORED   float
#define NUMBER   float
#define LANES    CVP_HALF_LANES
#define EVEN     EVEN_SINGLES
#define EVEN_ODD EVEN_ODD_SINGLES
#define NAME(x)  PASTE(x, f32)
#include "src/operator/stored/kernels/stored_lines.h"
#undef STORED
#undef NUMBER
#undef LANES
#undef EVEN
#undef EVEN_ODD
#undef NAME

#define STORED   double
#define NUMBER   double
#define LANES    (CVP_HALF_LANES / 2)
#define EVEN     EVEN_DOUBLES
#define EVEN_ODD EVEN_ODD_DOUBLES
#define NAME(x)  PASTE(x, f64)
#include "src/operator/stored/kernels/stored_lines.h"
#undef STORED
#undef NUMBER
#undef LANES
#undef EVEN
#undef EVEN_ODD
#undef NAME

#undef WIDEN
#undef NARROW
#undef GET
#undef SET

#define STORED   uint16_t
#define NUMBER   float
#define LANES    CVP_HALF_LANES
#define EVEN     EVEN_SINGLES
#define EVEN_ODD EVEN_ODD_SINGLES

#define WIDEN(v)  cvp_singles_of_f16(v)
#define NARROW(v) cvp_f16_of_singles(v)
#define GET(x)    cvp_single_of_f16(x)
#define SET(x)    cvp_f16_of_single(x)
#define NAME(x)   PASTE(x, f16)
#include "src/operator/stored/kernels/stored_lines.h"
#undef WIDEN
#undef NARROW
#undef GET
#undef SET
#undef NAME

#define WIDEN(v)  cvp_singles_of_bf16(v)
#define NARROW(v) cvp_bf16_of_singles(v)
#define GET(x)    cvp_float_of_bf16(x)
#define SET(x)    cvp_bf16_of_float(x)
#define NAME(x)   PASTE(x, bf16)
#include "src/operator/stored/kernels/stored_lines.h"
#undef WIDEN
#undef NARROW
#undef GET
#undef SET
#undef NAME

/* ---- panels -------------------------------------------------------------------------------- */

/* 16-bit elements are packed as words into the last half of their panel, then widened towards its
 * begin: each vector is read before what it becomes is written over it. */
#define SCALAR         uint16_t
#define NAME(x)        PASTE(x, words)
#define PANEL_WIDTH    (CVP_TILE_VECTORS * CVP_HALF_LANES)
#define SQUARES        NAME(pack_squares)
#define SIDE           8
#define ZIP_LOW(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#include "src/operator/gemm/kernels/gemm_square.h"
#if CVP_VECTOR_BYTES == 64
#define SQUARES NAME(pack_wide_squares)
#define SIDE    16
#define ZIP_LOW(a, b)                                                                              \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ZIP_HIGH(a, b)                                                                             \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#include "src/operator/gemm/kernels/gemm_square.h"
#endif
#include "src/operator/gemm/kernels/gemm_pack.h"

#define PACK(which, columns, type)                                                                 \
    static void PASTE(which, type)(void *panel, int width, int valid, int64_t k, const void *src,  \
                                   int64_t across, int64_t along)                                  \
    {                                                                                              \
        void *words = (uint16_t *)panel + k * (columns);                                           \
        PASTE(which, words)(words, width, valid, k, src, across, along);                           \
        PASTE(load, type)(panel, words, 1, k * (columns));                                         \
    }
PACK(pack_a, width, f16)
PACK(pack_b, PANEL_WIDTH, f16)
PACK(pack_a, width, bf16)
PACK(pack_b, PANEL_WIDTH, bf16)

#define LINES(type, bytes)                                                                         \
    .size = bytes, .load = PASTE(load, type), .store = PASTE(store, type),                         \
    .gather = PASTE(gather, type)
#define PACKS(type) .pack_a = PASTE(pack_a, type), .pack_b = PASTE(pack_b, type)

extern const struct cvp_stored PASTE(cvp_stored, CVP_ISA_SUFFIX)[CVP_STORED_COUNT];
const struct cvp_stored PASTE(cvp_stored, CVP_ISA_SUFFIX)[CVP_STORED_COUNT] = {
    [CVP_STORED_F32] = {LINES(f32, 4)},
    [CVP_STORED_F64] = {LINES(f64, 8)},
    [CVP_STORED_F16] = {LINES(f16, 2), PACKS(f16)},
    [CVP_STORED_BF16] = {LINES(bf16, 2), PACKS(bf16)},
};

/* The GEMM kernels of one instruction set: the same source, compiled once for each with its flags
 * and CVP_ISA_SUFFIX, its name in the tables. */
#include "src/operator/gemm/gemm_kernels.h"
#include "src/operator/gemm/kernels/tile.h"

#define PASTE_(a, b)  a##_##b
#define PASTE(a, b)   PASTE_(a, b)
#define STRING_(name) #name
#define STRING(name)  STRING_(name)

_Static_assert(CVP_GEMM_TILE_BYTES >= CVP_TILE_ROWS * CVP_TILE_VECTORS * CVP_VECTOR_BYTES,
               "an edge tile has its place on the driver's stack");
_Static_assert(CVP_GEMM_PACK_SLACK >= CVP_VECTOR_BYTES, "squares are written past their panel");

#define PANEL_WIDTH (CVP_TILE_VECTORS * CVP_VECTOR_BYTES / (int)sizeof(SCALAR))

#define SCALAR  float
#define TYPE    CVP_F32
#define NAME(x) PASTE(x, f32)
/* 16 bytes, which every instruction set interleaves at once. */
#define SQUARES        NAME(pack_squares)
#define SIDE           4
#define ZIP_LOW(a, b)  __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
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
#include "src/operator/gemm/kernels/gemm_tile.h"
#undef SCALAR
#undef TYPE
#undef NAME

#define SCALAR         double
#define TYPE           CVP_F64
#define NAME(x)        PASTE(x, f64)
#define SQUARES        NAME(pack_squares)
#define SIDE           2
#define ZIP_LOW(a, b)  __builtin_shufflevector(a, b, 0, 2)
#define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 1, 3)
#include "src/operator/gemm/kernels/gemm_square.h"
#if CVP_VECTOR_BYTES == 64
#define SQUARES        NAME(pack_wide_squares)
#define SIDE           8
#define ZIP_LOW(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#include "src/operator/gemm/kernels/gemm_square.h"
#endif
#include "src/operator/gemm/kernels/gemm_pack.h"
#include "src/operator/gemm/kernels/gemm_tile.h"

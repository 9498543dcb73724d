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

#define SCALAR         float
#define TYPE           CVP_F32
#define NAME(x)        PASTE(x, f32)
#define ZIP_LOW(a, b)  __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#include "src/operator/gemm/kernels/gemm_pack.h"
#include "src/operator/gemm/kernels/gemm_tile.h"
#undef SCALAR
#undef TYPE
#undef NAME
#undef ZIP_LOW
#undef ZIP_HIGH

#define SCALAR         double
#define TYPE           CVP_F64
#define NAME(x)        PASTE(x, f64)
#define ZIP_LOW(a, b)  __builtin_shufflevector(a, b, 0, 2)
#define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 1, 3)
#include "src/operator/gemm/kernels/gemm_pack.h"
#include "src/operator/gemm/kernels/gemm_tile.h"

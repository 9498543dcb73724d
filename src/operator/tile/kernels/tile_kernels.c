/* The tile kernels of one instruction set: the same source, compiled once for each with its flags
 * and CVP_ISA_SUFFIX, its name in the tables. */
#include "src/operator/gemm/kernels/tile.h"
#include "src/operator/tile/tile.h"

_Static_assert(CVP_TILE_BYTES >= CVP_TILE_ROWS * CVP_TILE_VECTORS * CVP_VECTOR_BYTES,
               "tiles that are computed on the side have their places on callers' stacks");

/* How operands lie (see tile.h): b's rows evenly, and a's elements so too, or side by side; b's
 * rows by a table; a in a panel. */
enum { EVEN, ALONG, TABLE, PANELS };

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)

#define SCALAR  float
#define NAME(x) PASTE(x, f32)
#include "src/operator/tile/kernels/tile_loops.h"
#undef SCALAR
#undef NAME

#define SCALAR  double
#define NAME(x) PASTE(x, f64)
#include "src/operator/tile/kernels/tile_loops.h"
#undef SCALAR
#undef NAME

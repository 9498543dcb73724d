/* Vector width and tile shape of the instruction set that this file is compiled for.
 *
 * A tile of rows x vectors accumulators plus one row of b must fit the registers with one or two
 * to spare, and have enough independent chains to hide the latency of a fused multiply-add
 * (4 cycles on 2 ports: 8). */
#ifndef CVP_KERNELS_TILE_H
#define CVP_KERNELS_TILE_H

#if defined __AVX512F__ /* 32 registers of 64 bytes; a's elements are broadcast from memory */
#define CVP_VECTOR_BYTES  64
#define CVP_TILE_ROWS     14
#define CVP_TILE_VECTORS  2
#define CVP_L2_PART_BYTES (256 << 10)
#define CVP_EACH_ROWS(X)  X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#elif defined __AVX2__ && defined __FMA__ /* 16 of 32 bytes */
#define CVP_VECTOR_BYTES  32
#define CVP_TILE_ROWS     6
#define CVP_TILE_VECTORS  2
#define CVP_L2_PART_BYTES (128 << 10)
#define CVP_EACH_ROWS(X)  X(1) X(2) X(3) X(4) X(5) X(6)
#elif defined __aarch64__ /* 32 of 16 bytes */
#define CVP_VECTOR_BYTES  16
#define CVP_TILE_ROWS     6
#define CVP_TILE_VECTORS  4
#define CVP_L2_PART_BYTES (128 << 10)
#define CVP_EACH_ROWS(X)  X(1) X(2) X(3) X(4) X(5) X(6)
#else /* SSE2: 16 of 16 bytes, one of them for the product */
#define CVP_VECTOR_BYTES  16
#define CVP_TILE_ROWS     4
#define CVP_TILE_VECTORS  2
#define CVP_L2_PART_BYTES (128 << 10)
#define CVP_EACH_ROWS(X)  X(1) X(2) X(3) X(4)
#endif

#if CVP_TILE_VECTORS == 2
#define CVP_EACH_VECTORS(X, rows) X(rows, 1) X(rows, 2)
#else
#define CVP_EACH_VECTORS(X, rows) X(rows, 1) X(rows, 2) X(rows, 3) X(rows, 4)
#endif

/* Before every loop over a tile's rows or vectors: without it gcc leaves the accumulators in
 * memory at -O2, and above 16 iterations at -O3 too. */
#if defined __clang__
#define CVP_UNROLL _Pragma("clang loop unroll(full)")
#else
#define CVP_UNROLL _Pragma("GCC unroll 32")
#endif

/* Forgets where a vector came from: it is loaded and broadcast in one instruction and then stored
 * from the register. Otherwise gcc loads a scalar first and broadcasts that on a port which the
 * multiply-adds need. */
#if defined __x86_64__
#define CVP_IN_REGISTER(v) __asm__("" : "+v"(v))
#elif defined __aarch64__
#define CVP_IN_REGISTER(v) __asm__("" : "+w"(v))
#else
#define CVP_IN_REGISTER(v) ((void)(v))
#endif

/* sum += a * b in the register where sum is, fused where the set can do that: left to itself gcc
 * moves sums about in loops, and clang puts some away. */
#if defined __FMA__ || defined __AVX512F__
#define CVP_MULTIPLY_ADD(sum, a, b)                                                                \
    do {                                                                                           \
        if (sizeof((sum)[0]) == 4)                                                                 \
            __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));                        \
        else                                                                                       \
            __asm__("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));                        \
    } while (0)
#else
#define CVP_MULTIPLY_ADD(sum, a, b)                                                                \
    do {                                                                                           \
        (sum) += (a) * (b);                                                                        \
        CVP_IN_REGISTER(sum);                                                                      \
    } while (0)
#endif

/* A vector between 0 and high, lane by lane. NaN, and the sign of 0, stay. */
#define CVP_CLAMP_VECTOR(x, high)                                                                  \
    __extension__({                                                                                \
        __typeof__(x) clamped_ = (x), zero_ = {0};                                                 \
        __typeof__((x) < (x)) below_ = clamped_<zero_, above_ = clamped_>(high);                   \
        (__typeof__(x))(((__typeof__(below_))clamped_ & ~(below_ | above_)) |                      \
                        ((__typeof__(below_))(high)&above_));                                      \
    })

#define CVP_INLINE static inline __attribute__((always_inline))

#endif

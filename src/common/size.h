/* Sizes are 64-bit and checked: each function is 1 if the result fits, else 0 and *r is not set. */
#ifndef CVP_COMMON_SIZE_H
#define CVP_COMMON_SIZE_H

#include <stddef.h>
#include <stdint.h>

static inline int cvp_add_i64(int64_t a, int64_t b, int64_t *r)
{
    int64_t v;
    if (__builtin_add_overflow(a, b, &v)) return 0;
    *r = v;
    return 1;
}

static inline int cvp_mul_i64(int64_t a, int64_t b, int64_t *r)
{
    int64_t v;
    if (__builtin_mul_overflow(a, b, &v)) return 0;
    *r = v;
    return 1;
}

static inline int cvp_add_size(size_t a, size_t b, size_t *r)
{
    size_t v;
    if (__builtin_add_overflow(a, b, &v)) return 0;
    *r = v;
    return 1;
}

static inline int cvp_mul_size(size_t a, size_t b, size_t *r)
{
    size_t v;
    if (__builtin_mul_overflow(a, b, &v)) return 0;
    *r = v;
    return 1;
}

static inline int64_t cvp_min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline int64_t cvp_max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The greatest common divisor, of a, b >= 0 that are not both 0. */
static inline int64_t cvp_gcd_i64(int64_t a, int64_t b)
{
    while (b) {
        const int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* a / b rounded up, a >= 0, b > 0; cannot overflow. */
static inline int64_t cvp_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* bytes rounded up to a multiple of align, a power of two. */
static inline size_t cvp_round_up(size_t bytes, size_t align)
{
    return (bytes + align - 1) & ~(align - 1);
}

#endif

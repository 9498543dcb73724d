/* float16 and bfloat16 as they are stored, to and from float: round to nearest even, denormals
 * kept, NaN stays NaN. Plain integer arithmetic, so that compilers can vectorise it. */
#ifndef CVP_COMMON_HALF_H
#define CVP_COMMON_HALF_H

#include <stdint.h>
#include <string.h>

static inline float cvp_float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t cvp_bits_of_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float cvp_float_of_bf16(uint16_t h)
{
    return cvp_float_of_bits((uint32_t)h << 16);
}

static inline uint16_t cvp_bf16_of_float(float f)
{
    uint32_t x = cvp_bits_of_float(f);
    uint32_t rounded = (x + 0x7fff + (x >> 16 & 1)) >> 16;
    uint32_t quiet = x >> 16 | 0x40;
    return (uint16_t)((x & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

static inline float cvp_float_of_f16(uint16_t h)
{
    /* The exponent is moved by a product, which is exact for normal and denormal numbers alike;
     * infinity and NaN, which end up with a finite exponent, get theirs back. */
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, x = (uint32_t)(h & 0x7fff) << 13;
    uint32_t r = cvp_bits_of_float(cvp_float_of_bits(x) * 0x1p112f);
    uint32_t special = (h & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
    return cvp_float_of_bits(sign | r | special);
}

static inline uint16_t cvp_f16_of_float(float f)
{
    uint32_t x = cvp_bits_of_float(f), sign = x >> 16 & 0x8000, a = x & 0x7fffffff;
    /* Below 2^-14 the sum with 0.5 shifts the mantissa to where a denormal has it, and rounds. */
    uint32_t small = cvp_bits_of_float(cvp_float_of_bits(a) + 0.5f) - 0x3f000000;
    uint32_t normal = (a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13;
    uint32_t r = a < 0x38800000 ? small : normal;
    r = a >= 0x47800000 ? 0x7c00 : r; /* 2^16 and more; what rounds up to it carries by itself */
    r = a > 0x7f800000 ? 0x7e00 | (a >> 13 & 0x1ff) : r;
    return (uint16_t)(sign | r);
}

#endif

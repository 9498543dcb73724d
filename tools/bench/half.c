/* float16 and bfloat16, by their definition (IEEE 754): 1 + MANTISSA bits of precision, exponents
 * from LOWEST on. Slow and plain. */
#include <math.h>

#include "tools/bench/bench.h"

struct format {
    int mantissa, lowest, highest; /* bits, exponents of normal numbers */
};

static struct format format_of(enum type type)
{
    return type == F16 ? (struct format){10, -14, 15} : (struct format){7, -126, 127};
}

uint16_t half_bits(enum type type, double value)
{
    const struct format f = format_of(type);
    uint16_t sign = signbit(value) ? 0x8000 : 0, infinity = (uint16_t)(0x7fff >> f.mantissa);
    infinity = (uint16_t)(infinity << f.mantissa);
    if (isnan(value)) return (uint16_t)(infinity | 1u << (f.mantissa - 1));
    value = fabs(value);
    int exponent = value > 0 && isfinite(value) ? ilogb(value) : f.lowest;
    if (exponent < f.lowest) exponent = f.lowest;
    /* Units of the last place; a carry into the next exponent is right as it is. */
    double units = nearbyint(ldexp(value, f.mantissa - exponent));
    if (!(units < INFINITY) || exponent > f.highest) return sign | infinity;
    uint32_t whole = (uint32_t)units;
    uint32_t bits =
        whole < 1u << f.mantissa ? whole : ((uint32_t)(exponent - f.lowest) << f.mantissa) + whole;
    return bits < infinity ? (uint16_t)(sign | bits) : (uint16_t)(sign | infinity);
}

double half_value(enum type type, uint16_t bits)
{
    const struct format f = format_of(type);
    int exponent = (bits & 0x7fff) >> f.mantissa, mantissa = bits & ((1 << f.mantissa) - 1);
    double value;
    if (exponent == f.highest - f.lowest + 2)
        value = mantissa ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(mantissa, f.lowest - f.mantissa);
    else
        value = ldexp(mantissa | 1 << f.mantissa, exponent - 1 + f.lowest - f.mantissa);
    return bits & 0x8000 ? -value : value;
}

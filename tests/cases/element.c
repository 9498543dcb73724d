/* Conversion of elements. */
#include "tests/cases/element.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bits of the significand behind the point, and the least exponent of a normal number. */
struct format {
    int mantissa, exponent_bits, min_exponent;
};
static const struct format half = {10, 5, -14}, bfloat = {7, 8, -126};

DLDataType element_type(const char *name)
{
    static const struct {
        const char *name;
        DLDataType type;
    } types[] = {{"f16", {kDLFloat, 16, 1}},
                 {"bf16", {kDLBfloat, 16, 1}},
                 {"f32", {kDLFloat, 32, 1}},
                 {"f64", {kDLFloat, 64, 1}}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, name) == 0) return types[i].type;
    fprintf(stderr, "no dtype is called %s\n", name);
    exit(2);
}

size_t element_size(DLDataType type)
{
    return (size_t)type.bits / 8;
}

static const struct format *format_of(DLDataType type)
{
    return type.code == kDLBfloat ? &bfloat : &half;
}

static double decode(const struct format *f, uint16_t bits)
{
    int biased = bits >> f->mantissa & ((1 << f->exponent_bits) - 1);
    int fraction = bits & ((1 << f->mantissa) - 1);
    double sign = bits >> 15 ? -1 : 1;
    if (biased == (1 << f->exponent_bits) - 1) return fraction != 0 ? NAN : sign * INFINITY;
    if (biased == 0) return sign * ldexp(fraction, f->min_exponent - f->mantissa);
    return sign * ldexp(fraction + (1 << f->mantissa), biased - 1 + f->min_exponent - f->mantissa);
}

/* Round to nearest, ties to even: in units of the last place, where nearbyint() does just that. */
static uint16_t encode(const struct format *f, double value)
{
    int top = (1 << f->exponent_bits) - 1;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value)) return (uint16_t)(sign | top << f->mantissa | 1 << (f->mantissa - 1));
    int exponent = f->min_exponent;
    if (isfinite(value) && value != 0 && ilogb(value) > exponent) exponent = ilogb(value);
    /* The significand counts up into the exponent, also from subnormal to normal. */
    double units = isinf(value) ? INFINITY
                                : nearbyint(ldexp(fabs(value), f->mantissa - exponent)) +
                                      ldexp(exponent - f->min_exponent, f->mantissa);
    double infinite = ldexp(top, f->mantissa);
    return (uint16_t)(sign | (uint16_t)(units < infinite ? units : infinite));
}

double element_get(DLDataType type, const void *from)
{
    if (type.bits == 64) {
        double v;
        memcpy(&v, from, sizeof v);
        return v;
    }
    if (type.bits == 32) {
        float v;
        memcpy(&v, from, sizeof v);
        return (double)v;
    }
    uint16_t v;
    memcpy(&v, from, sizeof v);
    return decode(format_of(type), v);
}

void element_set(DLDataType type, void *to, double value)
{
    float single = (float)value;
    if (type.bits == 64) {
        memcpy(to, &value, sizeof value);
    } else if (type.bits == 32) {
        memcpy(to, &single, sizeof single);
    } else {
        uint16_t v = encode(format_of(type), value);
        memcpy(to, &v, sizeof v);
    }
}

double element_round(DLDataType type, double value)
{
    char bytes[8];
    element_set(type, bytes, value);
    return element_get(type, bytes);
}

/* Fills of the cases. */
#include "tests/cases/fills.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cases/json.h"

static double number_or(const json_t *fill, const char *key, double otherwise)
{
    const json_t *value = json_object_get(fill, key);
    return value != NULL ? json_number(value) : otherwise;
}

static void iota(const json_t *fill, double *out, int64_t count)
{
    int64_t mod = (int64_t)number_or(fill, "mod", 1), sub = (int64_t)number_or(fill, "sub", 0);
    int64_t mul = (int64_t)number_or(fill, "mul", 1), add = (int64_t)number_or(fill, "add", 0);
    double scale = number_or(fill, "scale", 1);
    for (int64_t i = 0; i < count; i++) out[i] = (double)((i * mul + add) % mod - sub) * scale;
}

static void lcg32(const json_t *fill, double *out, int64_t count)
{
    uint32_t s = (uint32_t)number_or(fill, "seed", 0);
    double lo = number_or(fill, "lo", 0), hi = number_or(fill, "hi", 1);
    for (int64_t i = 0; i < count; i++) {
        s = s * 1664525u + 1013904223u;
        out[i] = lo + (hi - lo) * (double)(s >> 8) / 16777216.0;
    }
}

static void set_some(const json_t *fill, int ndim, const int64_t *shape, double *out)
{
    size_t k;
    json_t *one;
    json_array_foreach(json_object_get(fill, "set"), k, one)
    {
        int64_t at[8], flat = 0;
        if (json_ints(json_object_get(one, "at"), at, 8) != ndim) abort();
        for (int d = 0; d < ndim; d++) flat = flat * shape[d] + at[d];
        out[flat] = json_number(json_object_get(one, "value"));
    }
}

double *fill_values(const json_t *fill, int ndim, const int64_t *shape, int64_t count)
{
    const char *type = json_string_value(json_object_get(fill, "type"));
    double *out = NULL;
    if (type != NULL && strcmp(type, "special") == 0) {
        out = fill_values(json_object_get(fill, "base"), ndim, shape, count);
        set_some(fill, ndim, shape, out);
        return out;
    }
    out = calloc((size_t)count + 1, sizeof *out);
    if (out == NULL || type == NULL) abort();
    if (strcmp(type, "iota_mod") == 0) {
        iota(fill, out, count);
    } else if (strcmp(type, "random") == 0) {
        lcg32(fill, out, count);
    } else if (strcmp(type, "const") == 0) {
        for (int64_t i = 0; i < count; i++) out[i] = number_or(fill, "value", 0);
    } else {
        fprintf(stderr, "no fill is called %s\n", type);
        exit(2);
    }
    return out;
}

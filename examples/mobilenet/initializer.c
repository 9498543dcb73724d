/* First values. */
#include "examples/mobilenet/initializer.h"

#include <math.h>
#include <string.h>

static int ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    return n >= m && strcmp(name + n - m, ending) == 0;
}

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* In (0, 1). */
static double uniform(uint64_t *state)
{
    return ((double)(next(state) >> 11) + 0.5) * 0x1p-53;
}

/* Box and Muller, 1958; one of the pair. */
static double normal(uint64_t *state)
{
    double r = sqrt(-2 * log(uniform(state)));
    return r * cos(6.283185307179586 * uniform(state));
}

static void put(const DLTensor *t, int64_t i, double v)
{
    char *data = (char *)t->data + t->byte_offset;
    if (t->dtype.bits == 64)
        ((double *)(void *)data)[i] = v;
    else
        ((float *)(void *)data)[i] = (float)v;
}

void initialize(const char *name, const DLTensor *t, uint64_t seed)
{
    int64_t n = 1, fan_in = 1;
    for (int i = 0; i < t->ndim; i++) {
        n *= t->shape[i];
        if (i > 0) fan_in *= t->shape[i];
    }
    uint64_t state = seed;
    for (const char *c = name; *c; c++) state = (state ^ (unsigned char)*c) * 0x100000001b3u;
    double one = ends_in(name, "_gamma") || ends_in(name, "_moving_var");
    double deviation = ends_in(name, "_weight") ? sqrt(2.0 / (double)fan_in) : 0;
    for (int64_t i = 0; i < n; i++) put(t, i, deviation > 0 ? deviation * normal(&state) : one);
}

/* Random numbers for tests: splitmix64, so that one 64-bit seed says everything. */
#ifndef TEST_RNG_H
#define TEST_RNG_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in [low, high]. */
static inline int64_t rng_int(struct rng *r, int64_t low, int64_t high)
{
    return low + (int64_t)(rng_next(r) % (uint64_t)(high - low + 1));
}

static inline double rng_real(struct rng *r, double low, double high)
{
    return low + (high - low) * ((double)(rng_next(r) >> 11) * 0x1p-53);
}

/* 1 with a probability of percent. */
static inline int rng_chance(struct rng *r, int percent)
{
    return rng_int(r, 0, 99) < percent;
}

/* The seed of a test program: CONVOP_SEED, else `fallback`; printed, so that a run can be repeated.
 */
static inline uint64_t test_seed(uint64_t fallback)
{
    const char *text = getenv("CONVOP_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : fallback;
    printf("CONVOP_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

/* How many cases to run: `count` times CONVOP_TEST_SCALE, "20" or "1/20"; at least one. */
static inline int64_t test_scaled(int64_t count)
{
    const char *text = getenv("CONVOP_TEST_SCALE");
    long long times = 1, part = 1;
    if (text && sscanf(text, "%lld/%lld", &times, &part) == 2 && part > 0)
        return (count * times + part - 1) / part;
    return count * times;
}

#endif

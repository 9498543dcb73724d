/* Random numbers that depend on nothing but what they are asked for: splitmix64 (Steele, Lea and
 * Flood 2014) from a state that is mixed from seed, epoch and place. */
#ifndef CVP_IO_RANDOM_H
#define CVP_IO_RANDOM_H

#include <stdint.h>

struct cvp_io_random {
    uint64_t state;
};

static inline uint64_t cvp_io_random_next(struct cvp_io_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline struct cvp_io_random cvp_io_random_for(uint64_t seed, uint64_t epoch, uint64_t place)
{
    struct cvp_io_random r = {seed};
    r.state = cvp_io_random_next(&r) + epoch;
    r.state = cvp_io_random_next(&r) + place;
    r.state = cvp_io_random_next(&r);
    return r;
}

/* Uniform in [0, n), n >= 1: the upper half of a 128-bit product, drawn again where that would
 * favour some numbers (Lemire 2019). */
static inline uint64_t cvp_io_random_below(struct cvp_io_random *random, uint64_t n)
{
    __extension__ typedef unsigned __int128 wide;
    for (;;) {
        wide product = (wide)cvp_io_random_next(random) * n;
        if ((uint64_t)product >= -n % n) return (uint64_t)(product >> 64);
    }
}

#endif

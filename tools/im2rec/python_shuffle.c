/* The Mersenne twister MT19937 (Matsumoto and Nishimura 1998), seeded with an array of one number
 * as Python does, and the shuffle of Python 3: lists made here are those of MXNet's im2rec.py. */
#include "tools/im2rec/im2rec.h"

#define N 624
#define M 397

struct twister {
    uint32_t state[N];
    int at;
};

static void seed_plain(struct twister *t, uint32_t seed)
{
    t->state[0] = seed;
    for (uint32_t i = 1; i < N; i++)
        t->state[i] = 1812433253u * (t->state[i - 1] ^ t->state[i - 1] >> 30) + i;
    t->at = N;
}

/* The paper's seeding by an array, whose one member is `key`. */
static void seed_array(struct twister *t, uint32_t key)
{
    seed_plain(t, 19650218u);
    uint32_t i = 1, *s = t->state;
    for (int k = 0; k < 2 * N - 1; k++) {
        const uint32_t mixed = s[i - 1] ^ s[i - 1] >> 30;
        s[i] = k < N ? (s[i] ^ mixed * 1664525u) + key : (s[i] ^ mixed * 1566083941u) - i;
        if (++i == N) {
            s[0] = s[N - 1];
            i = 1;
        }
    }
    s[0] = 0x80000000u;
}

static void refill(struct twister *t)
{
    for (int i = 0; i < N; i++) {
        const uint32_t y = (t->state[i] & 0x80000000u) | (t->state[(i + 1) % N] & 0x7fffffffu);
        t->state[i] = t->state[(i + M) % N] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    t->at = 0;
}

static uint32_t next(struct twister *t)
{
    if (t->at == N) refill(t);
    uint32_t y = t->state[t->at++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

/* In [0, n), from as many of the upper bits as n has, drawn until it fits. */
static uint32_t below(struct twister *t, uint32_t n)
{
    const int unused = __builtin_clz(n);
    uint32_t r;
    do r = next(t) >> unused;
    while (r >= n);
    return r;
}

void im2rec_python_shuffle(uint32_t seed, size_t n,
                           void (*exchange)(void *user, size_t i, size_t j), void *user)
{
    struct twister t;
    seed_array(&t, seed);
    for (size_t i = n; i-- > 1;) exchange(user, i, below(&t, (uint32_t)i + 1));
}

/* What the machine gives. probe_kernels.c has the loops that find out, for each vector width. */
#ifndef BENCH_PROBE_H
#define BENCH_PROBE_H

#include <stddef.h>
#include <stdint.h>

struct probe_kernels {
    /* `rounds` times 12 independent chains of fused multiply-adds; answers how many flops. */
    double (*fma[2])(int64_t rounds); /* float, double */
    /* Reads `bytes`, a multiple of 512. */
    void (*read)(const void *memory, size_t bytes);
};

/* Those of the widest vectors that this CPU has and the setting `isa` allows. */
const struct probe_kernels *probe_kernels(void);

/* Measured now, all threads together, in 0.1 s: flops a millisecond, and bytes a millisecond of
 * reads from `bytes` of memory, each thread from a part of its own. */
double probe_flops(int is_double, int threads);
double probe_read(int threads, size_t bytes);

#endif
